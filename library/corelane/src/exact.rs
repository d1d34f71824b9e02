//! A one-to-one queue that says full at exactly n items, made of one that gives slots back in
//! groups.
//!
//! The consumer publishes its position after each pop, or run of pops, in a line of its own. The
//! producer reads this position only when the items that it knows of fill the queue. The inner
//! queue then has room, since it promises room for n items.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use crate::carrier::{Carrier, Empties, Fills};
use crate::line_ring::LineRing;
use crate::memory::{AtomicU64, Ordering, fence, limit, own_load, pause};
use crate::pad::Padded;
use crate::queue::{
    self, Backing, Built, Config, Info, Queue, SingleQueue, TryPopError, TryPushError, full,
};

/// An exact queue made of `Q`. A [`Queue`], for code that is generic over queues.
#[derive(Debug)]
pub struct Exact<Q = LineRing>(PhantomData<Q>);

impl<T, Q: SingleQueue<T>> Queue<T> for Exact<Q> {
    const INFO: Info = Q::INFO;
    type Producer = Producer<Q::Producer>;
    type Consumer = Consumer<Q::Consumer>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        Q::with(Config { exact: false, ..config }).map(|ends| of(ends, config.capacity))
    }
}

/// An exact queue for `capacity` items, made of these handles. A queue that is never full stays so.
pub(crate) fn of<P: queue::Producer, C>(
    (tx, rx): (P, C),
    capacity: usize,
) -> (Producer<P>, Consumer<C>) {
    let capacity = match tx.capacity() {
        usize::MAX => u64::MAX,
        _ => capacity as u64,
    };
    let shared = Arc::new(Positions::new(capacity));
    (
        Producer { queue: tx, room: capacity, capacity, shared: shared.clone() },
        Consumer { queue: rx, shared, capacity },
    )
}

/// Numbers of items pushed and popped.
pub(crate) struct Positions {
    pushed: Padded<AtomicU64>,
    popped: Padded<AtomicU64>,
    /// The capacity, less the room that is reserved.
    unreserved: AtomicU64,
    /// Number of items for which room was ever reserved.
    reserved: AtomicU64,
    /// Number of items whose reservation was released.
    released: AtomicU64,
    /// As `released`. Grows when the item of the reservation is pushed.
    ended: AtomicU64,
}

impl Positions {
    /// Items that were pushed, by calls that have returned.
    #[inline]
    pub(crate) fn pushed(&self) -> u64 {
        // Relaxed: the inner queue orders the pushed items.
        self.pushed.load(Ordering::Relaxed)
    }

    /// Items that were popped, by calls that have returned.
    pub(crate) fn popped(&self) -> u64 {
        // Acquire ↔ Release in `Consumer::count`: the inner queue's slots have come back.
        self.popped.load(Ordering::Acquire)
    }

    /// Grows when room comes back: after a pop, and after a reservation.
    pub(crate) fn freed(&self) -> u64 {
        // Acquire ↔ the fence of `release`: a thread that has seen a later write of the releasing
        // thread sees the release.
        fence(Ordering::Acquire);
        // Acquire ↔ Release in `release`: the room of the reservation has come back.
        self.popped().wrapping_add(self.released.load(Ordering::Acquire))
    }

    /// Items inside, at a moment of the call.
    pub(crate) fn len(&self) -> usize {
        loop {
            let (pushed, popped) = (self.pushed(), self.popped());
            if self.pushed() == pushed {
                // An item may be popped before its push has returned.
                return pushed.saturating_sub(popped) as usize;
            }
        }
    }

    /// Whether all room that is not reserved is taken. While a reservation ends, its room may count
    /// twice: then [`freed`](Self::freed) grows.
    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Items for which there is room that is not reserved: as [`is_full`](Self::is_full).
    pub(crate) fn room(&self) -> u64 {
        // Relaxed: a sleeper looks again after the reservation has ended, since a ring follows.
        self.unreserved.load(Ordering::Relaxed).saturating_sub(self.len() as u64)
    }

    /// Whether room is reserved. If not, the items that were pushed into reserved room are there.
    #[cfg(feature = "std")]
    pub(crate) fn is_reserved(&self) -> bool {
        // Acquire ↔ Release in `release`: the item.
        let ended = self.ended.load(Ordering::Acquire);
        // Relaxed: the caller knows of the reservation.
        self.reserved.load(Ordering::Relaxed) != ended
    }

    fn new(capacity: u64) -> Self {
        let position = || Padded(AtomicU64::new(0));
        Self {
            pushed: position(),
            popped: position(),
            unreserved: AtomicU64::new(capacity),
            reserved: AtomicU64::new(0),
            released: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }
}

/// The sending side.
pub struct Producer<P> {
    queue: P,
    /// Items for which there is room, by the last read of the consumer's position.
    room: u64,
    /// Less the room that is reserved.
    capacity: u64,
    shared: Arc<Positions>,
}

/// The receiving side.
pub struct Consumer<C> {
    queue: C,
    capacity: u64,
    shared: Arc<Positions>,
}

/// A producer with less room than this, and less than a quarter of the capacity, pauses for a
/// moment before it reads the consumer's position again.
const LITTLE: u64 = 64;
/// Pauses of this moment: about the time in which a cache line goes to a far core and comes back.
const MOMENT: u32 = limit(16, 0) as u32;

/// Items for which there is room. Out of line, but by value: see `queue::try_pop_by`.
///
/// Each look takes the line of the consumer's position away from the consumer. A producer that
/// looked again for each item would make both sides wait for this line.
#[cold]
#[inline(never)]
fn look(shared: &Positions, capacity: u64) -> u64 {
    let pushed = own_load(&shared.pushed);
    let room = || shared.popped().wrapping_add(capacity).wrapping_sub(pushed);
    let first = room();
    if (1..LITTLE.min(capacity / 4)).contains(&first) {
        pause(MOMENT);
        return room();
    }
    first
}

impl<P> Producer<P> {
    #[inline(always)] // as the inner queue's calls
    fn has_room(&mut self) -> bool {
        if self.room == 0 {
            self.room = look(&self.shared, self.capacity);
        }
        self.room > 0
    }

    /// Reserves room for `n` items, if there is so much: as if the capacity were smaller, until
    /// [`release`](Self::release). The items' places in the queue are open until they are pushed.
    #[cfg(feature = "std")]
    pub(crate) fn reserve(&mut self, n: u64) -> bool {
        if self.room < n {
            self.room = look(&self.shared, self.capacity);
        }
        let has_room = self.room >= n;
        if has_room {
            let reserved = &self.shared.reserved;
            // Relaxed, both: only counted, by the thread that has the producer.
            reserved.store(reserved.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
            self.set_unreserved(self.capacity - n, self.room - n);
        }
        has_room
    }

    /// Ends the reservation of room for `n` items. Now there is room, which `push` may fill.
    #[cfg(feature = "std")]
    pub(crate) fn release(&mut self, n: u64, push: impl FnOnce(&mut Self)) {
        self.set_unreserved(self.capacity + n, self.room + n);
        let released = &self.shared.released;
        // Relaxed: only the thread that has the producer writes it.
        let next = released.load(Ordering::Relaxed).wrapping_add(n);
        // Release ↔ Acquire in `freed`: the room of the reservation has come back.
        released.store(next, Ordering::Release);
        // Release ↔ the fence of `freed`: the end of the reservation is visible before this
        // thread's next push or reservation.
        fence(Ordering::Release);
        push(self);
        // Release ↔ Acquire in `is_reserved`: the item.
        self.shared.ended.store(next, Ordering::Release);
    }

    #[cfg(feature = "std")]
    fn set_unreserved(&mut self, capacity: u64, room: u64) {
        (self.capacity, self.room) = (capacity, room);
        // Relaxed: only counted.
        self.shared.unreserved.store(capacity, Ordering::Relaxed);
    }

    pub(crate) fn positions(&self) -> Arc<Positions> {
        self.shared.clone()
    }

    /// Counts an item that was pushed.
    #[inline(always)] // as the inner queue's calls
    fn count(&mut self) {
        self.room -= 1;
        let pushed = &self.shared.pushed;
        // Relaxed: only counted.
        pushed.store(own_load(pushed).wrapping_add(1), Ordering::Relaxed);
    }
}

impl<C> Consumer<C> {
    /// Counts items that were popped.
    #[inline(always)] // as the inner queue's calls
    fn count(&mut self, n: u64) {
        let popped = own_load(&self.shared.popped).wrapping_add(n);
        // Release ↔ Acquire in `Positions::popped`: the inner queue's slots have come back.
        self.shared.popped.store(popped, Ordering::Release);
    }
}

impl<P: queue::Producer> queue::Producer for Producer<P> {
    type Item = P::Item;

    #[inline(always)] // as the inner queue's
    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        if !self.has_room() {
            return Err(full(self.is_closed(), item));
        }
        let pushed = self.queue.try_push(item);
        debug_assert!(pushed.is_ok(), "the inner queue has room for `capacity` items");
        pushed?;
        self.count();
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.capacity as usize
    }

    fn len(&mut self) -> usize {
        self.shared.len()
    }

    fn is_full(&mut self) -> bool {
        !self.has_room()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn backing(&self) -> Backing {
        self.queue.backing()
    }

    fn flush(&mut self) {
        self.queue.flush();
    }
}

impl<P: Empties> Empties for Producer<P> {
    #[inline(always)] // as `try_push`
    fn push_from(&mut self, item: &mut Carrier<P::Item>) -> bool {
        if !self.has_room() {
            return false;
        }
        if !self.queue.push_from(item) {
            debug_assert!(false, "the inner queue has room for `capacity` items");
            return false;
        }
        self.count();
        true
    }

    #[inline(always)] // as `try_push`
    fn push_quickly(&mut self, item: &mut Carrier<P::Item>) -> bool {
        let is_done = self.room > 0 && self.queue.push_quickly(item);
        if is_done {
            self.count();
        }
        is_done
    }
}

impl<C: queue::Consumer> Consumer<C> {
    /// Pops up to `most` items, and returns their number. Their room comes back after the last one.
    /// `each` doesn't panic.
    #[cfg(feature = "std")]
    pub(crate) fn pop_run(&mut self, most: usize, each: impl FnMut(C::Item)) -> usize {
        let popped = (0..most).map_while(|_| self.queue.try_pop().ok());
        let taken = popped.map(each).count();
        if taken > 0 {
            self.count(taken as u64);
        }
        taken
    }
}

impl<C: queue::Consumer> queue::Consumer for Consumer<C> {
    type Item = C::Item;

    #[inline(always)] // as the inner queue's
    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        let item = self.queue.try_pop()?;
        self.count(1);
        Ok(item)
    }

    fn capacity(&self) -> usize {
        self.capacity as usize
    }

    fn len(&mut self) -> usize {
        self.shared.len()
    }

    fn is_empty(&mut self) -> bool {
        self.queue.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn backing(&self) -> Backing {
        self.queue.backing()
    }
}

impl<C: Fills> Fills for Consumer<C> {
    #[inline(always)] // as `try_pop`
    fn pop_into(&mut self, item: &mut Carrier<C::Item>) -> Result<(), TryPopError> {
        self.queue.pop_into(item)?;
        self.count(1);
        Ok(())
    }

    #[inline(always)] // as `try_pop`
    fn pop_quickly(&mut self, item: &mut Carrier<C::Item>) -> bool {
        let is_done = self.queue.pop_quickly(item);
        if is_done {
            self.count(1);
        }
        is_done
    }
}

impl<P> fmt::Debug for Producer<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for Consumer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
