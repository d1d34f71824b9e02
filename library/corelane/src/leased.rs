//! `leased`: a line ring for several producers and several consumers, of which one on each side has it on lease.
//!
//! Each side of the ring is a handle of the [line ring](crate::line_ring) in shared memory. One producer at a time has the
//! sending handle on lease, and one consumer the receiving handle. While a thread has the lease, a push or pop needs no locked
//! instruction and no fence. Others wait until the thread gives the lease up, or doesn't come, and then take the lease over.
//!
#![doc = advice!(leased)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable) |
//! | capacity | as the [line ring](crate::line_ring) |
//! | handles | at most 65,536 a side; cloning one more panics. Cloning and dropping a handle takes a lock for a moment. The only handle of a side needs no lease |
//! | fairness | a thread gives the lease up after 256 calls if another one waits, after more, up to 16,384, if the others did not take it then. A call that finds the queue full or empty counts as 16. Which of several waiting threads is next is left to chance |
//! | a stopped thread | outside a call it costs the next thread of its side about a microsecond, once, and up to ten if there are fifty handles. In a call it has the lease: its side says [`Busy`](TryPushError::Busy) until it goes on, as behind a lock. A slice or an iterator ends then |
//! | operations | with the lease two stores, two loads and the operation of the line ring. To take over a lease that was given up: one compare-and-swap, after another one with which it was given up. To take over one that was not: three, and a fence on all cores that run the process, [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), which takes 1 to 10 microseconds. Where threads take turns call by call, each call has two compare-and-swaps and no such fence |
//! | without `membarrier` (other systems, old kernels, without `std`) | each call has a fence; found out when the queue is made. A process that forbids itself this system call later finds its queues busy where a lease must be revoked |
//! | paper | none; the technique: D. Dice, H. Huang, M. Yang: *Asymmetric Dekker Synchronization* (2001), as in locks that can be reacquired quickly |
//!
//! ```
//! use corelane::leased;
//!
//! let (mut tx, mut rx) = leased::queue(100)?;
//! let mut other = tx.clone();
//! tx.try_push('a')?;
//! other.try_push('b')?;
//! assert_eq!(rx.clone().try_pop(), Ok('a'));
//! assert_eq!(rx.try_pop(), Ok('b'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::lease::{Lease, User};
use crate::line_ring;
use crate::queue::Memory;
use crate::queue::{
    self, Backing, CapacityError, Config, Info, Sides, TryPopError, TryPushError, full, handles,
    queue_type,
};
use crate::region::{End, NoSlots, State, ends};

/// The ring's handles of a side with several handles, and what doesn't change.
struct Header<T> {
    senders: Lease<line_ring::Producer<T>>,
    receivers: Lease<line_ring::Consumer<T>>,
    capacity: usize,
    slots: usize,
    backing: Backing,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // The ring drops its items.
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (tx, rx) = line_ring::queue_with(config)?;
    let (capacity, slots, backing) = (tx.capacity(), tx.slots(), tx.backing());
    let (senders, receivers) = (Lease::default(), Lease::default());
    let header = Header { senders, receivers, capacity, slots, backing };
    let (sender, receiver) = ends(Memory::Heap, (), header)?;
    Ok((
        Producer { ring: User::new(tx), end: sender },
        Consumer { ring: User::new(rx), end: receiver },
    ))
}

/// A sending side.
#[repr(align(128))]
pub struct Producer<T> {
    ring: User<line_ring::Producer<T>>,
    end: End<Header<T>>,
}

/// A receiving side.
#[repr(align(128))]
pub struct Consumer<T> {
    ring: User<line_ring::Consumer<T>>,
    end: End<Header<T>>,
}

impl<T> Producer<T> {
    /// Uses the ring's producer, if this handle has it on lease or gets it.
    #[inline(always)]
    fn with<R>(
        &mut self,
        work: impl FnOnce(&mut line_ring::Producer<T>) -> (R, bool),
    ) -> Option<R> {
        let lease = &self.end.header().senders;
        // SAFETY: it is always this lease, until `drop`.
        unsafe { self.ring.with(lease, work) }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        // Taken by the work, if that is done.
        let mut item = Some(item);
        let refused = self.with(|tx| {
            // SAFETY: the work is done once.
            let refused = tx.try_push(unsafe { item.take().unwrap_unchecked() }).err();
            let is_done = refused.is_none();
            (refused, is_done)
        });
        match (refused, item) {
            (Some(None), _) => Ok(()),
            (Some(Some(error)), _) => Err(full(self.is_closed(), error.into_inner())),
            // SAFETY: the work was not done.
            (None, item) => Err(TryPushError::Busy(unsafe { item.unwrap_unchecked() })),
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.header().slots
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }

    fn backing(&self) -> Backing {
        self.end.header().backing
    }

    /// [`slots`](Self::slots) while another thread is in the middle of a call.
    fn len(&mut self) -> usize {
        self.with(|tx| (tx.len(), true)).unwrap_or_else(|| self.slots())
    }

    fn is_full(&mut self) -> bool {
        self.with(|tx| (tx.is_full(), true)).unwrap_or(true)
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let pushed = self.with(|tx| {
            let n = tx.push_slice(items);
            (n, n > 0)
        });
        pushed.unwrap_or(0)
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    /// Uses the ring's consumer, if this handle has it on lease or gets it.
    #[inline(always)]
    fn with<R>(
        &mut self,
        work: impl FnOnce(&mut line_ring::Consumer<T>) -> (R, bool),
    ) -> Option<R> {
        let lease = &self.end.header().receivers;
        // SAFETY: it is always this lease, until `drop`.
        unsafe { self.ring.with(lease, work) }
    }
}

/// The work of a pop. A function, since a closure can't be made to be inlined.
#[inline(always)]
fn pop<T>(rx: &mut line_ring::Consumer<T>) -> (Result<T, TryPopError>, bool) {
    let popped = rx.try_pop();
    let is_done = popped.is_ok();
    (popped, is_done)
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        loop {
            match self.with(pop) {
                None => return Err(TryPopError::Busy),
                Some(Ok(item)) => return Ok(item),
                Some(Err(_)) if closed => return Err(TryPopError::Closed),
                // Looks once more, for items that producers pushed before they were dropped.
                Some(Err(_)) if self.end.peer_is_gone() => closed = true,
                Some(Err(_)) => return Err(TryPopError::Empty),
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.header().slots
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }

    fn backing(&self) -> Backing {
        self.end.header().backing
    }

    /// [`slots`](Self::slots) while another thread is in the middle of a call.
    fn len(&mut self) -> usize {
        self.with(|rx| (rx.len(), true)).unwrap_or_else(|| self.slots())
    }

    fn is_empty(&mut self) -> bool {
        self.with(|rx| (rx.is_empty(), true)).unwrap_or(false)
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let popped = self.with(|rx| {
            let n = rx.pop_slice(into);
            (n, n > 0)
        });
        popped.unwrap_or(0)
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        // SAFETY: as in `with`; there are no more ends than users may be.
        Self { ring: unsafe { self.ring.duplicate(&end.header().senders) }, end }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        // SAFETY: as in `with`; there are no more ends than users may be.
        Self { ring: unsafe { self.ring.duplicate(&end.header().receivers) }, end }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // SAFETY: as in `with`; this is the last use.
        unsafe { self.ring.end(&self.end.header().senders) };
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        // SAFETY: as in `with`; this is the last use.
        unsafe { self.ring.end(&self.end.header().receivers) };
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(Leased of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "leased",
    name: "line ring on lease",
    paper: "none; see its page",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free FIFO",
    capacity: "n, rounded up to lines, and up to G lines more",
    choose: advice!(choose leased),
    avoid: advice!(avoid leased),
    ..Info::RING
});
