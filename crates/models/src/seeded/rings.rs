//! Slots that are reserved before they are filled.

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
