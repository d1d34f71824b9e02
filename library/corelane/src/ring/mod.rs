// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `ring`, `ring-rts`, `ring-hts`: the plain ring between several producers and several consumers,
//! as in DPDK.
//!
//! Each side has two counters. A thread advances its side's `head` by compare-and-swap, which takes
//! slots that the other side has published. Then it fills or empties these slots. It waits until
//! its side's `tail` is at the first of its slots. Then it moves `tail` behind its slots, which
//! publishes them to the other side. So the threads of a side finish in the order in which they
//! began.
//!
#![doc = advice!(literature ring)]
//!
//! Calls are short: without contention, one compare-and-swap and one store for a slice of any
//! length. With many threads all threads of a side wait for one cache line.
//!
//! A thread that is stopped in the middle of a push or pop stops all later threads of its side:
//! they spin until the stopped thread continues. In the end the other side finds no free slot, or
//! no item. With [relaxed tails](RelaxedTail) the other threads of the side continue, but the slots
//! that they fill or empty stay invisible until the stopped thread continues. With [one at a
//! time](HeadTail) all other calls of the side say busy, and no thread spins.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](TryPushError::Full)) |
//! | capacity | N, the number of slots: as asked, rounded up to a power of two; or [exactly](Config::exact) as asked |
//! | memory | besides the slots: two words for a side in order, three for a side with relaxed tails, one for a side with one thread at a time; each side in cache lines of its own |
//! | a stopped thread | in the middle of a call blocks its side, as above; for ever, if the thread never continues |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | one compare-and-swap and one store (with relaxed tails two compare-and-swaps); no more for a whole [`push_slice`](crate::Producer::push_slice) or [`pop_slice`](crate::Consumer::pop_slice) |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.2, Fig. 2.1; DPDK's `rte_ring`, in its default mode |
//!
//! # Departures from the paper
//!
//! - Orderings are acquire and release where the paper has sequentially consistent ones.
//! - A push says [`Full`](TryPushError::Full) only if, as far as it can see, all slots hold items
//!   and no pop is unfinished. If no slot is free, but another thread is in the middle of a push or
//!   pop, the push says [`Busy`](TryPushError::Busy). The paper's push says full then too: a thread
//!   may find the queue full after another thread has found it empty and told the first thread so.
//!   A pop says busy only if its side is not in order, or if producers have relaxed tails. In the
//!   other cases no push behind an unfinished push has returned, so *empty* is right.
//! - Positions are compared by 47 bits; DPDK's have 32. A thread must not be stopped in the middle
//!   of a call while 2⁴⁷ slots are used.
//!
//! ```
//! use corelane::{TryPushError, ring};
//!
//! let (mut tx, rx) = ring::queue(2)?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! assert!(matches!(tx.try_push('c'), Err(TryPushError::Full('c'))));
//! let mut other_rx = rx.clone();
//! assert_eq!(other_rx.try_pop(), Ok('a'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use crate::memory::Cells;
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, Built, CapacityError, Config, Info, Queue, TryPopError, TryPushError, answered_by, full,
    handles,
};
use crate::region::{End, Run, State, ends, slots_up_to};
use crate::spin::Retries;
use crate::unwind::drop_each;

mod head_tail;
mod in_order;
pub(crate) mod mode;
mod relaxed_tail;

pub use head_tail::{Claimed, HeadTail, Peeked};
pub use in_order::InOrder;
pub use relaxed_tail::RelaxedTail;

pub(crate) use mode::Wanted;
use mode::{Cursors, MOST_SLOTS, Refused, distance};

/// How the threads of a side synchronise with each other: [`InOrder`], [`RelaxedTail`] or
/// [`HeadTail`].
pub trait Mode: Cursors {}

impl<M: Cursors> Mode for M {}

/// From the consumers' position to the producers' position there are items that no consumer has
/// taken.
#[derive(Debug)]
#[repr(C)]
#[doc(hidden)]
pub struct Header<T, P, C> {
    /// The paper's `P`.
    producers: Padded<P>,
    /// The paper's `C`.
    consumers: Padded<C>,
    items: PhantomData<T>,
}

impl<T, P: Mode, C: Mode> State for Header<T, P, C> {
    type Item = T;
    type Slots = Cells<T>;

    fn drop_items(&self, slots: &Cells<T>) {
        // If a consumer has left a call unfinished, it isn't known which items are still there.
        let (Some(mut read), Some(write)) = (self.consumers.done(), self.producers.done()) else {
            return;
        };
        drop_each(|| {
            (distance(read, write) > 0).then(|| {
                let position = read;
                read = read.wrapping_add(1);
                // SAFETY: the slot holds an item that was never popped; `read` moves past it.
                unsafe { slots.read(position) }
            })
        });
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side, both in
/// order.
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
    open(config)
}

/// As [`queue`], with a mode for producers and one for consumers.
///
/// ```
/// use corelane::ring::{self, InOrder, RelaxedTail};
///
/// let (mut tx, mut rx) = ring::queue_in_modes::<_, RelaxedTail, InOrder>(8)?;
/// tx.push_bulk(&[1, 2, 3])?;
/// assert_eq!(rx.try_pop(), Ok(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
pub fn queue_in_modes<T: Send, P: Mode, C: Mode>(
    capacity: usize,
) -> Built<Producer<T, P, C>, Consumer<T, P, C>> {
    queue_in_modes_with(Config::new(capacity))
}

/// As [`queue_in_modes`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_in_modes_with<T: Send, P: Mode, C: Mode>(
    config: Config,
) -> Built<Producer<T, P, C>, Consumer<T, P, C>> {
    open(config)
}

/// Both handles of a new queue.
fn open<T, P: Mode, C: Mode>(config: Config) -> Built<Producer<T, P, C>, Consumer<T, P, C>> {
    config.only(&[ConfigOption::Exact])?;
    let len = Header::<T, P, C>::slots(config.capacity)?;
    let (tx, rx) = ends(config.memory, len, Header::new(config.first, len))?;
    let capacity = if config.exact { config.capacity } else { len };
    Ok((Producer::new(capacity, tx), Consumer::new(capacity, rx)))
}

impl<T, P: Mode, C: Mode> Header<T, P, C> {
    /// Slots for at least `capacity` items.
    pub(crate) fn slots(capacity: usize) -> Result<usize, CapacityError> {
        slots_up_to::<Self>(MOST_SLOTS, capacity, 0)
    }

    /// Of an empty ring with `len` slots.
    pub(crate) fn new(first: u64, len: usize) -> Self {
        let (producers, consumers) = (P::new(first, len), C::new(first, len));
        Self { producers: Padded(producers), consumers: Padded(consumers), items: PhantomData }
    }

    /// Items that consumers may take.
    fn len(&self) -> usize {
        // Consumers first: if both are at the same position, then there was no item.
        let read = self.consumers.tail();
        distance(read, self.producers.tail()) as usize
    }
}

/// A sending side.
pub struct Producer<T, P: Mode = InOrder, C: Mode = InOrder> {
    /// N, or the capacity asked for if it is exact.
    capacity: usize,
    end: End<Header<T, P, C>>,
}

/// A receiving side.
pub struct Consumer<T, P: Mode = InOrder, C: Mode = InOrder> {
    /// See [`Producer`].
    capacity: usize,
    end: End<Header<T, P, C>>,
}

impl<T, P: Mode, C: Mode> Producer<T, P, C> {
    pub(crate) fn new(capacity: usize, end: End<Header<T, P, C>>) -> Self {
        Self { capacity, end }
    }

    /// Takes free slots.
    #[inline]
    pub(crate) fn allocate(&self, wanted: Wanted) -> Result<Run, Refused> {
        let Header { producers, consumers, .. } = self.end.header();
        producers.take(wanted, || consumers.tail().wrapping_add(self.capacity as u64))
    }

    /// Whether only the slots `free` are free, and no call was unfinished when they were seen.
    #[inline]
    fn has_only(&self, free: Run) -> bool {
        let Header { producers, consumers, .. } = self.end.header();
        producers.rests_at(free.position)
            && consumers.rests_at(free.end().wrapping_sub(self.capacity as u64))
    }

    /// Why `item` can't be pushed.
    #[inline]
    fn refusal<I>(&self, refused: Refused, item: I) -> TryPushError<I> {
        let Refused::Short(free) = refused else { return TryPushError::Busy(item) };
        let closed = self.end.peer_is_gone();
        match closed || self.has_only(free) {
            true => full(closed, item),
            false => TryPushError::Busy(item),
        }
    }

    /// Publishes that slots are filled.
    #[inline]
    pub(crate) fn publish(&self, run: Run) {
        self.end.header().producers.finish(run);
    }

    /// Fills slots, from the first on.
    #[inline]
    fn fill(&self, run: Run, items: &[T])
    where
        T: Copy,
    {
        for (i, item) in items.iter().enumerate() {
            // SAFETY: the last items of these slots have been taken, and the slots are allocated to
            // this thread alone.
            unsafe { self.end.slots().write(run.slot(i), *item) };
        }
        self.publish(run);
    }

    /// Pushes copies of all `items`, in consecutive slots, or none: DPDK's *bulk*.
    ///
    /// [`push_slice`](queue::Producer::push_slice) pushes as many as there is room for: DPDK's
    /// *burst*.
    ///
    /// # Errors
    ///
    /// As [`try_push`](queue::Producer::try_push), if there is no room for all items. More items
    /// than the capacity always fail.
    pub fn push_bulk(&mut self, items: &[T]) -> Result<(), TryPushError<()>>
    where
        T: Copy,
    {
        if items.is_empty() {
            return Ok(());
        }
        let run = self.allocate(Wanted::Exactly(items.len() as u64));
        self.fill(run.map_err(|refused| self.refusal(refused, ()))?, items);
        Ok(())
    }
}

impl<T, P: Mode, C: Mode> queue::Producer for Producer<T, P, C> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let run = match self.allocate(Wanted::UpTo(1)) {
            Ok(run) => run,
            Err(refused) => return Err(self.refusal(refused, item)),
        };
        // SAFETY: the slot's last item has been taken, and the slot is allocated to this thread
        // alone.
        unsafe { self.end.slots().write(run.position, item) };
        self.publish(run);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.header().len().min(self.capacity)
    }

    /// Takes as many slots as it can at once.
    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let run = loop {
            match self.allocate(Wanted::UpTo(items.len() as u64)) {
                Ok(run) => break run,
                Err(refused) if retries.again(matches!(refused, Refused::Busy)) => {}
                Err(_) => return 0,
            }
        };
        self.fill(run, &items[..run.n as usize]);
        run.n as usize
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, P: Mode, C: Mode> Consumer<T, P, C> {
    pub(crate) fn new(capacity: usize, end: End<Header<T, P, C>>) -> Self {
        Self { capacity, end }
    }

    /// Takes items.
    #[inline]
    pub(crate) fn reserve(&self, wanted: Wanted) -> Result<Run, TryPopError> {
        let Header { producers, consumers, .. } = self.end.header();
        let mut closed = false;
        loop {
            match consumers.take(wanted, || producers.tail()) {
                Ok(run) => return Ok(run),
                Err(Refused::Busy) => return Err(TryPopError::Busy),
                Err(Refused::Short(items)) if closed && items.n == 0 => {
                    return Err(TryPopError::Closed);
                }
                Err(Refused::Short(_)) if closed => return Err(TryPopError::Empty),
                // Looks once more, for items that producers pushed before they were dropped.
                Err(Refused::Short(_)) if self.end.peer_is_gone() => closed = true,
                Err(Refused::Short(items)) if P::HIDES && !producers.rests_at(items.end()) => {
                    return Err(TryPopError::Busy);
                }
                Err(Refused::Short(_)) => return Err(TryPopError::Empty),
            }
        }
    }

    /// Publishes that slots are empty.
    #[inline]
    pub(crate) fn give_back(&self, run: Run) {
        self.end.header().consumers.finish(run);
    }

    /// Empties slots, from the first on.
    #[inline]
    fn empty(&self, run: Run, into: &mut [T])
    where
        T: Copy,
    {
        for (i, slot) in into.iter_mut().enumerate() {
            // SAFETY: the slots hold items, and are reserved to this thread alone.
            *slot = unsafe { self.end.slots().read(run.slot(i)) };
        }
        self.give_back(run);
    }

    /// Pops as many of the oldest items as `into` has room for, or none: DPDK's *bulk*.
    ///
    /// [`pop_slice`](queue::Consumer::pop_slice) pops as many as there are: DPDK's *burst*.
    ///
    /// # Errors
    ///
    /// As [`try_pop`](Self::try_pop); [`Empty`](TryPopError::Empty) also if there are fewer items
    /// than `into` has room for. After the queue [is closed](Self::is_closed),
    /// [`pop_slice`](Self::pop_slice) pops the last items.
    pub fn pop_bulk(&mut self, into: &mut [T]) -> Result<(), TryPopError>
    where
        T: Copy,
    {
        if !into.is_empty() {
            let run = self.reserve(Wanted::Exactly(into.len() as u64))?;
            self.empty(run, into);
        }
        Ok(())
    }
}

impl<T, P: Mode, C: Mode> queue::Consumer for Consumer<T, P, C> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let run = self.reserve(Wanted::UpTo(1))?;
        // SAFETY: the slot holds an item, and is reserved to this thread alone.
        let item = unsafe { self.end.slots().read(run.position) };
        self.give_back(run);
        Ok(item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.header().len().min(self.capacity)
    }

    /// Takes as many items as it can at once.
    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let run = loop {
            match self.reserve(Wanted::UpTo(into.len() as u64)) {
                Ok(run) => break run,
                Err(error) if retries.again(error == TryPopError::Busy) => {}
                Err(_) => return 0,
            }
        };
        let n = run.n as usize;
        self.empty(run, &mut into[..n]);
        n
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, P: Mode, C: Mode> Clone for Producer<T, P, C> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), ..*self }
    }
}

impl<T, P: Mode, C: Mode> Clone for Consumer<T, P, C> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), ..*self }
    }
}

handles! {
    [T, P: Mode, C: Mode] Producer<T, P, C>: producer of T;
    [T, P: Mode, C: Mode] Consumer<T, P, C>: consumer of T;
}

/// The queue whose producers are in mode `P` and whose consumers are in mode `C`, for code that is
/// generic over queues.
///
/// Its [`INFO`](Queue::INFO) is that of the ring with both sides in the producers' mode.
#[derive(Debug)]
pub struct Ring<P, C = P>(PhantomData<(P, C)>);

impl<T: Send, P: Mode, C: Mode> Queue<T> for Ring<P, C> {
    const INFO: Info = Info { takes_turns: P::INFO.takes_turns || C::INFO.takes_turns, ..P::INFO };
    type Producer = Producer<T, P, C>;
    type Consumer = Consumer<T, P, C>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        open(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls the macro with each pair of modes.
    macro_rules! in_all_modes {
        ($check:ident) => {
            $check::<InOrder, InOrder>();
            $check::<InOrder, RelaxedTail>();
            $check::<InOrder, HeadTail>();
            $check::<RelaxedTail, InOrder>();
            $check::<RelaxedTail, RelaxedTail>();
            $check::<RelaxedTail, HeadTail>();
            $check::<HeadTail, InOrder>();
            $check::<HeadTail, RelaxedTail>();
            $check::<HeadTail, HeadTail>();
        };
    }

    /// First positions, from which the positions of each mode soon wrap.
    const FIRSTS: [u64; 4] = [0, (1 << 47) - 3, (1 << 63) - 3, u64::MAX - 2];

    #[test]
    fn all_or_nothing() {
        fn check<P: Mode, C: Mode>() {
            for first in FIRSTS {
                let (mut tx, mut rx) = open::<u64, P, C>(Config::new(4).first(first)).unwrap();
                for round in 0..10 {
                    let mut into = [0; 3];
                    assert_eq!((tx.push_bulk(&[]), rx.pop_bulk(&mut [])), (Ok(()), Ok(())));
                    assert_eq!(tx.push_bulk(&[round, 1, 2]), Ok(()));
                    assert_eq!(tx.push_bulk(&[3, 4]), Err(TryPushError::Full(())));
                    assert_eq!(tx.push_bulk(&[3]), Ok(()));
                    assert_eq!(tx.try_push(4), Err(TryPushError::Full(4)));
                    assert_eq!((rx.pop_bulk(&mut into), into), (Ok(()), [round, 1, 2]));
                    assert_eq!(rx.pop_bulk(&mut into[..2]), Err(TryPopError::Empty));
                    assert_eq!((rx.pop_slice(&mut into), into[0]), (1, 3));
                    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
                }
                assert_eq!(tx.push_bulk(&[0; 5]), Err(TryPushError::Full(())), "never");
                assert_eq!(tx.push_slice(&[7; 5]), 4);
                drop(tx);
                assert_eq!(rx.pop_bulk(&mut [0; 5]), Err(TryPopError::Empty), "some are left");
                assert_eq!(rx.pop_iter().count(), 4);
                assert_eq!(rx.pop_bulk(&mut [0; 5]), Err(TryPopError::Closed));
            }
        }
        in_all_modes!(check);
    }

    #[test]
    fn items_that_are_left_are_dropped() {
        fn check<P: Mode, C: Mode>() {
            let item = alloc::sync::Arc::new(());
            for first in FIRSTS {
                let (mut tx, mut rx) = open::<_, P, C>(Config::new(8).first(first)).unwrap();
                (0..6).for_each(|_| tx.try_push(item.clone()).unwrap());
                drop(rx.try_pop());
                drop((tx, rx));
                assert_eq!(alloc::sync::Arc::strong_count(&item), 1);
            }
        }
        in_all_modes!(check);
    }

    #[test]
    fn a_peek_leaves_what_it_does_not_pop() {
        fn check<P: Mode>() {
            for first in FIRSTS {
                let (mut tx, mut rx) = open::<_, P, HeadTail>(Config::new(4).first(first)).unwrap();
                let mut other = rx.clone();
                assert_eq!(rx.peek(1).map(drop), Err(TryPopError::Empty));
                for text in ["a", "b", "c", "d"] {
                    tx.try_push(alloc::string::String::from(text)).unwrap();
                }
                let mut peeked = rx.peek(3).unwrap();
                assert_eq!((peeked.len(), other.try_pop()), (3, Err(TryPopError::Busy)));
                assert_eq!(peeked.next().as_deref(), Some("a"));
                let (ahead, behind) = peeked.as_slices();
                assert!(ahead.iter().chain(behind).eq(["b", "c"]));
                assert!(matches!(tx.try_push("e".into()), Err(TryPushError::Busy(_))));
                drop(peeked);
                assert_eq!(rx.peek(0).unwrap().next(), None);
                assert_eq!(other.try_pop().as_deref(), Ok("b"));
                assert!(rx.peek(9).unwrap().eq(["c", "d"]));
                assert_eq!(rx.peek(9).map(drop), Err(TryPopError::Empty));
                drop(tx);
                assert_eq!(rx.peek(9).map(drop), Err(TryPopError::Closed));
            }
        }
        check::<InOrder>();
        check::<RelaxedTail>();
        check::<HeadTail>();
    }

    #[test]
    fn a_claim_shows_what_was_filled() {
        fn check<C: Mode>() {
            for first in FIRSTS {
                let (mut tx, mut rx) = open::<_, HeadTail, C>(Config::new(4).first(first)).unwrap();
                let mut other = tx.clone();
                assert!(tx.claim(0).unwrap().push("none").is_err());
                let mut claimed = tx.claim(3).unwrap();
                assert_eq!(claimed.free(), 3);
                claimed.push("a").unwrap();
                claimed.push("b").unwrap();
                assert!(matches!(other.try_push("x"), Err(TryPushError::Busy(_))));
                assert_eq!(rx.try_pop(), Err(TryPopError::Empty), "nothing is shown yet");
                drop(claimed);
                assert_eq!(other.try_push("c"), Ok(()), "the third slot was given back");
                let mut last = tx.claim(9).unwrap();
                assert_eq!(last.push("d"), Ok(()));
                assert_eq!((last.is_full(), last.push("e")), (true, Err("e")));
                drop(last);
                assert_eq!(tx.claim(1).map(drop), Err(TryPushError::Full(())));
                assert!(rx.pop_iter().eq(["a", "b", "c", "d"]));
                drop(rx);
                assert_eq!(tx.try_push("f"), Ok(()), "there is room");
            }
        }
        check::<InOrder>();
        check::<RelaxedTail>();
        check::<HeadTail>();
    }

    /// Unpublished items aren't dropped, nor are any others, since it isn't known which slots hold
    /// items.
    #[test]
    fn a_forgotten_claim_leaks() {
        let item = alloc::sync::Arc::new(());
        let (mut tx, rx) = queue_in_modes::<_, HeadTail, InOrder>(4).unwrap();
        tx.try_push(item.clone()).unwrap();
        let mut claimed = tx.claim(2).unwrap();
        claimed.push(item.clone()).unwrap();
        core::mem::forget(claimed);
        assert!(matches!(tx.try_push(item.clone()), Err(TryPushError::Busy(_))));
        drop((tx, rx));
        assert_eq!(alloc::sync::Arc::strong_count(&item), 3);
    }

    /// An item that may have been popped isn't dropped a second time.
    #[test]
    fn a_forgotten_peek_leaks() {
        let item = alloc::sync::Arc::new(());
        let (mut tx, mut rx) = queue_in_modes::<_, InOrder, HeadTail>(4).unwrap();
        (0..3).for_each(|_| tx.try_push(item.clone()).unwrap());
        let mut peeked = rx.peek(2).unwrap();
        drop(peeked.next());
        core::mem::forget(peeked);
        assert_eq!(rx.try_pop(), Err(TryPopError::Busy));
        drop((tx, rx));
        assert_eq!(alloc::sync::Arc::strong_count(&item), 3);
    }

    #[test]
    fn no_more_slots_than_positions_tell_apart() {
        for capacity in [MOST_SLOTS + 1, usize::MAX / 4] {
            let error = queue::<()>(capacity).unwrap_err();
            assert!(matches!(error, CapacityError::OutOfRange { .. }), "{error}");
        }
        // Where there are enough addresses.
        assert_eq!(queue::<()>(MOST_SLOTS).is_ok(), cfg!(target_pointer_width = "64"));
        assert!(queue::<()>(MOST_SLOTS / 4).is_ok());
        // Even where a number of slots has 32 bits.
        assert_eq!([32, 64].map(mode::log_most_slots), [31, 46]);
    }
}
