//! Queues of byte records of any length, written and read in place.

pub use crate::block::bytes::{Claim, ClaimError, Consumer, Producer, Record, queue_with};
use crate::queue::CapacityError;

/// A queue for byte records between any number of threads on either side: the [block-based queue](crate::block::bytes).
///
/// It has room for at least `capacity` bytes. [`Producer::max_len`] is the length of the longest record.
///
/// ```
/// use corelane::bytes;
///
/// let (mut tx, mut rx) = bytes::queue(4096)?;
/// tx.push(b"hello")?;
/// assert_eq!(*rx.try_pop()?, *b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue(capacity: usize) -> Result<(Producer, Consumer), CapacityError> {
    crate::block::bytes::queue(capacity)
}
