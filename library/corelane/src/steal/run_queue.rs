//! `tokio-ring`: a ring of which a thief takes half. The owner takes the oldest item, and thieves
//! the oldest, too.
//!
//! One word has two positions. The first is that of the oldest item, which the owner and thieves
//! advance by a compare-and-swap. The second is that of the oldest item that a thief has claimed
//! and not read yet. A thief advances the first position over half of the items, reads the items,
//! and then advances the second position to the first. While the positions differ, no other thief
//! may steal. The owner continues, and reuses no slot that is not read.
//!
#![doc = advice!(literature tokio_ring)]
//!
//! | | |
//! |---|---|
//! | guarantee | owner: lock-free, oldest first. Thieves: one at a time, others are busy meanwhile; each finds the items in the order of the pushes |
//! | capacity | n, rounded up to a power of two; less until a thief has read what it has claimed. Tokio's has 256 |
//! | misses per item | owner: 0, but a compare-and-swap for each pop, and one miss in each call while thieves look at the queue. Thief: those of the item, and two of the word for each steal |
//! | paper | none: Tokio, [`runtime/scheduler/multi_thread/queue.rs`](https://github.com/tokio-rs/tokio/blob/master/tokio/src/runtime/scheduler/multi_thread/queue.rs); its authors took the idea of a ring that is stolen by halves from Go's scheduler |
//!
//! ```
//! use corelane::steal::run_queue;
//!
//! let mut worker = run_queue::queue(256)?;
//! for task in 0..8 {
//!     worker.try_push(task)?;
//! }
//! let thief = worker.stealer();
//! assert!(thief.try_steal_some(100)?.eq(0..4));
//! assert_eq!(worker.try_pop(), Ok(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What differs from Tokio's
//!
//! - A full queue gives the item back. Tokio moves half of the queue to a list that all its workers
//!   share. Here the caller must do this.
//! - A thief gets its items one by one and not in a queue of its own.
//! - Positions have 32 bits as there. A thief that is stopped between two of its steps while a
//!   multiple of 2³² items pass might take an item twice.
//! - Only stores that free a slot or publish an item are ordered. A thief that loads an older end
//!   of the queue than its beginning finds the queue empty.

use core::fmt;
use core::marker::PhantomData;

use crate::memory::{AtomicU32, AtomicU64, Cells, Ordering};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, Info, Sides, TryPopError, TryPushError};
use crate::region::{End, State, ends, slots_up_to};
use crate::steal;
use crate::unwind::drop_each;

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "tokio-ring",
    name: "Tokio's run queue",
    paper: "Tokio",
    sides: Sides::OneToMany,
    guarantee: "lock-free owner, one thief at a time; owner FIFO, each thief FIFO",
    choose: advice!(choose tokio_ring),
    avoid: advice!(avoid tokio_ring),
    ..Info::RING
};

/// Most slots: distances of positions are less than half of all numbers.
const MOST_SLOTS: usize = 1 << 30;

/// A queue for `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large, at most 2³⁰.
pub fn queue<T: Send>(capacity: usize) -> Result<Worker<T>, CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<Worker<T>, CapacityError> {
    config.only(&[])?;
    let slots = slots_up_to::<Header<T>>(MOST_SLOTS, config.capacity, 0)?;
    let first = config.first as u32;
    let head = Padded(AtomicU64::new(Head { claimed: first, oldest: first }.word()));
    let header = Header { head, tail: Padded(AtomicU32::new(first)), item: PhantomData };
    let (end, thieves) = ends(config.memory, slots, header)?;
    Ok(Worker { end, thieves })
}

/// Where the queue begins.
#[derive(Clone, Copy)]
struct Head {
    /// Of the items that a thief has claimed and not read yet, the position of the oldest. If there
    /// are none, as `oldest`.
    claimed: u32,
    /// The position of the oldest item that is not claimed.
    oldest: u32,
}

impl Head {
    fn of(word: u64) -> Self {
        Self { claimed: (word >> 32) as u32, oldest: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.claimed) << 32 | u64::from(self.oldest)
    }

    /// Whether a thief has claimed items, and has not read them yet.
    fn is_stolen_from(self) -> bool {
        self.claimed != self.oldest
    }
}

/// What the owner and its thieves share besides the slots.
struct Header<T> {
    /// A [`Head`]. Written by the owner and by thieves.
    head: Padded<AtomicU64>,
    /// The position behind the newest item. Written by the owner.
    tail: Padded<AtomicU32>,
    item: PhantomData<fn() -> T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Cells<T>;

    fn drop_items(&self, cells: &Cells<T>) {
        let oldest = self.head().oldest;
        let mut left = 0..self.tail.load(Ordering::Relaxed).wrapping_sub(oldest);
        drop_each(|| {
            let position = oldest.wrapping_add(left.next()?);
            // SAFETY: no thread has claimed the item, and none can.
            Some(unsafe { cells.read(u64::from(position)) })
        });
    }
}

impl<T> Header<T> {
    fn head(&self) -> Head {
        Head::of(self.head.load(Ordering::Relaxed))
    }

    /// Changes the head, or returns what it is.
    fn exchange(&self, from: Head, to: Head, order: Ordering) -> Result<(), Head> {
        let was = self.head.compare_exchange(from.word(), to.word(), order, Ordering::Relaxed);
        was.map(drop).map_err(Head::of)
    }

    /// The thief that has claimed items has read them.
    fn finish(&self) {
        let mut head = self.head();
        // Release ↔ Acquire in `try_push`: the items are out of their slots. The owner's
        // compare-and-swaps in between hand this on.
        while let Err(found) =
            self.exchange(head, Head { claimed: head.oldest, ..head }, Ordering::Release)
        {
            head = found;
        }
    }
}

/// The owner's handle.
pub struct Worker<T> {
    end: End<Header<T>>,
    thieves: End<Header<T>>,
}

impl<T> Worker<T> {
    /// Pushes an item.
    ///
    /// # Errors
    ///
    /// `Full` if there is no room. The error has the item.
    #[inline]
    pub fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let (header, cells) = (self.end.header(), self.end.slots());
        // Acquire ↔ Release in `finish`: thieves' items are out of the slots before `claimed`.
        let head = Head::of(header.head.load(Ordering::Acquire));
        // Relaxed: no other thread writes it.
        let tail = header.tail.load(Ordering::Relaxed);
        if tail.wrapping_sub(head.claimed) as usize >= cells.len() {
            return Err(TryPushError::Full(item));
        }
        // SAFETY: the slot is behind the newest item, and its last item is out of it.
        unsafe { cells.write(u64::from(tail), item) };
        // Release ↔ Acquire in `claim`: the item.
        header.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Pops the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        let header = self.end.header();
        // Relaxed: no other thread writes it.
        let tail = header.tail.load(Ordering::Relaxed);
        let mut head = header.head();
        while head.oldest != tail {
            let oldest = head.oldest.wrapping_add(1);
            let claimed = if head.is_stolen_from() { head.claimed } else { oldest };
            // Relaxed: the item is this thread's own, and so is the next one in its slot.
            match header.exchange(head, Head { claimed, oldest }, Ordering::Relaxed) {
                // SAFETY: the owner has claimed the item.
                Ok(()) => return Ok(unsafe { self.end.slots().read(u64::from(head.oldest)) }),
                Err(found) => head = found,
            }
        }
        Err(TryPopError::Empty)
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
        self.end.slots().len()
    }
}

/// A thief's handle.
pub struct Stealer<T> {
    end: End<Header<T>>,
}

// SAFETY: a thief has nothing of its own: each step of its calls is an atomic one on what all
// thieves share.
unsafe impl<T: Send> Sync for Stealer<T> {}

impl<T> Stealer<T> {
    /// Steals the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none; `Busy` if another thief has not read its items yet; `Closed` if
    /// there is none and the owner is gone.
    pub fn try_steal(&self) -> Result<T, TryPopError> {
        steal::Stealer::try_steal(self)
    }

    /// Steals up to `most`, at least one, of the oldest items, all at once, but no more than half.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal).
    pub fn try_steal_some(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        let most = most.clamp(1, MOST_SLOTS) as u32;
        let closed = self.end.peer_is_gone();
        let (header, cells) = (self.end.header(), self.end.slots());
        let mut head = header.head();
        loop {
            // Acquire ↔ Release in `try_push`: the items.
            let there = header.tail.load(Ordering::Acquire).wrapping_sub(head.oldest);
            // Less than 0 if the end is older than the beginning.
            if there as i32 <= 0 {
                return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
            }
            if head.is_stolen_from() {
                return Err(TryPopError::Busy);
            }
            let n = there.div_ceil(2).min(most);
            let claim = Head { oldest: head.oldest.wrapping_add(n), ..head };
            // Relaxed: the items are visible already. What the slots held before them concerns the
            // owner only.
            match header.exchange(head, claim, Ordering::Relaxed) {
                Ok(()) => return Ok(Loot { header, cells, next: head.oldest, left: n }),
                Err(found) => head = found,
            }
        }
    }

    /// Whether there was nothing to steal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that could be stolen. Concurrent calls of the owner and of thieves may or may not
    /// count.
    pub fn len(&self) -> usize {
        let header = self.end.header();
        // Relaxed: the caller has the fence, if it needs one.
        let count = header.tail.load(Ordering::Relaxed).wrapping_sub(header.head().oldest) as i32;
        count.max(0) as usize
    }
}

/// Items that a thief has taken. Those that it doesn't read are dropped with this.
///
/// Until this is dropped no other thief can steal, and the slots are in use: collect the items
/// before they are run. If this is forgotten, no thief ever steals from the queue again. When the
/// owner has gone round the ring, the queue is full for ever.
pub struct Loot<'a, T> {
    header: &'a Header<T>,
    cells: &'a Cells<T>,
    next: u32,
    left: u32,
}

impl<T> Iterator for Loot<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let position = self.next;
        self.next = position.wrapping_add(1);
        // SAFETY: the thread has claimed the item, which is visible to it, and has not read it yet.
        Some(unsafe { self.cells.read(u64::from(position)) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T> ExactSizeIterator for Loot<'_, T> {}

impl<T> Drop for Loot<'_, T> {
    fn drop(&mut self) {
        /// Lets other thieves steal again, even when an item's destructor panics.
        struct Finish<'a, T>(&'a Header<T>);
        impl<T> Drop for Finish<'_, T> {
            fn drop(&mut self) {
                self.0.finish();
            }
        }
        let _finish = Finish(self.header);
        drop_each(|| self.next());
    }
}

steal::handles! { 'a, Loot<'a, T>: }

impl<T> fmt::Debug for Loot<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loot").field("left", &self.left).finish_non_exhaustive()
    }
}
