//! A block that several producers fill and several consumers empty, once.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Slots of the block.
const N: usize = 4;

/// The bug of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A count of n items is taken for the first n slots, although one of these may still be empty.
    Gaps,
    /// Items are counted without being published.
    Relaxed,
    /// Two consumers may take the same slot.
    Shared,
}

/// `bbq`, `bbq-mpsc` and `bbq-spmc`. Broken: `BUG` is a [`Bug`]'s number.
pub(crate) struct Block<const BUG: u8> {
    places: [Place; N],
    allocated: AtomicU64,
    committed: AtomicU64,
    reserved: AtomicU64,
}

impl<const BUG: u8> Block<BUG> {
    fn has(bug: Bug) -> bool {
        BUG == bug as u8
    }

    /// Takes slot number `reserved`, if no other consumer has taken it.
    fn reserve(&self, reserved: u64) -> bool {
        if Self::has(Bug::Shared) {
            self.reserved.store(reserved + 1, Relaxed);
            return true;
        }
        self.reserved.compare_exchange(reserved, reserved + 1, Relaxed, Relaxed).is_ok()
    }
}

impl<const BUG: u8> Mechanism for Block<BUG> {
    const CAPACITY: usize = N;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let places = [(); N].map(|()| Place::empty());
        Self { places, allocated: zero(), committed: zero(), reserved: zero() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let offset = self.allocated.fetch_add(1, Relaxed) as usize;
        let Some(place) = self.places.get(offset) else { return Err(item) };
        place.put(item);
        self.committed.fetch_add(1, if Self::has(Bug::Relaxed) { Relaxed } else { Release });
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        loop {
            let reserved = self.reserved.load(Relaxed);
            let committed = self.committed.load(Acquire);
            let is_gapless = || self.allocated.load(Relaxed) == committed;
            if reserved >= committed || !(Self::has(Bug::Gaps) || is_gapless()) {
                return None;
            }
            if self.reserve(reserved) {
                return Some(self.places[reserved as usize].take());
            }
        }
    }
}

/// Slots of the block of [`Laps`].
const SLOTS: u64 = 2;

/// `faaq`: one block, which a producer fills again and again, and consumers empty. Broken:
/// consumers of a full block add to the position that they compare and swap in others. A late
/// addition takes an empty slot of the next lap.
pub(crate) struct Laps<const BROKEN: bool> {
    places: [Place; SLOTS as usize],
    committed: AtomicU64,
    /// The lap, and the offset in the lower 32 bits.
    reserved: AtomicU64,
    consumed: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for Laps<BROKEN> {
    const CAPACITY: usize = SLOTS as usize;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let places = [(); SLOTS as usize].map(|()| Place::empty());
        Self { places, committed: zero(), reserved: zero(), consumed: zero() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let committed = self.committed.load(Relaxed);
        if self.consumed.load(Acquire) < committed / SLOTS * SLOTS {
            return Err(item);
        }
        self.places[(committed % SLOTS) as usize].put(item);
        self.committed.store(committed + 1, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let exchange = |old, new| self.reserved.compare_exchange(old, new, Relaxed, Relaxed);
        loop {
            let reserved = self.reserved.load(Relaxed);
            let (lap, offset) = (reserved >> 32, reserved & u64::from(u32::MAX));
            let filled = self.committed.load(Acquire).saturating_sub(lap * SLOTS);
            if offset >= SLOTS && filled > SLOTS {
                let _ = exchange(reserved, (lap + 1) << 32);
            } else if offset >= filled.min(SLOTS) {
                return None;
            } else {
                let taken = match filled >= SLOTS && BROKEN {
                    true => Ok(self.reserved.fetch_add(1, Relaxed)),
                    false => exchange(reserved, reserved + 1),
                };
                if let Ok(offset) = taken.map(|reserved| reserved & u64::from(u32::MAX))
                    && offset < SLOTS
                {
                    let item = self.places[offset as usize].take();
                    self.consumed.fetch_add(1, Release);
                    return Some(item);
                }
            }
        }
    }
}
