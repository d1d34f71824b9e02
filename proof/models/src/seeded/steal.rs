//! A block that the owner takes over from a thief, and uses again; an item of the owner's block
//! that a thief seizes.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicU64, Barrier};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

use crate::Exploration;
use crate::explore::{both, explore};

/// `bwos`. Broken: a block of which thieves have taken all looks finished, though one of them is
/// still reading.
struct Block<const BROKEN: bool> {
    /// How many of the slots, here one, have been taken.
    index: AtomicU64,
    /// How many thieves have read.
    read: AtomicU64,
    slot: UnsafeCell<u64>,
}

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl<const BROKEN: bool> Sync for Block<BROKEN> {}

impl<const BROKEN: bool> Block<BROKEN> {
    fn take(&self) -> bool {
        self.index.compare_exchange(0, 1, Relaxed, Relaxed).is_ok()
    }

    /// The thief's part: the item, if the thief gets it.
    fn steal(&self) -> Option<u64> {
        // SAFETY: loom has found no concurrent access, otherwise it would have panicked.
        let item = self.take().then(|| self.slot.with(|item| unsafe { *item }))?;
        self.read.fetch_add(1, Release);
        Some(item)
    }

    /// The owner's part: takes the item itself, or puts the next one into the slot.
    fn take_over(&self) -> Option<u64> {
        // SAFETY: as in `steal`.
        let own = self.take().then(|| self.slot.with(|item| unsafe { *item }));
        if own.is_none() && (BROKEN || self.read.load(Acquire) == 1) {
            // SAFETY: as in `steal`.
            self.slot.with_mut(|item| unsafe { *item = 2 });
        }
        own
    }
}

/// The owner takes the block over while a thief steals.
pub(crate) fn takeover_during_steal<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let zero = || AtomicU64::new(0);
        let block =
            Arc::new(Block::<BROKEN> { index: zero(), read: zero(), slot: UnsafeCell::new(1) });
        let shared = block.clone();
        let (stolen, own) = both(move || shared.steal(), || block.take_over());
        assert!(stolen.xor(own) == Some(1), "one of them gets the item");
    })
}

/// `bwos`. Broken: a thief looks how far the owner is, and then marks the block.
struct OwnBlock<const BROKEN: bool> {
    /// How many items the owner has popped, of one.
    head: AtomicU64,
    word: AtomicU64,
    barrier: Barrier,
    slot: UnsafeCell<u64>,
}

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl<const BROKEN: bool> Sync for OwnBlock<BROKEN> {}

const OWNED: u64 = 0;
const SEIZED: u64 = 1;
const TAKEN: u64 = 2;

impl<const BROKEN: bool> OwnBlock<BROKEN> {
    fn exchange(&self, from: u64, to: u64) -> bool {
        self.word.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
    }

    /// The owner's part: whether it gets the item.
    fn pop(&self) -> bool {
        self.head.store(1, Relaxed);
        self.barrier.light();
        let gets = match self.word.load(Relaxed) {
            SEIZED => self.exchange(SEIZED, OWNED) || self.word.load(Relaxed) == OWNED,
            word => word == OWNED,
        };
        self.use_if(gets)
    }

    /// The thief's part: whether it gets the item.
    fn seize(&self) -> bool {
        let before = self.head.load(Relaxed);
        if !self.exchange(OWNED, SEIZED) {
            return false;
        }
        self.barrier.heavy();
        let head = if BROKEN { before } else { self.head.load(Relaxed) };
        let gets = match head {
            0 => self.exchange(SEIZED, TAKEN),
            _ => {
                self.exchange(SEIZED, OWNED);
                false
            }
        };
        self.use_if(gets)
    }

    fn use_if(&self, gets: bool) -> bool {
        if gets {
            // SAFETY: loom has found no concurrent access, otherwise it would have panicked.
            self.slot.with_mut(|item| unsafe { *item += 1 });
        }
        gets
    }
}

/// A thief seizes the item while the owner pops it.
pub(crate) fn seized_while_popped<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let zero = || AtomicU64::new(0);
        let block = Arc::new(OwnBlock::<BROKEN> {
            head: zero(),
            word: zero(),
            barrier: Barrier::new(),
            slot: UnsafeCell::new(0),
        });
        let shared = block.clone();
        let (seized, popped) = both(move || shared.seize(), || block.pop());
        assert!(seized != popped, "one of them gets the item");
    })
}
