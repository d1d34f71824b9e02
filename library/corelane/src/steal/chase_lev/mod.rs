//! `abp`: the Chase–Lev deque. The owner takes the newest item, thieves the oldest, one at a time.
//!
//! The owner pushes and pops at the *bottom*. A thief claims the item at the *top* by a
//! compare-and-swap. The owner lowers `bottom` before it looks at `top`, with a fence between. For
//! the last item the owner needs a compare-and-swap as well.
//!
#![doc = advice!(literature abp)]
//!
//! | | |
//! |---|---|
//! | guarantee | owner: wait-free except in the allocator and, while it grows the queue, for thieves that are faster; newest first. Thieves: lock-free, oldest first |
//! | capacity | n, rounded up to a power of two; less while a thief is between claiming and reading. Or [`unbounded`] |
//! | misses per item | owner: 0, but a fence for each pop, and one for each stolen item that it notices when the ring has gone round. Thief: those of the item, of its slot's word, of `top`, and of `bottom`, which the owner writes in each call |
//! | paper | D. Chase, Y. Lev: *Dynamic Circular Work-Stealing Deque* (SPAA 2005); N. M. Lê, A. Pop, A. Cohen, F. Zappa Nardelli: *Correct and Efficient Work-Stealing for Weak Memory Models* (PPoPP 2013) |
//!
//! ```
//! use corelane::steal::chase_lev;
//!
//! let mut worker = chase_lev::queue(100)?;
//! worker.try_push("first")?;
//! worker.try_push("second")?;
//! worker.try_push("third")?;
//! let thief = worker.stealer();
//! assert_eq!(worker.try_pop(), Ok("third"));
//! // No item is out of the thieves' reach.
//! assert_eq!(thief.try_steal(), Ok("first"));
//! assert_eq!(thief.try_steal(), Ok("second"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The papers, and what differs
//!
//! - In the papers a thief reads the item and then claims it. The read may meet the owner's write
//!   of a later item, which is a data race unless the slot is an atomic. Here a thief claims first,
//!   so items may have any type. Each slot has a word, by which the thief says that the item is out
//!   of the slot. The owner reads these words when it comes to the end of the room that it knows
//!   of. A thief that is stopped between its claim and its read keeps this slot and the slots
//!   behind it in use. When the owner has gone round the ring, the queue is full until the thief
//!   continues, or grows.
//! - So a push doesn't load `top`.
//! - A full queue gives the item back, or grows. The owner grows the queue as a thief would: it
//!   claims all items by a compare-and-swap of `top`, moves them to a buffer of twice the length,
//!   and gives them new positions. Meanwhile thieves find nothing. In the papers it copies the
//!   items, and a thief may read either copy.
//! - Old buffers are kept until the queue is dropped. Each is half as long as the next, so all old
//!   ones together are shorter than the newest one.
//! - The compare-and-swaps are relaxed: the two fences order them. Counters have 64 bits, so no
//!   position occurs twice.

pub mod asymmetric;
mod buffers;

use core::option;

use self::buffers::{Buffer, Buffers, Here, first};
use crate::memory::{AtomicU64, Ordering, fence, is_before, without_unwinding};
use crate::pad::Padded;
use crate::queue::{CapacityError, Config, Info, Memory, Sides, TryPopError, TryPushError};
use crate::region::{End, NoSlots, State, ends};
use crate::steal;

/// For the programs that check and measure it; not stable.
#[doc(hidden)]
pub const INFO: Info = Info {
    id: "abp",
    name: "Chase–Lev deque",
    paper: "Chase 2005, Lê 2013",
    sides: Sides::OneToMany,
    guarantee: "lock-free; owner LIFO, thieves FIFO",
    choose: advice!(choose abp),
    avoid: advice!(avoid abp),
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
/// ```
/// let mut worker = corelane::steal::chase_lev::unbounded(2)?;
/// for item in 0..1000 {
///     worker.try_push(item)?;
/// }
/// assert_eq!(worker.stealer().try_steal(), Ok(0));
/// assert_eq!(worker.try_pop(), Ok(999));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    let here = Here::new(&buffer);
    let counter = || Padded(AtomicU64::new(config.first));
    let buffers = Padded(Buffers::new(buffer));
    let header = Header { bottom: counter(), top: counter(), buffers, grows };
    let (end, thieves) = ends(Memory::Heap, (), header)?;
    Ok(Worker { here, end, thieves })
}

/// What the owner and its thieves share.
struct Header<T> {
    /// The position behind the newest item. Written by the owner.
    bottom: Padded<AtomicU64>,
    /// The position of the oldest item. Written by thieves, and by the owner when it takes the last
    /// item or all items.
    top: Padded<AtomicU64>,
    /// Written by the owner when it grows the queue.
    buffers: Padded<Buffers<T>>,
    grows: bool,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        let (top, bottom) = (self.top.load(Ordering::Relaxed), self.bottom.load(Ordering::Relaxed));
        self.buffers.newest().drop_items(top, bottom);
    }
}

impl<T> Header<T> {
    /// Claims the items at `top..to`, unless another thread has claimed some.
    fn claim(&self, top: u64, to: u64) -> bool {
        // Relaxed: the items' pushes are visible to the caller already, and a thread that reads
        // `top` needs nothing else of this thread.
        self.top.compare_exchange(top, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The owner: makes room at `bottom`. `None` if there is none.
    fn make_room(&self, here: Here<T>, bottom: u64) -> Option<Here<T>> {
        let buffer = self.buffers.newest();
        here.with_room(buffer, bottom)
            .or_else(|| if self.grows { self.grow(buffer, bottom) } else { None })
    }

    fn grow(&self, old: &Buffer<T>, bottom: u64) -> Option<Here<T>> {
        let new = Buffer::new(bottom, old.len().checked_mul(2)?)?;
        let top = loop {
            let top = self.top.load(Ordering::Relaxed);
            if self.claim(top, bottom) {
                break top;
            }
        };
        // SAFETY: the owner has claimed all items.
        unsafe { old.move_to(&new, top, bottom) };
        let here = Here::new(&new);
        self.buffers.add(new);
        let moved = bottom.wrapping_add(bottom.wrapping_sub(top));
        // Release ↔ Acquire in `try_steal`: the items, and their buffer.
        self.bottom.store(moved, Ordering::Release);
        Some(here)
    }
}

/// The owner's handle.
#[repr(align(128))]
pub struct Worker<T> {
    here: Here<T>,
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
    #[inline(always)] // a call would cost more than the push itself
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
        // Release ↔ Acquire in `try_steal`: the item.
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
        let bottom = header.bottom.load(Ordering::Relaxed);
        let position = bottom.wrapping_sub(1);
        // Release ↔ Acquire in `try_steal`: the items below.
        header.bottom.store(position, Ordering::Release);
        // SeqCst ↔ the fence in `try_steal`: either the thief finds `bottom` lowered, or this
        // thread finds the `top` that the thief found.
        fence(Ordering::SeqCst);
        let top = header.top.load(Ordering::Relaxed);
        if is_before(top, position) {
            // SAFETY: the item is the owner's. A thief that claims it must have found `top` at its
            // position, and `bottom` behind it.
            return Ok(unsafe { self.here.cells.read(position) });
        }
        let is_own = top == position && header.claim(position, bottom);
        // Relaxed: it publishes no item.
        header.bottom.store(bottom, Ordering::Relaxed);
        if !is_own {
            return Err(TryPopError::Empty);
        }
        // SAFETY: the owner has claimed the item.
        Ok(unsafe { header.buffers.newest().take(position) })
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

// SAFETY: a thief has nothing of its own: each step of its calls is an atomic one on what all
// thieves share.
unsafe impl<T: Send> Sync for Stealer<T> {}

impl<T> Stealer<T> {
    /// Steals the oldest item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none, or the owner is moving all of them to a larger buffer; `Closed` if
    /// there is none and the owner is gone.
    pub fn try_steal(&self) -> Result<T, TryPopError> {
        let closed = self.end.peer_is_gone();
        let header = self.end.header();
        loop {
            let top = header.top.load(Ordering::Relaxed);
            // SeqCst ↔ the fence in `try_pop`: either the owner finds this `top`, or this thread
            // finds `bottom` as the owner has lowered it.
            fence(Ordering::SeqCst);
            // Acquire ↔ Release in `try_push`, `try_pop` and `grow`: the items before `bottom`.
            let bottom = header.bottom.load(Ordering::Acquire);
            if !is_before(top, bottom) {
                return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
            }
            if header.claim(top, top.wrapping_add(1)) {
                // SAFETY: this thread has claimed the item.
                return Ok(unsafe { header.buffers.of(top).take(top) });
            }
        }
    }

    /// As [`try_steal`](Self::try_steal): a thief gets one item.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn try_steal_some(&self, _most: usize) -> Result<option::IntoIter<T>, TryPopError> {
        Ok(Some(self.try_steal()?).into_iter())
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
        let (top, bottom) =
            (header.top.load(Ordering::Relaxed), header.bottom.load(Ordering::Relaxed));
        if is_before(top, bottom) { bottom.wrapping_sub(top) as usize } else { 0 }
    }
}

steal::handles! { 'a, option::IntoIter<T>:
    fn try_steal(&self) -> Result<T, TryPopError> {
        self.try_steal()
    }
}
