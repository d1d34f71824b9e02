//! Queues whose producers never wait for consumers: an item that is not popped in time is overwritten.
//!
//! | module | use it when | don't when |
//! |---|---|---|
//! | [`seq_ring`](crate::seq_ring) | by default: a push never fails, even while another thread is stopped in the middle of a push; a [`snapshot`](Consumer::snapshot) copies all items of the queue | an item must not be lost |
//! | [`block::overwriting`](crate::block::overwriting) | to compare: the paper's queue | there are more producers than cores: a push fails while a stopped push is in the way |

pub use crate::plain::Plain;
use crate::queue::CapacityError;
pub use crate::seq_ring::{Consumer, Producer, queue_with};

/// A queue that keeps the `capacity` newest items, between any number of threads on either side: the
/// [ring of sequence locks](crate::seq_ring).
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
