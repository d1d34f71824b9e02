// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! `bbq`: the block-based bounded queue.
//!
//! The ring is divided into blocks. Producers have a current block, and count the slots in it that
//! are `allocated` and `committed`. Consumers have a current block, and count the slots in it that
//! are `reserved` and `consumed`. A producer enters a block only when all its slots have been
//! consumed. So within a block a producer needn't check for room, and takes slots by fetch-and-add.
//! While the two sides are in different blocks, neither side disturbs the other.
//!
//! The only handle of a side needs none of this: it works as the handle of
//! [`block::single`](crate::block::single) until it is cloned, and again soon after all its clones
//! are gone.
//!
#![doc = advice!(bbq)]
//!
//! If one side is always one thread, [`block::one_consumer`](crate::block::one_consumer) and
//! [`block::one_producer`](crate::block::one_producer) also lend that side's slots.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity | as asked, or up to S − 1 more, with S slots in a block. The ring has up to S − 1 slots more than its capacity: all slots of a block but one may be empty, and not given back yet |
//! | blocks | of S = N / 2^max(1, ⌊log₂ N / 4⌋) slots, which the paper found best; N is the capacity rounded up to a power of two. [`Config::block`] sets S instead, rounded down to a power of two, from 1 (or N/65536) to N. 384 bytes for each block besides its slots |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | among several handles a push needs two fetch-and-adds, and a pop one compare-and-swap and one fetch-and-add; [`push_slice`](crate::Producer::push_slice) and [`pop_slice`](crate::Consumer::pop_slice) need as many for all slots that they take of a block |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.3, §2.4, retry-new |
//!
//! # Departures from the paper
//!
//! - `committed`, `reserved` and `consumed` count through all laps and are never reset. So the
//!   paper's MAX on them is not needed, and no two resets can race. `allocated` is reset, because
//!   late producers add to it too. The offset in `allocated` has 17 bits more than a slot's number
//!   needs: late producers add at most one block for each of 65,536 handles, and one for each slot
//!   of the block. So the offset never overflows into the version.
//! - A push of one item doesn't read `allocated` before its addition, if the handle's last slot was
//!   in the same block: one cache miss less. A pop first tries the position that is next if no
//!   other consumer has popped since the handle's last pop. It reads `committed` only when all
//!   items that the handle has seen are gone.
//! - A consumer whose compare-and-swap fails waits for 4 to 256 pauses, so that others proceed: a
//!   failed compare-and-swap takes the cache line from all other consumers.
//! - The heads are positions at which blocks start. So no version of the first block is off by one.
//! - A producer that waits for a block reads `emptied`, which is written once a lap, and not
//!   `consumed`, which consumers add to. So a push says [`Busy`](TryPushError::Busy) when consumers
//!   are already in a later block, and a pop from this block is unfinished. The paper's push says
//!   so whenever a pop from this block is unfinished.
//! - A pop says [`Busy`](TryPopError::Busy) also if no slot has been committed since the last pop,
//!   but a slot has been allocated. The paper's pop says empty there. It says empty even after a
//!   push into the next block has returned, while a push into this block is unfinished.
//! - All counters may wrap: they are compared by their difference. A maximum doesn't work for
//!   counters that wrap. So compare-and-swap advances `allocated` and the heads where the paper has
//!   MAX. Compare-and-swap advances `reserved` as well, since a call may reserve several slots. A
//!   thread must not be stopped in the middle of a call while `allocated` advances by half its
//!   range: 2^46 laps of blocks of one slot, 2^37 laps of blocks of 512.
//!
//! ```
//! use corelane::block::shared;
//!
//! let (mut tx, rx) = shared::queue(100)?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! let mut other_rx = rx.clone();
//! assert_eq!(other_rx.try_pop(), Ok('a'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::cell::Cell;

use super::single;
use crate::block::layout::{BlockShape, Header, Nothing};
use crate::block::variables::{Heads, Separate};
use crate::block::{ByExchange, Reserve};
use crate::memory::{Ordering, advance, is_before};
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type,
};
use crate::region::{End, LendableSlots, Run, ends};
use crate::spin::Retries;

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

/// Both ends of a new queue, with the position it starts at.
pub(crate) fn both_ends<T>(config: Config) -> Result<(Side<T>, Side<T>, u64), CapacityError> {
    let shape = BlockShape::new::<Header<T, Separate>>(config)?;
    let (tx, rx) = ends(config.memory, shape, Header::new(Heads::new(&shape)))?;
    Ok((tx, rx, shape.first))
}

/// An end of the queue.
type Side<T> = End<Header<T, Separate>>;

/// A sending side.
pub struct Producer<T> {
    /// The handle's state while it is the only producer.
    single: single::Producer<T, Separate>,
    is_alone: Cell<bool>,
    /// Where the block starts in which the handle, as one of several, took its last slot.
    current: Option<u64>,
}

/// A receiving side. `R` is how it takes items as one of several.
pub struct Consumer<T, R: Reserve = ByExchange> {
    /// The handle's state while it is the only consumer. It also says whether the handle is.
    single: single::Consumer<T, Separate>,
    seen: R,
}

impl<T> Producer<T> {
    pub(crate) fn new(end: Side<T>, first: u64) -> Self {
        let single = single::Producer::new(end, first);
        Self { single, is_alone: Cell::new(true), current: None }
    }

    #[inline]
    fn end(&self) -> &Side<T> {
        self.single.end()
    }

    /// Takes up to `wanted` free slots; `None` if this is the only producer, which doesn't
    /// allocate.
    #[inline(always)] // see `queue::try_pop_by`
    pub(crate) fn allocate(&mut self, wanted: u64) -> Result<Option<Run>, Nothing> {
        while !self.is_alone.get() {
            // Acquire ↔ Release in `advance_phead`: the block's `allocated`.
            let head = self.end().header().heads.phead.load(Ordering::Acquire);
            if let Some(run) = self.allocate_in(head, wanted) {
                return Ok(Some(run));
            }
            if !self.take_over() {
                self.advance_phead(head)?;
            }
        }
        Ok(None)
    }

    /// Continues as the only producer, if all others are gone and no slot is left in their block.
    #[inline]
    fn take_over(&mut self) -> bool {
        if !self.end().is_only() {
            return false;
        }
        let (header, blocks) = (self.end().header(), self.end().slots());
        let arrangement = blocks.arrangement();
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let head = header.heads.phead.load(Ordering::Relaxed);
        let allocated = blocks.at(head).producers.allocated.load(Ordering::Relaxed);
        let is_done = arrangement.offset(allocated) >= arrangement.size();
        if is_done {
            self.single.go_on_from(blocks.next_block(head));
            self.is_alone.set(true);
        }
        is_done
    }

    /// Publishes the state of the only producer, before there are others.
    fn share(&self) {
        let (header, blocks) = (self.end().header(), self.end().slots());
        let arrangement = blocks.arrangement();
        let (write, free) = self.single.positions();
        // Relaxed, all of it: there is no other producer yet, and consumers know this state
        // already.
        if write == free {
            header.heads.phead.store(arrangement.block_before(write), Ordering::Relaxed);
            return;
        }
        let block = blocks.at(write);
        block.producers.allocated.store(arrangement.allocated(write), Ordering::Relaxed);
        header.heads.phead.store(arrangement.start(write), Ordering::Relaxed);
    }

    /// The paper's `allocate_entry`: slots of the block that starts at `head`, if any are left.
    #[inline]
    fn allocate_in(&mut self, head: u64, mut wanted: u64) -> Option<Run> {
        let blocks = self.single.end().slots();
        let (block, arrangement) = (blocks.at(head), blocks.arrangement());
        let allocated = &block.producers.allocated;
        // Late producers must not add again and again: each adds late at most once after each slot
        // that it got. Acquire ↔ Release of the addition below: observing the block full makes
        // visible everything behind it that its last producer had observed as free.
        if wanted > 1 || self.current != Some(head) {
            let taken = arrangement.offset(allocated.load(Ordering::Acquire));
            wanted = wanted.min(arrangement.size().checked_sub(taken)?);
            if wanted == 0 {
                return None;
            }
        }
        // Acquire ↔ Release in `advance_phead`: the slots are consumed. Release: see above.
        let offset = arrangement.offset(allocated.fetch_add(wanted, Ordering::AcqRel));
        let left = arrangement.size().checked_sub(offset).filter(|left| *left > 0);
        self.current = left.map(|_| head);
        let left = left?;
        // Producers may have entered the block again since, but the slots have the same places in
        // each lap.
        let position = head.wrapping_add(offset);
        Some(Run { position, n: wanted.min(left) })
    }

    /// Enters the block after `head`, if all its slots have been consumed.
    #[inline]
    fn advance_phead(&self, head: u64) -> Result<(), Nothing> {
        let blocks = self.end().slots();
        let arrangement = blocks.arrangement();
        let next = blocks.next_block(head);
        let block = blocks.at(next);
        // Acquire ↔ Release in `consume`: all items of the block are taken.
        let emptied = block.emptied.load(Ordering::Acquire);
        if is_before(emptied, arrangement.count(next)) {
            return Err(blocks.no_room_at(next, &self.end().header().heads));
        }
        // Release ↔ Acquire in `allocate_in`: the slots are free.
        advance(&block.producers.allocated, arrangement.allocated(next), Ordering::Release);
        // Release ↔ Acquire in `allocate`: the block's `allocated`.
        advance(&self.end().header().heads.phead, next, Ordering::Release);
        Ok(())
    }

    /// Publishes the items of `run` to consumers.
    #[inline]
    pub(crate) fn commit(&self, run: Run) {
        let blocks = self.end().slots();
        let steps = run.n * blocks.arrangement().step();
        // Release ↔ Acquire of `committed` in consumers: the items.
        blocks.at(run.position).producers.committed.fetch_add(steps, Ordering::Release);
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline(always)] // a call would cost more than a push of the only producer
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        match self.allocate(1) {
            Ok(None) => self.single.try_push(item),
            Ok(Some(run)) => {
                // SAFETY: the slot has been consumed, and was allocated to this thread alone.
                unsafe { self.end().slots().cells().write(run.position, item) };
                self.commit(run);
                Ok(())
            }
            Err(_) if self.end().peer_is_gone() => Err(full(true, item)),
            Err(Nothing::AtAll) => Err(full(false, item)),
            Err(Nothing::Yet) => Err(TryPushError::Busy(item)),
        }
    }

    answered_by!(blocks: end());

    /// Visits all blocks.
    fn len(&mut self) -> usize {
        match self.is_alone.get() {
            true => self.single.len(),
            false => self.end().slots().count_filled(),
        }
    }

    fn is_full(&mut self) -> bool {
        if self.is_alone.get() {
            return self.single.is_full();
        }
        let (header, blocks) = (self.end().header(), self.end().slots());
        let arrangement = blocks.arrangement();
        // Relaxed, all of it: a snapshot.
        let head = header.heads.phead.load(Ordering::Relaxed);
        let allocated = blocks.at(head).producers.allocated.load(Ordering::Relaxed);
        let next = blocks.next_block(head);
        let emptied = blocks.at(next).emptied.load(Ordering::Relaxed);
        arrangement.offset(allocated) >= arrangement.size()
            && is_before(emptied, arrangement.count(next))
    }

    /// Takes as much of a block as it can at once.
    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut rest = items;
        while !rest.is_empty() {
            let run = match self.allocate(rest.len() as u64) {
                Ok(Some(run)) => run,
                Ok(None) => return items.len() - rest.len() + self.single.push_slice(rest),
                Err(nothing) if retries.again(nothing == Nothing::Yet) => continue,
                Err(_) => break,
            };
            let (now, later) = rest.split_at(run.n as usize);
            for (i, item) in now.iter().enumerate() {
                // SAFETY: the slots have been consumed, and were allocated to this thread alone.
                unsafe { self.end().slots().cells().write(run.slot(i), *item) };
            }
            self.commit(run);
            rest = later;
        }
        items.len() - rest.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, R: Reserve> Consumer<T, R> {
    pub(crate) fn new(end: Side<T>, first: u64) -> Self {
        Self { single: single::Consumer::new(end, first), seen: R::at(first) }
    }

    #[inline]
    fn end(&self) -> &Side<T> {
        self.single.end()
    }

    /// Takes up to `wanted` items; `None` if this is the only consumer, which doesn't reserve.
    #[inline(always)] // see `queue::try_pop_by`
    pub(crate) fn reserve(&mut self, wanted: u64) -> Result<Option<Run>, Nothing> {
        if self.single.is_alone().get() {
            return Ok(None);
        }
        loop {
            let (chead, blocks) =
                (&self.single.end().header().heads.chead, self.single.end().slots());
            // Acquire ↔ Release in `leave`: the items that made another consumer leave the block.
            let head = chead.load(Ordering::Acquire);
            match self.seen.reserve_in(head, blocks, wanted)? {
                Some((run, is_last)) => {
                    // An only consumer leaves the block in `take_over`.
                    if is_last && !self.end().is_only() {
                        self.leave(run.position);
                    }
                    return Ok(Some(run));
                }
                None if self.end().is_only() => {
                    self.take_over();
                    return Ok(None);
                }
                None => self.leave(head),
            }
        }
    }

    /// Leaves the block of `position`, after all its items have been taken.
    ///
    /// The pop that takes the last item leaves the block before it returns. Then a push that needs
    /// the block says busy, and not that the queue is full.
    #[inline]
    fn leave(&self, position: u64) {
        let next = self.end().slots().next_block(position);
        let chead = &self.end().header().heads.chead;
        // Release ↔ Acquire in `reserve`: the items of the block that is left.
        advance(chead, next, Ordering::Release);
    }

    /// Continues as the only consumer, after all others are gone.
    #[inline]
    fn take_over(&mut self) {
        let (header, blocks) = (self.end().header(), self.end().slots());
        // Relaxed: all writes of other handles are visible, and no other handle writes any more.
        let head = header.heads.chead.load(Ordering::Relaxed);
        self.single.go_on_from(blocks.arrangement().next(R::taken(head, blocks)));
        self.single.is_alone().set(true);
    }

    /// Publishes the state of the only consumer, before there are others.
    fn share(&self) {
        let (header, blocks) = (self.end().header(), self.end().slots());
        let (read, arrangement) = (self.single.position(), blocks.arrangement());
        R::share(read, blocks);
        // Relaxed, all of it: there is no other consumer yet.
        blocks.at(read).consumers.consumed.store(arrangement.count(read), Ordering::Relaxed);
        header.heads.chead.store(arrangement.start(read), Ordering::Relaxed);
    }

    /// Gives the slots of `run` back. The last slots of a block make the block free for producers.
    #[inline]
    pub(crate) fn consume(&self, run: Run) {
        let (blocks, arrangement) = (self.end().slots(), self.end().slots().arrangement());
        let (block, steps) = (blocks.at(run.position), run.n * arrangement.step());
        // Release ↔ Acquire here, of the last consumer in the block: all items of the block are
        // taken.
        let consumed = block.consumers.consumed.fetch_add(steps, Ordering::AcqRel);
        let full = arrangement.full_count(run.position);
        if consumed.wrapping_add(steps) == full {
            // Release ↔ Acquire in `advance_phead` and `enter_block`: all items of the block are
            // taken.
            block.emptied.store(full, Ordering::Release);
        }
    }
}

impl<T, R: Reserve> queue::Consumer for Consumer<T, R> {
    type Item = T;

    #[inline(always)] // a call would cost more than a pop of the only consumer
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut closed = false;
        loop {
            match self.reserve(1) {
                Ok(None) => return self.single.try_pop(),
                Ok(Some(run)) => {
                    // SAFETY: the item is there, and was reserved to this thread alone.
                    let item = unsafe { self.end().slots().cells().read(run.position) };
                    self.consume(run);
                    return Ok(item);
                }
                Err(Nothing::Yet) => return Err(TryPopError::Busy),
                Err(Nothing::AtAll) if closed => return Err(TryPopError::Closed),
                // Looks once more, for items that producers pushed before they were dropped.
                Err(Nothing::AtAll) if self.end().peer_is_gone() => closed = true,
                Err(Nothing::AtAll) => return Err(TryPopError::Empty),
            }
        }
    }

    answered_by!(blocks: end());

    /// Visits all blocks.
    fn len(&mut self) -> usize {
        match self.single.is_alone().get() {
            true => self.single.len(),
            false => self.end().slots().count_filled(),
        }
    }

    fn is_empty(&mut self) -> bool {
        // Reserves none.
        match self.reserve(0) {
            Ok(None) => self.single.is_empty(),
            reserved => matches!(reserved, Err(Nothing::AtAll)),
        }
    }

    /// Takes as much of a block as it can at once.
    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < into.len() {
            let run = match self.reserve((into.len() - done) as u64) {
                Ok(Some(run)) => run,
                Ok(None) => return done + self.single.pop_slice(&mut into[done..]),
                Err(nothing) if retries.again(nothing == Nothing::Yet) => continue,
                Err(_) => break,
            };
            for (i, slot) in into[done..][..run.n as usize].iter_mut().enumerate() {
                // SAFETY: the items are there, and were reserved to this thread alone.
                *slot = unsafe { self.end().slots().cells().read(run.slot(i)) };
            }
            self.consume(run);
            done += run.n as usize;
        }
        done
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) {
            self.share();
        }
        let other = Self::new(self.end().duplicate(), 0);
        other.is_alone.set(false);
        other
    }
}

impl<T, R: Reserve> Clone for Consumer<T, R> {
    fn clone(&self) -> Self {
        if self.single.is_alone().replace(false) {
            self.share();
        }
        let single = single::Consumer::new(self.end().duplicate(), 0);
        let other = Self { single, seen: self.seen };
        other.single.is_alone().set(false);
        other
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T, R: Reserve] Consumer<T, R>: consumer of T;
}

queue_type!(Bbq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bbq",
    name: "block-based bounded queue",
    paper: "Wang 2024, §2.3, §2.4",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free FIFO",
    capacity: "n, and up to a block more",
    choose: advice!(choose bbq),
    avoid: advice!(avoid bbq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{one_consumer, one_producer, reserve::filled_from};

    /// A push has returned, behind an unfinished push: no call finds the queue empty.
    #[test]
    fn a_chunk_to_read_is_busy_behind_an_unfinished_push() {
        let (mut one, mut rx) = one_consumer::queue(16).unwrap();
        let mut other = one.clone();
        assert_eq!(rx.read_chunk(1).map(drop), Err(TryPopError::Empty));
        let unfinished = one.allocate(1).ok().flatten().expect("there is room");
        other.try_push(1).unwrap();
        assert_eq!(rx.try_pop(), Err(TryPopError::Busy));
        assert_eq!(rx.read_chunk(1).map(drop), Err(TryPopError::Busy));
        // SAFETY: the slot was just allocated.
        unsafe { one.end().slots().cells().write(unfinished.position, 0) };
        one.commit(unfinished);
        let mut into = [9; 2];
        assert_eq!((rx.read_chunk(2).unwrap().copy_to_slice(&mut into), into), (2, [0, 1]));
        drop((one, other));
        assert_eq!(rx.read_chunk(1).map(drop), Err(TryPopError::Closed));
    }

    /// The same for pops: a pop is unfinished.
    #[test]
    fn a_chunk_to_write_is_busy_behind_an_unfinished_pop() {
        let (mut tx, mut one) = one_producer::queue(2).unwrap();
        let mut other = one.clone();
        assert_eq!(tx.push_slice(&[0, 1]), 2);
        assert_eq!(tx.write_chunk_uninit(1).map(drop), Err(TryPushError::Full(())));
        let unfinished = one.reserve(1).ok().flatten().expect("there are two");
        assert_eq!(other.try_pop(), Ok(1));
        assert!(matches!(tx.try_push(2), Err(TryPushError::Busy(2))));
        assert_eq!(tx.write_chunk_uninit(1).map(drop), Err(TryPushError::Busy(())));
        // SAFETY: the slot was just reserved.
        assert_eq!(unsafe { one.end().slots().cells().read(unfinished.position) }, 0);
        one.consume(unfinished);
        assert!(tx.write_chunk_uninit(1).is_ok());
    }

    /// A consumer reads a position, and sleeps for a lap of the ring. Then it finds slots filled.
    /// They say nothing of the block between, where a push is unfinished.
    #[test]
    fn slots_filled_a_lap_later_say_nothing_about_blocks_between() {
        let (mut tx, mut rx) = queue_with(Config::new(4).block(2)).unwrap();
        let (mut other, _another) = (tx.clone(), rx.clone());
        assert_eq!(tx.push_slice(&[0, 1]), 2);
        let unfinished = other.allocate(1).ok().flatten().expect("there is room");
        assert_eq!((tx.try_push(3), rx.try_pop(), rx.try_pop()), (Ok(()), Ok(0), Ok(1)));
        assert_eq!(tx.push_slice(&[4, 5]), 2);
        assert_eq!(filled_from(1, tx.end().slots()), Ok(2));
        // SAFETY: the slot was just allocated.
        unsafe { other.end().slots().cells().write(unfinished.position, 2) };
        other.commit(unfinished);
        assert_eq!([(); 4].map(|()| rx.try_pop()), [2, 3, 4, 5].map(Ok));
    }
}
