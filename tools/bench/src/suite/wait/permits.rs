//! Senders that reserve room for each item, of corelane and of Tokio.

use std::future::Future;

use corelane::channel::task;
use corelane::{Info, Sides};

use super::handles::{Channel, Ends, Wanted, channel, copies};
use super::tasks::{self, futures};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::suite::wait::Sharing;

/// A sender that reserves room for each item.
#[derive(Clone)]
struct Reserving<S>(S);

macro_rules! reserving {
    ($($channel:ident: $($mpsc:ident)::+;)*) => {$(
        channel!($channel, Shared: Reserving<$($mpsc)::+::Sender<u64>>, clone; $($mpsc)::+::Receiver<u64>;
                 |capacity| {
                     let (tx, rx) = $($mpsc)::+::channel(capacity);
                     (Reserving(tx), rx)
                 });

        impl tasks::Sender for Reserving<$($mpsc)::+::Sender<u64>> {
            #[inline(always)]
            fn put(&mut self, item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
                async move { self.0.reserve().await.map(|permit| permit.send(item)) }
            }
        }
    )*};
}

reserving! {
    Permits: task::mpsc;
    TokioPermits: tokio::sync::mpsc;
}

channel!(Mpsc, Shared: task::mpsc::Sender<u64>, clone; task::mpsc::Receiver<u64>;
         |capacity| task::mpsc::channel(capacity));
futures! { task::mpsc::Sender<u64>, task::mpsc::Receiver<u64>: send, recv; }

pub(super) fn entries() -> [Channels; 3] {
    const PERMITS: &str = "channel, room is reserved first";
    fn tasks<C: Channel<Tx: tasks::Sender, Rx: tasks::Receiver>>() -> Vec<ChannelKernel> {
        ChannelKernel::tasks::<C>().collect()
    }
    let info = |id, name| Info { id, name, sides: Sides::ManyToOne, ..Info::RING };
    let ours = |id, name| Entry::ours(info(id, name), "items of any type");
    let tokio = crate::peers::crates::kind("tokio");
    [
        ours("task-mpsc", "channel with the names of Tokio").with(tasks::<Mpsc>()),
        ours("task-mpsc-permits", PERMITS).with(tasks::<Permits>()),
        Entry::other(info("tokio-mpsc-permits", PERMITS), tokio).with(tasks::<TokioPermits>()),
    ]
}
