//! Crates from the registry. Calls that return futures belong to handles of their own, except flume's.

use super::*;
use crate::channel::ours::{SELECT, Selecting};
use crate::channel::tasks;

/// A channel whose calls return futures. `$send` and `$recv` are the futures of its calls.
macro_rules! tasks {
    ($channel:ident: $tx:ty, clone; $rx:ty $(, $clone_rx:ident)?; |$capacity:ident| $open:expr;
     |$sender:ident, $item:ident| $send:expr; |$receiver:ident| $recv:expr) => {
        struct $channel;

        impl tasks::Channel for $channel {
            const HANDLES: Sharing = Sharing::Shared;

            type Tx = $tx;
            type Rx = $rx;

            fn open($capacity: usize, size: TeamSize) -> Result<Ends<$tx, $rx>, String> {
                let (tx, rx) = $open;
                let txs = copies(tx, size.producers, |tx| Some(tx.clone()))?;
                Ok((txs, copies(rx, size.consumers, |_rx| channel!(copy _rx $($clone_rx)?))?))
            }
        }

        impl tasks::Sender for $tx {
            #[inline(always)]
            fn put(&mut self, $item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
                let $sender = self;
                $send
            }
        }

        impl tasks::Receiver for $rx {
            #[inline(always)]
            fn get(&mut self) -> impl Future<Output = impl tasks::Received> + Send {
                let $receiver = self;
                $recv
            }
        }
    };
}

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
    const STRATEGY: Strategy = Strategy::Adaptive;
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = crossbeam::channel::Sender<u64>;
    type Rx = Selecting<crossbeam::channel::Receiver<u64>, crossbeam::channel::Sender<u64>>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
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

tasks!(KanalTasks: kanal::AsyncSender<u64>, clone; kanal::AsyncReceiver<u64>, clone;
       |capacity| kanal::bounded_async(capacity);
       |tx, item| tx.send(item); |rx| rx.recv());
tasks!(FlumeTasks: flume::Sender<u64>, clone; flume::Receiver<u64>, clone;
       |capacity| flume::bounded(capacity);
       |tx, item| tx.send_async(item); |rx| rx.recv_async());
tasks!(CrossfireTasks: crossfire::MAsyncTx<crossfire::mpmc::Array<u64>>, clone;
       crossfire::MAsyncRx<crossfire::mpmc::Array<u64>>, clone;
       |capacity| crossfire::mpmc::bounded_async(capacity);
       |tx, item| tx.send(item); |rx| rx.recv());
tasks!(AsyncChannel: async_channel::Sender<u64>, clone; async_channel::Receiver<u64>, clone;
       |capacity| async_channel::bounded(capacity);
       |tx, item| tx.send(item); |rx| rx.recv());
tasks!(Tokio: tokio::sync::mpsc::Sender<u64>, clone; tokio::sync::mpsc::Receiver<u64>;
       |capacity| tokio::sync::mpsc::channel(capacity);
       |tx, item| tx.send(item); |rx| rx.recv());
tasks!(Thing: thingbuf::mpsc::Sender<u64>, clone; thingbuf::mpsc::Receiver<u64>;
       |capacity| thingbuf::mpsc::channel(capacity);
       |tx, item| tx.send(item); |rx| rx.recv());

pub(super) fn entries() -> Vec<Entry> {
    let several = Sides::ManyToMany;
    vec![
        entry("crossbeam-channel", "crossbeam-channel", several, vec![threads::<Crossbeam>()]),
        Entry::channel(
            Info { name: SELECT, ..info("crossbeam-select", several) },
            crate::peers::crates::kind("crossbeam-channel"),
            vec![threads::<Selects>()],
        ),
        entry("kanal", "kanal", several, both::<Kanal, KanalTasks>()),
        entry("flume", "flume", several, both::<Flume, FlumeTasks>()),
        entry("crossfire", "crossfire", several, both::<Crossfire, CrossfireTasks>()),
        entry("async-channel", "async-channel", several, tasks::<AsyncChannel>()),
        entry("tokio-mpsc", "tokio", Sides::ManyToOne, tasks::<Tokio>()),
        entry("thingbuf-mpsc", "thingbuf", Sides::ManyToOne, tasks::<Thing>()),
    ]
}

fn threads<C: Channel>() -> ChannelKernel {
    ChannelKernel::blocking::<C>()
}

fn tasks<T: tasks::Channel>() -> Vec<ChannelKernel> {
    ChannelKernel::tasks::<T>().collect()
}

fn both<C: Channel, T: tasks::Channel>() -> Vec<ChannelKernel> {
    [threads::<C>()].into_iter().chain(ChannelKernel::tasks::<T>()).collect()
}

fn entry(
    id: &'static str,
    package: &'static str,
    sides: Sides,
    channels: Vec<ChannelKernel>,
) -> Entry {
    Entry::channel(info(id, sides), crate::peers::crates::kind(package), channels)
}
