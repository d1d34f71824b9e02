//! A ring that can be closed. Threads get positions by fetch-and-add (Morrison, Afek 2013, §4.1 and
//! Fig. 3).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Lap, RingSlot};
use crate::memory::{AtomicU64, Ordering, is_before, limit, pause};
use crate::pad::{Padded, spread};

/// The difference between two successive positions.
const STEP: u64 = 2;

/// The bit of `tail` that says the ring is closed.
const CLOSED: u64 = 1;

/// How often a thread tries to put an item into a ring before it closes the ring.
const MOST_TRIES: u64 = limit(10, 1);

/// How often a thread looks for an item that another thread is about to write, before it gives the
/// position up.
const MOST_LOOKS: u64 = limit(100, 1);

/// A ring, wherever its parts are.
#[derive(Debug)]
pub(super) struct Ring<'a, S> {
    /// Behind all positions that pops have got.
    pub(super) head: &'a AtomicU64,
    /// Behind all positions that pushes have got, or that have been left out; and whether the ring
    /// is [`CLOSED`].
    pub(super) tail: &'a AtomicU64,
    /// A power of two.
    pub(super) slots: &'a [S],
}

/// A ring on the heap.
#[derive(Debug)]
pub(super) struct ClosableRing<S> {
    head: Padded<AtomicU64>,
    tail: Padded<AtomicU64>,
    slots: Box<[S]>,
}

impl<S: RingSlot> ClosableRing<S> {
    /// An empty ring of `n` slots, a power of two, if there is memory for it. Positions start at
    /// `first`.
    pub(super) fn new(n: usize, first: u64) -> Option<Self> {
        let first = first_position(n, first);
        let mut slots = Vec::new();
        slots.try_reserve_exact(n).ok()?;
        slots.extend((0..n).map(|_| empty_slot(n, first)));
        let counter = || Padded(AtomicU64::new(first));
        Some(Self { head: counter(), tail: counter(), slots: slots.into_boxed_slice() })
    }

    /// To use it.
    #[inline(always)]
    pub(super) fn ring(&self) -> Ring<'_, S> {
        Ring { head: &self.head, tail: &self.tail, slots: &self.slots }
    }
}

/// The first position of a ring of `n` slots: not behind `first`, and the first one of a lap.
pub(super) fn first_position(n: usize, first: u64) -> u64 {
    first & !(n as u64 * STEP - 1)
}

/// An empty slot of a ring of `n` slots, whose first position is `first`.
pub(super) fn empty_slot<S: RingSlot>(n: usize, first: u64) -> S {
    S::new(Lap::of::<S>(first / STEP, n))
}

impl<S: RingSlot> Ring<'_, S> {
    /// Most slots, a power of two: limited by addresses and lap numbers.
    pub(super) const MOST: usize = {
        let (addresses, laps) = ((isize::MAX as usize / 4 / size_of::<S>()).ilog2(), 40);
        1 << if addresses < laps { addresses } else { laps }
    };

    /// The slot at `position`, and the position's lap.
    #[inline]
    fn at(&self, position: u64) -> (&S, Lap) {
        let (index, n) = (position / STEP, self.slots.len());
        (&self.slots[spread::<S>(index, n)], Lap::of::<S>(index, n))
    }

    /// Appends `item`. Fails if the ring is closed. Closes the ring, and fails, if the ring is full
    /// or too many tries have failed.
    #[inline]
    pub(super) fn push(&self, mut item: S::Item) -> Result<(), S::Item> {
        for _ in 0..MOST_TRIES {
            // Relaxed: the order of the items is that of the positions.
            let position = self.tail.fetch_add(STEP, Ordering::Relaxed);
            if position & CLOSED != 0 {
                return Err(item);
            }
            let (slot, lap) = self.at(position);
            // SAFETY: no other push gets this position, and it is the slot's only position in this
            // lap.
            item = match unsafe { slot.put(lap, item, || self.is_given(position)) } {
                Ok(()) => return Ok(()),
                Err(item) => item,
            };
            let head = self.head.load(Ordering::Relaxed);
            if !is_before(position, head.wrapping_add(self.slots.len() as u64 * STEP)) {
                break;
            }
        }
        self.tail.fetch_or(CLOSED, Ordering::Relaxed);
        Err(item)
    }

    /// Whether a pop has got `position`.
    #[inline]
    fn is_given(&self, position: u64) -> bool {
        is_before(position, self.head.load(Ordering::Relaxed))
    }

    /// Removes the oldest item. `None` if the ring was empty at a moment of the call. If the ring
    /// was closed before the call, it stays empty.
    #[inline]
    pub(super) fn pop(&self) -> Option<S::Item> {
        loop {
            // Acquire ↔ Release of the same addition: what the pops of earlier positions observed.
            let position = self.head.fetch_add(STEP, Ordering::AcqRel);
            let (slot, lap) = self.at(position);
            // SAFETY: no other pop gets this position, and it is the slot's only position in this
            // lap.
            if let Some(item) = unsafe { slot.take(lap) } {
                return Some(item);
            }
            self.wait(position);
            // SAFETY: as above.
            if let Some(item) = unsafe { slot.take_or_give_up(lap) } {
                return Some(item);
            }
            let next = position.wrapping_add(STEP);
            // Relaxed: the value is no older than the value that this thread, or a pop of an
            // earlier position, has observed.
            let tail = self.tail.load(Ordering::Relaxed);
            if !is_before(next, tail & !CLOSED) {
                self.catch_up(tail, next);
                return None;
            }
        }
    }

    /// As [`pop`](Self::pop), from a closed ring. Takes no position if pops have got all positions.
    #[cold]
    pub(super) fn pop_rest(&self) -> Option<S::Item> {
        // Relaxed: the thread that observed the ring closed has observed all its positions, and no
        // push gets more.
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Relaxed) & !CLOSED;
        is_before(head, tail).then(|| self.pop())?
    }

    /// Waits for a limited time for the item, if a push has got `position`.
    #[cold]
    fn wait(&self, position: u64) {
        let (slot, lap) = self.at(position);
        for _ in 0..MOST_LOOKS {
            let tail = self.tail.load(Ordering::Relaxed);
            if tail & CLOSED != 0 || !is_before(position, tail) || !slot.is_open(lap) {
                break;
            }
            pause(1);
        }
    }

    /// Moves `tail` on to `head`, so that pushes need not try the positions between. No push gets
    /// these positions.
    #[cold]
    fn catch_up(&self, mut tail: u64, mut head: u64) {
        while tail & CLOSED == 0 && is_before(tail, head) {
            match self.tail.compare_exchange(tail, head, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return self.leave_out(tail, head),
                Err(found) => tail = found,
            }
            head = self.head.load(Ordering::Relaxed);
        }
    }

    /// Leaves out the positions from `start` to `end`, which this thread has got in place of
    /// pushes.
    fn leave_out(&self, start: u64, end: u64) {
        let positions = (0..end.wrapping_sub(start)).step_by(STEP as usize);
        for (slot, lap) in positions.map(|i| self.at(start.wrapping_add(i))) {
            // SAFETY: no push gets these positions.
            unsafe { slot.leave_out(lap) };
        }
    }

    /// Opens the ring, which is empty, and which no other thread uses. It continues behind all
    /// positions that threads have got. For slots that need no [`RingSlot::leave_out`].
    #[cfg(feature = "literature")]
    pub(super) fn reopen(&self) {
        // Relaxed, all: no other thread uses the ring.
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Relaxed) & !CLOSED;
        let first = if is_before(head, tail) { tail } else { head };
        self.head.store(first, Ordering::Relaxed);
        self.tail.store(first, Ordering::Relaxed);
    }

    /// Number of positions from head to tail, at most all slots. Some may have no item: a push that
    /// fails at a position leaves it out.
    pub(super) fn len(&self) -> usize {
        // Relaxed: a snapshot. `tail` may be the older value.
        let head = self.head.load(Ordering::Relaxed);
        let positions = (self.tail.load(Ordering::Relaxed) & !CLOSED).wrapping_sub(head) / STEP;
        (positions as i64).clamp(0, self.slots.len() as i64) as usize
    }

    /// Whether a slot holds an item. Of a closed ring, `false` is final but for pushes that have not
    /// returned.
    #[cfg(feature = "literature")]
    pub(super) fn has_items(&self) -> bool {
        // Relaxed, both: positions that pops have got meanwhile hold no items any more.
        let mut position = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Relaxed) & !CLOSED;
        while is_before(position, tail) {
            let (slot, lap) = self.at(position);
            if slot.holds(lap) {
                return true;
            }
            position = position.wrapping_add(STEP);
        }
        false
    }

    /// Whether the ring seemed empty at a moment of the call. Takes no position.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Acquire ↔ Release in `pop`, and in the slot likewise: the three loads take effect in this
        // order. So when the slot was read, the slot had no item, pops had got all earlier
        // positions, and no push had got a later position.
        let head = self.head.load(Ordering::Acquire);
        let (slot, lap) = self.at(head);
        let tail = || self.tail.load(Ordering::Relaxed) & !CLOSED;
        !slot.holds(lap) && !is_before(head.wrapping_add(STEP), tail())
    }
}
