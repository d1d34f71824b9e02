//! A ring in which threads get positions by adding to a counter, and which can be closed (Morrison, Afek 2013, §4.1 and
//! Fig. 3).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Lap, RingSlot};
use crate::memory::{AtomicU64, Ordering, is_before, limit, pause};
use crate::pad::{Padded, spread};

/// From one position to the next.
const STEP: u64 = 2;

/// Whether `tail` is that of a closed ring.
const CLOSED: u64 = 1;

/// How often a thread tries to put an item into a ring before it closes the ring.
const MOST_TRIES: u64 = limit(10, 1);

/// How often a thread looks for the item that another thread is about to write before it gives the position up.
const MOST_LOOKS: u64 = limit(100, 1);

/// A ring of slots.
#[derive(Debug)]
pub(super) struct ClosableRing<S> {
    /// Behind all positions at which an item was looked for.
    head: Padded<AtomicU64>,
    /// Behind all positions at which an item was put, or was to be; and whether it is [`CLOSED`].
    tail: Padded<AtomicU64>,
    slots: Box<[S]>,
}

impl<S: RingSlot> ClosableRing<S> {
    /// Most slots, a power of two: there are addresses and lap numbers for so many.
    pub(super) const MOST: usize = {
        let (addresses, laps) = ((isize::MAX as usize / 4 / size_of::<S>()).ilog2(), 40);
        1 << if addresses < laps { addresses } else { laps }
    };

    /// An empty one of `n` slots, a power of two, if there is memory for it. Positions start at `first`.
    pub(super) fn new(n: usize, first: u64) -> Option<Self> {
        let all = n as u64 * STEP;
        let first = first & !(all - 1);
        let mut slots = Vec::new();
        slots.try_reserve_exact(n).ok()?;
        slots.extend((0..n).map(|_| S::new(Lap::of::<S>(first / STEP, n))));
        let counter = || Padded(AtomicU64::new(first));
        Some(Self { head: counter(), tail: counter(), slots: slots.into_boxed_slice() })
    }

    /// The slot at `position`, and the lap.
    #[inline]
    fn at(&self, position: u64) -> (&S, Lap) {
        let (index, n) = (position / STEP, self.slots.len());
        (&self.slots[spread::<S>(index, n)], Lap::of::<S>(index, n))
    }

    /// Appends `item`, unless the ring is closed or must be: then it is, and there are no more positions for items.
    #[inline]
    pub(super) fn push(&self, mut item: S::Item) -> Result<(), S::Item> {
        for _ in 0..MOST_TRIES {
            // Relaxed: the order of the items is that of the positions.
            let position = self.tail.fetch_add(STEP, Ordering::Relaxed);
            if position & CLOSED != 0 {
                return Err(item);
            }
            let (slot, lap) = self.at(position);
            // SAFETY: no other push gets this position, and it is the slot's only one in this lap.
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

    /// Removes the oldest item. `None` if there was none at a moment of the call; that is final if the ring was closed
    /// before.
    #[inline]
    pub(super) fn pop(&self) -> Option<S::Item> {
        loop {
            // Acquire ↔ Release here: a pop that finds nothing sees what the pops of earlier positions saw.
            let position = self.head.fetch_add(STEP, Ordering::AcqRel);
            let (slot, lap) = self.at(position);
            // SAFETY: no other pop gets this position, and it is the slot's only one in this lap.
            if let Some(item) = unsafe { slot.take(lap) } {
                return Some(item);
            }
            self.wait(position);
            // SAFETY: as above.
            if let Some(item) = unsafe { slot.take_or_give_up(lap) } {
                return Some(item);
            }
            let next = position.wrapping_add(STEP);
            // Relaxed: no older than what this thread, or a pop of an earlier position, knew.
            let tail = self.tail.load(Ordering::Relaxed);
            if !is_before(next, tail & !CLOSED) {
                self.catch_up(tail, next);
                return None;
            }
        }
    }

    /// As [`pop`](Self::pop), of a ring that is closed. Takes no position if all are taken.
    #[cold]
    pub(super) fn pop_rest(&self) -> Option<S::Item> {
        // Relaxed: positions in use have been seen when the ring was seen to be closed, and there won't be more.
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Relaxed) & !CLOSED;
        is_before(head, tail).then(|| self.pop())?
    }

    /// Waits a while for the item, if a push has got `position`.
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

    /// Moves `tail` on to `head`, so that pushes need not try each position in between. No push gets these.
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

    /// Puts nothing at the positions from `start` to `end`, which this thread has taken in place of pushes.
    fn leave_out(&self, start: u64, end: u64) {
        let positions = (0..end.wrapping_sub(start)).step_by(STEP as usize);
        for (slot, lap) in positions.map(|i| self.at(start.wrapping_add(i))) {
            // SAFETY: no push gets these positions.
            unsafe { slot.leave_out(lap) };
        }
    }

    /// Number of positions from head to tail, at most all slots. Some may have no item: a push that fails at a position
    /// leaves it out.
    pub(super) fn len(&self) -> usize {
        // Relaxed: a snapshot. `tail` may be the older value.
        let head = self.head.load(Ordering::Relaxed);
        let positions = (self.tail.load(Ordering::Relaxed) & !CLOSED).wrapping_sub(head) / STEP;
        (positions as i64).clamp(0, self.slots.len() as i64) as usize
    }

    /// Whether there was no item at a moment of the call, as far as can be seen without taking a position.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // Acquire, here and in the slot: what is looked at next was there later. So there was nothing at `head` when
        // nothing had been put behind it, and nothing before, whatever the others have done since.
        let head = self.head.load(Ordering::Acquire);
        let (slot, lap) = self.at(head);
        let tail = || self.tail.load(Ordering::Relaxed) & !CLOSED;
        !slot.holds(lap) && !is_before(head.wrapping_add(STEP), tail())
    }
}
