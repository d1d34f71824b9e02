//! Slots that are filled once in a lap, and segments of such slots.

use core::mem::MaybeUninit;

use crate::memory::{AtomicU64, Ordering, UnsafeCell, empty_cell};

/// No item yet.
const FREE: u64 = 0;
/// A producer writes the item.
const WRITING: u64 = 1;
/// The item is there.
const FULL: u64 = 2;
/// A consumer takes the item.
const TAKING: u64 = 3;

/// A slot. Its word is the number of a lap and one of the states above, and only grows.
pub(super) struct Slot<T> {
    word: AtomicU64,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot moves its item from one thread to another, which `T: Send` allows. Only one thread
// has the item: the thread that has made the word writing, or taking.
unsafe impl<T: Send> Send for Slot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Slot<T> {}

/// The word of a slot in a lap. Laps have 62 bits, and may wrap.
#[inline]
fn word(lap: u64, state: u64) -> u64 {
    lap << 2 | state
}

impl<T> Slot<T> {
    /// Makes a slot that is free in `lap`.
    ///
    /// # Safety
    ///
    /// The place may be written.
    pub(super) unsafe fn init(place: *mut Self, lap: u64) {
        // SAFETY: the caller's contract.
        unsafe {
            (&raw mut (*place).word).write(AtomicU64::new(word(lap, FREE)));
            empty_cell(&raw mut (*place).item);
        }
    }

    fn word(&self) -> u64 {
        // Acquire ↔ Release of all changes: the thread that made a change knows what it knew of
        // other slots. A slot that is free: its last item has been moved out.
        self.word.load(Ordering::Acquire)
    }

    /// Changes the state within `lap`. Returns whether it was `from`.
    #[inline]
    fn change(&self, lap: u64, from: u64, to: u64) -> bool {
        let (from, to) = (word(lap, from), word(lap, to));
        // Acquire ↔ Release in `fill`: the item. Acquire ↔ Release in `take`: the last item has
        // been moved out. Release ↔ Acquire in `word`, as there.
        self.word.load(Ordering::Relaxed) == from
            && self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Makes a free slot the caller's to fill. Returns whether it was free.
    #[inline]
    pub(super) fn reserve(&self, lap: u64) -> bool {
        self.change(lap, FREE, WRITING)
    }

    /// Fills the slot.
    ///
    /// # Safety
    ///
    /// The caller has reserved the slot in this lap.
    #[inline]
    pub(super) unsafe fn fill(&self, lap: u64, item: T) {
        // SAFETY: the slot is this thread's, and empty.
        self.item.with_mut(|place| unsafe { (*place).write(item) });
        // Release ↔ Acquire in `change`: the item.
        self.word.store(word(lap, FULL), Ordering::Release);
    }

    /// Makes a full slot the caller's to empty. Returns whether it was full.
    #[inline]
    pub(super) fn claim(&self, lap: u64) -> bool {
        self.change(lap, FULL, TAKING)
    }

    /// Moves the item out. The slot is free in the lap `next`.
    ///
    /// # Safety
    ///
    /// The caller has claimed the slot in this lap.
    #[inline]
    pub(super) unsafe fn take(&self, next: u64) -> T {
        // SAFETY: the slot is this thread's, and full.
        let item = self.item.with_mut(|place| unsafe { (*place).assume_init_read() });
        // Release ↔ Acquire in `change`: the item has been moved out.
        self.word.store(word(next, FREE), Ordering::Release);
        item
    }

    /// Moves the item out, if there is one.
    ///
    /// # Safety
    ///
    /// No thread uses the queue any more, and the item is taken once.
    pub(super) unsafe fn take_last(&self) -> Option<T> {
        // Relaxed: the drop of the handles orders their accesses before this one.
        let is_full = self.word.load(Ordering::Relaxed) & TAKING == FULL;
        // SAFETY: a full slot has an item. No other thread is left.
        is_full.then(|| self.item.with_mut(|place| unsafe { (*place).assume_init_read() }))
    }
}

/// What a thread has seen in the slots of a segment, one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Slots with items.
    pub(super) full: usize,
    /// Slots into which producers write.
    pub(super) writing: usize,
    /// Free slots, and slots whose consumers of an earlier lap are not done.
    pub(super) open: usize,
    /// Of these, the latter.
    pub(super) late: usize,
    /// All words, which only grow: two looks with the same sum have seen the same words.
    sum: u64,
}

impl Look {
    /// Whether each slot has been filled and claimed.
    pub(super) fn is_used_up(self) -> bool {
        self.full + self.writing + self.open == 0
    }
}

/// Looks at a segment in `lap`.
pub(super) fn look<T>(segment: &[Slot<T>], lap: u64) -> Look {
    let mut look = Look::default();
    for slot in segment {
        let seen = slot.word();
        look.sum = look.sum.wrapping_add(seen);
        let is_late = (seen.wrapping_sub(word(lap, FREE)) as i64) < 0;
        match seen.wrapping_sub(word(lap, FREE)) {
            FREE => look.open += 1,
            WRITING => look.writing += 1,
            FULL => look.full += 1,
            _ if is_late => (look.open, look.late) = (look.open + 1, look.late + 1),
            _ => {}
        }
    }
    look
}

/// The place of a slot for which `is_it` says yes, from place `first` on. The number of slots is a
/// power of two.
#[inline]
pub(super) fn find<T>(
    slots: &[Slot<T>],
    first: usize,
    is_it: impl Fn(&Slot<T>) -> bool,
) -> Option<usize> {
    let mask = slots.len() - 1;
    (first..first + slots.len()).map(|i| i & mask).find(|&place| is_it(&slots[place]))
}
