//! Queues whose producers never wait for consumers: what nobody has popped in time is overwritten.

pub use crate::block::Plain;
pub use crate::block::overwriting::{Consumer, Producer, queue_with};
use crate::queue::CapacityError;

/// A queue that keeps about the `capacity` newest items, between any number of threads on either side: the
/// [block-based](crate::block::overwriting) one.
///
/// ```
/// use corelane::overwrite;
///
/// let (mut tx, mut rx) = overwrite::queue(8)?;
/// for i in 0..100 {
///     tx.try_push(i)?;
/// }
/// assert_eq!(rx.try_pop(), Ok(92));
/// assert_eq!(rx.lost(), 92);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Plain>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    crate::block::overwriting::queue(capacity)
}
