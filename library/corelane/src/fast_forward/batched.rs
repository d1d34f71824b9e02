//! `biffq`: the batched improved FastForward queue.
//!
//! The [improved FastForward queue](super::improved) with batches on the producer's side as well.
//! Slots can't be published together, because each slot has its own flag. So the producer first
//! collects a batch privately, and then writes it in one tight loop. The consumer is still busy
//! with the first items, and rarely takes the cache line before the last item is written.
//!
#![doc = advice!(biffq)]
//!
//! `biffq` copies each batch. [`blq`](crate::lamport::batched) lends its slots instead, and needs
//! no copy.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N − 3·H + 1, as `iffq` |
//! | misses per item | producer (2 + ⌈(B−1)/K⌉)/B + 1/H, consumer (2 + ⌈(B−1)/K⌉)/B + 1/K (fast consumer, batches of B, if the consumer takes no line before the batch is written) |
//! | paper | Maffione, Lettieri, Rizzo: *Cache-aware design of general-purpose SPSC queues*, §4.3 |
//!
//! ```
//! use corelane::fast_forward::batched as biffq;
//!
//! let (mut tx, mut rx) = biffq::queue::<u32>(100)?;
//! assert_eq!(tx.push_slice(&[1, 2, 3]), 3);
//! assert_eq!(rx.pop_iter().sum::<u32>(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::improved as iffq;
pub use super::improved::Consumer;
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentSlots, TryPushError, answered_by, handles,
    queue_type,
};
use crate::slot::{Flagged, Packed, Slot, Token, constructors};

constructors!("fast_forward::batched", "batched");

/// Both handles of a queue with slots of type `S`.
fn with_slots<S: Slot>(config: Config) -> Result<(Producer<S>, Consumer<S>), CapacityError> {
    let (single, consumer) = iffq::with_slots(config)?;
    Ok((Producer { single }, consumer))
}

/// The sending side.
pub struct Producer<S: Slot> {
    single: iffq::Producer<S>,
}

impl<S: Slot> queue::Producer for Producer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        self.single.try_push(item)
    }

    answered_by!(handle: single);
    answered_by!(lent: slots);

    /// The caller's slice is the paper's buffer: it is written to the slots in one tight loop.
    fn push_slice(&mut self, items: &[S::Item]) -> usize
    where
        S::Item: Copy,
    {
        let n = self.free_slots(items.len());
        for &item in &items[..n] {
            // SAFETY: `n` slots are free.
            unsafe { self.single.fill_next(item) };
        }
        n
    }
}

impl<S: Slot> queue::LendSlots for Producer<S> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.single.free_slots(wanted)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.single.lendable(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, S::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.single.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.single.publish(n) }
    }
}

handles! {
    [S: Slot] Producer<S>: single_producer of S::Item;
}

const INFO: Info = Info {
    id: "biffq",
    name: "batched improved FastForward queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §4.3",
    capacity: "n, rounded up to N - 3H + 1: N slots, a power of two, H between the sides",
    choose: advice!(choose biffq),
    avoid: advice!(avoid biffq),
    ..Info::RING
};

queue_type!(BiffqAny of [T: Send] T: Producer<Flagged<T>>, Consumer<Flagged<T>> = queue_with; INFO.of_any("biffq-any"));

queue_type!(Biffq of [T: Token] T: Producer<Packed<T>>, Consumer<Packed<T>> = token_queue_with; INFO);
