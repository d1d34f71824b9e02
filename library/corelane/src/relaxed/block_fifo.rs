//! `block-fifo`: each handle owns a block in a window.
//!
//! The queue is a ring of windows, and a window is a row of blocks. A producer claims a block of
//! the newest window and fills it, slot by slot. A consumer claims a block of the oldest window and
//! empties it. So two threads seldom meet at a slot, and a claim is needed once for several items.
//! A word for each window, with a bit for each block, says which blocks have owners.
//!
#![doc = advice!(literature block_fifo)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, k-FIFO (linearizable but for unfinished calls) |
//! | k | the slots of a window: [as asked](Config::relaxation), rounded down to a power of two; 256 by default. Not more than the capacity asked for |
//! | blocks | of 8 slots, or a 32nd of the window if that is more, or a quarter of it if that is less |
//! | capacity | (W − 1)·k + 1 for W windows, a power of two: at least as asked. Up to W·k items are inside, as slots come back a window at a time |
//! | memory | a word for each slot, besides the item, and 256 bytes for each window |
//! | a stopped thread | in the middle of a push keeps one slot. When all other items of its window are popped, pops say busy, if there are newer windows. In the middle of a pop it keeps one slot from the producers, a lap later. A thread that is stopped between calls keeps nothing: others also use its block when all blocks have owners |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | one compare-and-swap and one store, on lines that seldom belong to other threads. Once a block, another compare-and-swap. A pop that finds no item reads all slots of a window three times |
//! | empty, full | as in [`k_segment`](super::k_segment) |
//! | paper | S. Koch, P. Sanders, M. Williams: *BlockFIFO & MultiFIFO: Scalable Relaxed Queues* (2025) |
//!
//! It is k-FIFO for the reason that `k_segment` gives: a window is a segment.
//!
//! # Departures from the paper
//!
//! - In the paper a consumer that has emptied the oldest window, and finds the newest one behind
//!   it, moves the producers on to another window. Then consumers and producers are never in the
//!   same window, but windows are left half full. Here consumers and producers may be in the same
//!   window. Each window is filled, so that capacity is a promise.
//! - In the paper only the owner fills a block, and stays in it when producers have gone on to
//!   another window. Then the rank error has no bound. Here a producer leaves its block with the
//!   window. The other producers fill the block's last slots, when no block is without an owner.
//! - In the paper a block has counters of its slots that are filled and taken. Here each slot has a
//!   state, so that several threads can fill a block.
//! - A bitset has the number of its window, so that it needs no reset.
//!
//! ```
//! use corelane::{Config, relaxed::block_fifo};
//!
//! let (mut tx, mut rx) = block_fifo::queue_with(Config::new(1000).relaxation(64))?;
//! let mut other = tx.clone();
//! (0..500_usize).for_each(|n| if n % 2 == 0 { &mut tx } else { &mut other }.try_push(n).unwrap());
//! for (i, n) in rx.pop_iter().enumerate() {
//!     assert!(n.abs_diff(i) < 64, "one of the 64 oldest");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::parts::pop_or_closed;
use super::segments::{self, Side};
use super::single_use::{Slot, find};
use crate::memory::{AtomicU64, Ordering};
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, handles,
    queue_type,
};

/// Slots of a window that is asked for without their number.
const WINDOW: usize = 256;
/// Most blocks of a window: each has a bit in half of a word.
const MOST_BLOCKS: usize = 32;

/// Slots of a block in a window of `k` slots.
fn block_len(k: usize) -> usize {
    (k / MOST_BLOCKS).max((k / 4).clamp(1, 8))
}

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
    let (tx, rx) = segments::open(config, WINDOW, true)?;
    let own = Own::none(tx.slots().shape().k, 0);
    Ok((Producer { end: tx, own }, Consumer { end: rx, own }))
}

/// The next slot of a handle.
#[derive(Debug, Clone, Copy)]
struct Own {
    /// The number of its window.
    window: u64,
    /// Place in the window. A search of the whole window begins here.
    next: usize,
    /// The place behind its block. The handle has no block if `next` is there.
    end: usize,
    /// Slots of a block.
    len: usize,
}

impl Own {
    /// No block, in windows of `k` slots. The first claim tries block number `handle` first.
    fn none(k: usize, handle: u64) -> Self {
        let len = block_len(k);
        let next = (handle as usize).wrapping_mul(len) & (k - 1);
        Self { window: 0, next, end: next, len }
    }

    /// Another handle's, which begins behind this one's block.
    fn of_clone(self, k: usize) -> Self {
        Self::none(k, (self.end / self.len) as u64)
    }

    /// The place of a slot of the block for which `is_it` says yes.
    #[inline]
    fn find<T>(
        &mut self,
        window: u64,
        slots: &[Slot<T>],
        is_it: impl Fn(&Slot<T>) -> bool,
    ) -> Option<usize> {
        if self.window != window {
            return None;
        }
        let place = self.next + slots[self.next..self.end].iter().position(is_it)?;
        self.next = place + 1;
        Some(place)
    }

    /// Claims another block of the window, one of those in `among`. Returns whether there was one.
    #[cold]
    fn claim(&mut self, window: u64, owners: &AtomicU64, among: u32, k: usize) -> bool {
        let lap = window << 32;
        // Relaxed: a bit says nothing about the slots. Each slot is claimed by itself.
        let mut word = owners.load(Ordering::Relaxed);
        loop {
            // The bits of an earlier lap are void. The word of a later lap ends the search.
            let owned = match (word ^ lap) >> 32 {
                0 => word as u32,
                _ if (word.wrapping_sub(lap) as i64) < 0 => 0,
                _ => return false,
            };
            let blocks = k / self.len;
            let free = !owned & among & (u32::MAX >> (MOST_BLOCKS - blocks));
            if free == 0 {
                return false;
            }
            // The first free block behind the last own block.
            let last = (self.end / self.len) as u32 & (blocks as u32 - 1);
            let behind = free & (u32::MAX << last);
            let block = if behind == 0 { free } else { behind }.trailing_zeros();
            let new = lap | u64::from(owned | 1 << block);
            match owners.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let next = block as usize * self.len;
                    *self = Self { window, next, end: next + self.len, ..*self };
                    return true;
                }
                Err(found) => word = found,
            }
        }
    }
}

/// The blocks of a window that have had a producer.
fn with_producer(owners: &AtomicU64, window: u64) -> u32 {
    // Relaxed: a block that is missed is found slot by slot.
    let word = owners.load(Ordering::Relaxed);
    if (word ^ window << 32) >> 32 == 0 { word as u32 } else { 0 }
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    own: Own,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    own: Own,
}

impl<T> Producer<T> {
    /// Reserves a slot of the newest window, and returns its place: of the own block, of another block, or anywhere.
    #[inline]
    fn reserve(&mut self, tail: u64) -> Option<usize> {
        let (segments, reserve) = (self.end.slots(), |slot: &Slot<T>| slot.reserve(tail));
        let (slots, k) = (segments.at(tail), segments.shape().k);
        loop {
            if let Some(place) = self.own.find(tail, slots, reserve) {
                return Some(place);
            }
            if !self.own.claim(tail, &segments.blocks(tail).producers, u32::MAX, k) {
                return find(slots, self.own.next, reserve);
            }
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        loop {
            let tail = self.end.tail();
            if let Some(place) = self.reserve(tail) {
                // SAFETY: this thread has reserved the slot.
                unsafe { self.end.slots().at(tail)[place].fill(tail, item) };
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
    /// Claims an item of the oldest window, and returns its place: of the own block, of another block, or anywhere.
    #[inline]
    fn claim(&mut self, head: u64) -> Option<usize> {
        let (segments, claim) = (self.end.slots(), |slot: &Slot<T>| slot.claim(head));
        let (slots, k) = (segments.at(head), segments.shape().k);
        loop {
            if let Some(place) = self.own.find(head, slots, claim) {
                return Some(place);
            }
            let blocks = segments.blocks(head);
            let among = with_producer(&blocks.producers, head);
            if !self.own.claim(head, &blocks.consumers, among, k) {
                return find(slots, self.own.next, claim);
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        loop {
            let head = self.end.head();
            if let Some(place) = self.claim(head) {
                // SAFETY: this thread has claimed the slot.
                return Ok(unsafe { self.end.take(&self.end.slots().at(head)[place], head) });
            }
            if self.end.has_none()? {
                return Err(TryPopError::Empty);
            }
        }
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
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
        let k = self.end.slots().shape().k;
        Self { end: self.end.duplicate(), own: self.own.of_clone(k) }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        let k = self.end.slots().shape().k;
        Self { end: self.end.duplicate(), own: self.own.of_clone(k) }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(BlockFifo of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "block-fifo",
    name: "block FIFO",
    paper: "Koch, Sanders, Williams 2025",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free k-FIFO",
    relaxed: true,
    capacity: "n, rounded up to a power of two of windows",
    choose: advice!(choose block_fifo),
    avoid: advice!(avoid block_fifo),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn none_is_lost_or_doubled() {
        for (capacity, k) in [(1, 1), (8, 4), (8, 8), (1000, 64), (4096, 1024)] {
            tests::none_is_lost_or_doubled::<BlockFifo>(Config::new(capacity).relaxation(k));
        }
    }

    #[test]
    fn capacity_is_a_promise() {
        for capacity in [1, 2, 31, 100] {
            for k in [1, 2, 16, 64] {
                tests::has_its_capacity::<BlockFifo>(Config::new(capacity).relaxation(k));
            }
        }
    }

    #[test]
    fn is_k_fifo() {
        for (capacity, k) in [(1, 1), (64, 1), (64, 2), (64, 16), (64, 64), (300, 100)] {
            tests::is_k_fifo::<BlockFifo>(Config::new(capacity).relaxation(k));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<BlockFifo>(Config::new(8).relaxation(2));
    }

    #[test]
    fn windows_have_blocks() {
        for (k, len) in [(1, 1), (2, 1), (4, 1), (16, 4), (32, 8), (256, 8), (1024, 32)] {
            assert_eq!(block_len(k), len);
            assert!((1..=MOST_BLOCKS).contains(&(k / len)));
        }
    }

    /// Two producers fill a block each, and two consumers empty one each: so each consumer gets the
    /// items of one producer.
    #[test]
    fn handles_own_blocks() {
        let (tx, rx) = queue_with(Config::new(1000).relaxation(256)).unwrap();
        let (mut txs, mut rxs) = ([tx.clone(), tx], [rx.clone(), rx]);
        for n in 0..64 {
            txs[n % 2].try_push(n % 2).unwrap();
        }
        let popped: Vec<_> = (0..8).map(|n| (n % 2, rxs[n % 2].try_pop().unwrap())).collect();
        for consumer in 0..2 {
            let mut of_one = popped.iter().filter(|(of, _)| *of == consumer).map(|(_, item)| item);
            let first = of_one.next().unwrap();
            assert!(of_one.all(|item| item == first), "{popped:?}");
        }
    }
}
