//! `ring`: the plain ring between several of either side, as DPDK has it.
//!
//! Each side has two counters. A thread moves its side's `head` on, by compare-and-swap, to take slots that
//! the other side is done with; it fills or empties them; and when its side's `tail` has come to where it
//! began, it moves that behind its slots, which shows them to the other side. So threads of a side are done
//! in the order in which they began.
//!
//! **Use it** to compare: it is the baseline that paper 3 measures against, and what many systems have.
//! Among queues between several threads it has little to do: where nobody contends, one exchange and one
//! store for a slice of any length, and every slot is usable.
//! **Don't** use it where there may be more threads than cores, or threads of different priority: one that
//! is stopped in the middle of a push or pop stops everybody behind it on its side, who spin until it goes
//! on, and then the other side, for want of slots. With many threads all of a side wait for one line.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable) |
//! | capacity | N, the number of slots: what was asked for, rounded up to a power of two; all usable |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | one compare-and-swap and one store, for [`push_slice`](crate::Producer::push_slice) and [`pop_slice`](crate::Consumer::pop_slice) too: they take what there is at once |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.2, Fig. 2.1; DPDK's `rte_ring`, in its default mode |
//!
//! # Departures from the paper
//!
//! - Orderings are acquire and release where the paper has sequentially consistent ones.
//! - A push says [`Full`](TryPushError::Full) only if all slots hold items and nobody is about to take one.
//!   If no slot is free, but another thread is in the middle of a push or pop, it says
//!   [`Busy`](TryPushError::Busy). The paper's says full then too: one thread may be told that the queue is
//!   full after another has been told that it is empty. A pop is never told busy, as no push behind an
//!   unfinished one is done.
//!
//! ```
//! use corelane::{Consumer, Producer, TryPushError, mpmc::ring};
//!
//! let (mut tx, rx) = ring::channel(2)?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! assert!(matches!(tx.try_push('c'), Err(TryPushError::Full('c'))));
//! let mut other_rx = rx.clone();
//! assert_eq!(other_rx.try_pop(), Ok('a'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use crate::chunk::drop_each;
use crate::memory::{AtomicU64, Cells, Ordering, pause};
use crate::pad::Padded;
use crate::queue::{
    self, CapacityError, Config, Consumer as _, Producer as _, TryPopError, TryPushError,
    debug_handle, full, try_pop_by,
};
use crate::region::{Backing, End, State, ends, slots_for};
use crate::registry::{Info, MpmcQueue, Sides};

/// Positions from `consumers.head` to `producers.tail` hold items that nobody has taken.
#[derive(Debug)]
#[repr(C)]
struct Header<T> {
    /// The paper's `P`.
    producers: Padded<Cursors>,
    /// The paper's `C`.
    consumers: Padded<Cursors>,
    items: PhantomData<T>,
}

/// How far one side has come.
#[derive(Debug)]
#[repr(C)]
struct Cursors {
    /// Behind all slots that have been taken.
    head: AtomicU64,
    /// Behind all slots that are done with.
    tail: AtomicU64,
}

/// Slots that are one thread's alone.
#[derive(Clone, Copy)]
struct Run {
    /// Position of the first.
    position: u64,
    /// How many, one at least.
    n: u64,
}

impl Run {
    /// Position of slot number `i`.
    #[inline]
    fn slot(&self, i: usize) -> u64 {
        self.position.wrapping_add(i as u64)
    }

    /// Position behind the last.
    #[inline]
    fn end(&self) -> u64 {
        self.position.wrapping_add(self.n)
    }
}

impl Cursors {
    fn new(first: u64) -> Self {
        Self { head: AtomicU64::new(first), tail: AtomicU64::new(first) }
    }

    /// Takes up to `wanted` slots of those that `other` is done with, which are `lead` positions further on
    /// for this side. If there are none, says where.
    #[inline]
    fn take(&self, other: &Self, lead: u64, wanted: u64) -> Result<Run, u64> {
        // Acquire pairs with the exchange: who sees slots taken sees that they were there to be taken. An
        // older `tail` would be behind `head`, or hide what another thread of this side knows to be there.
        let mut position = self.head.load(Ordering::Acquire);
        loop {
            // Acquire pairs with the store in `finish`: the other side is done with the slots.
            let end = other.tail.load(Ordering::Acquire).wrapping_add(lead);
            let run = Run { position, n: wanted.min(end.wrapping_sub(position)) };
            if run.n == 0 {
                return Err(position);
            }
            // Release and acquire pair with the load above. Not if `position` is outdated, however many slots
            // there seem to be.
            match self.head.compare_exchange(
                position,
                run.end(),
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(run),
                Err(found) => position = found,
            }
        }
    }

    /// Gives the slots of `run` to the other side, after all those that were taken before.
    #[inline]
    fn finish(&self, run: Run) {
        // Acquire pairs with the store of the thread before: with these slots its own are shown as well.
        while self.tail.load(Ordering::Acquire) != run.position {
            pause(1);
        }
        // Release pairs with the load above and the one in `take`: what was done with the slots is visible.
        self.tail.store(run.end(), Ordering::Release);
    }
}

impl<T> Header<T> {
    fn new(first: u64) -> Self {
        let cursors = || Padded(Cursors::new(first));
        Self { producers: cursors(), consumers: cursors(), items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Cells<T>;

    fn drop_items(&self, slots: &Cells<T>) {
        // Relaxed: all handles are gone, and dropping them has ordered what they did before this.
        let mut read = self.consumers.tail.load(Ordering::Relaxed);
        let write = self.producers.tail.load(Ordering::Relaxed);
        drop_each(|| {
            (read != write).then(|| {
                let position = read;
                read = read.wrapping_add(1);
                // SAFETY: the slot holds an item that was never popped; `read` moves past it.
                unsafe { slots.read(position) }
            })
        });
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    channel_with(Config::new(capacity))
}

/// As [`channel`], with all options.
///
/// # Errors
///
/// As [`channel`].
pub fn channel_with<T>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let len = slots_for::<Header<T>>(config.capacity, 0)?;
    let (tx, rx) = ends(config.memory, len, Header::new(config.first))?;
    Ok((Producer { end: tx }, Consumer { end: rx }))
}

/// A sending side.
pub struct Producer<T> {
    end: End<Header<T>>,
}

/// A receiving side.
pub struct Consumer<T> {
    end: End<Header<T>>,
}

impl<T> Producer<T> {
    /// What kind of memory the queue lives in.
    pub fn backing(&self) -> Backing {
        self.end.backing()
    }

    /// Number of slots.
    #[inline]
    fn slots(&self) -> u64 {
        self.end.slots().len() as u64
    }

    /// Takes up to `wanted` free slots; if there are none, says where.
    #[inline]
    fn allocate(&self, wanted: u64) -> Result<Run, u64> {
        let Header { producers, consumers, .. } = self.end.header();
        producers.take(consumers, self.slots(), wanted)
    }

    /// Whether there was nobody in the middle of anything when no slot was free at `position`.
    #[inline]
    fn is_full_at(&self, position: u64) -> bool {
        let Header { producers, consumers, .. } = self.end.header();
        // Relaxed: any other value says no. And where this thread knows of a pop, by itself or by another's
        // word, it sees that pop's `head` or a later one here.
        producers.tail.load(Ordering::Relaxed) == position
            && consumers.head.load(Ordering::Relaxed) == position.wrapping_sub(self.slots())
    }

    /// Why `item` can't be pushed, when no slot is free at `position`.
    #[inline]
    fn refusal(&self, position: u64, item: T) -> TryPushError<T> {
        let closed = self.end.peer_is_gone();
        match closed || self.is_full_at(position) {
            true => full(closed, item),
            false => TryPushError::Busy(item),
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let run = match self.allocate(1) {
            Ok(run) => run,
            Err(position) => return Err(self.refusal(position, item)),
        };
        // SAFETY: the slot's last item has been taken, and it was allocated to this thread alone.
        unsafe { self.end.slots().write(run.position, item) };
        self.end.header().producers.finish(run);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }

    /// Takes all the slots it can at once.
    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let Ok(run) = self.allocate(items.len() as u64) else { return 0 };
        let n = run.n as usize;
        for (i, item) in items[..n].iter().enumerate() {
            // SAFETY: the slots' last items have been taken, and they were allocated to this thread alone.
            unsafe { self.end.slots().write(run.slot(i), *item) };
        }
        self.end.header().producers.finish(run);
        n
    }
}

impl<T> Consumer<T> {
    /// What kind of memory the queue lives in.
    pub fn backing(&self) -> Backing {
        self.end.backing()
    }

    /// Takes up to `wanted` items.
    #[inline]
    fn reserve(&self, wanted: u64) -> Option<Run> {
        let Header { producers, consumers, .. } = self.end.header();
        consumers.take(producers, 0, wanted).ok()
    }

    /// The paper's `dequeue`.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        let run = self.reserve(1)?;
        // SAFETY: the item is there, and was reserved to this thread alone.
        let item = unsafe { self.end.slots().read(run.position) };
        self.end.header().consumers.finish(run);
        Some(item)
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.end.peer_is_gone()
    }

    /// Takes all the items it can at once.
    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let Some(run) = self.reserve(into.len() as u64) else { return 0 };
        let n = run.n as usize;
        for (i, slot) in into[..n].iter_mut().enumerate() {
            // SAFETY: the items are there, and were reserved to this thread alone.
            *slot = unsafe { self.end.slots().read(run.slot(i)) };
        }
        self.end.header().consumers.finish(run);
        n
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate() }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate() }
    }
}

debug_handle! {
    [T] Producer<T>, "Producer";
    [T] Consumer<T>, "Consumer";
}

/// The queue, for code that is generic over queues.
#[derive(Debug)]
pub struct PlainRing;

impl MpmcQueue for PlainRing {
    const INFO: Info = Info {
        id: "ring",
        name: "plain ring with heads and tails",
        paper: "Wang 2024, §2.2, Fig. 2.1",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        delayed: false,
        capacity: "N",
        choose: "to compare: the ring that many systems have; every slot counts",
        avoid: "threads may be stopped in the middle, or there are many",
    };
    const TAKES_TURNS: bool = true;
    type Producer<T: Send> = Producer<T>;
    type Consumer<T: Send> = Consumer<T>;

    fn channel<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
        channel_with(config)
    }

    fn another_producer<T: Send>(producer: &Producer<T>) -> Option<Producer<T>> {
        Some(producer.clone())
    }

    fn another_consumer<T: Send>(consumer: &Consumer<T>) -> Option<Consumer<T>> {
        Some(consumer.clone())
    }
}
