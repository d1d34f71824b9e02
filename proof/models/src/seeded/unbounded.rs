//! Lists of nodes and of rings. Each node and ring is used once.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Nodes, or rings of one slot.
const N: usize = 4;

/// `dspsc`. Broken: appends a node to the list before it publishes the node's item.
pub(crate) struct Nodes<const BROKEN: bool> {
    items: [Place; N],
    /// Whether each node has a next node.
    next: [AtomicU64; N],
}

impl<const BROKEN: bool> Mechanism for Nodes<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = usize;
    type Rx = usize;

    fn new() -> Self {
        Self { items: [(); N].map(|()| Place::empty()), next: [(); N].map(|()| AtomicU64::new(0)) }
    }

    fn push(&self, tail: &mut usize, item: Ticket) -> Result<(), Ticket> {
        let Some(place) = self.items.get(*tail) else { return Err(item) };
        place.put(item);
        self.next[*tail].store(1, if BROKEN { Relaxed } else { Release });
        *tail += 1;
        Ok(())
    }

    fn pop(&self, head: &mut usize) -> Option<Ticket> {
        let is_there = self.next.get(*head)?.load(Acquire) == 1;
        is_there.then(|| {
            *head += 1;
            self.items[*head - 1].take()
        })
    }
}

/// `uspsc`. Broken: the consumer leaves a ring that it found empty before it observed that the
/// producer has gone on.
pub(crate) struct Rings<const BROKEN: bool> {
    items: [Place; N],
    /// Whether the slot of each has been filled.
    filled: [AtomicU64; N],
    /// The producer's ring.
    current: AtomicU64,
}

/// The consumer's position.
#[derive(Default)]
pub(crate) struct Rx {
    ring: usize,
    is_emptied: bool,
}

impl<const BROKEN: bool> Rings<BROKEN> {
    fn take(&self, rx: &mut Rx) -> Option<Ticket> {
        let is_filled = !rx.is_emptied && self.filled[rx.ring].load(Acquire) == 1;
        is_filled.then(|| {
            rx.is_emptied = true;
            self.items[rx.ring].take()
        })
    }
}

impl<const BROKEN: bool> Mechanism for Rings<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = usize;
    type Rx = Rx;

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let items = [(); N].map(|()| Place::empty());
        Self { items, filled: [(); N].map(|()| zero()), current: zero() }
    }

    fn push(&self, ring: &mut usize, item: Ticket) -> Result<(), Ticket> {
        let Some(place) = self.items.get(*ring) else { return Err(item) };
        self.current.store(*ring as u64, Release);
        place.put(item);
        self.filled[*ring].store(1, Release);
        *ring += 1;
        Ok(())
    }

    fn pop(&self, rx: &mut Rx) -> Option<Ticket> {
        if let Some(item) = self.take(rx) {
            return Some(item);
        }
        if self.current.load(Acquire) as usize == rx.ring {
            return None;
        }
        if !BROKEN && let Some(item) = self.take(rx) {
            return Some(item);
        }
        *rx = Rx { ring: rx.ring + 1, is_emptied: false };
        self.take(rx)
    }
}
