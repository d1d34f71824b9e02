//! The queue between one producer and several consumers.
//!
#![doc = advice!(bbq_spmc)]
//!
//! [`mpmc`](crate::mpmc) has the queues between several threads on both sides. They work with one
//! producer too, and [`mpmc::queue`](crate::mpmc::queue) moves items that are popped one by one
//! faster. Here the producer fills slots in place.

pub use crate::block::one_producer::{Consumer, Producer, queue_with};

use crate::queue::CapacityError;

/// A queue for at least `capacity` items, between one producer and any number of consumers: the
/// [block-based queue](crate::block::one_producer).
///
/// ```
/// use corelane::spmc;
///
/// let (mut tx, rx) = spmc::queue(100)?;
/// let mut other = rx.clone();
/// tx.try_push("hello")?;
/// assert_eq!(other.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    crate::block::one_producer::queue(capacity)
}
