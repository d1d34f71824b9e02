//! Queues whose producers never wait for consumers: an item that is not popped in time is
//! overwritten.
//!
//! | queue | use it | don't use it |
//! |---|---|---|
#![doc = advice!(row seqring "seq_ring")]
#![cfg_attr(feature = "literature", doc = advice!(row bbq_drop_old "block::overwriting"))]
//!
//! [`Consumer::snapshot`] of a `seq_ring` copies all items of the queue, and leaves them there.

pub use crate::plain::Plain;
use crate::queue::CapacityError;
pub use crate::seq_ring::{Consumer, Producer, queue_with};

/// A queue that keeps at least the `capacity` newest items, between any number of threads on either
/// side: the [ring of sequence locks](crate::seq_ring).
///
/// ```
/// use corelane::overwrite;
///
/// let (mut tx, mut rx) = overwrite::queue(8)?;
/// for i in 0..100 {
///     tx.push(i);
/// }
/// assert_eq!(rx.try_pop(), Ok(92));
/// assert_eq!(rx.lost(), 92);
/// # Ok::<(), corelane::CapacityError>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Plain>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    crate::seq_ring::queue(capacity)
}
