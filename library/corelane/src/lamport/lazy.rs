//! `llq`: the lazy Lamport queue.
//!
//! Each side keeps a copy of the other side's counter. A side reads the counter itself only when,
//! by the copy, no slot or no item is left. One cache line of slots stays unused. So in a full
//! queue the two sides never access the same cache line.
//!
#![doc = advice!(llq)]
//!
//! Most ring buffer libraries have this ring. [`bqueue`](crate::b_queue) is faster for items that
//! are pushed one by one. Slices are pushed and popped item by item, as in the paper;
//! [`blq`](super::batched) publishes a slice at once.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N − K: K is the number of items in a line of 64 bytes, N a power of two that is large enough; or [exactly](Config::exact) as asked |
//! | misses per item and side | 2 + 1/N (fast consumer), 1 + 1/K + 1/N (fast producer), 1/K + 2/N at best |
//! | paper | Maffione, Lettieri, Rizzo: *Cache-aware design of general-purpose SPSC queues*, §3.2 |
//!
//! ```
//! use corelane::lamport::lazy;
//!
//! let (mut tx, mut rx) = lazy::queue::<u64>(1000)?;
//! assert_eq!(tx.capacity(), 1024 - 8);
//! tx.try_push(7)?;
//! assert_eq!(rx.try_pop(), Ok(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Indices;
use crate::memory::Ordering;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, CapacityError, Config, Info, LentItems, LentSlots, TryPopError, TryPushError,
    answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, ends, slots_for};

/// Items in a line, the paper's K: slots that stay unused.
pub(super) const fn per_line<T>() -> usize {
    match size_of::<T>() {
        0 | 64.. => 1,
        size => 64 / size,
    }
}

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
    config.only(&[ConfigOption::Exact])?;
    let unused = if config.exact { 0 } else { per_line::<T>() };
    let len = slots_for::<Indices<T>>(config.capacity, unused)?;
    let (tx, rx) = ends(config.memory, len, Indices::new(config.first))?;
    let capacity = if config.exact { config.capacity } else { len - unused };
    Ok((
        Producer { write: config.first, read_shadow: config.first, capacity, end: tx },
        Consumer { read: config.first, write_shadow: config.first, capacity, end: rx },
    ))
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<T> {
    /// Next position to fill; the shared `write` is a copy of it.
    write: u64,
    /// The value of `read` that the producer last loaded.
    read_shadow: u64,
    /// N − K, or the capacity asked for if it is exact.
    capacity: usize,
    end: End<Indices<T>>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer<T> {
    /// Next position to empty; the shared `read` is a copy of it.
    read: u64,
    /// The value of `write` that the consumer last loaded.
    write_shadow: u64,
    /// N − K, or the capacity asked for if it is exact.
    capacity: usize,
    end: End<Indices<T>>,
}

impl<T> Producer<T> {
    /// Free slots by the copy of `read`.
    #[inline]
    fn known_free(&self) -> usize {
        self.capacity - self.write.wrapping_sub(self.read_shadow) as usize
    }

    #[inline]
    fn look(&mut self) {
        // Acquire ↔ Release in `publish_read`: the items of the freed slots are taken.
        self.read_shadow = self.end.header().read.load(Ordering::Acquire);
    }

    /// Puts `item` into the next slot without publishing it.
    #[inline]
    pub(super) fn push_local(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.known_free() == 0 {
            self.look();
            if self.known_free() == 0 {
                return Err(full(self.end.peer_is_gone(), item));
            }
        }
        // SAFETY: the slot is free, and only the producer accesses it until `write` is published.
        unsafe { self.end.slots().write(self.write, item) };
        self.write = self.write.wrapping_add(1);
        Ok(())
    }

    /// Publishes all items up to `write` to the consumer.
    #[inline]
    pub(super) fn publish_write(&self) {
        // Release ↔ Acquire of the consumer's load of `write`: the items.
        self.end.header().write.store(self.write, Ordering::Release);
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.push_local(item)?;
        self.publish_write();
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);
}

impl<T> queue::LendSlots for Producer<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        if self.known_free() < wanted {
            self.look();
        }
        wanted.min(self.known_free())
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: `n` slots from `write` on are free, by the caller's contract.
        unsafe { self.end.lend_slots(self.write, n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        self.write = self.write.wrapping_add(n as u64);
        self.publish_write();
    }
}

impl<T> Consumer<T> {
    /// Items by the copy of `write`.
    #[inline]
    fn known(&self) -> usize {
        self.write_shadow.wrapping_sub(self.read) as usize
    }

    #[inline]
    fn look(&mut self) {
        // Acquire ↔ Release in `publish_write`: the items.
        self.write_shadow = self.end.header().write.load(Ordering::Acquire);
    }

    /// Takes the next item without giving its slot back.
    #[inline]
    pub(super) fn pop_local(&mut self) -> Option<T> {
        if self.known() == 0 {
            self.look();
            if self.known() == 0 {
                return None;
            }
        }
        // SAFETY: the slot holds an item, and the next line moves `read` past it.
        let item = unsafe { self.end.slots().read(self.read) };
        self.read = self.read.wrapping_add(1);
        Some(item)
    }

    /// Gives the slots of all items taken back to the producer.
    #[inline]
    pub(super) fn publish_read(&self) {
        // Release ↔ Acquire of the producer's load of `read`: the items are taken.
        self.end.header().read.store(self.read, Ordering::Release);
    }

    /// The paper's `llq_dequeue`.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        let item = self.pop_local()?;
        self.publish_read();
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
        self.capacity
    }

    answered_by!(closed: end);
    answered_by!(lent: items);
}

// SAFETY: the items from `read` on are lent, and `release` moves `read` past them.
unsafe impl<T> queue::LendItems for Consumer<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        if self.known() < wanted {
            self.look();
        }
        wanted.min(self.known())
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: `n` slots from `read` on hold items, by the caller's contract.
        unsafe { self.end.lend_items(self.read, n) }
    }

    unsafe fn release(&mut self, n: usize) {
        self.read = self.read.wrapping_add(n as u64);
        self.publish_read();
    }
}

handles! {
    [T] Producer<T>: single_producer of T;
    [T] Consumer<T>: single_consumer of T;
}

queue_type!(Llq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "llq",
    name: "lazy Lamport queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §3.2",
    capacity: "n, rounded up to N - K: N slots, a power of two, K to a line",
    choose: advice!(choose llq),
    avoid: advice!(avoid llq),
    ..Info::RING
});
