//! Channels of other crates.

use std::sync::mpsc;

use super::ChannelKernel;
use super::handles::{Channel, Ends, Receiver, Sender, channel, copies};
use crate::catalogue::Entry;
use crate::kinds::{Sharing, Strategy, TeamSize};
use crate::peers::of_std;
use corelane::{Info, Sides};

channel!(Std, Shared: mpsc::SyncSender<u64>, clone; mpsc::Receiver<u64>;
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
