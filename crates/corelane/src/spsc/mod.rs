//! Queues between one producer and one consumer.

pub mod b_queue;
pub mod batched_fast_forward;
pub mod batched_lamport;
pub mod fast_forward;
pub mod improved_fast_forward;
pub mod lamport;
pub mod lazy_lamport;
pub mod line_ring;
pub mod mc_ring;
#[cfg(feature = "std")]
pub mod mc_ring_sane;
mod staging;

pub use line_ring::{Consumer, Producer};

use crate::queue::CapacityError;

/// A queue for at least `capacity` items: the best all-round choice.
///
/// It is the [line ring](line_ring).
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    line_ring::channel(capacity)
}
