// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `uspsc`: an unbounded queue between one producer and one consumer, a list of rings.
//!
//! While a ring has room, both sides work as the two sides of this ring. When the ring is full, the
//! producer continues in another ring, and sends the consumer a note. When the consumer has emptied
//! its ring and finds a note, it continues in the next ring, and sends the empty ring back for
//! reuse.
//!
#![doc = advice!(uspsc)]
//!
//! If memory must be bounded, use one [ring](crate::line_ring): it says when it is full.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free (wait-free but for the allocator), first in first out |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](TryPushError::Full) only if there is no memory for another ring, or for its note |
//! | memory | rings for N items, where N is the [`Config::capacity`]: those with items, and up to 32 empty ones for the next burst; and 32 places for empty rings, of 384 bytes each with line rings |
//! | ring | any [`SingleQueue`] that says empty only if it is, once it has been flushed; by default the [line ring](crate::line_ring) |
//! | a stopped thread | keeps the item that it was about to push or pop; the other side continues |
//! | operations | those of the ring; for every N items one note, which costs about four misses |
//! | closing | a push says closed when the consumer is gone and the producer's ring is full |
//! | paper | M. Aldinucci et al.: *An Efficient Synchronisation Mechanism for Multi-Core Systems* (Euro-Par 2012), §4, Fig. 3 |
//!
//! # Chunks
//!
//! A chunk lies in one ring.
//!
//! - `write_chunk_exact(n)` succeeds for each n up to the [`Config::capacity`]. If the producer's
//!   ring has fewer free slots, the producer goes on to another ring, and leaves those slots
//!   unused. Other calls that ask for at most a ring's slots do the same: `write_chunk(n)`,
//!   `free_slots(n)`, and `push_iter` of an iterator that knows its length.
//! - `read_chunk_exact(n)` fails while fewer than n items are left in the consumer's ring, also if
//!   more items are in the next ring. The call fails again until the items left in this ring are
//!   taken. [`TooFew::len`](crate::TooFew::len) is the number of these items, and not of all items
//!   in the queue. Take them by `read_chunk(n)`, which ends at the ring's end.
//! - `available`, `len`, `pop_slice` and `pop_iter` go on from ring to ring.
//!
//! ```
//! use corelane::{fast_forward::FfqAny, segmented};
//!
//! let (mut tx, mut rx) = segmented::queue_of::<_, FfqAny>(4)?;
//! assert_eq!(tx.push_iter(0..6), 6); // four in the first ring, two in the next one
//! rx.read_chunk_exact(3)?.commit_all();
//! assert_eq!(rx.read_chunk_exact(3).map_err(|too_few| too_few.len).unwrap_err(), 1);
//! rx.read_chunk(3)?.commit_all();
//! assert_eq!(rx.read_chunk_exact(2)?.as_slices().0, [4, 5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Departures from the paper
//!
//! - Neither side reads the other side's `buf_r` or `buf_w`: the note says that the producer has
//!   left the ring. The consumer must look at its ring once more after it has seen the note
//!   (Theorem 2, case 4).
//! - A reused ring continues at its positions, and is not reset.
//!
//! ```
//! use corelane::segmented;
//!
//! let (mut tx, mut rx) = segmented::queue(64)?;
//! for n in 0..1000 {
//!     tx.try_push(n)?;
//! }
//! assert!(rx.pop_iter().eq(0..1000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::marker::PhantomData;
use core::mem::replace;

use crate::carrier::{Carrier, Empties, Fills};
use crate::list::linked;
use crate::memory::without_unwinding;
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentItems, LentSlots, MOST_COUNTED, Producer as _,
    Queue, SingleConsumer as _, SingleProducer as _, SingleQueue, TryPopError, TryPushError,
    answered_by, full, handles,
};
use crate::region::try_box;
use crate::slot::Flagged;
use crate::{fast_forward, line_ring::LineRing};

/// Most empty rings that are kept, as in the paper's measurements.
const SPARES: usize = 32;

/// A ring that neither side uses.
struct SpareRing<T: Send, Q: SingleQueue<T>> {
    tx: Q::Producer,
    rx: Q::Consumer,
}

/// The producer's note: it has moved from one ring to another.
struct Switch<T: Send, Q: SingleQueue<T>> {
    left: Q::Producer,
    next: Q::Consumer,
}

/// A queue of rings for at least `ring` items each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory.
pub fn queue<T: Send>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(ring))
}

/// As [`queue`], with all options. Each ring gets them.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_of_with(config)
}

/// As [`queue`], of any kind of ring.
///
/// ```
/// use corelane::{b_queue::BQueueAny, segmented};
///
/// let (mut tx, _rx) = segmented::queue_of::<_, BQueueAny>(64)?;
/// tx.try_push("hello")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
///
/// # Panics
///
/// If making a ring or dropping an empty ring panics, the process is aborted. The library's own
/// rings don't panic, except `mc_ring_sane` if no thread can be started.
pub fn queue_of<T: Send, Q: SingleQueue<T>>(ring: usize) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    queue_of_with(Config::new(ring))
}

/// As [`queue_of`], with all options.
///
/// # Errors
///
/// As [`queue`].
///
/// # Panics
///
/// As [`queue_of`].
pub fn queue_of_with<T: Send, Q: SingleQueue<T>>(
    config: Config,
) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    if config.exact {
        return Err(CapacityError::Inexact);
    }
    let (to_producer, spares) = fast_forward::queue::<SpareRing<T, Q>>(SPARES)?;
    // Each switch of the consumer gives one node back, and the next switch of the producer takes
    // it.
    let (notes, from_producer) = linked::queue(1)?;
    let (tx, rx) = Q::with(config)?;
    let mut ahead = VecDeque::new();
    ahead.try_reserve(1).map_err(|_| no_memory::<Switch<T, Q>>())?;
    let supply = try_box(Supply { config, notes, spares });
    let returned = try_box(Return { notes: from_producer, ahead, spares: to_producer });
    Ok((
        Producer { ring: tx, pool: Some(supply.map_err(|_| no_memory::<Supply<T, Q>>())?) },
        Consumer { ring: rx, pool: Some(returned.map_err(|_| no_memory::<Return<T, Q>>())?) },
    ))
}

/// A queue that stays in one ring, and is full when this ring is full. So handles of bounded
/// channels and of unbounded channels have the same type.
#[cfg(feature = "std")]
pub(crate) fn one_ring<T: Send, Q: SingleQueue<T>>(
    config: Config,
) -> Built<Producer<T, Q>, Consumer<T, Q>> {
    let (tx, rx) = Q::with(config)?;
    Ok((Producer { ring: tx, pool: None }, Consumer { ring: rx, pool: None }))
}

fn no_memory<T>() -> CapacityError {
    CapacityError::OutOfMemory { bytes: size_of::<T>() }
}

/// The producer's part of the paper's pool.
struct Supply<T: Send, Q: SingleQueue<T>> {
    config: Config,
    /// The paper's `inuse`.
    notes: linked::Producer<Switch<T, Q>>,
    /// The paper's `cache`.
    spares: fast_forward::Consumer<Flagged<SpareRing<T, Q>>>,
}

/// The consumer's part of the paper's pool.
struct Return<T: Send, Q: SingleQueue<T>> {
    /// Notes that have been popped, for rings that the consumer will use next.
    ahead: VecDeque<Switch<T, Q>>,
    notes: linked::Consumer<Switch<T, Q>>,
    spares: fast_forward::Producer<Flagged<SpareRing<T, Q>>>,
}

/// The sending side.
pub struct Producer<T: Send, Q: SingleQueue<T> = LineRing> {
    /// The paper's `buf_w`. It is dropped, and so flushed, before `pool` tells the consumer that
    /// the producer is gone.
    ring: Q::Producer,
    /// In a box, so that a slow path that takes its address doesn't keep the handle in memory.
    /// `None`: there is one ring.
    pool: Option<Box<Supply<T, Q>>>,
}

/// The receiving side.
pub struct Consumer<T: Send, Q: SingleQueue<T> = LineRing> {
    /// The paper's `buf_r`. It is dropped before `pool` tells the producer that the consumer is
    /// gone.
    ring: Q::Consumer,
    pool: Option<Box<Return<T, Q>>>,
}

impl<T: Send, Q: SingleQueue<T>> Supply<T, Q> {
    /// An empty ring, unless the consumer is gone or there is no memory.
    fn ring(&mut self) -> Option<SpareRing<T, Q>> {
        if self.notes.is_closed() {
            return None;
        }
        if let Ok(spare) = self.spares.try_pop() {
            return Some(spare);
        }
        let (tx, rx) = Q::with(self.config).ok()?;
        Some(SpareRing { tx, rx })
    }

    /// Tells the consumer of a switch. Gives the note back if there is no memory for it.
    fn note(&mut self, switch: Switch<T, Q>) -> Result<(), Switch<T, Q>> {
        self.notes.try_push(switch).map_err(TryPushError::into_inner)
    }
}

impl<T: Send, Q: SingleQueue<T>> Producer<T, Q> {
    /// Whether an empty ring has more of the wanted slots than the `n` of this ring. If `n` is not
    /// 0, it must have all of them.
    #[inline]
    fn another_has_more(&self, n: usize, wanted: usize) -> bool {
        n < wanted && (n == 0 || wanted <= self.ring.capacity())
    }

    /// The paper's `next_w`: moves to another ring. Returns whether there is one.
    #[inline(always)] // see `without_unwinding`
    fn go_on(&mut self) -> bool {
        let Some(pool) = &mut self.pool else { return false };
        let Some(SpareRing { tx, rx }) = without_unwinding(|| pool.ring()) else {
            return false;
        };
        // The consumer leaves the ring when it finds the ring empty.
        self.ring.flush();
        let note = Switch { left: replace(&mut self.ring, tx), next: rx };
        let Err(Switch { left, next }) = without_unwinding(|| pool.note(note)) else {
            return true;
        };
        let tx = replace(&mut self.ring, left);
        without_unwinding(|| drop((tx, next)));
        false
    }

    /// As [`go_on`](Self::go_on), for a handle whose address is known elsewhere anyway: a call, so
    /// that the caller moves no rings.
    #[cold]
    #[inline(never)]
    fn go_on_elsewhere(&mut self) -> bool {
        self.go_on()
    }
}

impl<T: Send, Q: SingleQueue<T>> queue::Producer for Producer<T, Q> {
    type Item = T;

    #[inline(always)] // see `without_unwinding`
    fn try_push(&mut self, mut item: T) -> Result<(), TryPushError<T>> {
        loop {
            let Err(error) = self.ring.try_push(item) else { return Ok(()) };
            item = error.into_inner();
            if !self.go_on() {
                return Err(full(self.is_closed(), item));
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        if self.pool.is_some() { usize::MAX } else { self.ring.capacity() }
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.pool.as_ref().map_or_else(|| self.ring.is_closed(), |pool| pool.notes.is_closed())
    }

    /// Counts the rings before the producer's as full.
    fn len(&mut self) -> usize {
        let before = self.pool.as_mut().map_or(0, |pool| pool.notes.len());
        before * self.ring.slots() + self.ring.len()
    }

    fn is_full(&mut self) -> bool {
        self.free_slots(1) == 0
    }

    #[inline]
    fn flush(&mut self) {
        self.ring.flush();
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut done = 0;
        loop {
            done += self.ring.push_slice(&items[done..]);
            if done == items.len() || !self.go_on() {
                return done;
            }
        }
    }
}

impl<T: Send, Q: SingleQueue<T, Producer: Empties>> Empties for Producer<T, Q> {
    #[inline(always)] // as `try_push`
    fn push_from(&mut self, item: &mut Carrier<T>) -> bool {
        while !self.ring.push_from(item) {
            if self.pool.is_none() || !self.go_on_elsewhere() {
                return false;
            }
        }
        true
    }

    #[inline(always)] // as `try_push`
    fn push_quickly(&mut self, item: &mut Carrier<T>) -> bool {
        self.ring.push_quickly(item)
    }
}

impl<T: Send, Q: SingleQueue<T>> queue::LendSlots for Producer<T, Q> {
    /// Counts the slots or items of one ring only.
    fn free_up_to(&mut self, wanted: usize) -> usize {
        match self.ring.free_slots(wanted) {
            n if self.another_has_more(n, wanted) && self.go_on() => self.ring.free_slots(wanted),
            n => n,
        }
    }

    /// Counts the slots or items of one ring only.
    #[inline]
    fn lendable(&mut self, wanted: usize) -> usize {
        let mut n = self.ring.lendable(wanted);
        while self.another_has_more(n, wanted) {
            // If more slots are free than are lent, another ring does not lend more either.
            let are_all = self.ring.free_slots(n + 1) == n;
            if are_all && !self.go_on() {
                break;
            }
            match self.ring.lendable(wanted) {
                same if same == n => break,
                more => n = more,
            }
        }
        n
    }

    #[inline]
    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.ring.lend(n) }
    }

    #[inline]
    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.ring.publish(n) };
    }
}

impl<T: Send, Q: SingleQueue<T>> Return<T, Q> {
    /// Looks for a new note.
    fn take_note(&mut self) -> bool {
        // Allocates nothing if no popped note is stored.
        if self.ahead.try_reserve(1).is_err() {
            return false;
        }
        let Some(note) = self.notes.pop_uncounted() else { return false };
        self.ahead.push_back(note);
        true
    }

    /// The oldest popped note. There is one.
    fn oldest_note(&mut self) -> Switch<T, Q> {
        let note = self.ahead.pop_front().expect("the caller has looked");
        self.notes.count(1);
        if self.ahead.is_empty() {
            // After a burst there may have been many notes.
            self.ahead.shrink_to(SPARES);
        }
        note
    }

    /// The paper's `release`.
    fn release(&mut self, ring: SpareRing<T, Q>) {
        // If there is no room, this frees the ring.
        drop(self.spares.try_push(ring));
    }
}

impl<T: Send, Q: SingleQueue<T>> Consumer<T, Q> {
    /// Called when the ring is empty. Returns whether to look into the ring again.
    ///
    /// There may be a new note: the producer may have filled the ring before it wrote the note. Or
    /// there was a note before the ring was found empty: then this moves to the next ring.
    #[inline(always)] // see `without_unwinding`
    fn go_on(&mut self) -> bool {
        let Some(pool) = &mut self.pool else { return false };
        if pool.ahead.is_empty() {
            return without_unwinding(|| pool.take_note());
        }
        let Switch { left, next } = without_unwinding(|| pool.oldest_note());
        let rx = replace(&mut self.ring, next);
        without_unwinding(|| pool.release(SpareRing { tx: left, rx }));
        true
    }

    /// As that of the producer.
    #[cold]
    #[inline(never)]
    fn go_on_elsewhere(&mut self) -> bool {
        self.go_on()
    }

    /// The consumer's ring, and the rings after it.
    fn ring(&mut self, i: usize) -> &mut Q::Consumer {
        match &mut self.pool {
            Some(pool) if i > 0 => &mut pool.ahead[i - 1].next,
            _ => &mut self.ring,
        }
    }
}

impl<T: Send, Q: SingleQueue<T>> queue::Consumer for Consumer<T, Q> {
    type Item = T;

    #[inline(always)] // see `without_unwinding`; not by `try_pop_by`: `Self::pop`, given as a function, was called
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        loop {
            if let Ok(item) = self.ring.try_pop() {
                return Ok(item);
            }
            if self.go_on() {
                continue;
            }
            if closed {
                return Err(TryPopError::Closed);
            }
            closed = self.is_closed();
            if !closed {
                return Err(TryPopError::Empty);
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        if self.pool.is_some() { usize::MAX } else { self.ring.capacity() }
    }

    answered_by!(lent: items);

    #[inline]
    fn is_closed(&self) -> bool {
        self.pool.as_ref().map_or_else(|| self.ring.is_closed(), |pool| pool.notes.is_closed())
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut done = 0;
        loop {
            done += self.ring.pop_slice(&mut into[done..]);
            if done == into.len() || !self.go_on() {
                return done;
            }
        }
    }
}

impl<T: Send, Q: SingleQueue<T, Consumer: Fills>> Fills for Consumer<T, Q> {
    #[inline(always)] // as `try_pop`
    fn pop_into(&mut self, item: &mut Carrier<T>) -> Result<(), TryPopError> {
        let mut closed = false;
        loop {
            match self.ring.pop_into(item) {
                Ok(()) => return Ok(()),
                Err(why) if self.pool.is_none() => return Err(why),
                Err(_) if self.go_on_elsewhere() => continue,
                Err(_) => {}
            }
            if closed {
                return Err(TryPopError::Closed);
            }
            closed = self.is_closed();
            if !closed {
                return Err(TryPopError::Empty);
            }
        }
    }

    #[inline(always)] // as `try_pop`
    fn pop_quickly(&mut self, item: &mut Carrier<T>) -> bool {
        self.ring.pop_quickly(item)
    }
}

// SAFETY: the items are lent by the ring, which fulfils the contract.
unsafe impl<T: Send, Q: SingleQueue<T>> queue::LendItems for Consumer<T, Q> {
    /// Looks into as many rings as needed.
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let wanted = wanted.min(MOST_COUNTED);
        let (mut before, mut i) = (0, 0);
        loop {
            let mut there = self.ring(i).available(wanted - before);
            let is_last = |pool: &Return<T, Q>| i == pool.ahead.len();
            let may_follow = |pool: &mut Box<Return<T, Q>>| is_last(pool) && pool.take_note();
            if before + there < wanted && self.pool.as_mut().is_some_and(may_follow) {
                // All items that the producer put into this ring are visible by now.
                there = self.ring(i).available(wanted - before);
            }
            before += there;
            if before == wanted || self.pool.as_deref().is_none_or(is_last) {
                return before;
            }
            i += 1;
        }
    }

    /// Counts the slots or items of one ring only.
    #[inline]
    fn lendable(&mut self, wanted: usize) -> usize {
        loop {
            match self.ring.lendable(wanted) {
                0 if wanted > 0 && self.go_on() => {}
                n => return n,
            }
        }
    }

    #[inline]
    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.ring.lend(n) }
    }

    #[inline]
    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.ring.release(n) };
    }
}

handles! {
    [T: Send, Q: SingleQueue<T>] Producer<T, Q>: single_producer of T;
    [T: Send, Q: SingleQueue<T>] Consumer<T, Q>: single_consumer of T;
}

/// Unbounded, between one producer and one consumer, of rings of one kind.
#[derive(Debug)]
pub struct Uspsc<Q = LineRing>(PhantomData<Q>);

impl<T: Send, Q: SingleQueue<T>> Queue<T> for Uspsc<Q> {
    const INFO: Info = Info {
        id: "uspsc",
        name: "list of rings",
        paper: "Aldinucci 2012, §4",
        guarantee: "wait-free FIFO but for the allocator",
        delayed: Q::INFO.delayed,
        bounded: false,
        capacity: "unbounded",
        choose: advice!(choose uspsc),
        avoid: advice!(avoid uspsc),
        ..Info::RING
    };
    type Producer = Producer<T, Q>;
    type Consumer = Consumer<T, Q>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        queue_of_with(config)
    }
}

#[cfg(test)]
mod tests {
    use crate::b_queue::BQueueAny;
    use crate::lamport::batched::Blq;
    use crate::line_ring::LineRing;
    use crate::list::linked;
    use crate::queue::MOST_COUNTED;
    use crate::queue::{Config, SingleQueue};

    /// If the producer's ring has no room for a chunk, a new ring has. Then all items of the chunk
    /// are in one ring.
    fn chunks_of_any_length<Q: SingleQueue<u64>>(config: Config) {
        let (mut tx, mut rx) = super::queue_of_with::<u64, Q>(config).unwrap();
        let mut numbers = 0..;
        for n in 1..=config.capacity {
            for before in 0..=config.capacity {
                assert_eq!(tx.push_iter(numbers.by_ref().take(before)), before);
                for _ in 0..2 {
                    // A dropped chunk leaves its slots to the next chunk.
                    assert_eq!(tx.write_chunk_exact(n).unwrap().len(), n);
                }
                let chunk = tx.write_chunk_uninit(n).unwrap();
                assert_eq!(chunk.fill_from_iter(numbers.by_ref().take(n)), n);
                let first = numbers.start - n as u64;
                assert!(rx.pop_iter().take(before).eq(first - before as u64..first));
                let chunk = rx.read_chunk_exact(n).unwrap();
                let (left, right) = chunk.as_slices();
                assert!(left.iter().chain(right).copied().eq(first..numbers.start));
                chunk.commit_all();
            }
        }
    }

    #[test]
    fn chunks_of_any_length_in_rings_of_all_kinds() {
        #[cfg(feature = "literature")]
        chunks_of_any_length::<crate::lamport::Lq>(Config::new(16));
        chunks_of_any_length::<Blq>(Config::new(20));
        chunks_of_any_length::<BQueueAny>(Config::new(20));
        chunks_of_any_length::<LineRing>(Config::new(64));
    }

    #[test]
    fn chunks_take_another_ring_only_if_that_has_more() {
        let (mut tx, mut rx) = super::queue(200).unwrap();
        let rings = |rx: &mut super::Consumer<u64>| {
            let pool = rx.pool.as_mut().unwrap();
            while pool.take_note() {}
            1 + pool.ahead.len()
        };
        for _ in 0..1000 {
            assert_eq!(tx.write_chunk_exact(100).unwrap().len(), 100);
            assert!(tx.write_chunk_uninit(usize::MAX).unwrap().len() >= 200);
        }
        assert_eq!(rings(&mut rx), 1);
        assert!(tx.try_push(7).is_ok());
        assert_eq!((rx.read_chunk_exact(2).unwrap_err().len, rx.len()), (1, 1));
    }

    #[test]
    fn counting_ends_however_fast_the_producer_is() {
        let (mut tx, mut rx) = super::queue(64).unwrap();
        let (mut other_tx, mut other_rx) = linked::queue(64).unwrap();
        for n in 0..MOST_COUNTED + 1000 {
            assert!(tx.try_push(n).is_ok() && other_tx.try_push(n).is_ok());
        }
        assert_eq!([rx.len(), other_rx.len()], [MOST_COUNTED; 2]);
        assert_eq!((rx.try_pop(), other_rx.try_pop()), (Ok(0), Ok(0)));
    }
}
