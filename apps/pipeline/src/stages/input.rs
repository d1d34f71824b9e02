//! The input stage: reads packets.

use corelane::{Consumer, Producer};

use super::Settings;
use super::outlet::Outlet;
use super::progress::count;
use crate::packet::Parcel;
use crate::source::{Source, Spares};

/// The packets that the threads of flows give back.
pub(super) struct Used<C> {
    pub(super) queues: Vec<C>,
    /// The queue that had the last one.
    turn: usize,
}

impl<C> Default for Used<C> {
    fn default() -> Self {
        Self { queues: Vec::new(), turn: 0 }
    }
}

impl<C: Consumer<Item = Parcel>> Spares for Used<C> {
    fn take(&mut self) -> Option<Parcel> {
        let queues = self.queues.len();
        (0..queues).find_map(|n| {
            let turn = (self.turn + n) % queues;
            let packet = self.queues[turn].try_pop().ok()?;
            self.turn = turn;
            Some(packet)
        })
    }
}

/// Reads packets, and numbers them.
pub(super) fn input<C, P>(
    source: &mut impl Source,
    mut spares: Used<C>,
    mut outlet: Outlet<'_, P>,
    settings: &Settings,
) where
    C: Consumer<Item = Parcel>,
    P: Producer<Item = Parcel>,
{
    let (mut number, mut batch) = (0, Vec::new());
    loop {
        let mut bytes = 0;
        while batch.len() < settings.batch && (batch.is_empty() || source.is_ready()) {
            let Some(mut packet) = source.next_packet(&mut spares) else { break };
            packet.number = number;
            number += 1;
            bytes += u64::from(packet.wire);
            batch.push(packet);
        }
        if batch.is_empty() {
            return;
        }
        count(&outlet.counters.packets, batch.len() as u64);
        count(&outlet.counters.bytes, bytes);
        outlet.send(&mut batch);
    }
}
