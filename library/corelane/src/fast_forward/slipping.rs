//! `ffq-slip`: the FastForward queue with temporal slipping, whose consumer spins to stay some
//! cache lines behind the producer.
//!
#![doc = advice!(literature ffq_slip)]
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | as [`ffq`](super) |
//! | paper | Wang, Zhang, Tang, Hua 2012, §2.3 |
//!
//! ```
//! use corelane::fast_forward::slipping;
//!
//! let (mut tx, mut rx) = slipping::queue::<String>(64)?;
//! tx.try_push("any item".to_string())?;
//! assert_eq!(rx.try_pop().unwrap(), "any item");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use super::Producer;

use super::leading;
use crate::fast_forward;
use crate::memory::pause;
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentItems, TryPopError, answered_by, handles,
    queue_type,
};
use crate::slot::{Flagged, Packed, Slot, Token, constructors};

constructors!("fast_forward::slipping", "slipping");

/// Both handles of a queue with slots of type `S`.
fn with_slots<S: Slot>(config: Config) -> Result<(Producer<S>, Consumer<S>), CapacityError> {
    let (tx, consumer) = fast_forward::with_slots(config)?;
    Ok((tx, Consumer { consumer, until_adjust: ADJUST_EVERY }))
}

/// A consumer that keeps its distance from the producer, by FastForward's `adjust_slip`.
///
/// Distances are in cache lines. The paper's consumer reads both counters to know the distance.
/// Here the slots' states give the distance, and the producer publishes no counter.
pub struct Consumer<S: Slot> {
    consumer: fast_forward::Consumer<S>,
    until_adjust: u32,
}

/// The consumer slips when the producer is fewer lines ahead than this (DANGER).
const DANGER: u64 = 2;
/// It waits until the producer is this many lines ahead (GOOD), as long as the distance grows.
const GOOD: u64 = 6;
/// Pops from one adjustment to the next; the paper leaves it open.
const ADJUST_EVERY: u32 = 64;
/// Spins for each missing line of distance (the paper's `avg_time`).
const SPINS_PER_LINE: u32 = 16;

impl<S: Slot> Consumer<S> {
    /// Lines that the producer is ahead, counted up to GOOD.
    fn distance(&self) -> u64 {
        let slots = self.consumer.end.slots();
        let per_line = (64 / size_of::<S>()).max(1) as u64;
        let most = GOOD.min(slots.len() as u64 / per_line);
        let filled = |line| slots.at(self.consumer.read.wrapping_add((line + 1) * per_line - 1));
        leading(most as usize, |line| filled(line).is_full()) as u64
    }

    /// The paper's Figure 3.
    #[cold]
    fn adjust_slip(&mut self) {
        self.until_adjust = ADJUST_EVERY;
        let mut distance = self.distance();
        if distance >= DANGER {
            return;
        }
        loop {
            let before = distance;
            pause(SPINS_PER_LINE * (GOOD + 1 - distance) as u32);
            distance = self.distance();
            if distance >= GOOD || distance <= before {
                return;
            }
        }
    }
}

impl<S: Slot> queue::Consumer for Consumer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<S::Item, TryPopError> {
        let item = self.consumer.try_pop()?;
        self.until_adjust -= 1;
        if self.until_adjust == 0 {
            self.adjust_slip();
        }
        Ok(item)
    }

    answered_by!(handle: consumer);
    answered_by!(lent: items);
}

// SAFETY: the calls of the plain consumer fulfil the contract.
unsafe impl<S: Slot> queue::LendItems for Consumer<S> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.consumer.available(wanted)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.consumer.lendable(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, S::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.consumer.lend(n) }
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.consumer.release(n) }
    }
}

handles! {
    [S: Slot] Consumer<S>: single_consumer of S::Item;
}

const INFO: Info = Info {
    id: "ffq-slip",
    name: "FastForward queue with temporal slipping",
    paper: "Wang, Zhang, Tang, Hua 2012, §2.3",
    choose: advice!(choose ffq_slip),
    avoid: advice!(avoid ffq_slip),
    ..fast_forward::INFO
};

queue_type!(FfqSlipAny of [T: Send] T: Producer<Flagged<T>>, Consumer<Flagged<T>> = queue_with; INFO.of_any("ffq-slip-any"));

queue_type!(FfqSlip of [T: Token] T: Producer<Packed<T>>, Consumer<Packed<T>> = token_queue_with; INFO);
