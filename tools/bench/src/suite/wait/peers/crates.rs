//! Crates from the registry. Calls that return futures belong to handles of their own, except
//! flume's.

use super::*;
use crate::suite::wait::handles::Blocking;
use crate::suite::wait::ours::{SELECT, Selecting};
use crate::suite::wait::tasks::{self, futures};

channel!(Crossbeam, Shared: crossbeam::channel::Sender<u64>, clone; crossbeam::channel::Receiver<u64>, clone;
         |capacity| crossbeam::channel::bounded(capacity));
channel!(Kanal, Shared: kanal::Sender<u64>, clone; kanal::Receiver<u64>, clone;
         |capacity| kanal::bounded(capacity));
channel!(Flume, Shared: flume::Sender<u64>, clone; flume::Receiver<u64>, clone;
         |capacity| flume::bounded(capacity));
channel!(Crossfire, Shared: crossfire::MTx<crossfire::mpmc::Array<u64>>, clone;
         crossfire::MRx<crossfire::mpmc::Array<u64>>, clone;
         |capacity| crossfire::mpmc::bounded_blocking(capacity));

/// As corelane's.
struct Selects;

impl Channel for Selects {
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = crossbeam::channel::Sender<u64>;
    type Rx = Selecting<crossbeam::channel::Receiver<u64>, crossbeam::channel::Sender<u64>>;

    fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        use crossbeam::channel::bounded;
        let ((tx, rx), (_stops, stop)) = (bounded(capacity), bounded(0));
        let txs = copies(tx, size.producers, |tx| Some(tx.clone()))?;
        let rx = Selecting { rx, stop, _stops };
        Ok((txs, copies(rx, size.consumers, |rx| Some(rx.clone()))?))
    }
}

impl Receiver for Selecting<crossbeam::channel::Receiver<u64>, crossbeam::channel::Sender<u64>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        crossbeam::channel::select! {
            recv(self.rx) -> item => item.ok(),
            recv(self.stop) -> _ => None,
        }
    }
}

channel!(KanalTasks, Shared: kanal::AsyncSender<u64>, clone; kanal::AsyncReceiver<u64>, clone;
         |capacity| kanal::bounded_async(capacity));
channel!(CrossfireTasks, Shared: crossfire::MAsyncTx<crossfire::mpmc::Array<u64>>, clone;
         crossfire::MAsyncRx<crossfire::mpmc::Array<u64>>, clone;
         |capacity| crossfire::mpmc::bounded_async(capacity));
channel!(AsyncChannel, Shared: async_channel::Sender<u64>, clone; async_channel::Receiver<u64>, clone;
         |capacity| async_channel::bounded(capacity));
channel!(Tokio, Shared: tokio::sync::mpsc::Sender<u64>, clone; tokio::sync::mpsc::Receiver<u64>;
         |capacity| tokio::sync::mpsc::channel(capacity));
channel!(Thing, Shared: thingbuf::mpsc::Sender<u64>, clone; thingbuf::mpsc::Receiver<u64>;
         |capacity| thingbuf::mpsc::channel(capacity));

blocking! {
    crossbeam::channel::Sender<u64>, crossbeam::channel::Receiver<u64>;
    kanal::Sender<u64>, kanal::Receiver<u64>;
    flume::Sender<u64>, flume::Receiver<u64>;
    crossfire::MTx<crossfire::mpmc::Array<u64>>, crossfire::MRx<crossfire::mpmc::Array<u64>>;
}
futures! {
    kanal::AsyncSender<u64>, kanal::AsyncReceiver<u64>: send, recv;
    flume::Sender<u64>, flume::Receiver<u64>: send_async, recv_async;
    crossfire::MAsyncTx<crossfire::mpmc::Array<u64>>,
    crossfire::MAsyncRx<crossfire::mpmc::Array<u64>>: send, recv;
    async_channel::Sender<u64>, async_channel::Receiver<u64>: send, recv;
    tokio::sync::mpsc::Sender<u64>, tokio::sync::mpsc::Receiver<u64>: send, recv;
    thingbuf::mpsc::Sender<u64>, thingbuf::mpsc::Receiver<u64>: send, recv;
}

pub(super) fn entries() -> Vec<Channels> {
    let several = Sides::ManyToMany;
    vec![
        entry(
            "crossbeam-channel",
            "crossbeam-channel",
            several,
            ChannelKernel::blocking::<Crossbeam>().collect(),
        ),
        Entry::other(
            Info { name: SELECT, ..info("crossbeam-select", several) },
            crate::peers::crates::kind("crossbeam-channel"),
        )
        .with(ChannelKernel::blocking::<Selects>().collect()),
        entry("kanal", "kanal", several, either::<Kanal, KanalTasks>()),
        entry("flume", "flume", several, ChannelKernel::both::<Flume>()),
        entry("crossfire", "crossfire", several, either::<Crossfire, CrossfireTasks>()),
        entry("async-channel", "async-channel", several, tasks::<AsyncChannel>()),
        entry("tokio-mpsc", "tokio", Sides::ManyToOne, tasks::<Tokio>()),
        entry("thingbuf-mpsc", "thingbuf", Sides::ManyToOne, tasks::<Thing>()),
    ]
}

fn tasks<C: Channel<Tx: tasks::Sender, Rx: tasks::Receiver>>() -> Vec<ChannelKernel> {
    ChannelKernel::tasks::<C>().collect()
}

fn either<B: Blocking, A>() -> Vec<ChannelKernel>
where
    A: Channel<Tx: tasks::Sender, Rx: tasks::Receiver>,
{
    ChannelKernel::blocking::<B>().chain(ChannelKernel::tasks::<A>()).collect()
}

fn entry(
    id: &'static str,
    package: &'static str,
    sides: Sides,
    channels: Vec<ChannelKernel>,
) -> Channels {
    Entry::other(info(id, sides), crate::peers::crates::kind(package)).with(channels)
}
