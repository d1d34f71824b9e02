//! `abp-asymmetric`: a deque whose owner has no fence. Thieves pay for it, and take up to half of
//! the items at once.
//!
//! A thief first raises `top`, and then compares it with `bottom`. The owner first lowers `bottom`,
//! and then reads `top`: the protocol THE of Cilk-5. Between its two steps the thief runs a fence
//! on all cores of the process, by
//! [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), and the owner needs
//! none. Thieves share a lock. An owner that finds `top` behind its item takes the lock as well,
//! and then knows whether a thief has the item.
//!
#![doc = advice!(literature abp_asymmetric)]
//!
//! | | |
//! |---|---|
//! | guarantee | owner: waits for a thief that is about to take its item, and for thieves when it grows the queue; newest first. Thieves: one at a time, oldest first |
//! | capacity | n, rounded up to a power of two; less while a thief is between claiming and reading. Or [`unbounded`] |
//! | misses per item | owner: 0, and one for each stolen item that it notices when the ring has gone round. Thief: those of the item and of its slot's word; for each steal some microseconds, and those of the lock, of `top` and of `bottom` |
//! | paper | M. Frigo, C. E. Leiserson, K. H. Randall: *The Implementation of the Cilk-5 Multithreaded Language* (PLDI 1998), §5; the fence and the half are additions |
//!
//! ```
//! use corelane::steal::chase_lev::asymmetric;
//!
//! let mut worker = asymmetric::queue(100)?;
//! for task in 0..8 {
//!     worker.try_push(task)?;
//! }
//! let thief = worker.stealer();
//! assert!(thief.try_steal_some(100)?.eq(0..4));
//! assert_eq!(worker.try_pop(), Ok(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What differs from the paper
//!
//! - Thieves take up to half of the items, not one. A thief that meets the owner takes none, and
//!   says `Busy`.
//! - The system may refuse the thief's fence. Then the thief lowers `top` again, and says `Busy`.
//! - Where there is no `membarrier`, both have a fence.
//! - Slots, buffers and positions are those of [`chase_lev`](super): a thief reads its items after
//!   it has claimed them, and the owner grows the queue under the lock.

use core::fmt;

use super::buffers::{Buffer, Buffers, Here, first};
use crate::memory::{AtomicU64, Barrier, Mutex, Ordering, is_before, without_unwinding};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, Info, Memory, Sides, TryPopError, TryPushError};
use crate::region::{End, NoSlots, State, ends};
use crate::steal;
use crate::unwind::drop_each;

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "abp-asymmetric",
    name: "deque with the fence at the thief",
    paper: "Frigo 1998, §5",
    sides: Sides::OneToMany,
    guarantee: "blocking; owner LIFO, thieves FIFO",
    choose: advice!(choose abp_asymmetric),
    avoid: advice!(avoid abp_asymmetric),
    ..Info::RING
};

/// A queue for `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<Worker<T>, CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options. The items are always on the heap.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<Worker<T>, CapacityError> {
    make(config, false)
}

/// A queue that grows when `first_capacity` items don't suffice. It is full only if there is no
/// memory.
///
/// # Errors
///
/// As [`queue`].
pub fn unbounded<T: Send>(first_capacity: usize) -> Result<Worker<T>, CapacityError> {
    unbounded_with(Config::new(first_capacity))
}

/// As [`unbounded`], with all options. The items are always on the heap.
///
/// # Errors
///
/// As [`queue`].
pub fn unbounded_with<T: Send>(config: Config) -> Result<Worker<T>, CapacityError> {
    make(config, true)
}

fn make<T>(config: Config, grows: bool) -> Result<Worker<T>, CapacityError> {
    let buffer = first::<Header<T>>(config)?;
    let (here, barrier) = (Here::new(&buffer), Barrier::new());
    let counter = || AtomicU64::new(config.first);
    let thieves = Padded(Thieves { top: counter(), right: Mutex::new(()) });
    let (bottom, buffers) = (Padded(counter()), Padded(Buffers::new(buffer)));
    let (end, thieves) =
        ends(Memory::Heap, (), Header { bottom, thieves, buffers, grows, barrier })?;
    Ok(Worker { here, barrier, end, thieves })
}

/// What the owner and its thieves share.
struct Header<T> {
    /// The position behind the newest item, or before an item that the owner is about to pop.
    /// Written by the owner.
    bottom: Padded<AtomicU64>,
    thieves: Padded<Thieves>,
    /// Written by the owner when it grows the queue.
    buffers: Padded<Buffers<T>>,
    grows: bool,
    barrier: Barrier,
}

/// Written by thieves, and by the owner when it grows the queue.
struct Thieves {
    /// The position of the oldest item, or behind those that a thief is about to claim.
    top: AtomicU64,
    /// The right to change `top`.
    right: Mutex<()>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        let (top, bottom) = (self.top(), self.bottom.load(Ordering::Relaxed));
        self.buffers.newest().drop_items(top, bottom);
    }
}

impl<T> Header<T> {
    /// Relaxed: callers that need an order have the lock, or a fence.
    fn top(&self) -> u64 {
        self.thieves.top.load(Ordering::Relaxed)
    }

    /// Relaxed: the owner finds it by the fences, others by the lock.
    fn set_top(&self, top: u64) {
        self.thieves.top.store(top, Ordering::Relaxed);
    }

    /// The owner, which has lowered `bottom` to `position` and has found that a thief has the item
    /// or is about to claim it: whether the owner has it.
    fn settle(&self, position: u64) -> bool {
        let _right = self.thieves.right.lock();
        let is_own = !is_before(position, self.top());
        if !is_own {
            // Relaxed: it publishes no item.
            self.bottom.store(position.wrapping_add(1), Ordering::Relaxed);
        }
        is_own
    }

    /// A thief: claims up to `most` of the oldest items, but no more than half.
    fn claim(&self, most: usize, closed: bool) -> Result<Claim, TryPopError> {
        let _right = self.thieves.right.lock();
        let from = self.top();
        let there = self.bottom.load(Ordering::Relaxed).wrapping_sub(from);
        if there as i64 <= 0 {
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        let n = there.div_ceil(2).min(most as u64);
        let to = from.wrapping_add(n);
        self.set_top(to);
        // From here on the owner finds `top` at its next pop. The fence makes its pops before that
        // visible.
        let is_ordered = closed || self.barrier.heavy();
        // Acquire ↔ Release in `try_push` and `try_pop`: the items before `bottom`.
        let bottom = self.bottom.load(Ordering::Acquire);
        if is_ordered && !is_before(bottom, to) {
            return Ok(Claim { from, n });
        }
        self.set_top(from);
        Err(TryPopError::Busy)
    }

    /// The owner: makes room at `bottom`. `None` if there is none.
    fn make_room(&self, here: Here<T>, bottom: u64) -> Option<Here<T>> {
        let buffer = self.buffers.newest();
        here.with_room(buffer, bottom)
            .or_else(|| if self.grows { self.grow(buffer, bottom) } else { None })
    }

    fn grow(&self, old: &Buffer<T>, bottom: u64) -> Option<Here<T>> {
        let new = Buffer::new(bottom, old.len().checked_mul(2)?)?;
        let _right = self.thieves.right.lock();
        let top = self.top();
        self.set_top(bottom);
        // SAFETY: the owner has all items, as long as it has the lock.
        unsafe { old.move_to(&new, top, bottom) };
        let here = Here::new(&new);
        self.buffers.add(new);
        // Relaxed: thieves find it by the lock.
        self.bottom.store(bottom.wrapping_add(bottom.wrapping_sub(top)), Ordering::Relaxed);
        Some(here)
    }
}

/// Items that a thief has claimed.
struct Claim {
    from: u64,
    n: u64,
}

/// The owner's handle.
#[repr(align(128))]
pub struct Worker<T> {
    here: Here<T>,
    barrier: Barrier,
    end: End<Header<T>>,
    thieves: End<Header<T>>,
}

// SAFETY: what it points to belongs to its queue, as in its ends.
unsafe impl<T: Send> Send for Worker<T> {}

impl<T> Worker<T> {
    /// Pushes an item.
    ///
    /// # Errors
    ///
    /// `Full` if there is no room. The error has the item.
    #[inline(always)] // a call would cost more than the push or pop itself
    pub fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        // Relaxed: no other thread writes it.
        let mut bottom = self.end.header().bottom.load(Ordering::Relaxed);
        if bottom == self.here.limit {
            let (here, header) = (self.here.clone(), self.end.header());
            match without_unwinding(move || header.make_room(here, bottom)) {
                Some(here) => self.here = here,
                None => return Err(TryPushError::Full(item)),
            }
            // The owner has perhaps given the items new positions.
            bottom = self.end.header().bottom.load(Ordering::Relaxed);
        }
        // SAFETY: the slot is behind the newest item, and before the limit: its last item is out of
        // it.
        unsafe { self.here.cells.write(bottom, item) };
        // Release ↔ Acquire in `claim`: the item.
        self.end.header().bottom.store(bottom.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Pops the newest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        let header = self.end.header();
        // Relaxed: no other thread writes it.
        let position = header.bottom.load(Ordering::Relaxed).wrapping_sub(1);
        // Release ↔ Acquire in `claim`: the items below.
        header.bottom.store(position, Ordering::Release);
        // ↔ the heavy fence in `claim`: either the thief finds `bottom` lowered, or this thread
        // finds `top` raised.
        self.barrier.light();
        if is_before(position, header.top()) && !without_unwinding(move || header.settle(position))
        {
            return Err(TryPopError::Empty);
        }
        // SAFETY: the item is the owner's. A thief that raises `top` behind it from now on finds
        // `bottom` lowered.
        Ok(unsafe { self.here.cells.read(position) })
    }

    /// A handle for a thief.
    ///
    /// # Panics
    ///
    /// If there are 65,536 already.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer { end: self.thieves.duplicate() }
    }

    /// Items that fit.
    pub fn capacity(&self) -> usize {
        let header = self.end.header();
        if header.grows { usize::MAX } else { header.buffers.newest().len() }
    }
}

/// A thief's handle.
pub struct Stealer<T> {
    end: End<Header<T>>,
}

// SAFETY: a thief has nothing of its own: what it changes is of all thieves, by atomic steps or
// with the lock.
unsafe impl<T: Send> Sync for Stealer<T> {}

impl<T> Stealer<T> {
    /// Steals the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none, or another thief is about to claim it; `Busy` if the owner was
    /// faster, or the system has refused the fence; `Closed` if there is none and the owner is
    /// gone.
    pub fn try_steal(&self) -> Result<T, TryPopError> {
        steal::Stealer::try_steal(self)
    }

    /// Steals up to `most`, at least one, of the oldest items, all at once, but no more than half.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal).
    pub fn try_steal_some(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let closed = self.end.peer_is_gone();
        let header = self.end.header();
        if !closed && self.is_empty() {
            // A thief that finds nothing doesn't take the lock from an owner that needs it.
            return Err(TryPopError::Empty);
        }
        let Claim { from, n } = header.claim(most.max(1), closed)?;
        // The first item's buffer is that of all: the owner moves all items at once.
        Ok(Loot { buffer: header.buffers.of(from), next: from, left: n as usize })
    }

    /// Whether there was nothing to steal. A thief that is about to claim items may hide them.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that could be stolen. Concurrent calls of the owner and of thieves may or may not
    /// count.
    pub fn len(&self) -> usize {
        let header = self.end.header();
        // Relaxed: the caller has the fence, if it needs one.
        let (top, bottom) = (header.top(), header.bottom.load(Ordering::Relaxed));
        if is_before(top, bottom) { bottom.wrapping_sub(top) as usize } else { 0 }
    }
}

/// Items that a thief has taken. Those that it doesn't read are dropped with this.
///
/// The slot of an item is in use until the item is read: collect the items before they are run. If
/// this is forgotten, the owner never uses the slots again. Then a bounded queue is full for ever,
/// and an unbounded queue grows when the owner comes to these slots.
pub struct Loot<'a, T> {
    buffer: &'a Buffer<T>,
    next: u64,
    left: usize,
}

impl<T> Iterator for Loot<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let position = self.next;
        self.next = position.wrapping_add(1);
        // SAFETY: the thread has claimed the item, and has not read it yet.
        Some(unsafe { self.buffer.take(position) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Loot<'_, T> {}

impl<T> Drop for Loot<'_, T> {
    fn drop(&mut self) {
        drop_each(|| self.next());
    }
}

steal::handles! { 'a, Loot<'a, T>: }

impl<T> fmt::Debug for Loot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loot").field("left", &self.left).finish_non_exhaustive()
    }
}
