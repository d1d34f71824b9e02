//! `faaq`: the block-based bounded queue whose consumers take items by fetch-and-add, too.
//!
//! Producers are those of [`block::shared`](crate::block::shared). A consumer that finds its block
//! full hands the rest of the block over to fetch-and-add. From then on each consumer of the block
//! adds to `claimed`. An addition always gains a position, and a position behind the end of the
//! block takes nothing. While producers are still filling the block, consumers take items by
//! compare-and-swap, as those of `block::shared` do.
//!
#![doc = advice!(faaq)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity, blocks | as [`block::shared`](crate::block::shared) |
//! | a stopped thread | if stopped in a push, pops from its block say busy, when the items before it are taken or may have a gap. If stopped in a pop, pushes that need its block say busy |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | among several handles a push needs two fetch-and-adds. A pop from a full block needs two fetch-and-adds, any other pop one compare-and-swap and one fetch-and-add. [`push_slice`](crate::Producer::push_slice) and [`pop_slice`](crate::Consumer::pop_slice) need as many for all slots that they take of a block. Each hand-over needs two compare-and-swaps. The only handle of a side needs none of this |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §3.7.4 |
//!
//! # What the paper leaves open
//!
//! The paper describes this queue in words only. A consumer checks that its block is full, and adds
//! to `reserved`. Between the check and the addition other consumers may empty the block, and
//! producers may begin to fill it again. Then the addition takes a slot that may be empty. The
//! paper says that this needs a rollback, and doesn't say how. A rollback by compare-and-swap fails
//! if another consumer has added meanwhile. If that consumer is stopped, it fails for ever. So a
//! pop could neither take an item nor give its slot back.
//!
//! Here no addition needs a rollback, because compare-and-swap and fetch-and-add change different
//! variables:
//!
//! - `reserved` is changed by compare-and-swap only. A mark in `reserved` says that the items from
//!   there on are handed over.
//! - `claimed` has a version and an offset. A hand-over begins a version, at the offset at which
//!   `reserved` was marked, when all slots of the block are filled. Any consumer that reads the
//!   mark begins the version, if it has not begun. So no consumer waits for the consumer that has
//!   set the mark.
//! - Consumers leave the block when the offset is behind its last slot. Only the hand-over of a
//!   later lap resets the offset, as a producer that enters a block resets `allocated`.
//!
//! So a late addition either finds an offset behind the last slot, and takes nothing, or the block
//! is handed over again, in a later lap. Then the slot is filled, and the late consumer takes its
//! item, as any other consumer could.
//!
//! There are two more differences. A consumer reads `committed` until the block is handed over, and
//! not in each pop. The [departures](crate::block::shared#departures-from-the-paper) of
//! `block::shared` apply, too. A thread must not be stopped in the middle of a call while `claimed`
//! advances by half its range, which is that of `allocated`.
//!
//! ```
//! use corelane::block::fetch_add;
//!
//! let (mut tx, mut rx) = fetch_add::queue(100)?;
//! let mut other_rx = rx.clone();
//! tx.try_push("a")?;
//! tx.try_push("b")?;
//! assert_eq!((rx.try_pop(), other_rx.try_pop()), (Ok("a"), Ok("b")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::layout::{Arrangement, Nothing};
use super::reserve::{Reserve, Ring, filled_from};
use super::shared::{self, both_ends};
use super::variables::ConsumerCursors;
use crate::memory::{Ordering, advance, is_before};
use crate::queue::{CapacityError, Config, Info, Sides, queue_type};
use crate::region::Run;
use crate::spin::Backoff;

/// A sending side.
pub type Producer<T> = shared::Producer<T>;

/// A receiving side.
pub type Consumer<T> = shared::Consumer<T, ByAddition>;

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
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (tx, rx, first) = both_ends(config)?;
    Ok((Producer::new(tx, first), Consumer::new(rx, first)))
}

/// The mark in `reserved`: the rest of the block is handed over to fetch-and-add. Counts have this
/// bit free, because a ring has two blocks or more, and each [step](Arrangement::step) counts as
/// much as there are blocks.
const HANDED_OVER: u64 = 1;

/// By fetch-and-add, in full blocks; by compare-and-swap in others.
#[derive(Debug, Clone, Copy)]
pub struct ByAddition {
    /// Where the block starts, in its lap, from which it took its last item by fetch-and-add. So
    /// its next addition needs no look.
    current: Option<u64>,
    /// The position up to which there were items in a block that was not full.
    known: u64,
}

/// What a consumer finds in a block that was not handed over.
enum Found {
    /// It has taken these items.
    Taken(Run),
    /// The rest is handed over now.
    HandedOver,
    /// All items have been taken.
    Nothing,
}

impl Reserve for ByAddition {
    fn at(position: u64) -> Self {
        Self { current: None, known: position }
    }

    #[inline]
    fn reserve_in<T>(
        &mut self,
        head: u64,
        blocks: &Ring<T>,
        wanted: u64,
    ) -> Result<Option<(Run, bool)>, Nothing> {
        let (cursors, arrangement) = (&blocks.at(head).consumers, blocks.arrangement());
        // Late consumers must not add again and again: each adds late at most once after each look
        // or item.
        if wanted == 1 && self.current == Some(head) {
            return Ok(self.add(head, blocks, 1));
        }
        loop {
            // Acquire ↔ Release in `hand_over`: the items of the block. Acquire ↔ Release in `add`
            // and `exchange`: observing that no item is left makes visible the items behind the
            // block that the consumer of the last item had observed. Otherwise the queue would seem
            // empty.
            let claimed = cursors.claimed.load(Ordering::Acquire);
            if !is_before(claimed, arrangement.allocated(head)) {
                return match arrangement.size().saturating_sub(arrangement.offset(claimed)) {
                    0 => Ok(None),
                    left => Ok(self.add(head, blocks, wanted.min(left))),
                };
            }
            match self.exchange(head, blocks, wanted)? {
                Found::Taken(run) => {
                    let is_last = run.n > 0 && arrangement.is_start(run.end());
                    return Ok(Some((run, is_last)));
                }
                Found::HandedOver => {}
                Found::Nothing => return Ok(None),
            }
        }
    }

    #[inline]
    fn taken<T>(head: u64, blocks: &Ring<T>) -> u64 {
        let (cursors, arrangement) = (&blocks.at(head).consumers, blocks.arrangement());
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let claimed = cursors.claimed.load(Ordering::Relaxed);
        if is_before(claimed, arrangement.allocated(head)) {
            return next_of(cursors.reserved.load(Ordering::Relaxed), head, arrangement);
        }
        head.wrapping_add(arrangement.offset(claimed).min(arrangement.size()))
    }

    fn share<T>(position: u64, blocks: &Ring<T>) {
        let arrangement = blocks.arrangement();
        let count = arrangement.count(position);
        // Relaxed, all of it: there is no other consumer yet.
        blocks.at(position).consumers.reserved.store(count, Ordering::Relaxed);
        // An only consumer doesn't use `claimed`. The values must not become so old that they seem
        // new.
        let lap_before = arrangement.lap(position).wrapping_sub(arrangement.positions());
        let nothing_left = arrangement.all_allocated(lap_before);
        for start in blocks.starts() {
            blocks.at(start).consumers.claimed.store(nothing_left, Ordering::Relaxed);
        }
    }
}

impl ByAddition {
    /// Takes up to `n` items of the block that starts at `head`, by fetch-and-add. `None` if none
    /// is left.
    #[inline]
    fn add<T>(&mut self, head: u64, blocks: &Ring<T>, n: u64) -> Option<(Run, bool)> {
        let arrangement = blocks.arrangement();
        // Acquire and Release as in `reserve_in`.
        let claimed = blocks.at(head).consumers.claimed.fetch_add(n, Ordering::AcqRel);
        let left =
            arrangement.size().checked_sub(arrangement.offset(claimed)).filter(|left| *left > 0);
        // The block may have been handed over again, in a later lap, since the caller found `head`.
        let position = arrangement.position(head, claimed);
        self.current = left.map(|_| arrangement.start(position));
        left.map(|left| (Run { position, n: n.min(left) }, n >= left))
    }

    /// Takes up to `wanted` items of a block that producers may still be filling, or hands over
    /// what is left of a full block.
    #[inline]
    fn exchange<T>(&mut self, head: u64, blocks: &Ring<T>, wanted: u64) -> Result<Found, Nothing> {
        let (cursors, arrangement) = (&blocks.at(head).consumers, blocks.arrangement());
        let (full, end) = (arrangement.full_count(head), arrangement.end(head));
        let mut backoff = Backoff::new();
        loop {
            // Acquire ↔ Release of the exchange below: observing an item taken makes visible the
            // items behind it that its consumer had observed. The mark makes visible all items of
            // the block.
            let reserved = cursors.reserved.load(Ordering::Acquire);
            if !is_before(reserved, full) {
                return Ok(Found::Nothing);
            }
            let position = next_of(reserved, head, arrangement);
            if is_handed_over(reserved, head, arrangement) {
                hand_over(cursors, position, arrangement);
                return Ok(Found::HandedOver);
            }
            if !is_before(position, self.known) {
                self.known = filled_from(position, blocks)?;
            }
            let n = wanted.min(self.known.wrapping_sub(position));
            let run = Run { position, n };
            if n == 0 {
                return Ok(Found::Taken(run));
            }
            let is_full = self.known == end && run.end() != end;
            let next = match is_full {
                true => arrangement.count(position) | HANDED_OVER,
                false => arrangement.count(position).wrapping_add(n * arrangement.step()),
            };
            match cursors.reserved.compare_exchange(
                reserved,
                next,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) if is_full => {
                    hand_over(cursors, position, arrangement);
                    return Ok(Found::HandedOver);
                }
                Ok(_) => {
                    if next == full {
                        // As if the block had been handed over. The value must not become so old
                        // that it seems new. Release: see `reserve_in`.
                        let all = arrangement.all_allocated(head);
                        advance(&cursors.claimed, all, Ordering::Release);
                    }
                    return Ok(Found::Taken(run));
                }
                Err(found) if is_handed_over(found, head, arrangement) => {}
                Err(_) => backoff.wait(),
            }
        }
    }
}

/// Begins the version of `claimed` for the slots of the block from `position` on.
#[inline]
fn hand_over(cursors: &ConsumerCursors, position: u64, arrangement: Arrangement) {
    // Release ↔ Acquire of the addition in `reserve_in`: the items.
    advance(&cursors.claimed, arrangement.allocated(position), Ordering::Release);
}

/// The first position, of the block that starts at `head`, that is not taken by compare-and-swap.
/// `reserved` is of this lap, or still of the last lap.
#[inline]
fn next_of(reserved: u64, head: u64, arrangement: Arrangement) -> u64 {
    match is_before(reserved, arrangement.count(head)) {
        true => head,
        false => arrangement.go_on(head, reserved),
    }
}

/// Whether the rest of the block that starts at `head` is handed over, in this lap or a later one.
#[inline]
fn is_handed_over(reserved: u64, head: u64, arrangement: Arrangement) -> bool {
    reserved & HANDED_OVER != 0 && !is_before(reserved, arrangement.count(head))
}

queue_type!(Faaq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "faaq",
    name: "block-based bounded queue, all by fetch-and-add",
    paper: "Wang 2024, §3.7.4",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free FIFO",
    capacity: "n, and up to a block more",
    choose: advice!(choose faaq),
    avoid: advice!(avoid faaq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::LendableSlots;

    /// Fills and empties a block of two slots.
    fn turn(tx: &mut Producer<u64>, rx: &mut Consumer<u64>) {
        assert_eq!(tx.push_slice(&[0, 1]), 2);
        assert_eq!([(); 2].map(|()| rx.try_pop()), [Ok(0), Ok(1)]);
    }

    /// A consumer has seen a full block, and is stopped before its addition. Meanwhile the block is
    /// emptied, and others use it lap after lap.
    #[test]
    fn a_late_addition_takes_an_item_or_nothing() {
        for first in [0, u64::MAX] {
            let config = Config::new(5).block(2).first(first);
            let (tx, rx, first) = both_ends(config).unwrap();
            let (end, mut tx) = (rx.duplicate(), Producer::new(tx, first));
            let (blocks, arrangement) = (end.slots(), end.slots().arrangement());
            let mut rx = Consumer::new(rx, first);
            let _other = rx.clone();
            let add_late = || ByAddition::at(first).add(first, blocks, 1);

            assert_eq!(arrangement.slots(), 6);
            (0..3).for_each(|_| turn(&mut tx, &mut rx));
            assert!(add_late().is_none(), "the block is empty");
            tx.try_push(5).unwrap();
            assert!(add_late().is_none(), "the block is not full");
            assert_eq!(rx.try_pop(), Ok(5));
            tx.try_push(6).unwrap();
            assert!(add_late().is_none(), "the block is not handed over");
            assert_eq!(rx.try_pop(), Ok(6));
            (0..2).for_each(|_| turn(&mut tx, &mut rx));
            assert_eq!(tx.push_slice(&[7, 8]), 2);
            assert!(add_late().is_none(), "the block is not handed over");
            assert_eq!(rx.try_pop(), Ok(7));
            let (run, is_last) = add_late().expect("the block is handed over");
            assert!(run.n == 1 && is_last, "{run:?}");
            assert_eq!(run.end(), arrangement.end(first).wrapping_add(2 * arrangement.positions()));
            // SAFETY: the item was just reserved. It is plain data, and may be dropped again.
            assert_eq!(unsafe { blocks.cells().read(run.position) }, 8);
            assert!(add_late().is_none(), "no item is left");
        }
    }

    /// A consumer has marked a full block, and is stopped before it begins the version.
    #[test]
    fn a_consumer_stopped_in_a_hand_over_blocks_no_other() {
        let (tx, rx, first) = both_ends(Config::new(8).block(4)).unwrap();
        let (end, mut tx) = (rx.duplicate(), Producer::new(tx, first));
        let mut rx = Consumer::new(rx, first);
        let mut other = rx.clone();
        assert_eq!(tx.push_slice(&[0, 1, 2, 3, 4]), 5);
        let marked = end.slots().arrangement().count(first) | HANDED_OVER;
        end.slots().at(first).consumers.reserved.store(marked, Ordering::Relaxed);
        assert_eq!([rx.try_pop(), other.try_pop(), rx.try_pop()], [0, 1, 2].map(Ok));
        assert_eq!([other.try_pop(), other.try_pop()], [3, 4].map(Ok));
        assert!(rx.is_empty());
    }
}
