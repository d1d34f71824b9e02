//! Channels of other crates.

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
mod crates;

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
