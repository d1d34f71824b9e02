//! A ring with a head and a tail a side.

use corelane_loom::memory::Ordering::{Acquire, Release};
use corelane_loom::memory::{AtomicU64, pause};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Slots of the ring.
const N: u64 = 2;

/// How far one side has come.
struct Cursors {
    head: AtomicU64,
    tail: AtomicU64,
}

impl Cursors {
    fn new() -> Self {
        Self { head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    /// Takes a slot, if `other` is done with one.
    fn take(&self, other: &Self, lead: u64) -> Option<u64> {
        let mut head = self.head.load(Acquire);
        while head != other.tail.load(Acquire) + lead {
            match self.head.compare_exchange(head, head + 1, Release, Acquire) {
                Ok(_) => return Some(head),
                Err(found) => head = found,
            }
        }
        None
    }
}

/// `ring`. Broken: shows its slot without waiting for those that were taken before.
pub(crate) struct HeadsAndTails<const BROKEN: bool> {
    places: [Place; N as usize],
    producers: Cursors,
    consumers: Cursors,
}

impl<const BROKEN: bool> HeadsAndTails<BROKEN> {
    fn finish(cursors: &Cursors, position: u64) {
        while !BROKEN && cursors.tail.load(Acquire) != position {
            pause(1);
        }
        cursors.tail.store(position + 1, Release);
    }

    fn place(&self, position: u64) -> &Place {
        &self.places[(position % N) as usize]
    }
}

impl<const BROKEN: bool> Mechanism for HeadsAndTails<BROKEN> {
    const ID: &'static str = "ring";
    const CAPACITY: usize = N as usize;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        Self { places, producers: Cursors::new(), consumers: Cursors::new() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(position) = self.producers.take(&self.consumers, N) else { return Err(item) };
        self.place(position).put(item);
        Self::finish(&self.producers, position);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.consumers.take(&self.producers, 0)?;
        let item = self.place(position).take();
        Self::finish(&self.consumers, position);
        Some(item)
    }
}
