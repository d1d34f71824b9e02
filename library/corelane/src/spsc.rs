//! Queues between one producer and one consumer.
//!
//! | queue | use it | don't use it |
//! |---|---|---|
#![doc = advice!(row linering "line_ring")]
#![doc = advice!(row blq "lamport::batched")]
#![doc = advice!(row bqueue "b_queue")]
#![doc = advice!(row bbq_spsc "block::single")]
#![doc = advice!(row ffq "fast_forward")]
#![doc = advice!(row iffq "fast_forward::improved")]
#![doc = advice!(row biffq "fast_forward::batched")]
#![doc = advice!(row llq "lamport::lazy")]
#![cfg_attr(feature = "literature", doc = advice!(row mcring "mc_ring"))]
#![doc = advice!(row uspsc "segmented")]
#![cfg_attr(feature = "literature", doc = advice!(row dspsc "list::linked"))]
#![cfg_attr(feature = "literature", doc = advice!(row lq "lamport"))]
#![cfg_attr(
    all(feature = "std", feature = "literature"),
    doc = advice!(row mcring_sane "mc_ring_sane")
)]
//!
//! A chunk may be as long as the ring. The queues of [`lamport`](crate::lamport) and
//! [`block::single`](crate::block::single) lend their slots in place, and so does `mc_ring` of the
//! feature `literature`. The other queues copy the items of a chunk through a buffer. This includes
//! [`line_ring`], the default. A chunk of [`segmented`] lies in one of its rings. If all items come
//! in blocks of hundreds, use [`chunk_queue`].
//!
//! A handle is fastest as a local variable of the loop that uses it: the compiler keeps its fields
//! in registers. Through a reference each push or pop also stores a field.

use crate::lamport::batched;
use crate::queue::{CapacityError, Config};
use crate::{line_ring, segmented};

/// The sending side of a [`queue`].
pub type Producer<T> = line_ring::Producer<T>;

/// The receiving side of a [`queue`].
pub type Consumer<T> = line_ring::Consumer<T>;

/// A queue for at least `capacity` items: the best all-round choice.
///
/// The queue is the [line ring](crate::line_ring). It is fast for single items, slices and round
/// trips, between near and far cores, and an item is visible when its push returns.
/// [`b_queue`](crate::b_queue) is faster for slices between far cores, and for round trips.
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, mut rx) = spsc::queue(100)?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    line_ring::queue(capacity)
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    line_ring::queue_with(config)
}

/// A queue whose chunks are its slots, for blocks of hundreds of items: the [batched Lamport
/// queue](batched).
///
/// The producer fills the slots themselves, and the consumer reads them there. The chunks of
/// [`queue`] are copies. For items one by one use `queue`.
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, mut rx) = spsc::chunk_queue(8192)?;
/// tx.write_chunk_uninit(1024)?.fill_from_iter((0..1024).map(|n| n as f32));
/// let block = rx.read_chunk_exact(1024)?;
/// let (first, second) = block.as_slices();
/// assert_eq!(first.iter().chain(second).sum::<f32>(), 523_776.0);
/// block.commit_all();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn chunk_queue<T: Send>(
    capacity: usize,
) -> Result<(batched::Producer<T>, batched::Consumer<T>), CapacityError> {
    batched::queue(capacity)
}

/// As [`chunk_queue`], with all options. In [memory mapped twice](crate::Memory::Mirrored) a chunk
/// is one slice.
///
/// # Errors
///
/// As [`chunk_queue`].
pub fn chunk_queue_with<T: Send>(
    config: Config,
) -> Result<(batched::Producer<T>, batched::Consumer<T>), CapacityError> {
    batched::queue_with(config)
}

/// A queue that is never full: the [queue of rings](crate::segmented).
///
/// ```
/// use corelane::spsc;
///
/// let (mut tx, mut rx) = spsc::unbounded_queue()?;
/// for n in 0..100_000 {
///     tx.try_push(n)?;
/// }
/// assert_eq!(rx.try_pop(), Ok(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no memory for its first ring, of 1024 items.
pub fn unbounded_queue<T: Send>()
-> Result<(segmented::Producer<T>, segmented::Consumer<T>), CapacityError> {
    segmented::queue(1024)
}

/// As [`unbounded_queue`], with all options. [`Config::capacity`] is the capacity of each ring.
///
/// ```
/// use corelane::{Config, Memory, spsc};
///
/// let config = Config::new(1 << 20).memory(Memory::HugePages);
/// let (mut tx, mut rx) = spsc::unbounded_queue_with(config)?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the capacity is 0 or too large for memory, or if it is to be [exact](Config::exact): the
/// queue is never full.
pub fn unbounded_queue_with<T: Send>(
    config: Config,
) -> Result<(segmented::Producer<T>, segmented::Consumer<T>), CapacityError> {
    segmented::queue_with(config)
}
