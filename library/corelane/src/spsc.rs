//! Queues between one producer and one consumer.
//!
//! | queue | use it when | don't when |
//! |---|---|---|
//! | [`line_ring`](crate::line_ring) | by default: items pushed one by one, near or far; slices | slots are to be filled in place; memory must be exact |
//! | [`lamport::batched`](crate::lamport::batched) | items come in batches; slots are filled and read in place | items come one by one and throughput counts |
//! | [`b_queue`](crate::b_queue) | one by one, in a power of two of slots; short round trips | the last slots count |
//! | [`block::single`](crate::block::single) | many items wait, one by one or in batches | the last slots count |
//! | [`fast_forward`](crate::fast_forward) | few items in flight, each must arrive soon | for throughput |
//! | [`fast_forward::improved`](crate::fast_forward::improved) | the producer is often the faster side | every slot counts |
//! | [`fast_forward::batched`](crate::fast_forward::batched) | the same, with batches | every slot counts |
//! | [`lamport::lazy`](crate::lamport::lazy) | the plain ring that most libraries have | items come one by one and throughput counts |
//! | [`mc_ring`](crate::mc_ring) | a stream that never pauses | a thread waits for an answer |
//! | [`segmented`] | the number of waiting items is unknown: it is never full | memory must be bounded |
//! | [`list::linked`](crate::list::linked) | to compare: the plain unbounded queue | throughput counts |
//! | [`lamport`](crate::lamport), `mc_ring_sane` | to learn and to compare | |
//!
//! Chunks are slots in place, and as long as the ring, in `lamport` and its kin, [`mc_ring`](crate::mc_ring) and
//! [`block::single`](crate::block::single). The other rings lend a buffer of 64 items, which are copied: a chunk of
//! [`line_ring`](crate::line_ring), the default, has 64 slots at most. [`segmented`] lends what its rings do. To fill long
//! runs of slots in place, take [`lamport::batched`](crate::lamport::batched).
//!
//! A handle is fastest as a local variable of the loop that uses it: the compiler keeps its fields in registers.
//! Through a reference each push or pop also stores a field.

pub use crate::line_ring::{Consumer, Producer, queue_with};

use crate::queue::{CapacityError, Config};
use crate::segmented;

/// A queue for at least `capacity` items: the best all-round choice.
///
/// It is the [line ring](crate::line_ring). Of all queues measured here it is the fastest for items pushed one by one,
/// between near cores and far ones. Its round trip is that of a cache line. Its slices are among the fastest.
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
    crate::line_ring::queue(capacity)
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

/// As [`unbounded_queue`], with all options. [`Config::capacity`] is that of a ring.
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
/// If the capacity is 0 or too large for memory; or if it is to be [exact](Config::exact), as the queue is never full.
pub fn unbounded_queue_with<T: Send>(
    config: Config,
) -> Result<(segmented::Producer<T>, segmented::Consumer<T>), CapacityError> {
    segmented::queue_with(config)
}
