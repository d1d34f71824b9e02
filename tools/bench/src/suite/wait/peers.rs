//! Channels of other crates.

use std::sync::mpsc;

use super::handles::{Channel, Ends, Receiver, Sender, Wanted, blocking, channel, copies};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::peers::of_std;
use crate::suite::wait::Sharing;
use corelane::{Info, Sides};

channel!(Std, Shared: mpsc::SyncSender<u64>, clone; mpsc::Receiver<u64>;
         |capacity| mpsc::sync_channel(capacity));
blocking! { mpsc::SyncSender<u64>, mpsc::Receiver<u64>; }

mod crates;

fn info(id: &'static str, sides: Sides) -> Info {
    Info { id, name: "channel, bounded", sides, ..Info::RING }
}

/// All peers.
pub(super) fn entries() -> Vec<Channels> {
    let channels = ChannelKernel::blocking::<Std>().collect();
    let std = Entry::other(info("std-channel", Sides::ManyToOne), of_std()).with(channels);
    crates::entries().into_iter().chain([std]).collect()
}
