//! `bsq`: a ring of segments of k slots.
//!
//! A push fills a free slot of the newest segment: a random one, or if that is taken one behind it.
//! A pop takes an item of the oldest segment, in the same way. So threads of a side meet only at
//! the end of a segment, and an item is overtaken only by items of its own segment.
//!
#![doc = advice!(literature bsq)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, k-FIFO (linearizable but for unfinished calls) |
//! | k | the slots of a segment: [as asked](Config::relaxation), rounded down to a power of two; 64 by default. Not more than the capacity asked for |
//! | capacity | (S − 1)·k + 1 for S segments, a power of two: at least as asked. Up to S·k items are inside, as slots come back a segment at a time |
//! | memory | a word for each slot, besides the item |
//! | a stopped thread | in the middle of a push keeps one slot. When all other items of its segment are popped, pops say busy, if there are newer segments. In the middle of a pop it keeps one slot from the producers. They say busy if they come to the last slots of its segment a lap later |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | one compare-and-swap and one store, if the slot is the right one. The fuller a segment, the longer the search. A pop that finds no item reads all slots of a segment three times |
//! | empty, full | empty means that at one moment of the call no push had put an item that was still inside. Full means that the newest segment had no free slot, and the oldest one an item |
//! | paper | C. M. Kirsch, M. Lippautz, H. Payer: *Fast and Scalable, Lock-free k-FIFO Queues* (PaCT 2013); the BSQ of J. Wang 2024, §3.2 (P3), Table 3.2 |
//!
//! # Why it is k-FIFO
//!
//! A slot is filled once in a lap. `tail` leaves a segment when no slot of it is free, and `head`
//! when each of its items is taken. So a push that reserves a slot does so while `tail` is at its
//! segment. Items that were pushed before are in this segment or in an older one, and items that
//! are pushed later in this one or in a newer one. A pop takes an item while `head` is at its
//! segment. So all other items that it overtakes are in the same segment, and they are less than k.
//!
//! # Departures from the paper
//!
//! - In the paper a slot can be filled again while its segment is in use, and a pop moves `tail` on
//!   when it pops from the newest segment. The push then looks whether its segment has left the
//!   queue meanwhile. If so, it takes its item back. Here a slot is filled once in a lap, and no
//!   item is taken back.
//! - A slot has a lap and a state of its own. The paper's slots are words with a version, which
//!   hold a pointer to the item.
//! - The paper's queue is lock-free. Here a thread stopped between its two writes of a slot stops
//!   others at the end of the segment, as the table says.
//!
//! ```
//! use corelane::{Config, relaxed::k_segment};
//!
//! let (mut tx, mut rx) = k_segment::queue_with(Config::new(100).relaxation(4))?;
//! (0..100_usize).for_each(|n| tx.try_push(n).unwrap());
//! for (i, n) in rx.pop_iter().enumerate() {
//!     assert!(n.abs_diff(i) < 4, "one of the four oldest");
//! }
//! # Ok::<(), corelane::CapacityError>(())
//! ```

use super::parts::pop_or_closed;
use super::segments::{self, Side};
use super::single_use::find;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, handles,
    queue_type,
};
use crate::random::Random;

/// Slots of a segment that is asked for without their number.
pub(super) const SEGMENT: usize = 64;

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`]; also if the [relaxation](Config::relaxation) is 0.
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (tx, rx) = segments::open(config, SEGMENT, false)?;
    let [one, other] = [0, 1].map(Random::new);
    Ok((Producer { end: tx, random: one }, Consumer { end: rx, random: other }))
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    random: Random,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    random: Random,
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        loop {
            let tail = self.end.tail();
            let segment = self.end.slots().at(tail);
            let first = self.random.below(segment.len());
            if let Some(place) = find(segment, first, |slot| slot.reserve(tail)) {
                // SAFETY: this thread has reserved the slot.
                unsafe { segment[place].fill(tail, item) };
                return Ok(());
            }
            if let Err(refused) = self.end.move_tail(tail) {
                return Err(refused.with(item));
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.capacity()
    }

    fn slots(&self) -> usize {
        self.end.slots().all().len()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_full(&mut self) -> bool {
        self.end.is_full()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    fn pop(&mut self) -> Result<T, TryPopError> {
        loop {
            let head = self.end.head();
            let segment = self.end.slots().at(head);
            let first = self.random.below(segment.len());
            if let Some(place) = find(segment, first, |slot| slot.claim(head)) {
                // SAFETY: this thread has claimed the slot.
                return Ok(unsafe { self.end.take(&segment[place], head) });
            }
            if self.end.has_none()? {
                return Err(TryPopError::Empty);
            }
        }
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        pop_or_closed(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.capacity()
    }

    fn slots(&self) -> usize {
        self.end.slots().all().len()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        self.end.has_none() == Ok(true)
    }

    fn relaxation(&self) -> usize {
        self.end.slots().shape().k
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), random: self.end.fresh() }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), random: self.end.fresh() }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(Bsq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bsq",
    name: "bounded k-segment queue",
    paper: "Kirsch, Lippautz, Payer 2013; Wang 2024, Table 3.2",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free k-FIFO",
    relaxed: true,
    capacity: "n, rounded up to a power of two of segments",
    choose: advice!(choose bsq),
    avoid: advice!(avoid bsq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;

    #[test]
    fn none_is_lost_or_doubled() {
        for (capacity, k) in [(1, 1), (8, 4), (8, 8), (1000, 64)] {
            tests::none_is_lost_or_doubled::<Bsq>(Config::new(capacity).relaxation(k));
        }
    }

    #[test]
    fn capacity_is_a_promise() {
        for capacity in [1, 2, 31, 100] {
            for k in [1, 2, 16, 64] {
                tests::has_its_capacity::<Bsq>(Config::new(capacity).relaxation(k));
            }
        }
    }

    #[test]
    fn is_k_fifo() {
        for (capacity, k) in [(1, 1), (64, 1), (64, 2), (64, 16), (64, 64), (300, 100)] {
            tests::is_k_fifo::<Bsq>(Config::new(capacity).relaxation(k));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<Bsq>(Config::new(8).relaxation(2));
    }

    #[test]
    fn k_is_rounded_down() {
        for (asked, k) in [(1, 1), (3, 2), (64, 64), (1000, 64)] {
            let (_, rx) = queue_with::<u8>(Config::new(100).relaxation(asked)).unwrap();
            assert_eq!(queue::Consumer::relaxation(&rx), k);
        }
        assert!(queue_with::<u8>(Config::new(100).relaxation(0)).is_err());
        assert!(queue::<u8>(0).is_err() && queue::<u64>(usize::MAX / 16).is_err());
    }
}
