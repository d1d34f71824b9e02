//! Queues between several producers and several consumers.

pub mod block;

pub use block::{Consumer, Producer};

use crate::queue::CapacityError;

/// A queue for at least `capacity` items, between any number of threads on either side: the [block-based](block) one.
///
/// ```
/// use corelane::{Consumer, Producer, mpmc};
///
/// let (mut tx, rx) = mpmc::channel(100)?;
/// let mut other = rx.clone();
/// tx.try_push("hello")?;
/// assert_eq!(other.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    block::channel(capacity)
}
