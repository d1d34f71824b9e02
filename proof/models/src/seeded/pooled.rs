//! Nodes in a pool.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Nodes.
const NODES: usize = 2;
/// Positions of the only lap.
const N: usize = 8;
/// A count in a link is a multiple of this. Below is the number of a node plus 1, or 0.
const COUNT: u64 = 8;

/// The free list of `msq-pool`, and of the rings of `lcrq-pool`. Broken: its links have no counts.
pub(crate) struct FreeList<const BROKEN: bool> {
    places: [Place; NODES],
    /// The free node behind each node.
    next: [AtomicU64; NODES],
    free: AtomicU64,
    /// The node at each position.
    filled: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> FreeList<BROKEN> {
    fn take_node(&self) -> Option<u64> {
        let mut first = self.free.load(Acquire);
        while first % COUNT != 0 {
            let next = self.next[(first % COUNT - 1) as usize].load(Relaxed);
            let count = if BROKEN { 0 } else { first / COUNT + 1 };
            match self.free.compare_exchange(first, count * COUNT + next, Relaxed, Acquire) {
                Ok(_) => return Some(first % COUNT),
                Err(found) => first = found,
            }
        }
        None
    }

    fn give_node(&self, node: u64) {
        let mut first = self.free.load(Relaxed);
        loop {
            self.next[node as usize - 1].store(first % COUNT, Relaxed);
            let new = first / COUNT * COUNT + node;
            match self.free.compare_exchange(first, new, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }
}

impl<const BROKEN: bool> Mechanism for FreeList<BROKEN> {
    const CAPACITY: usize = NODES;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let number = AtomicU64::new;
        Self {
            places: [(); NODES].map(|()| Place::empty()),
            next: [number(2), number(0)],
            free: number(1),
            filled: [(); N].map(|()| number(0)),
            head: number(0),
            tail: number(0),
        }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(node) = self.take_node() else { return Err(item) };
        self.places[node as usize - 1].put(item);
        let position = self.tail.fetch_add(1, Relaxed) as usize;
        self.filled[position].store(node, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        loop {
            let head = self.head.load(Relaxed);
            let node = self.filled[head as usize].load(Acquire);
            if node == 0 {
                return None;
            }
            if self.head.compare_exchange(head, head + 1, Relaxed, Relaxed).is_ok() {
                let item = self.places[node as usize - 1].take();
                self.give_node(node);
                return Some(item);
            }
        }
    }
}
