//! Two blocks that several producers fill with entries of two granules, once; one granule is left
//! in each.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicU32, AtomicU64};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Granules of a block.
const SIZE: u64 = 3;
/// Granules of an item.
const ITEM: u64 = 2;
/// The mark of an entry that is to be skipped.
const SKIP: u32 = 1 << 31;

/// What is wrong with the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The skipped rest of a block is not counted as filled.
    Uncounted,
    /// A consumer doesn't check whether another consumer was faster.
    TakenTwice,
}

/// `bbq-bytes`. Broken: `BUG` is a [`Bug`]'s number.
pub(crate) struct Records<const BUG: u8>([Block; 2]);

struct Block {
    places: [Place; SIZE as usize],
    entries: [AtomicU32; SIZE as usize],
    allocated: AtomicU64,
    committed: AtomicU64,
    reserved: AtomicU64,
}

impl Block {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            places: [(); SIZE as usize].map(|()| Place::empty()),
            entries: [(); SIZE as usize].map(|()| AtomicU32::new(0)),
            allocated: zero(),
            committed: zero(),
            reserved: zero(),
        }
    }

    fn commit(&self, offset: u64, entry: u32, granules: u64) {
        self.entries[offset as usize].store(entry, Relaxed);
        self.committed.fetch_add(granules, Release);
    }
}

impl<const BUG: u8> Records<BUG> {
    fn has(bug: Bug) -> bool {
        BUG == bug as u8
    }

    /// Reserves the entry behind `reserved`, if there is one and no other consumer was faster.
    /// Returns its granules, and whether it is an item.
    fn reserve(block: &Block, reserved: u64) -> Option<(u64, bool)> {
        let committed = block.committed.load(Acquire);
        let is_gapless = block.allocated.load(Relaxed).min(SIZE) == committed;
        if reserved >= committed || !is_gapless {
            return None;
        }
        let entry = block.entries[reserved as usize].load(Relaxed);
        let n = u64::from(entry & !SKIP);
        let taken = block.reserved.compare_exchange(reserved, reserved + n, Relaxed, Relaxed);
        let is_mine = taken.is_ok() || Self::has(Bug::TakenTwice);
        is_mine.then_some((n, entry & SKIP == 0))
    }
}

impl<const BUG: u8> Mechanism for Records<BUG> {
    const CAPACITY: usize = 2;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        Self([Block::new(), Block::new()])
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        for block in &self.0 {
            let offset = block.allocated.fetch_add(ITEM, Relaxed);
            if offset + ITEM <= SIZE {
                block.places[offset as usize].put(item);
                block.commit(offset, ITEM as u32, ITEM);
                return Ok(());
            }
            if offset < SIZE && !Self::has(Bug::Uncounted) {
                let left = SIZE - offset;
                block.commit(offset, SKIP | left as u32, left);
            }
        }
        Err(item)
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        for block in &self.0 {
            loop {
                let reserved = block.reserved.load(Relaxed);
                if reserved >= SIZE {
                    break;
                }
                if let (_, true) = Self::reserve(block, reserved)? {
                    return Some(block.places[reserved as usize].take());
                }
            }
        }
        None
    }
}
