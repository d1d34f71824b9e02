//! `ffq`: the FastForward queue.
//!
//! There are no shared counters. A slot has its own state, full or empty. So an item and its state
//! move in one cache line. A push succeeds if the slot at the producer's position is empty, a pop
//! if the slot at the consumer's position is full.
//!
#![doc = advice!(ffq)]
//!
//! No other queue moves fewer lines for a single item. [`iffq`](improved) and
//! [`bqueue`](crate::b_queue) keep the two sides in different lines.
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N, as asked, rounded up to a power of two |
//! | misses per item and side | 2 (both in one line), 2/K at best |
//! | paper | Giacomoni et al. 2008 after Maffione, Lettieri, Rizzo 2019, §4.1; slipping: Wang et al. 2012, §2.3 |
//!
//! **Slots.** Any item fits into a slot with a flag of its own. [Tokens](crate::slot::Token), one
//! non-zero word, need no flag: [`token_queue`].
//!
#![cfg_attr(
    feature = "literature",
    doc = "**Temporal slipping** ([`slipping`]) keeps the consumer some cache lines behind the producer by spinning.\n"
)]
//!
//! ```
//! use corelane::fast_forward;
//!
//! let (mut tx, mut rx) = fast_forward::queue::<String>(64)?;
//! tx.try_push("any item".to_string())?;
//! assert_eq!(rx.try_pop().unwrap(), "any item");
//!
//! let (mut tx, mut rx) = fast_forward::token_queue::<Box<u32>>(64)?;
//! tx.try_push(Box::new(1))?;
//! assert_eq!(*rx.try_pop()?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batched;
pub mod improved;
#[cfg(feature = "literature")]
pub mod slipping;

use core::marker::PhantomData;

use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::staging::{Staged, Staging};
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentItems, LentSlots, TryPopError, TryPushError,
    answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, State, ends, slots_for};
use crate::slot::{Flagged, Packed, Slot, SlotRing, Token, constructors};
use crate::unwind::drop_each;

/// All that the FastForward family shares besides its slots.
#[derive(Debug)]
pub(super) struct Unread<S> {
    /// The consumer's position when it was dropped: the items that were never popped start there.
    read: Padded<AtomicU64>,
    slots: PhantomData<S>,
}

impl<S> Unread<S> {
    pub(super) fn new(first: u64) -> Self {
        Self { read: Padded(AtomicU64::new(first)), slots: PhantomData }
    }

    /// Called by the consumer in its drop.
    pub(super) fn start_at(&self, read: u64) {
        // Relaxed: it is read only after the drop of both handles, which orders it.
        self.read.store(read, Ordering::Relaxed);
    }
}

impl<S: Slot> State for Unread<S> {
    type Item = S::Item;
    type Slots = SlotRing<S>;

    fn drop_items(&self, slots: &SlotRing<S>) {
        // Relaxed: the drop of both handles orders all their accesses before this.
        let mut read = self.read.load(Ordering::Relaxed);
        let mut left = slots.len();
        drop_each(|| {
            let slot = slots.at(read);
            if left == 0 || !slot.is_full() {
                return None;
            }
            left -= 1;
            read = read.wrapping_add(1);
            // SAFETY: items lie in a row from the consumer's position on, and `read` moves past
            // each.
            Some(unsafe { slot.read() })
        });
    }
}

constructors!("fast_forward", "fast_forward");

/// Both handles of a queue with slots of type `S`.
pub(crate) fn with_slots<S: Slot>(
    config: Config,
) -> Result<(Producer<S>, Consumer<S>), CapacityError> {
    config.only(&[])?;
    let len = slots_for::<Unread<S>>(config.capacity, 0)?;
    let (tx, rx) = ends(config.memory, len, Unread::new(config.first))?;
    Ok((
        Producer { write: config.first, end: tx, staging: Staging::new() },
        Consumer { read: config.first, end: rx, staged: Staged::new() },
    ))
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<S: Slot> {
    /// Next position to fill.
    write: u64,
    end: End<Unread<S>>,
    staging: Staging<S::Item>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer<S: Slot> {
    /// Next position to empty.
    read: u64,
    end: End<Unread<S>>,
    /// Items from `read` on that have been copied out to be lent; their slots are still full.
    staged: Staged<S::Item>,
}

impl<S: Slot> queue::Producer for Producer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        let slot = self.end.slots().at(self.write);
        if slot.is_full() {
            return Err(full(self.is_closed(), item));
        }
        // SAFETY: this is the producer, and it has just seen the slot empty.
        unsafe { slot.fill(item) };
        self.write = self.write.wrapping_add(1);
        Ok(())
    }

    answered_by!(end);
    answered_by!(lent: slots);
}

impl<S: Slot> queue::LendSlots for Producer<S> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        let slots = self.end.slots();
        // The consumer clears in order: if a slot is empty, so are all slots from `write` up to it.
        leading(wanted.min(slots.len()), |i| !slots.at(self.write.wrapping_add(i)).is_full())
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, S::Item> {
        self.staging.lend(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        let slots = self.end.slots();
        // SAFETY: `n` items are staged, by the caller's contract, and as many slots were seen
        // empty.
        unsafe { self.staging.drain(n, |i, item| slots.at(self.write.wrapping_add(i)).fill(item)) };
        self.write = self.write.wrapping_add(n as u64);
    }
}

impl<S: Slot> Consumer<S> {
    /// The paper's `ffq_dequeue`.
    #[inline]
    fn pop(&mut self) -> Option<S::Item> {
        let slot = self.end.slots().at(self.read);
        let item = match self.staged.take() {
            Some(item) => item,
            // SAFETY: this is the consumer, and it moves past the slot later in this function.
            None => unsafe { slot.try_read()? },
        };
        slot.clear();
        self.read = self.read.wrapping_add(1);
        Some(item)
    }
}

impl<S: Slot> queue::Consumer for Consumer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<S::Item, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    answered_by!(end);
    answered_by!(lent: items);
}

// SAFETY: items are lent from `staged`, which forgets items when they are released, and `read`
// moves past them.
unsafe impl<S: Slot> queue::LendItems for Consumer<S> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let slots = self.end.slots();
        // The producer fills in order: if a slot is full, so are all slots from `read` up to it.
        leading(wanted.min(slots.len()), |i| slots.at(self.read.wrapping_add(i)).is_full())
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.available(wanted);
        let slots = self.end.slots();
        // SAFETY: `n` slots from `read` on are full, and `staged` reads each slot only once.
        self.staged.stage(n, |i| unsafe { slots.at(self.read.wrapping_add(i)).read() });
        n
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, S::Item> {
        self.staged.lend(n)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: `n` items are staged and have been moved out, by the caller's contract.
        unsafe { self.staged.forget(n) };
        for i in 0..n as u64 {
            self.end.slots().at(self.read.wrapping_add(i)).clear();
        }
        self.read = self.read.wrapping_add(n as u64);
    }
}

impl<S: Slot> Drop for Consumer<S> {
    fn drop(&mut self) {
        // Staged items are dropped here; the items behind them, when both handles are gone.
        let first = self.read.wrapping_add(self.staged.len() as u64);
        while self.read != first {
            // Otherwise a full ring would have this item once more, behind all others.
            self.end.slots().at(self.read).clear();
            self.read = self.read.wrapping_add(1);
        }
        self.end.header().start_at(first);
    }
}

/// How many of the first `most` positions satisfy `holds`, which is true up to some position and
/// false from there on.
///
/// Checks the last position first: if it satisfies `holds`, one check is enough.
#[inline]
pub(super) fn leading(most: usize, holds: impl Fn(u64) -> bool) -> usize {
    let (mut yes, mut no) = (0, most + 1);
    let mut probe = most;
    while no - yes > 1 {
        if holds(probe as u64 - 1) {
            yes = probe;
        } else {
            no = probe;
        }
        probe = yes + (no - yes) / 2;
    }
    yes
}

handles! {
    [S: Slot] Producer<S>: single_producer of S::Item;
    [S: Slot] Consumer<S>: single_consumer of S::Item;
}

const INFO: Info = Info {
    id: "ffq",
    name: "FastForward queue",
    paper: "Maffione, Lettieri, Rizzo 2019, §4.1",
    choose: advice!(choose ffq),
    avoid: advice!(avoid ffq),
    ..Info::RING
};

queue_type!(FfqAny of [T: Send] T: Producer<Flagged<T>>, Consumer<Flagged<T>> = queue_with; INFO.of_any("ffq-any"));

queue_type!(Ffq of [T: Token] T: Producer<Packed<T>>, Consumer<Packed<T>> = token_queue_with; INFO);
