//! The queue between several producers and one consumer.
//!
#![doc = advice!(bbq_mpsc)]
//!
//! [`mpmc`](crate::mpmc) has the queues between several threads on both sides. They work with one
//! consumer too, and [`mpmc::queue`](crate::mpmc::queue) moves items that are pushed one by one
//! faster. Here the consumer reads items in place.

pub use crate::block::one_consumer::{Consumer, Producer, queue_with};

use crate::queue::CapacityError;

/// A queue for at least `capacity` items, between any number of producers and one consumer: the
/// [block-based queue](crate::block::one_consumer).
///
/// ```
/// use corelane::mpsc;
///
/// let (tx, mut rx) = mpsc::queue(100)?;
/// let mut other = tx.clone();
/// other.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    crate::block::one_consumer::queue(capacity)
}
