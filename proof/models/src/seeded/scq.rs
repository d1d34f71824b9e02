//! A ring in which threads get positions by fetch-and-add, and then meet at the entry.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Entries of the only lap.
const N: usize = 8;

/// No thread has visited the entry.
const NEW: u64 = 0;
/// The entry has or had an item.
const FILLED: u64 = 1;
/// The consumer with this position found no item, and no producer may fill the entry any more.
const SPOILT: u64 = 2;

/// `scq`. Broken: a consumer that finds no item leaves the entry as it is.
pub(crate) struct Positions<const BROKEN: bool> {
    places: [Place; N],
    entries: [AtomicU64; N],
    head: AtomicU64,
    tail: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for Positions<BROKEN> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let (places, entries) = ([(); N].map(|()| Place::empty()), [(); N].map(|()| zero()));
        Self { places, entries, head: zero(), tail: zero() }
    }

    fn push(&self, (): &mut (), mut item: Ticket) -> Result<(), Ticket> {
        loop {
            let position = self.tail.fetch_add(1, Relaxed) as usize;
            let Some(entry) = self.entries.get(position) else { return Err(item) };
            self.places[position].put(item);
            if entry.compare_exchange(NEW, FILLED, Release, Relaxed).is_ok() {
                return Ok(());
            }
            item = self.places[position].take();
        }
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.head.fetch_add(1, Relaxed) as usize;
        let entry = self.entries.get(position)?;
        let is_filled = match BROKEN {
            true => entry.load(Acquire) == FILLED,
            false => entry.compare_exchange(NEW, SPOILT, Relaxed, Acquire).is_err(),
        };
        is_filled.then(|| self.places[position].take())
    }
}
