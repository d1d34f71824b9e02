//! Nodes and rings in a pool.

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

/// The free list of `msq-pool` and `lcrq-pool`. Broken: its links have no counts.
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

/// The number of a link's node plus 1, or 0.
fn number_in(link: u64) -> u64 {
    link % COUNT
}

impl<const BROKEN: bool> FreeList<BROKEN> {
    fn take_node(&self) -> Option<u64> {
        let mut first = self.free.load(Acquire);
        while number_in(first) != 0 {
            let next = self.next[number_in(first) as usize - 1].load(Relaxed);
            let count = if BROKEN { 0 } else { first / COUNT + 1 };
            match self.free.compare_exchange(first, count * COUNT + next, Relaxed, Acquire) {
                Ok(_) => return Some(number_in(first)),
                Err(found) => first = found,
            }
        }
        None
    }

    fn give_node(&self, node: u64) {
        let mut first = self.free.load(Relaxed);
        loop {
            self.next[node as usize - 1].store(number_in(first), Relaxed);
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

/// Rings, each for one item.
const RINGS: usize = 3;
/// A name of a ring, and the state of a ring, have above this how often the ring has been free.
const USE: u64 = 64;
/// The bit of a ring's state that says the ring is no longer in the list. Below is how many
/// consumers are in the ring.
const RETIRED: u64 = 32;

#[derive(Default)]
struct Ring {
    /// Whether there is an item.
    is_full: AtomicWord,
    state: AtomicWord,
    /// The name of the next ring plus 1, or 0.
    next: AtomicWord,
    is_free: AtomicWord,
}

/// A number that is 0 at first.
struct AtomicWord(AtomicU64);

impl Default for AtomicWord {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// The list of `lcrq-pool`. Broken: a consumer uses the ring that it has entered, whatever it is.
pub(crate) struct CountedRings<const BROKEN: bool> {
    places: [Place; RINGS],
    rings: [Ring; RINGS],
    head: AtomicU64,
    tail: AtomicU64,
}

fn index(name: u64) -> usize {
    (name % USE) as usize
}

impl<const BROKEN: bool> CountedRings<BROKEN> {
    fn ring(&self, name: u64) -> &Ring {
        &self.rings[index(name)]
    }

    fn leave(&self, name: u64) {
        let Ring { state, is_free, .. } = self.ring(name);
        let left = state.0.fetch_add(u64::MAX, Release) - 1;
        let next = (left / USE + 1) * USE;
        if left % USE == RETIRED && state.0.compare_exchange(left, next, Acquire, Relaxed).is_ok() {
            is_free.0.store(1, Release);
        }
    }

    /// The item of the ring, or whether another ring may have one.
    fn take(&self, name: u64) -> Result<Ticket, bool> {
        let ring = self.ring(name);
        if ring.is_full.0.swap(0, Acquire) == 1 {
            return Ok(self.places[index(name)].take());
        }
        match ring.next.0.load(Acquire) {
            0 => Err(false),
            next => {
                if self.head.compare_exchange(name, next - 1, Release, Relaxed).is_ok() {
                    ring.state.0.fetch_or(RETIRED, Release);
                }
                Err(true)
            }
        }
    }
}

impl<const BROKEN: bool> Mechanism for CountedRings<BROKEN> {
    const CAPACITY: usize = RINGS - 1;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let rings: [Ring; RINGS] = Default::default();
        rings[1..].iter().for_each(|ring| ring.is_free.0.store(1, Relaxed));
        let places = [(); RINGS].map(|()| Place::empty());
        Self { places, rings, head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(free) = self.rings.iter().position(|ring| ring.is_free.0.load(Acquire) == 1)
        else {
            return Err(item);
        };
        let ring = &self.rings[free];
        ring.is_free.0.store(0, Relaxed);
        ring.next.0.store(0, Relaxed);
        self.places[free].put(item);
        ring.is_full.0.store(1, Release);
        let name = ring.state.0.load(Relaxed) / USE * USE + free as u64;
        // There is one producer.
        self.ring(self.tail.load(Relaxed)).next.0.store(name + 1, Release);
        self.tail.store(name, Relaxed);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        loop {
            let name = self.head.load(Acquire);
            let state = self.ring(name).state.0.fetch_add(1, Acquire);
            let is_other = state / USE != name / USE || state & RETIRED != 0;
            if is_other && !BROKEN {
                self.leave(name);
                continue;
            }
            let taken = self.take(name);
            self.leave(name);
            match taken {
                Ok(item) => return Some(item),
                Err(true) => {}
                Err(false) => return None,
            }
        }
    }
}
