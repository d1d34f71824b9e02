//! Channels of other crates, with their blocking calls.

use std::sync::mpsc;

use super::ChannelKernel;
use super::handles::{Channel, Ends, Receiver, Sender, copies};
use crate::catalogue::Entry;
use crate::kinds::{Sharing, Strategy, TeamSize};
use crate::peers::of_std;
use corelane::{Info, Sides};

/// A channel with the calls `send` and `recv`, made for `$capacity` items. Handles of a side are cloned if it says so.
macro_rules! channel {
    ($channel:ident: $tx:ty $(, $clone_tx:ident)?; $rx:ty $(, $clone_rx:ident)?; |$capacity:ident| $open:expr) => {
        struct $channel;

        impl Channel for $channel {
            const STRATEGY: Strategy = Strategy::Adaptive;
            const HANDLES: Sharing = Sharing::Shared;

            type Tx = $tx;
            type Rx = $rx;

            fn open($capacity: usize, size: TeamSize) -> Result<Ends<$tx, $rx>, String> {
                let (tx, rx) = $open;
                let txs = copies(tx, size.producers, |_tx| channel!(copy _tx $($clone_tx)?))?;
                Ok((txs, copies(rx, size.consumers, |_rx| channel!(copy _rx $($clone_rx)?))?))
            }
        }

        impl Sender for $tx {
            #[inline(always)]
            fn put(&mut self, item: u64) -> bool {
                self.send(item).is_ok()
            }
        }

        impl Receiver for $rx {
            #[inline(always)]
            fn get(&mut self) -> Option<u64> {
                self.recv().ok()
            }
        }
    };
    (copy $handle:ident clone) => { Some($handle.clone()) };
    (copy $handle:ident) => { None };
}

channel!(Std: mpsc::SyncSender<u64>, clone; mpsc::Receiver<u64>;
         |capacity| mpsc::sync_channel(capacity));

#[cfg(feature = "peers")]
mod crates {
    use super::*;

    channel!(Crossbeam: crossbeam::channel::Sender<u64>, clone; crossbeam::channel::Receiver<u64>, clone;
             |capacity| crossbeam::channel::bounded(capacity));
    channel!(Kanal: kanal::Sender<u64>, clone; kanal::Receiver<u64>, clone;
             |capacity| kanal::bounded(capacity));
    channel!(Flume: flume::Sender<u64>, clone; flume::Receiver<u64>, clone;
             |capacity| flume::bounded(capacity));
    channel!(Crossfire: crossfire::MTx<crossfire::mpmc::Array<u64>>, clone;
             crossfire::MRx<crossfire::mpmc::Array<u64>>, clone;
             |capacity| crossfire::mpmc::bounded_blocking(capacity));

    pub(super) fn entries() -> Vec<Entry> {
        vec![
            entry::<Crossbeam>("crossbeam-channel"),
            entry::<Kanal>("kanal"),
            entry::<Flume>("flume"),
            entry::<Crossfire>("crossfire"),
        ]
    }

    /// The channel of a crate that has the same name.
    fn entry<C: Channel>(package: &'static str) -> Entry {
        let kind = crate::peers::crates::kind(package);
        Entry::channel(info(package, Sides::ManyToMany), kind, vec![ChannelKernel::blocking::<C>()])
    }
}

fn info(id: &'static str, sides: Sides) -> Info {
    Info { id, name: "channel, bounded", sides, ..Info::RING }
}

/// All peers. Without the feature `peers`, only the standard library's channel.
pub(super) fn entries() -> Vec<Entry> {
    let channels = vec![ChannelKernel::blocking::<Std>()];
    let std = Entry::channel(info("std-channel", Sides::ManyToOne), of_std(), channels);
    #[cfg(feature = "peers")]
    return crates::entries().into_iter().chain([std]).collect();
    #[cfg(not(feature = "peers"))]
    return vec![std];
}
