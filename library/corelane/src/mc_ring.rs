//! `mcring`: MCRingBuffer, a ring that publishes in batches.
//!
//! Lamport's ring with copies of the other side's counter. Each side updates its own shared counter
//! only once for each batch of items.
//!
#![doc = advice!(literature mcring)]
//!
//! [`flush`](queue::Producer::flush) publishes an incomplete batch. Two threads that send to each
//! other through two such rings deadlock if each waits for an item that the other thread has pushed
//! but not published (§2.5). [`bqueue`](crate::b_queue) is about as fast, and cannot deadlock so.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out; delayed publication |
//! | capacity | N − B + 1, at least as asked, with N slots, a power of two: in a batch of B slots B − 1 may be empty and not given back yet |
//! | batch | 256, at most an eighth of the capacity asked for; [`Config::batch`] sets another, at most half of that capacity, so that a full ring always has visible items |
//! | misses per item and side | 1/K + 2/B, for batches of B |
//! | paper | Lee, Bu, Chandranmenon 2010 after Wang, Zhang, Tang, Hua: *B-Queue*, §2.5, Fig. 4 |
//!
//! The drop of the producer publishes all items.
//!
//! ```
//! use corelane::{TryPopError, mc_ring};
//!
//! let (mut tx, mut rx) = mc_ring::queue::<u64>(1024)?;
//! tx.try_push(1)?;
//! assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
//! tx.flush();
//! assert_eq!(rx.try_pop(), Ok(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::lamport::Indices;
use crate::memory::Ordering;
use crate::queue::chunk;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, CapacityError, Config, Info, LentItems, LentSlots, TryPopError, TryPushError,
    answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, ends, most_slots, slots_for, slots_up_to};

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
    config.only(&[ConfigOption::Batch])?;
    // Half of the slots that fit, since a batch is up to half of the capacity asked for.
    let wanted = slots_up_to::<Indices<T>>(most_slots::<Indices<T>>() / 2, config.capacity, 0)?;
    let batch = config.batch.unwrap_or(256.min(wanted / 8)).min(wanted / 2).max(1) as u64;
    let len = slots_for::<Indices<T>>(config.capacity, batch as usize - 1)?;
    let first = config.first;
    let (tx, rx) = ends(config.memory, len, Indices::new(first))?;
    Ok((
        Producer { next_write: first, published: first, local_read: first, batch, end: tx },
        Consumer { next_read: first, freed: first, local_write: first, batch, end: rx },
    ))
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<T> {
    /// Next position to fill.
    next_write: u64,
    /// The value of the shared `write`: `next_write` less the paper's `wBatch`.
    published: u64,
    /// The value of the shared `read` that the producer last loaded.
    local_read: u64,
    batch: u64,
    end: End<Indices<T>>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer<T> {
    /// Next position to empty.
    next_read: u64,
    /// The value of the shared `read`: `next_read` less the paper's `rBatch`.
    freed: u64,
    /// The value of the shared `write` that the consumer last loaded.
    local_write: u64,
    batch: u64,
    end: End<Indices<T>>,
}

impl<T> Producer<T> {
    /// Free slots by the copy of `read`.
    #[inline]
    fn known_free(&self) -> usize {
        self.end.slots().len() - self.next_write.wrapping_sub(self.local_read) as usize
    }

    #[inline]
    fn look(&mut self) {
        // Acquire ↔ Release in `free`: the items of the freed slots are taken.
        self.local_read = self.end.header().read.load(Ordering::Acquire);
    }

    /// Moves behind `n` filled slots, and publishes them if they complete a batch.
    #[inline]
    fn advance(&mut self, n: u64) {
        self.next_write = self.next_write.wrapping_add(n);
        if self.next_write.wrapping_sub(self.published) >= self.batch {
            self.flush();
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.known_free() == 0 {
            self.look();
            if self.known_free() == 0 {
                return Err(full(self.is_closed(), item));
            }
        }
        // SAFETY: the slot is free, and only the producer accesses it until it is published.
        unsafe { self.end.slots().write(self.next_write, item) };
        self.advance(1);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - self.batch as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);

    #[inline]
    fn flush(&mut self) {
        self.published = self.next_write;
        // Release ↔ Acquire in the consumer's `look`: the items.
        self.end.header().write.store(self.published, Ordering::Release);
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        chunk::push_slice(self, items)
    }
}

impl<T> queue::LendSlots for Producer<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        if self.known_free() < wanted {
            self.look();
        }
        wanted.min(self.known_free())
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: `n` slots from `next_write` on are free, by the caller's contract.
        unsafe { self.end.lend_slots(self.next_write, n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        self.advance(n as u64);
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.flush();
    }
}

impl<T> Consumer<T> {
    /// Items by the copy of `write`.
    #[inline]
    fn known(&self) -> usize {
        self.local_write.wrapping_sub(self.next_read) as usize
    }

    #[inline]
    fn look(&mut self) {
        // Acquire ↔ Release in `flush`: the items.
        self.local_write = self.end.header().write.load(Ordering::Acquire);
    }

    /// Moves behind `n` emptied slots, and gives them back if they complete a batch.
    #[inline]
    fn advance(&mut self, n: u64) {
        self.next_read = self.next_read.wrapping_add(n);
        if self.next_read.wrapping_sub(self.freed) >= self.batch {
            self.free();
        }
    }

    #[inline]
    fn free(&mut self) {
        self.freed = self.next_read;
        // Release ↔ Acquire in the producer's `look`: the items are taken.
        self.end.header().read.store(self.freed, Ordering::Release);
    }

    /// The paper's `Extract`.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.known() == 0 {
            self.look();
            if self.known() == 0 {
                return None;
            }
        }
        // SAFETY: the slot holds an item, and the next line moves `next_read` past it.
        let item = unsafe { self.end.slots().read(self.next_read) };
        self.advance(1);
        Some(item)
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - self.batch as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);
    answered_by!(lent: items);

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        chunk::pop_slice(self, into)
    }
}

// SAFETY: the items from `next_read` on are lent, and `release` moves `next_read` past them.
unsafe impl<T> queue::LendItems for Consumer<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        if self.known() < wanted {
            self.look();
        }
        wanted.min(self.known())
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: `n` slots from `next_read` on hold items, by the caller's contract.
        unsafe { self.end.lend_items(self.next_read, n) }
    }

    unsafe fn release(&mut self, n: usize) {
        self.advance(n as u64);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.free();
    }
}

handles! {
    [T] Producer<T>: single_producer of T;
    [T] Consumer<T>: single_consumer of T;
}

queue_type!(McRing of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "mcring",
    name: "MCRingBuffer",
    paper: "Wang, Zhang, Tang, Hua 2012, §2.5",
    guarantee: "wait-free FIFO; an item is visible when its batch is full or flushed",
    delayed: true,
    capacity: "n, rounded up to N - B + 1: N slots, a power of two, B to a batch",
    choose: advice!(choose mcring),
    avoid: advice!(avoid mcring),
    ..Info::RING
});
