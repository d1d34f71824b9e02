//! Slots whose positions threads get by fetch-and-add, and a list of nodes.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Slots of the only lap.
const N: usize = 8;

/// No consumer has visited the slot, and no item is published.
const EMPTY: u64 = 0;
/// The slot has or had an item.
const FULL: u64 = 1;
/// The consumer with this position has given the slot up.
const GIVEN_UP: u64 = 2;

/// The bug of the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A push doesn't check whether the consumer has given the slot up.
    ShownTooLate,
    /// A position is read and then advanced, in two steps.
    TwoSteps,
}

/// `lprq` and `lcrq`. Broken: `BUG` is a [`Bug`]'s number.
pub(crate) struct Meetings<const BUG: u8> {
    places: [Place; N],
    words: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BUG: u8> Meetings<BUG> {
    fn has(bug: Bug) -> bool {
        BUG == bug as u8
    }

    /// Publishes the item in a slot, unless the slot has been given up.
    fn show(word: &AtomicU64) -> bool {
        if Self::has(Bug::ShownTooLate) {
            word.store(FULL, Release);
            return true;
        }
        word.compare_exchange(EMPTY, FULL, Release, Relaxed).is_ok()
    }

    /// The next position to pop from.
    fn position(&self) -> usize {
        let position = match Self::has(Bug::TwoSteps) {
            true => {
                let position = self.head.load(Relaxed);
                self.head.store(position + 1, Relaxed);
                position
            }
            false => self.head.fetch_add(1, Relaxed),
        };
        position as usize
    }
}

impl<const BUG: u8> Mechanism for Meetings<BUG> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let (places, words) = ([(); N].map(|()| Place::empty()), [(); N].map(|()| zero()));
        Self { places, words, head: zero(), tail: zero() }
    }

    fn push(&self, (): &mut (), mut item: Ticket) -> Result<(), Ticket> {
        loop {
            let position = self.tail.fetch_add(1, Relaxed) as usize;
            let Some(word) = self.words.get(position) else { return Err(item) };
            self.places[position].put(item);
            if Self::show(word) {
                return Ok(());
            }
            item = self.places[position].take();
        }
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.position();
        let word = self.words.get(position)?;
        let is_full = word.compare_exchange(EMPTY, GIVEN_UP, Relaxed, Acquire).is_err();
        is_full.then(|| self.places[position].take())
    }
}

/// `msq`. Broken: takes a node's item before `head` has been moved to the node.
pub(crate) struct List<const BROKEN: bool> {
    places: [Place; N],
    /// Whether each node has a next node.
    next: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for List<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let (places, next) = ([(); N].map(|()| Place::empty()), [(); N].map(|()| zero()));
        Self { places, next, head: zero(), tail: zero() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let tail = self.tail.fetch_add(1, Relaxed) as usize;
        let Some(next) = self.next.get(tail) else { return Err(item) };
        self.places[tail].put(item);
        next.store(1, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        loop {
            let head = self.head.load(Relaxed);
            let place = head as usize;
            if self.next.get(place)?.load(Acquire) == 0 {
                return None;
            }
            let early = BROKEN.then(|| self.places[place].take());
            let moved = self.head.compare_exchange(head, head + 1, Relaxed, Relaxed);
            if let Some(item) = early {
                return Some(item);
            }
            if moved.is_ok() {
                return Some(self.places[place].take());
            }
        }
    }
}
