//! Queues between one producer and one consumer.

pub mod b_queue;
pub mod batched_fast_forward;
pub mod batched_lamport;
pub mod fast_forward;
pub mod improved_fast_forward;
pub mod lamport;
pub mod lazy_lamport;
pub mod mc_ring;
#[cfg(feature = "std")]
pub mod mc_ring_sane;
mod staging;

use crate::queue::CapacityError;
use crate::slot::Flagged;

/// The sending side of [`channel`].
pub type Producer<T> = b_queue::Producer<Flagged<T>>;
/// The receiving side of [`channel`].
pub type Consumer<T> = b_queue::Consumer<Flagged<T>>;

/// A queue for at least `capacity` items: the best all-round choice.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    b_queue::channel(capacity)
}
