//! The queue of byte records of different lengths, written and read in place.
//!
#![doc = advice!(bbq_bytes)]

pub(crate) mod record;

pub use crate::block::bytes::{Consumer, Producer, queue_with};
use crate::queue::CapacityError;
pub use record::{Claim, ClaimError, Record};

/// A queue for byte records between any number of threads on either side: the [block-based
/// queue](crate::block::bytes). Between one and one [`record_ring`](crate::record_ring) is faster.
///
/// The queue has room for at least `capacity` bytes. [`Producer::max_len`] is the length of the
/// longest record. For longer records, give [`queue_with`] a larger
/// [`Config::block`](crate::Config::block).
///
/// ```
/// use corelane::bytes;
///
/// let (mut tx, mut rx) = bytes::queue(4096)?;
/// tx.try_push(b"hello")?;
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
