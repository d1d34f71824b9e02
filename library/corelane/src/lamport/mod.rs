//! Lamport's queue, the textbook ring, and the queues that improve it: [`lazy`] and [`batched`].
//!
//! Two shared counters, `write` and `read`, say how far each side has come. An operation reads the
//! other side's counter, or a copy of it, and advances its own.
//!
//! # `lq`
//!
//! Lamport's queue itself: every operation reads the other side's counter.
//!
#![doc = advice!(literature lq)]
//!
//! `lq` keeps no copy of the other side's counter, so an outdated copy never makes it say full or
//! empty.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N, the number of slots: as asked, rounded up to a power of two; or [exactly](crate::Config::exact) as asked |
//! | misses per item and side | 3 (both sides busy), 1/K + 2/N at best, K items to a line |
//! | paper | Maffione, Lettieri, Rizzo: *Cache-aware design of general-purpose SPSC queues*, §3.1 |
//!
//! ```
//! # #[cfg(feature = "literature")] {
//! use corelane::{TryPushError, lamport};
//!
//! let (mut tx, mut rx) = lamport::queue(2)?;
//! tx.try_push('a')?;
//! tx.try_push('b')?;
//! assert!(matches!(tx.try_push('c'), Err(TryPushError::Full('c'))));
//! assert_eq!(rx.try_pop(), Ok('a'));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batched;
pub mod lazy;

use core::marker::PhantomData;

use crate::memory::{AtomicU64, Cells, Ordering};
use crate::pad::Padded;
#[cfg(feature = "literature")]
use crate::queue::config::ConfigOption;
#[cfg(feature = "literature")]
use crate::queue::{
    self, CapacityError, Config, Info, LentItems, LentSlots, Producer as _, TryPopError,
    TryPushError, answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::State;
#[cfg(feature = "literature")]
use crate::region::{End, ends, slots_for};
use crate::unwind::drop_each;

/// The counters that all queues of Lamport's family share. Positions from `read` to `write` hold
/// items.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Indices<T> {
    /// Next position to fill. Written by the producer only.
    pub(super) write: Padded<AtomicU64>,
    /// Next position to empty. Written by the consumer only.
    pub(super) read: Padded<AtomicU64>,
    items: PhantomData<T>,
}

impl<T> Indices<T> {
    /// An empty queue whose counters start at `first`.
    pub(super) fn new(first: u64) -> Self {
        let at = || Padded(AtomicU64::new(first));
        Self { write: at(), read: at(), items: PhantomData }
    }
}

impl<T> State for Indices<T> {
    type Item = T;
    type Slots = Cells<T>;

    fn drop_items(&self, slots: &Cells<T>) {
        // Relaxed: the drop of both handles orders all their accesses before this.
        let mut read = self.read.load(Ordering::Relaxed);
        let write = self.write.load(Ordering::Relaxed);
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

/// A queue for at least `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
#[cfg(feature = "literature")]
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
#[cfg(feature = "literature")]
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[ConfigOption::Exact])?;
    let len = slots_for::<Indices<T>>(config.capacity, 0)?;
    let (tx, rx) = ends(config.memory, len, Indices::new(config.first))?;
    let capacity = if config.exact { config.capacity } else { len };
    Ok((Producer { capacity, end: tx }, Consumer { capacity, end: rx }))
}

/// The sending side.
#[cfg(feature = "literature")]
pub struct Producer<T> {
    /// N, or the capacity asked for if it is exact.
    capacity: usize,
    end: End<Indices<T>>,
}

/// The receiving side.
#[cfg(feature = "literature")]
pub struct Consumer<T> {
    /// See [`Producer`].
    capacity: usize,
    end: End<Indices<T>>,
}

#[cfg(feature = "literature")]
impl<T> Producer<T> {
    /// Next position to fill: this side's own counter, which the other side doesn't write.
    #[inline]
    fn write(&self) -> u64 {
        self.end.header().write.load(Ordering::Relaxed)
    }
}

#[cfg(feature = "literature")]
impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let write = self.write();
        // Acquire ↔ Release in `pop` and `release`: the slot's last item is taken.
        let read = self.end.header().read.load(Ordering::Acquire);
        if write.wrapping_sub(read) == self.capacity() as u64 {
            return Err(full(self.is_closed(), item));
        }
        // SAFETY: fewer than N positions are full, so this slot is free, and only the producer
        // accesses it.
        unsafe { self.end.slots().write(write, item) };
        // Release ↔ Acquire in `pop` and `filled_up_to`: the item.
        self.end.header().write.store(write.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.capacity
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);
}

#[cfg(feature = "literature")]
impl<T> queue::LendSlots for Producer<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        // Acquire ↔ Release in `pop` and `release`: the items of the freed slots are taken.
        let read = self.end.header().read.load(Ordering::Acquire);
        wanted.min(self.capacity() - self.write().wrapping_sub(read) as usize)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: `n` slots from `write` on are free, by the caller's contract.
        unsafe { self.end.lend_slots(self.write(), n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        let write = self.write().wrapping_add(n as u64);
        // Release ↔ Acquire in `pop` and `filled_up_to`: the items.
        self.end.header().write.store(write, Ordering::Release);
    }
}

#[cfg(feature = "literature")]
impl<T> Consumer<T> {
    /// Next position to empty: this side's own counter, which the other side doesn't write.
    #[inline]
    fn read(&self) -> u64 {
        self.end.header().read.load(Ordering::Relaxed)
    }

    /// The paper's `lq_dequeue`.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        let read = self.read();
        // Acquire ↔ Release in `try_push` and `publish`: the item.
        let write = self.end.header().write.load(Ordering::Acquire);
        (read != write).then(|| {
            // SAFETY: the slot holds an item, and the next line moves `read` past it.
            let item = unsafe { self.end.slots().read(read) };
            // Release ↔ Acquire in `try_push` and `free_up_to`: the item is taken.
            self.end.header().read.store(read.wrapping_add(1), Ordering::Release);
            item
        })
    }
}

#[cfg(feature = "literature")]
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

#[cfg(feature = "literature")]
// SAFETY: the items from `read` on are lent, and `release` moves `read` past them.
unsafe impl<T> queue::LendItems for Consumer<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        // Acquire ↔ Release in `try_push` and `publish`: the items.
        let write = self.end.header().write.load(Ordering::Acquire);
        wanted.min(write.wrapping_sub(self.read()) as usize)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: `n` slots from `read` on hold items, by the caller's contract.
        unsafe { self.end.lend_items(self.read(), n) }
    }

    unsafe fn release(&mut self, n: usize) {
        let read = self.read().wrapping_add(n as u64);
        // Release ↔ Acquire in `try_push` and `free_up_to`: the items are taken.
        self.end.header().read.store(read, Ordering::Release);
    }
}

#[cfg(feature = "literature")]
handles! {
    [T] Producer<T>: single_producer of T;
    [T] Consumer<T>: single_consumer of T;
}

#[cfg(feature = "literature")]
queue_type!(Lq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "lq",
    name: "Lamport queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §3.1",
    choose: advice!(choose lq),
    avoid: advice!(avoid lq),
    ..Info::RING
});
