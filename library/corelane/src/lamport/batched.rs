//! `blq`: the batched Lamport queue.
//!
//! The [lazy Lamport queue](super::lazy) with calls that move many items for one update of a shared
//! counter. No call waits for a batch to become full: the caller decides when to publish.
//!
#![doc = advice!(blq)]
//!
//! With batches of 32 and more, such as packets from a network card, `blq` costs only the transfer
//! of the cache lines.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N − K: K is the number of items in a line of 64 bytes, N a power of two that is large enough; or [exactly](Config::exact) as asked |
//! | misses per item and side | (2 + ⌈(B−1)/K⌉)/B + 1/N (fast consumer), 1/K + 1/B + 1/N (fast producer), for batches of B |
//! | paper | Maffione, Lettieri, Rizzo: *Cache-aware design of general-purpose SPSC queues*, §3.3 |
//!
//! A batch can be a slice or a chunk, as in other queues. It can also be the paper's: one
//! `push_local` for each item, then one `flush`; one `pop_local` for each item, then one `free`.
//!
//! ```
//! use corelane::{TryPopError, lamport::batched};
//!
//! let (mut tx, mut rx) = batched::queue::<u64>(1000)?;
//! tx.push_local(1)?;
//! tx.push_local(2)?;
//! assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
//! tx.flush();
//! assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::lazy as lazy_lamport;
use crate::queue::chunk;
use crate::queue::{
    self, CapacityError, Config, Info, LentItems, LentSlots, TryPopError, TryPushError,
    answered_by, handles, queue_type,
};

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
    let (tx, rx) = lazy_lamport::queue_with(config)?;
    Ok((Producer { lazy: tx }, Consumer { lazy: rx }))
}

/// The sending side.
pub struct Producer<T> {
    /// Its `write` is the paper's `write_priv`: it may be ahead of the shared `write`.
    lazy: lazy_lamport::Producer<T>,
}

/// The receiving side.
pub struct Consumer<T> {
    /// Its `read` is the paper's `read_priv`: it may be ahead of the shared `read`.
    lazy: lazy_lamport::Consumer<T>,
}

impl<T> Producer<T> {
    /// Appends `item` without showing it to the consumer yet (`blq_enq_local`).
    ///
    /// The item becomes visible, with all items before it, by [`flush`](queue::Producer::flush), by
    /// the next push of any other kind, or when the producer is dropped.
    ///
    /// # Errors
    ///
    /// As [`try_push`](queue::Producer::try_push). If all items of a full queue are unpublished,
    /// the consumer can't make room: flush before waiting.
    #[inline]
    pub fn push_local(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.lazy.push_local(item)
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.lazy.try_push(item)
    }

    answered_by!(handle: lazy);
    answered_by!(lent: slots);

    fn flush(&mut self) {
        self.lazy.publish_write();
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
        self.lazy.free_slots(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.lazy.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.lazy.publish(n) }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.lazy.publish_write();
    }
}

impl<T> Consumer<T> {
    /// Takes the oldest item without giving its slot back to the producer yet (`blq_deq_local`).
    ///
    /// The slot is given back, with all slots before it, by [`free`](Self::free), by the next pop
    /// of any other kind, or when the consumer is dropped. `None` if there is no item.
    #[inline]
    pub fn pop_local(&mut self) -> Option<T> {
        self.lazy.pop_local()
    }

    /// Gives the slots of all items taken back to the producer (`blq_deq_publish`).
    #[inline]
    pub fn free(&mut self) {
        self.lazy.publish_read();
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.lazy.try_pop()
    }

    answered_by!(handle: lazy);
    answered_by!(lent: items);

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        chunk::pop_slice(self, into)
    }
}

// SAFETY: the calls of the lazy queue fulfil the contract.
unsafe impl<T> queue::LendItems for Consumer<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.lazy.available(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.lazy.lend(n) }
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.lazy.release(n) }
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.lazy.publish_read();
    }
}

handles! {
    [T] Producer<T>: single_producer of T;
    [T] Consumer<T>: single_consumer of T;
}

queue_type!(Blq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "blq",
    name: "batched Lamport queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §3.3",
    capacity: "n, rounded up to N - K: N slots, a power of two, K to a line",
    choose: advice!(choose blq),
    avoid: advice!(avoid blq),
    ..Info::RING
});
