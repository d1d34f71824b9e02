//! Deques without blocks: a slot that is used again, an item that moves when the queue grows, a
//! thief that pays for the fence, and a thief that takes half.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release, SeqCst};
use corelane_loom::memory::{AtomicU64, Barrier, fence};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

use crate::Exploration;
use crate::explore::{both, explore};

/// Slots, whose accesses loom checks.
struct Slots<const N: usize>([UnsafeCell<u64>; N]);

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl<const N: usize> Sync for Slots<N> {}

impl<const N: usize> Slots<N> {
    fn new() -> Self {
        Self([(); N].map(|()| UnsafeCell::new(0)))
    }

    /// An item is its slot's number of writes. For loom, to move it out is a write.
    fn use_slot(&self, i: usize) -> u64 {
        // SAFETY: loom has found no concurrent access, otherwise it would have panicked.
        self.0[i].with_mut(|item| unsafe {
            *item += 1;
            *item
        })
    }
}

/// `abp`. Broken: a slot looks free as soon as its item is claimed, though the thief has not read
/// it.
struct Ring<const BROKEN: bool> {
    top: AtomicU64,
    /// Whether the thief has read the item.
    read: AtomicU64,
    slots: Slots<1>,
}

impl<const BROKEN: bool> Ring<BROKEN> {
    fn steal(&self) {
        if self.top.compare_exchange(0, 1, Relaxed, Relaxed).is_ok() {
            self.slots.use_slot(0);
            self.read.store(1, Release);
        }
    }

    fn push(&self) {
        if BROKEN && self.top.load(Acquire) == 1 || self.read.load(Acquire) == 1 {
            self.slots.use_slot(0);
        }
    }
}

/// The owner pushes into the slot from which a thief steals.
pub(crate) fn pushed_during_steal<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let zero = || AtomicU64::new(0);
        let ring = Arc::new(Ring::<BROKEN> { top: zero(), read: zero(), slots: Slots::new() });
        let shared = ring.clone();
        both(move || shared.steal(), || ring.push());
    })
}

/// `abp`, when it grows. Broken: the thief takes its item from the newest buffer.
struct Growing<const BROKEN: bool> {
    top: AtomicU64,
    bottom: AtomicU64,
    newest: AtomicU64,
    /// A buffer each.
    slots: Slots<2>,
}

impl<const BROKEN: bool> Growing<BROKEN> {
    /// Whether the thief gets an item.
    fn steal(&self) -> bool {
        let top = self.top.load(Relaxed);
        fence(SeqCst);
        if self.bottom.load(Acquire) <= top {
            return false;
        }
        let claims = self.top.compare_exchange(top, top + 1, Relaxed, Relaxed).is_ok();
        if claims {
            let newest = self.newest.load(Acquire);
            let buffer = if BROKEN { newest } else { newest.min(top) };
            assert_eq!(self.slots.use_slot(buffer as usize), 2, "the item is there");
        }
        claims
    }

    /// Moves the only item, at position 0, to position 1, which is in the next buffer. Whether it
    /// was there.
    fn grow(&self) -> bool {
        let claims = self.top.compare_exchange(0, 1, Relaxed, Relaxed).is_ok();
        if claims {
            self.slots.use_slot(0);
            self.slots.use_slot(1);
        }
        self.newest.store(1, Release);
        if claims {
            self.bottom.store(2, Release);
        }
        claims
    }
}

/// The queue grows while a thief steals the only item.
pub(crate) fn grown_during_steal<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queue = Arc::new(Growing::<BROKEN> {
            top: AtomicU64::new(0),
            bottom: AtomicU64::new(1),
            newest: AtomicU64::new(0),
            slots: Slots::new(),
        });
        queue.slots.use_slot(0);
        let shared = queue.clone();
        let (is_stolen, is_moved) = both(move || shared.steal(), || queue.grow());
        assert!(is_stolen || is_moved, "one of them claims the item");
    })
}

/// `abp-asymmetric`. Broken: a thief looks at `bottom` before the fence.
struct Asymmetric<const BROKEN: bool> {
    top: AtomicU64,
    bottom: AtomicU64,
    barrier: Barrier,
    slots: Slots<1>,
}

impl<const BROKEN: bool> Asymmetric<BROKEN> {
    /// An owner that meets the thief leaves the item to it, or to the next pop.
    fn pop(&self) {
        self.bottom.store(0, Relaxed);
        self.barrier.light();
        if self.top.load(Relaxed) == 0 {
            self.slots.use_slot(0);
        }
    }

    fn steal(&self) {
        self.top.store(1, Relaxed);
        let before = self.bottom.load(Relaxed);
        let is_ordered = self.barrier.heavy();
        let bottom = if BROKEN { before } else { self.bottom.load(Relaxed) };
        if is_ordered && bottom == 1 {
            self.slots.use_slot(0);
        }
    }
}

/// The owner pops the only item while a thief steals it.
pub(crate) fn popped_during_steal<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queue = Arc::new(Asymmetric::<BROKEN> {
            top: AtomicU64::new(0),
            bottom: AtomicU64::new(1),
            barrier: Barrier::new(),
            slots: Slots::new(),
        });
        let shared = queue.clone();
        both(move || shared.steal(), || queue.pop());
    })
}

/// `tokio-ring`. Broken: a thief moves both halves of the head when it claims.
struct Halves<const BROKEN: bool> {
    /// What is claimed, and in its low half what is read.
    head: AtomicU64,
    slots: Slots<1>,
}

const CLAIMED: u64 = 1 << 32;
const READ: u64 = 1;

impl<const BROKEN: bool> Halves<BROKEN> {
    fn steal(&self) {
        let claimed = if BROKEN { CLAIMED | READ } else { CLAIMED };
        if self.head.compare_exchange(0, claimed, Acquire, Relaxed).is_ok() {
            self.slots.use_slot(0);
            self.head.store(CLAIMED | READ, Release);
        }
    }

    fn push(&self) {
        if self.head.load(Acquire) & READ != 0 {
            self.slots.use_slot(0);
        }
    }
}

/// The owner of a full ring pushes while a thief steals.
pub(crate) fn pushed_before_read<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let ring = Arc::new(Halves::<BROKEN> { head: AtomicU64::new(0), slots: Slots::new() });
        let shared = ring.clone();
        both(move || shared.steal(), || ring.push());
    })
}
