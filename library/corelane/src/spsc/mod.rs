//! Queues between one producer and one consumer.
//!
//! | queue | use it when | don't when |
//! |---|---|---|
//! | [`line_ring`] | by default: items pushed one by one, near or far; slices | slots are to be filled in place; memory must be exact |
//! | [`batched_lamport`] | items come in batches; slots are filled and read in place | items come one by one and throughput counts |
//! | [`b_queue`] | one by one, in a power of two of slots; short round trips | the last slots count |
//! | [`block`] | many items wait, one by one or in batches | the last slots count |
//! | [`fast_forward`] | few items in flight, each must arrive soon | for throughput |
//! | [`improved_fast_forward`] | the producer is often the faster side | every slot counts |
//! | [`batched_fast_forward`] | the same, with batches | every slot counts |
//! | [`lazy_lamport`] | the plain ring that most libraries have | items come one by one and throughput counts |
//! | [`mc_ring`] | a stream that never pauses | somebody waits for an answer |
//! | [`segmented`] | nobody knows how many items will wait: it is never full | memory must be bounded |
//! | [`linked`] | to compare: the plain unbounded queue | throughput counts |
//! | [`lamport`], `mc_ring_sane` | to learn and to compare | |
//!
//! A handle is fastest as a local variable of the loop that uses it: then its fields stay in
//! registers. Behind a reference each push or pop stores one of them as well.

pub mod b_queue;
pub mod batched_fast_forward;
pub mod batched_lamport;
pub mod block;
pub mod fast_forward;
pub mod improved_fast_forward;
pub mod lamport;
pub mod lazy_lamport;
pub mod line_ring;
pub mod linked;
pub mod mc_ring;
#[cfg(feature = "std")]
pub mod mc_ring_sane;
mod patience;
pub mod segmented;
mod staging;

pub use line_ring::{Consumer, Producer};

use crate::queue::CapacityError;

/// A queue for at least `capacity` items: the best all-round choice.
///
/// It is the [line ring](line_ring): measured against all other queues here it is the fastest for
/// items pushed one by one, between near cores and far ones, its round trip is that of a cache line,
/// and its batches of slices are among the best.
///
/// ```
/// use corelane::{Consumer, Producer, spsc};
///
/// let (mut tx, mut rx) = spsc::channel(100)?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    line_ring::channel(capacity)
}
