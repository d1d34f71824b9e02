//! `bqueue`: B-Queue, a FastForward queue that probes ahead.
//!
//! A slot has its own state, full or empty. Each side probes one slot far ahead. If this slot is
//! free (or full), so are all slots before it, and the side works on the whole batch without
//! another probe. A consumer that finds the far slot empty halves the distance until it finds a
//! full slot (*backtracking*). Its next search starts at this distance. So the consumer stays away
//! from a busy producer, and close behind a slow producer.
//!
#![doc = advice!(bqueue)]
//!
//! | | |
//! |---|---|
//! | guarantee | wait-free, first in first out |
//! | capacity | N − B + 1, at least as asked, with N slots, a power of two: in a batch of B slots B − 1 may be empty, and the producer doesn't know it yet. So a queue for 4,096 items has 8,192 slots: a stream between far cores takes 1.15 times as long as with 4,096 slots, and a stream between near cores takes as long. A queue for 3,841 items has 4,096 slots |
//! | batch | 256, at most a quarter of the capacity asked for; [`Config::batch`] sets another size, rounded down to a power of two, at most half the capacity asked for |
//! | misses per item and side | 2/K when both keep their distance, 2 in the same line |
//! | paper | Wang, Zhang, Tang, Hua: *B-Queue: Efficient and Practical Queuing*, §3, Figs 7 and 10 |
//!
//! **Departures from the listings.** Fig. 7 probes the slot *behind* the batch, which costs a batch
//! of capacity; here the probe is the last slot of the batch. In Figs 9 and 10 `batch_tail` is the
//! last full slot, but Fig. 7 uses it as the first slot that isn't full: with a batch of one the
//! consumer would go past it. Here `batch_tail` is the first slot that is not known to be full. A
//! backtracking consumer doesn't wait between two probes (TICKS): the wait brought no throughput,
//! and cost a third of the round-trip time. A consumer that finds no full slot resets its distance
//! to zero, so that an idle queue delivers the next item at once.
//!
//! ```
//! use corelane::b_queue;
//!
//! let (mut tx, mut rx) = b_queue::queue::<(u32, f32)>(4096)?;
//! tx.try_push((1, 0.5))?;
//! assert_eq!(rx.try_pop()?, (1, 0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::fast_forward::improved::per_line;
use crate::fast_forward::{Unread, leading};
use crate::queue::config::ConfigOption;
use crate::queue::staging::{Staged, Staging};
use crate::queue::{
    self, Built, CapacityError, Config, Info, LentItems, LentSlots, Producer as _, TryPopError,
    TryPushError, answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, ends, most_slots, slots_for, slots_up_to};
use crate::slot::{Flagged, Packed, Slot, Token, constructors};

/// The paper's BATCH_SIZE and BATCH_MAX, as in its evaluation.
const BATCH: usize = 256;

constructors!("b_queue", "b_queue");

/// Both handles of a queue with slots of type `S`.
fn with_slots<S: Slot>(config: Config) -> Result<(Producer<S>, Consumer<S>), CapacityError> {
    config.only(&[ConfigOption::Batch])?;
    // Half of the slots that fit, since a batch is up to half of the capacity asked for.
    let wanted = slots_up_to::<Unread<S>>(most_slots::<Unread<S>>() / 2, config.capacity, 0)?;
    let batch = config.batch.unwrap_or(BATCH.min(wanted / 4)).clamp(1, (wanted / 2).max(1));
    // A power of two, like N: whole batches fill the ring.
    let batch = 1_u64 << batch.ilog2();
    let len = slots_for::<Unread<S>>(config.capacity, batch as usize - 1)?;
    let first = config.first;
    let (tx, rx) = ends(config.memory, len, Unread::new(first))?;
    Ok((
        Producer { head: first, batch_head: first, batch, end: tx, staging: Staging::new() },
        Consumer {
            tail: first,
            batch_tail: first,
            batch_history: 0,
            batch_max: batch,
            end: rx,
            staged: Staged::new(),
        },
    ))
}

/// The sending side.
#[repr(align(128))]
pub struct Producer<S: Slot> {
    /// Next position to fill.
    head: u64,
    /// First position not known to be free.
    batch_head: u64,
    /// BATCH_SIZE.
    batch: u64,
    end: End<Unread<S>>,
    staging: Staging<S::Item>,
}

/// The receiving side.
#[repr(align(128))]
pub struct Consumer<S: Slot> {
    /// Next position to empty.
    tail: u64,
    /// First position not known to be full. It is `tail` while items are staged.
    batch_tail: u64,
    /// Distance at which the last search found a full slot.
    batch_history: u64,
    /// BATCH_MAX.
    batch_max: u64,
    end: End<Unread<S>>,
    /// Items from `tail` on that have been copied out to be lent.
    staged: Staged<S::Item>,
}

impl<S: Slot> Producer<S> {
    /// Extends the known free slots by a batch, if the batch's last slot is free: then all its
    /// slots are free, because the consumer clears in order.
    #[inline]
    fn next_batch(&mut self) -> bool {
        let next = self.batch_head.wrapping_add(self.batch);
        if self.end.slots().at(next.wrapping_sub(1)).is_full() {
            return false;
        }
        self.batch_head = next;
        true
    }
}

impl<S: Slot> queue::Producer for Producer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_push(&mut self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        if self.head == self.batch_head && !self.next_batch() {
            return Err(full(self.is_closed(), item));
        }
        // SAFETY: this is the producer, and slots before `batch_head` were seen empty.
        unsafe { self.end.slots().at(self.head).fill(item) };
        self.head = self.head.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - self.batch as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);
    answered_by!(lent: slots);
}

impl<S: Slot> queue::LendSlots for Producer<S> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        loop {
            let free = self.batch_head.wrapping_sub(self.head) as usize;
            // Another batch must not wrap to slots already counted.
            let fits = free + self.batch as usize <= self.slots();
            if free >= wanted || !fits || !self.next_batch() {
                return wanted.min(free);
            }
        }
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, S::Item> {
        self.staging.lend(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        let slots = self.end.slots();
        // SAFETY: `n` items are staged, by the caller's contract, and as many slots were seen
        // empty.
        unsafe { self.staging.drain(n, |i, item| slots.at(self.head.wrapping_add(i)).fill(item)) };
        self.head = self.head.wrapping_add(n as u64);
    }
}

impl<S: Slot> Consumer<S> {
    /// The paper's `backtrack_deq` (Fig. 10): looks for a full slot ahead, half as far each time.
    #[inline(always)] // see `try_pop_by`
    fn backtrack(&mut self) -> bool {
        let slots = self.end.slots();
        let increment = per_line::<S>() as u64;
        let mut batch_size = self.batch_max.min(self.batch_history + increment);
        while !slots.at(self.tail.wrapping_add(batch_size - 1)).is_full() {
            if batch_size == 1 {
                self.batch_history = 0;
                return false;
            }
            batch_size >>= 1;
        }
        self.batch_history = batch_size;
        self.batch_tail = self.tail.wrapping_add(batch_size);
        true
    }

    /// Takes the next item, which has been seen.
    ///
    /// # Safety
    ///
    /// `tail` is before `batch_tail`.
    #[inline]
    unsafe fn take_next(&mut self) -> S::Item {
        let slot = self.end.slots().at(self.tail);
        // SAFETY: slots before `batch_tail` were seen full, and the consumer moves past this one.
        let item = unsafe { slot.read() };
        slot.clear();
        self.tail = self.tail.wrapping_add(1);
        item
    }

    /// Takes the next item if it is staged.
    #[inline(always)] // see `try_pop_by`
    fn take_staged(&mut self) -> Option<S::Item> {
        let item = self.staged.take()?;
        self.end.slots().at(self.tail).clear();
        self.tail = self.tail.wrapping_add(1);
        self.batch_tail = self.tail;
        Some(item)
    }

    /// The paper's `dequeue`.
    #[inline]
    fn pop(&mut self) -> Option<S::Item> {
        if self.tail == self.batch_tail {
            if let Some(item) = self.take_staged() {
                return Some(item);
            }
            if !self.backtrack() {
                return None;
            }
        }
        // SAFETY: `tail` was before `batch_tail`, or `backtrack` has moved it.
        Some(unsafe { self.take_next() })
    }
}

impl<S: Slot> queue::Consumer for Consumer<S> {
    type Item = S::Item;

    #[inline(always)] // a call would cost more than the push or pop itself
    fn try_pop(&mut self) -> Result<S::Item, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().len() - self.batch_max as usize + 1
    }

    fn slots(&self) -> usize {
        self.end.slots().len()
    }

    answered_by!(closed: end);
    answered_by!(lent: items);
}

// SAFETY: items are lent from `staged`, which forgets items when they are released, and `tail`
// moves past them.
unsafe impl<S: Slot> queue::LendItems for Consumer<S> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let slots = self.end.slots();
        // The producer fills in order: if a slot is full, so are all slots from `tail` up to it.
        leading(wanted.min(slots.len()), |i| slots.at(self.tail.wrapping_add(i)).is_full())
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.available(wanted);
        let slots = self.end.slots();
        // SAFETY: `n` slots from `tail` on are full, and `staged` reads each slot only once.
        self.staged.stage(n, |i| unsafe { slots.at(self.tail.wrapping_add(i)).read() });
        // A staged item must not be read from its slot again.
        self.batch_tail = self.tail;
        n
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, S::Item> {
        self.staged.lend(n)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: `n` items are staged and have been moved out, by the caller's contract.
        unsafe { self.staged.forget(n) };
        for i in 0..n as u64 {
            self.end.slots().at(self.tail.wrapping_add(i)).clear();
        }
        self.tail = self.tail.wrapping_add(n as u64);
        self.batch_tail = self.tail;
    }
}

impl<S: Slot> Drop for Consumer<S> {
    fn drop(&mut self) {
        // Staged items are dropped here; the items behind them, when both handles are gone.
        let first = self.tail.wrapping_add(self.staged.len() as u64);
        while self.tail != first {
            // Otherwise a full ring would have this item once more, behind all others.
            self.end.slots().at(self.tail).clear();
            self.tail = self.tail.wrapping_add(1);
        }
        self.end.header().start_at(first);
    }
}

handles! {
    [S: Slot] Producer<S>: single_producer of S::Item;
    [S: Slot] Consumer<S>: single_consumer of S::Item;
}

const INFO: Info = Info {
    id: "bqueue",
    name: "B-Queue",
    paper: "Wang, Zhang, Tang, Hua 2012, §3",
    capacity: "n, rounded up to N - B + 1: N slots, a power of two, B to a batch",
    choose: advice!(choose bqueue),
    avoid: advice!(avoid bqueue),
    ..Info::RING
};

queue_type!(BQueueAny of [T: Send] T: Producer<Flagged<T>>, Consumer<Flagged<T>> = queue_with; INFO.of_any("bqueue-any"));

queue_type!(BQueue of [T: Token] T: Producer<Packed<T>>, Consumer<Packed<T>> = token_queue_with; INFO);
