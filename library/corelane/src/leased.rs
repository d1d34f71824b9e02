//! `leased`: a line ring for several producers and several consumers, which lease its two handles.
//!
//! Each side of the ring is a handle of the [line ring](crate::line_ring) in shared memory. One
//! producer at a time leases the sending handle, and one consumer the receiving handle. While a
//! thread has the lease, a push or pop needs no locked instruction and no fence. Other threads wait
//! until the thread gives the lease up. If the thread makes no call, they revoke the lease.
//!
#![doc = advice!(leased)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable) |
//! | capacity | as the [line ring](crate::line_ring) |
//! | handles | at most 65,536 a side; cloning one more panics. Cloning and dropping a handle takes a lock for a moment. The only handle of a side needs no lease |
//! | fairness | if another thread waits, a thread gives the lease up after 256 calls. If the others then don't take the lease, its next runs are longer, up to 16,384 calls. A call that finds the queue full or empty counts as 16. Which of several waiting threads is next is not specified |
//! | a stopped thread | outside a call it costs the next thread of its side about a microsecond, once, and up to ten if there are fifty handles. In a call it keeps the lease: until it continues, other calls of its side say [`Busy`](TryPushError::Busy), as behind a lock. A slice or an iterator ends then |
//! | operations | with the lease two stores, two loads and the operation of the line ring. To give a lease up, and to take a lease that was given up: one compare-and-swap each. To revoke a lease: three, and a fence on all cores that run the process, [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), which takes 1 to 10 microseconds. Where threads take turns call by call, each call has two compare-and-swaps and no such fence |
//! | without `membarrier` (other systems, old kernels, without `std`) | each call has a fence; the constructor checks for it. If a process forbids itself this system call later, calls say busy where a lease must be revoked |
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

use core::marker::PhantomData;

use crate::carrier::Use;
use crate::lease::User;
use crate::line_ring::LineRing;
use crate::queue::{
    self, Backing, Built, CapacityError, Config, Info, Memory, Producer as _, Queue, Sides,
    TryPopError, TryPushError, full, handles, queue_type,
};
use crate::region::{End, NoSlots, State, ends};

/// The constants. The inner queue belongs to the handles.
struct Header<T> {
    capacity: usize,
    slots: usize,
    backing: Backing,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // The inner queue drops its items.
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_of_with(config)
}

/// As [`queue`], of any kind of one-to-one queue.
///
/// ```
/// use corelane::{leased, segmented::Uspsc};
///
/// let (mut tx, mut rx) = leased::queue_of::<_, Uspsc>(1024)?;
/// for n in 0..10_000 {
///     tx.try_push(n)?; // never full
/// }
/// assert_eq!(rx.clone().try_pop(), Ok(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As the inner queue's.
pub fn queue_of<T: Send, Q: Queue<T>>(capacity: usize) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    queue_of_with(Config::new(capacity))
}

/// As [`queue_of`], with all options.
///
/// ```
/// use corelane::{Config, lamport::batched::Blq, leased};
///
/// // Full at exactly three items.
/// let (mut tx, _rx) = leased::queue_of_with::<_, Blq>(Config::new(3).exact())?;
/// assert_eq!(tx.push_slice(&[1, 2, 3, 4]), 3);
/// # Ok::<(), corelane::CapacityError>(())
/// ```
///
/// # Errors
///
/// As the inner queue's.
pub fn queue_of_with<T: Send, Q: Queue<T>>(
    config: Config,
) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    let (tx, rx) = Q::with(config)?;
    lease(tx, rx)
}

/// A queue made of the two handles of another one.
pub(crate) fn lease<T, Q: Queue<T>>(
    tx: Q::Producer,
    rx: Q::Consumer,
) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    let (capacity, slots, backing) = (tx.capacity(), tx.slots(), tx.backing());
    let header = Header { capacity, slots, backing, items: PhantomData };
    let (tx, rx) = (User::of_handle(tx)?, User::of_handle(rx)?);
    let (sender, receiver) = ends(Memory::Heap, (), header)?;
    Ok((Producer { queue: tx, end: sender }, Consumer { queue: rx, end: receiver }))
}

/// A sending side.
#[repr(align(128))]
pub struct Producer<T, Q: Queue<T> = LineRing> {
    queue: User<Q::Producer>,
    end: End<Header<T>>,
}

/// A receiving side.
#[repr(align(128))]
pub struct Consumer<T, Q: Queue<T> = LineRing> {
    queue: User<Q::Consumer>,
    end: End<Header<T>>,
}

impl<T, Q: Queue<T>> Producer<T, Q> {
    /// Uses the inner queue's producer, if this handle has the lease or gets it.
    pub(crate) fn with<R>(
        &mut self,
        work: impl FnOnce(&mut Q::Producer) -> (R, bool),
    ) -> Option<R> {
        self.queue.with(work)
    }
}

impl<T, Q: Queue<T>> queue::Producer for Producer<T, Q> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        match self.queue.give(Push(item)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(item)) => Err(full(self.is_closed(), item)),
            Err(Push(item)) => Err(TryPushError::Busy(item)),
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

impl<T, Q: Queue<T>> Consumer<T, Q> {
    /// Uses the inner queue's consumer, if this handle has the lease or gets it.
    fn with<R>(&mut self, work: impl FnOnce(&mut Q::Consumer) -> (R, bool)) -> Option<R> {
        self.queue.with(work)
    }
}

/// A push, and whether anything was done.
struct Push<T>(T);

impl<P: queue::Producer> Use<P> for Push<P::Item> {
    type Output = (Result<(), P::Item>, bool);

    #[inline(always)]
    fn run(self, tx: &mut P) -> Self::Output {
        match tx.try_push(self.0) {
            Ok(()) => (Ok(()), true),
            Err(error) => (Err(error.into_inner()), false),
        }
    }
}

/// A pop, and whether anything was done.
struct Pop;

impl<C: queue::Consumer> Use<C> for Pop {
    type Output = (Result<C::Item, TryPopError>, bool);

    #[inline(always)]
    fn run(self, rx: &mut C) -> Self::Output {
        match rx.try_pop() {
            Ok(item) => (Ok(item), true),
            Err(error) => (Err(error), false),
        }
    }
}

impl<T, Q: Queue<T>> Consumer<T, Q> {
    /// One look. Never [`Closed`](TryPopError::Closed).
    #[inline(always)]
    fn look(&mut self) -> Result<T, TryPopError> {
        match self.queue.give(Pop) {
            Ok(Ok(item)) => Ok(item),
            Ok(Err(_)) => Err(TryPopError::Empty),
            Err(_) => Err(TryPopError::Busy),
        }
    }

    /// A look when all producers are gone: it finds what they pushed before they were dropped. A
    /// call, so that the pop itself is inlined once.
    #[cold]
    #[inline(never)]
    fn last(&mut self) -> Result<T, TryPopError> {
        self.look().map_err(if_closed)
    }
}

/// The answer of a look when all producers are gone.
fn if_closed(found: TryPopError) -> TryPopError {
    match found {
        TryPopError::Empty => TryPopError::Closed,
        other => other,
    }
}

impl<T, Q: Queue<T>> queue::Consumer for Consumer<T, Q> {
    type Item = T;

    #[inline(always)] // a call would cost more than the pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        match self.look() {
            Ok(item) => Ok(item),
            // Looks once more, for items that producers pushed before they were dropped.
            Err(TryPopError::Empty) if self.end.peer_is_gone() => self.last(),
            Err(error) => Err(error),
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

impl<T, Q: Queue<T>> Clone for Producer<T, Q> {
    fn clone(&self) -> Self {
        // The end first: it counts the handles.
        let end = self.end.duplicate();
        Self { queue: self.queue.duplicate(), end }
    }
}

impl<T, Q: Queue<T>> Clone for Consumer<T, Q> {
    fn clone(&self) -> Self {
        let end = self.end.duplicate();
        Self { queue: self.queue.duplicate(), end }
    }
}

handles! {
    [T, Q: Queue<T>] Producer<T, Q>: producer of T;
    [T, Q: Queue<T>] Consumer<T, Q>: consumer of T;
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
