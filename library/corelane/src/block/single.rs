// Above 500 lines: one algorithm with its page and both of its sides.

//! `bbq-spsc`: the block-based bounded queue, for one producer and one consumer.
//!
//! The ring is divided into blocks. Each block counts how many items have been pushed into it
//! (`committed`), and whether all of them have been popped (`consumed`). While the two sides are in
//! different blocks, neither side accesses a variable of the other. The producer reads `consumed`
//! when it enters a block. The consumer finds all items of a full block with one read of
//! `committed`.
//!
#![doc = advice!(bbq_spsc)]
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | as asked, or up to S − 1 more, with S slots in a block. The ring has up to S − 1 slots more than its capacity: all slots of a block but one may be empty, and not given back yet |
//! | blocks | of S = N / 2^max(1, ⌊log₂ N / 4⌋) slots, which the paper found best; N is the capacity rounded up to a power of two. [`Config::block`] sets S instead, rounded down to a power of two, from 1 (or N/65536) to N. 256 bytes for each block besides its slots |
//! | misses per item and side | 1/K for the slot, 2/S for the block while the sides are in different blocks; 2 while the consumer keeps up |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.3, and the form for one producer and one consumer of §2.4.5 |
//!
//! A consumer that repeatedly catches up with a stream waits before it looks again: up to 16
//! pauses, which take half a microsecond or one, even if items are there. `try_pop` and
//! `read_chunk` may wait twice. In a stream the consumer makes at least three calls, or pops at
//! least three slices of items, before it catches up again. In a dialogue items arrive one by one,
//! or at most as many at a time as a call asks for. There the consumer soon stops waiting.
//! [`available`](crate::SingleConsumer::available) never waits. The paper's consumer never waits.
//!
//! ```
//! use corelane::{Config, block::single};
//!
//! let (mut tx, mut rx) = single::queue_with(Config::new(1000).block(64))?;
//! assert!(tx.capacity() >= 1000);
//! tx.try_push('a')?;
//! assert_eq!(rx.try_pop(), Ok('a'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cell::Cell;

use crate::block::layout::{BlockShape, Header, Nothing};
use crate::block::{Merged, Variables};
use crate::memory::{Ordering, pause};
use crate::queue::chunk::{self, ReadChunk};
use crate::queue::{
    self, CapacityError, Config, Info, LendItems as _, LentItems, LentSlots, TryPopError,
    TryPushError, answered_by, full, handles, queue_type,
};
use crate::region::{End, LendableSlots, ends};
use crate::spin::Distance;

/// A queue for at least `capacity` items.
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
    let shape = BlockShape::new::<Header<T, Merged>>(config)?;
    let (tx, rx) = ends(config.memory, shape, Header::new(()))?;
    Ok((Producer::new(tx, shape.first), Consumer::new(rx, shape.first)))
}

/// A consumer that makes this number of calls before it catches up again is far enough behind.
const FAR_BEHIND: u64 = 256;

/// Pauses that are about as long as a push of one of several producers.
const A_PUSH: u32 = 16;

/// The sending side, also of [`block::one_producer`](crate::block::one_producer). `V` is the
/// variables of a block.
#[repr(align(128))]
pub struct Producer<T, V: Variables = Merged> {
    /// Next position to fill, or behind the last slot of a lap.
    write: u64,
    /// Behind the free slots that follow `write` in its lap.
    until: u64,
    /// The position, at the start of a block, from which on slots may hold items.
    free: u64,
    end: End<Header<T, V>>,
}

/// The receiving side, also of [`block::one_consumer`](crate::block::one_consumer). `V` is the
/// variables of a block.
#[repr(align(128))]
pub struct Consumer<T, V: Variables = Merged> {
    /// Next position to empty, or behind the last slot of a lap.
    read: u64,
    /// Behind the items that have been seen and follow `read` in its lap.
    until: u64,
    /// The position up to which items have been seen.
    known: u64,
    /// Value of `committed`, in the block of `known`, while there is no item behind `known`.
    seen: u64,
    distance: Distance,
    /// Always true, except in [`block::shared`](crate::block::shared).
    is_alone: Cell<bool>,
    end: End<Header<T, V>>,
}

impl<T, V: Variables> Producer<T, V> {
    /// A producer that continues at `start`, where a block starts.
    pub(crate) fn new(end: End<Header<T, V>>, start: u64) -> Self {
        Self { write: start, until: start, free: start, end }
    }

    pub(crate) fn end(&self) -> &End<Header<T, V>> {
        &self.end
    }

    /// The position of its next item, and the position up to which it has entered blocks.
    pub(crate) fn positions(&self) -> (u64, u64) {
        (self.end.slots().arrangement().next(self.write), self.free)
    }

    /// Continues at `start`, where a block starts.
    #[inline]
    pub(crate) fn go_on_from(&mut self, start: u64) {
        (self.write, self.until, self.free) = (start, start, start);
    }

    /// Slots that are known to be free.
    #[inline]
    fn known_free(&self) -> usize {
        self.end.slots().arrangement().distance(self.write, self.free) as usize
    }

    /// Moves to the next free slots in a row: in the next lap, or in the next block.
    #[inline]
    fn go_on(&mut self) -> bool {
        self.write = self.end.slots().arrangement().next(self.write);
        let found = self.write != self.free || self.enter_block();
        self.settle();
        found
    }

    /// Finds out how many free slots follow in a row.
    #[inline]
    fn settle(&mut self) {
        self.until = self.end.slots().arrangement().in_a_row(self.write, self.free);
    }

    /// Enters the next block if all its items have been popped: the paper's `advance_phead`.
    #[inline]
    fn enter_block(&mut self) -> bool {
        let blocks = self.end.slots();
        let next = blocks.next_block(self.free);
        // Acquire ↔ Release in `give_back`, or in `consume` of several consumers: the items of the
        // last lap are taken.
        let emptied = blocks.at(self.free).emptied().load(Ordering::Acquire);
        let is_free = emptied == blocks.arrangement().count(self.free);
        if is_free {
            blocks.at(self.free).enter(self.free, blocks.arrangement());
            self.free = next;
        }
        is_free
    }

    /// Why `item` can't be pushed, when no slot is free.
    #[inline]
    fn refuse<I>(&self, item: I) -> TryPushError<I> {
        let nothing = self.end.slots().no_room_at(self.free, &self.end.header().heads);
        match full(self.end.peer_is_gone(), item) {
            TryPushError::Full(item) if nothing == Nothing::Yet => TryPushError::Busy(item),
            error => error,
        }
    }

    /// Moves behind `n` filled slots of this block, and publishes them to consumers.
    #[inline]
    fn commit(&mut self, n: u64) {
        let (blocks, write) = (self.end.slots(), self.write);
        let arrangement = blocks.arrangement();
        let count = arrangement.count(write).wrapping_add(n * arrangement.step());
        self.write = write.wrapping_add(n);
        // Release ↔ Acquire of `committed` in consumers: the items.
        blocks.at(write).committed().store(count, Ordering::Release);
    }
}

impl<T, V: Variables> queue::Producer for Producer<T, V> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.write == self.until && !self.go_on() {
            return Err(self.refuse(item));
        }
        // SAFETY: the slot is free, and the producer's alone until it is committed.
        unsafe { self.end.slots().cells().write(self.write, item) };
        self.commit(1);
        Ok(())
    }

    answered_by!(blocks: end);
    answered_by!(lent: slots);

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        chunk::push_slice(self, items)
    }
}

impl<T, V: Variables> queue::LendSlots for Producer<T, V> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        while self.known_free() < wanted && self.enter_block() {}
        self.write = self.end.slots().arrangement().next(self.write);
        self.settle();
        wanted.min(self.known_free())
    }

    fn refusal(&self) -> TryPushError<()> {
        self.refuse(())
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: `n` slots from `write` on are free, by the caller's contract.
        unsafe { self.end.lend_slots(self.write, n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        let mut left = n as u64;
        while left > 0 {
            self.write = self.end.slots().arrangement().next(self.write);
            let n = left.min(self.end.slots().end(self.write).wrapping_sub(self.write));
            self.commit(n);
            left -= n;
        }
        self.settle();
    }
}

impl<T, V: Variables> Consumer<T, V> {
    /// A consumer that continues at `start`, where a block starts.
    pub(crate) fn new(end: End<Header<T, V>>, start: u64) -> Self {
        let arrangement = end.slots().arrangement();
        let (seen, distance) = (arrangement.count(start), Distance::new(arrangement.turn(start)));
        let is_alone = Cell::new(true);
        Self { read: start, until: start, known: start, seen, distance, is_alone, end }
    }

    pub(crate) fn end(&self) -> &End<Header<T, V>> {
        &self.end
    }

    /// Whether it is the only consumer, and has a position of its own.
    #[inline]
    pub(crate) fn is_alone(&self) -> &Cell<bool> {
        &self.is_alone
    }

    /// The position of its next item.
    pub(crate) fn position(&self) -> u64 {
        self.end.slots().arrangement().next(self.read)
    }

    /// Continues at `position`.
    #[inline]
    pub(crate) fn go_on_from(&mut self, position: u64) {
        (self.read, self.until, self.known) = (position, position, position);
        self.distance = Distance::new(self.turn());
        self.seen = self.end.slots().arrangement().count(position);
    }

    /// Number of slots before its position, in all laps.
    #[inline]
    fn turn(&self) -> u64 {
        self.end.slots().arrangement().turn(self.read)
    }

    /// Items that have been seen.
    #[inline]
    fn known(&self) -> usize {
        self.end.slots().arrangement().distance(self.read, self.known) as usize
    }

    /// Moves to the next items in a row that have been seen.
    #[inline]
    fn settle(&mut self) {
        let arrangement = self.end.slots().arrangement();
        self.read = arrangement.next(self.read);
        self.until = arrangement.in_a_row(self.read, self.known);
    }

    /// Looks for items behind those that are known.
    #[inline]
    fn look(&mut self) -> Result<(), Nothing> {
        let blocks = self.end.slots();
        // Acquire ↔ Release in `commit` of the producers: the items.
        let committed = blocks.at(self.known).committed().load(Ordering::Acquire);
        if committed == self.seen {
            return Err(blocks.nothing_at(self.known));
        }
        let filled = blocks.arrangement().go_on(self.known, committed);
        if !blocks.is_gapless(filled) {
            return Err(Nothing::Yet);
        }
        self.known = blocks.arrangement().next(filled);
        self.seen = blocks.arrangement().count(self.known);
        Ok(())
    }

    /// Moves behind `n` emptied slots of this block, and gives the block back at its end.
    #[inline]
    fn consume(&mut self, n: u64) {
        let (blocks, read) = (self.end.slots(), self.read);
        let arrangement = blocks.arrangement();
        self.read = read.wrapping_add(n);
        if arrangement.is_start(self.read) {
            blocks.at(read).give_back(arrangement.full_count(read));
        }
    }

    /// Looks for items after all known items have been popped.
    #[inline(always)] // see `queue::try_pop_by`
    fn refill(&mut self) -> Result<(), Nothing> {
        self.settle();
        if self.read != self.known {
            return Ok(());
        }
        let mut found = self.look();
        if found == Err(Nothing::Yet) {
            // A push is unfinished, or there may be gaps before the committed items.
            pause(A_PUSH);
            found = self.look();
        }
        if !self.end.slots().arrangement().is_start(self.known) {
            // The producer is in this block.
            let waited;
            (self.distance, waited) = self.distance.caught_up(self.turn(), 1, FAR_BEHIND);
            if waited {
                found = self.look().or(found);
            }
        }
        self.settle();
        found
    }
}

impl<T, V: Variables> queue::Consumer for Consumer<T, V> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.read == self.until {
            // Read before the look, so that the look finds all that producers pushed before they
            // were dropped.
            let is_closed = self.end.peer_is_gone();
            self.refill().map_err(|nothing| nothing.to_pop(is_closed))?;
        }
        // SAFETY: the slot holds an item, and the next line moves `read` past it.
        let item = unsafe { self.end.slots().cells().read(self.read) };
        self.consume(1);
        Ok(item)
    }

    answered_by!(blocks: end);
    answered_by!(lent: items);

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        // At most one look and one wait.
        let n = self.lendable(into.len());
        ReadChunk::new(self, n).copy_to_slice(into)
    }
}

// SAFETY: the items from `read` on are lent, and `release` moves `read` past them.
unsafe impl<T, V: Variables> queue::LendItems for Consumer<T, V> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        while self.known() < wanted && self.look().is_ok() {}
        self.settle();
        wanted.min(self.known())
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.available(wanted);
        // At the start of a block the producer may be waiting for this consumer.
        if n == wanted || self.end.slots().arrangement().is_start(self.known) {
            return n;
        }
        let waited;
        (self.distance, waited) = self.distance.caught_up(self.turn(), wanted as u64, FAR_BEHIND);
        if waited { self.available(wanted) } else { n }
    }

    fn look_again(&mut self, wanted: usize) -> Result<usize, TryPopError> {
        // Read before one more look, as in `try_pop`.
        let is_closed = self.end.peer_is_gone();
        match self.look() {
            Ok(()) => Ok(self.available(wanted)),
            Err(nothing) => Err(nothing.to_pop(is_closed)),
        }
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: `n` slots from `read` on hold items, by the caller's contract.
        unsafe { self.end.lend_items(self.read, n) }
    }

    unsafe fn release(&mut self, n: usize) {
        let mut left = n as u64;
        while left > 0 {
            self.read = self.end.slots().arrangement().next(self.read);
            let n = left.min(self.end.slots().end(self.read).wrapping_sub(self.read));
            self.consume(n);
            left -= n;
        }
        self.settle();
    }
}

impl<T, V: Variables> Drop for Consumer<T, V> {
    #[inline(always)] // see `region::leave`
    fn drop(&mut self) {
        let blocks = self.end.slots();
        if self.is_alone.get() && !blocks.arrangement().is_start(self.read) {
            // For `Header::drop_items`. Producers read it only at the end of a block. Relaxed: the
            // drop of the end orders it.
            let count = blocks.arrangement().count(self.read);
            blocks.at(self.read).consumed().store(count, Ordering::Relaxed);
        }
    }
}

handles! {
    [T, V: Variables] Producer<T, V>: single_producer of T;
    [T, V: Variables] Consumer<T, V>: single_consumer of T;
}

queue_type!(BbqSpsc of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bbq-spsc",
    name: "block-based bounded queue",
    paper: "Wang 2024, §2.4.5",
    capacity: "n, and up to a block more",
    choose: advice!(choose bbq_spsc),
    avoid: advice!(avoid bbq_spsc),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_may_be_empty_and_not_given_back() {
        let (mut tx, mut rx) = queue_with(Config::new(16).block(4)).unwrap();
        assert_eq!((tx.capacity(), tx.slots()), (17, 20));
        assert_eq!(tx.push_iter(0..4), 4);
        assert_eq!(rx.pop_iter().take(3).count(), 3);
        assert_eq!(1 + tx.push_iter(0..), 17);
        assert!(rx.try_pop().is_ok());
        assert_eq!(tx.push_iter(0..), 4, "a whole block is free");
    }

    /// A consumer that has waited in a stream.
    fn patient(config: Config) -> (Producer<u64>, Consumer<u64>) {
        let (mut tx, mut rx) = queue_with(config).unwrap();
        for _ in 0..100 {
            assert_eq!(tx.push_slice(&[1; 5]), 5);
            assert_eq!(rx.pop_iter().count(), 5);
        }
        assert!(rx.distance.pauses() > 0, "that was a stream");
        (tx, rx)
    }

    /// If each message is popped by one slice, the consumer doesn't wait for long, for any length
    /// of messages.
    #[test]
    fn a_dialogue_of_slices_does_not_wait() {
        for len in [1, 24, 31] {
            let (mut tx, mut rx) = patient(Config::new(4096));
            for _ in 0..10 {
                assert_eq!(tx.push_slice(&vec![2; len]), len);
                assert_eq!(rx.pop_slice(&mut [0; 32]), len);
            }
            assert_eq!(rx.distance.pauses(), 0, "messages of {len}");
        }
    }

    /// A consumer that finds whole blocks full doesn't let the producer wait for them.
    #[test]
    fn a_full_queue_is_not_waited_for() {
        let (mut tx, mut rx) = queue_with::<u64>(Config::new(64).block(16)).unwrap();
        for _ in 0..100 {
            assert!(tx.push_iter(0..) > 0);
            rx.read_chunk(64).unwrap().commit_all();
        }
        assert_eq!(rx.distance.pauses(), 0);
    }

    /// A consumer that takes over starts without a distance.
    #[test]
    fn the_distance_starts_where_it_takes_over() {
        let (_, mut rx) = patient(Config::new(4096));
        rx.go_on_from(512);
        assert_eq!(rx.distance.caught_up(513, 1, FAR_BEHIND).0.pauses(), 0);
    }
}
