//! The sending side of a queue between stages.

use std::thread;

use corelane::{Producer, TryPushError, wait};

use super::Settings;
use super::progress::{Counters, count};
use crate::packet::Parcel;

/// The sending side of a queue of packets.
pub(super) struct Outlet<'a, P> {
    pub(super) tx: wait::Producer<P>,
    pub(super) settings: &'a Settings,
    pub(super) counters: &'a Counters,
}

impl<P: Producer<Item = Parcel>> Outlet<'_, P> {
    /// Sends all packets, or as many as there is room for.
    pub(super) fn send(&mut self, packets: &mut Vec<Parcel>) {
        let packets = packets.drain(..);
        match self.settings.drops {
            true => packets.for_each(|packet| self.try_send(packet)),
            // The next stage ends before this one only if it panics, which ends all.
            false => drop(self.tx.push_all(packets)),
        }
        self.tx.flush();
    }

    fn try_send(&mut self, mut packet: Parcel) {
        loop {
            match self.tx.try_push(packet) {
                Ok(()) => return,
                Err(TryPushError::Busy(back)) => packet = back,
                Err(TryPushError::Full(lost) | TryPushError::Closed(lost)) => {
                    return count(&self.counters.dropped, lost.segment.packets.max(1));
                }
            }
            thread::yield_now();
        }
    }
}
