//! `iffq`: the improved FastForward queue.
//!
//! Slots are grouped into partitions of H. The producer enters a partition only when the next
//! partition is free, and reads one slot to check this. The consumer gives back a whole partition
//! at once, when it has gone two partitions further. So in a full queue the two sides never access
//! the same cache line.
//!
#![doc = advice!(iffq)]
//!
//! In the worst case `iffq` has about half as many misses as the lazy Lamport queue,
//! [`llq`](crate::lamport::lazy).
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N − 3·H + 1; N is a power of two that is large enough. 2·H slots stay unused, and up to H − 1 more are empty and not given back yet. So a queue for 4,096 items has 8,192 slots: a stream between far cores takes 1.05 times as long as with 4,096 slots |
//! | H | 4·K, for K slots in a line of 64 bytes; set by [`Config::distance`], at most 65,536, rounded up to a power of two |
//! | misses per item | producer 1 + 1/H, consumer 1 + 1/K (fast consumer); 1/K + 1/H and 2/K + 1/H (fast producer) |
//! | paper | Maffione, Lettieri, Rizzo: *Cache-aware design of general-purpose SPSC queues*, §4.2 |
//!
//! ```
//! use corelane::{Config, fast_forward::improved as iffq};
//!
//! let (mut tx, mut rx) = iffq::token_queue_with(Config::new(100).distance(32))?;
//! assert_eq!(tx.capacity(), 256 - 3 * 32 + 1);
//! tx.try_push(Box::new(1))?;
//! assert_eq!(*rx.try_pop()?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Unread, leading};
use crate::queue::config::ConfigOption;
use crate::queue::staging::{Staged, Staging};
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentItems, LentSlots, TryPopError, TryPushError,
    answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, ends, slots_for};
use crate::slot::{Flagged, Packed, Slot, Token, constructors};

/// Slots in a line, the paper's K, as a power of two.
pub(crate) const fn per_line<S>() -> usize {
    match size_of::<S>() {
        0 | 64.. => 1,
        size => 1 << (64 / size).ilog2(),
    }
}

constructors!("fast_forward::improved", "improved");

/// Both handles of a queue with slots of type `S`.
pub(crate) fn with_slots<S: Slot>(
    config: Config,
) -> Result<(Producer<S>, Consumer<S>), CapacityError> {
    let h = config.distance.unwrap_or(4 * per_line::<S>()).clamp(1, 1 << 16).next_power_of_two();
    config.only(&[ConfigOption::Distance])?;
    let len = slots_for::<Unread<S>>(config.capacity, 3 * h - 1)?;
    // The paper's start: clear = 0, read = write = H, limit = 2·H, all moved by the first position.
    let h = h as u64;
    let clear = config.first & !(h - 1);
    let first = clear.wrapping_add(h);
    let (tx, rx) = ends(config.memory, len, Unread::<S>::new(first))?;
    for i in 0..h {
        // Slots before the first item look as if the consumer had not cleared them yet. This keeps
        // the producer a partition behind the consumer in the first lap as well.
        rx.slots().at(clear.wrapping_add(i)).block();
    }
    let limit = first.wrapping_add(h);
    Ok((
        Producer { write: first, limit, h, end: tx, staging: Staging::new() },
        Consumer { read: first, clear, h, end: rx, staged: Staged::new() },
    ))
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<S: Slot> {
    /// Next position to fill.
    write: u64,
    /// First position that the producer can't use yet. Its slot is empty.
    limit: u64,
    /// Slots in a partition.
    h: u64,
    end: End<Unread<S>>,
    staging: Staging<S::Item>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer<S: Slot> {
    /// Next position to empty.
    read: u64,
    /// Next slot to clear, at least a partition behind.
    clear: u64,
    /// Slots in a partition.
    h: u64,
    end: End<Unread<S>>,
    /// Items from `read` on that have been copied out to be lent.
    staged: Staged<S::Item>,
}

impl<S: Slot> Producer<S> {
    /// Enters the next partition if it is free: if the first slot of the partition after it is
    /// empty.
    #[inline]
    fn advance_limit(&mut self) -> bool {
        let next_limit = self.limit.wrapping_add(self.h);
        if self.end.slots().at(next_limit).is_full() {
            return false;
        }
        self.limit = next_limit;
        true
    }

    /// Fills the next slot.
    ///
    /// # Safety
    ///
    /// `write` is below `limit`.
    #[inline]
    pub(super) unsafe fn fill_next(&mut self, item: S::Item) {
        // SAFETY: all slots up to `limit` were empty when `limit` was set, and only the producer
        // fills slots.
        unsafe { self.end.slots().at(self.write).fill(item) };
        self.write = self.write.wrapping_add(1);
    }
}

impl<S: Slot> queue::Producer for Producer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        if self.write == self.limit && !self.advance_limit() {
            return Err(full(self.is_closed(), item));
        }
        // SAFETY: `write` was not `limit`, or `limit` has just moved.
        unsafe { self.fill_next(item) };
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - 3 * self.h as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len() - 2 * self.h as usize
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);
}

impl<S: Slot> queue::LendSlots for Producer<S> {
    /// The paper's `biffq_wspace`.
    fn free_up_to(&mut self, wanted: usize) -> usize {
        loop {
            let space = self.limit.wrapping_sub(self.write) as usize;
            // The partition behind the consumer is never clear, so this ends within one lap.
            if space >= wanted || !self.advance_limit() {
                return wanted.min(space);
            }
        }
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, S::Item> {
        self.staging.lend(n)
    }

    /// The paper's `biffq_enq_publish`: fills the slots in one tight loop, so that a waiting
    /// consumer rarely takes the cache line meanwhile.
    unsafe fn publish(&mut self, n: usize) {
        let slots = self.end.slots();
        // SAFETY: `n` items are staged, by the caller's contract, and as many slots are below
        // `limit`.
        unsafe { self.staging.drain(n, |i, item| slots.at(self.write.wrapping_add(i)).fill(item)) };
        self.write = self.write.wrapping_add(n as u64);
    }
}

impl<S: Slot> Consumer<S> {
    /// The paper's `iffq_deq_publish`: clears whole partitions that are a partition behind `read`.
    #[inline]
    fn clear_behind(&mut self) {
        let next_clear = (self.read & !(self.h - 1)).wrapping_sub(self.h);
        while self.clear != next_clear {
            self.end.slots().at(self.clear).clear();
            self.clear = self.clear.wrapping_add(1);
        }
    }

    /// The paper's `iffq_trydeq_local` and, at the end of a partition, `iffq_deq_publish`.
    #[inline]
    fn pop(&mut self) -> Option<S::Item> {
        let item = match self.staged.take() {
            Some(item) => item,
            // SAFETY: this is the consumer, and it moves past the slot later in this function.
            None => unsafe { self.end.slots().at(self.read).try_read()? },
        };
        self.read = self.read.wrapping_add(1);
        if self.read & (self.h - 1) == 0 {
            self.clear_behind();
        }
        Some(item)
    }
}

impl<S: Slot> queue::Consumer for Consumer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<S::Item, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - 3 * self.h as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len() - 2 * self.h as usize
    }

    answered_by!(closed: end);
    answered_by!(lent: items);
}

// SAFETY: items are lent from `staged`, which forgets items when they are released, and `read`
// moves past them.
unsafe impl<S: Slot> queue::LendItems for Consumer<S> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let slots = self.end.slots();
        // The number of slots that hold items is at most this; slots behind them may not be cleared
        // yet.
        let most = wanted.min(slots.len() - 2 * self.h as usize);
        leading(most, |i| slots.at(self.read.wrapping_add(i)).is_full())
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.available(wanted);
        let slots = self.end.slots();
        // SAFETY: `n` slots from `read` on are full, and `staged` reads each slot only once.
        self.staged.stage(n, |i| unsafe { slots.at(self.read.wrapping_add(i)).read() });
        n
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, S::Item> {
        self.staged.lend(n)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: `n` items are staged and have been moved out, by the caller's contract.
        unsafe { self.staged.forget(n) };
        self.read = self.read.wrapping_add(n as u64);
        self.clear_behind();
    }
}

impl<S: Slot> Drop for Consumer<S> {
    fn drop(&mut self) {
        // Staged items are dropped here; the items behind them, when both handles are gone.
        self.end.header().start_at(self.read.wrapping_add(self.staged.len() as u64));
    }
}

handles! {
    [S: Slot] Producer<S>: single_producer of S::Item;
    [S: Slot] Consumer<S>: single_consumer of S::Item;
}

const INFO: Info = Info {
    id: "iffq",
    name: "improved FastForward queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §4.2",
    capacity: "n, rounded up to N - 3H + 1: N slots, a power of two, H between the sides",
    choose: advice!(choose iffq),
    avoid: advice!(avoid iffq),
    ..Info::RING
};

queue_type!(IffqAny of [T: Send] T: Producer<Flagged<T>>, Consumer<Flagged<T>> = queue_with; INFO.of_any("iffq-any"));

queue_type!(Iffq of [T: Token] T: Producer<Packed<T>>, Consumer<Packed<T>> = token_queue_with; INFO);
