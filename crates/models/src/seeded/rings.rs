//! Slots whose positions are given out by adding, reserved before they are filled or not; and a list of nodes.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Slots of the one lap that there is.
const N: usize = 8;

/// Nobody has been here.
const EMPTY: u64 = 0;
/// An item is about to be here.
const RESERVED: u64 = 1;
/// An item is here, or was.
const FULL: u64 = 2;
/// Who would have taken it has gone.
const ABANDONED: u64 = 3;

/// `lprq`. Broken: who has reserved a slot doesn't look whether it has been abandoned.
pub(crate) struct Slots<const BROKEN: bool> {
    places: [Place; N],
    words: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for Slots<BROKEN> {
    const ID: &'static str = "lprq";
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
            let place = &self.places[position];
            if word.compare_exchange(EMPTY, RESERVED, Relaxed, Relaxed).is_err() {
                continue;
            }
            place.put(item);
            if BROKEN {
                word.store(FULL, Release);
                return Ok(());
            }
            if word.compare_exchange(RESERVED, FULL, Release, Relaxed).is_ok() {
                return Ok(());
            }
            item = place.take();
        }
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.head.fetch_add(1, Relaxed) as usize;
        let word = self.words.get(position)?;
        let mut found = word.load(Acquire);
        while found != FULL {
            match word.compare_exchange(found, ABANDONED, Relaxed, Acquire) {
                Ok(_) => return None,
                Err(other) => found = other,
            }
        }
        Some(self.places[position].take())
    }
}

/// `lcrq`. Broken: a position is read and then moved on, in two steps.
pub(crate) struct Positions<const BROKEN: bool> {
    places: [Place; N],
    words: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for Positions<BROKEN> {
    const ID: &'static str = "lcrq";
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
            if word.compare_exchange(EMPTY, FULL, Release, Relaxed).is_ok() {
                return Ok(());
            }
            item = self.places[position].take();
        }
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = match BROKEN {
            true => {
                let position = self.head.load(Relaxed);
                self.head.store(position + 1, Relaxed);
                position
            }
            false => self.head.fetch_add(1, Relaxed),
        } as usize;
        let word = self.words.get(position)?;
        let is_full = word.compare_exchange(EMPTY, ABANDONED, Relaxed, Acquire).is_err();
        is_full.then(|| self.places[position].take())
    }
}

/// `msq`. Broken: takes the item before `head` has been moved on to it.
pub(crate) struct List<const BROKEN: bool> {
    places: [Place; N],
    /// Whether there is a node behind each.
    next: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for List<BROKEN> {
    const ID: &'static str = "msq";
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
