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
//! (0..100).for_each(|n| tx.try_push(n).unwrap());
//! for (i, n) in rx.pop_iter().enumerate() {
//!     assert!(n.abs_diff(i) < 4, "one of the four oldest");
//! }
//! # Ok::<(), corelane::CapacityError>(())
//! ```

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use super::parts::pop_or_closed;
use super::single_use::{Look, Slot, find, look};
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type,
};
use crate::random::Random;
use crate::region::{End, Slots, State, array, ends, most_slots};
use crate::unwind::drop_each;

/// Slots of a segment that is asked for without their number.
pub(super) const SEGMENT: usize = 64;

/// The k of a queue with these options, a power of two.
pub(super) fn segment_len(config: Config) -> Result<usize, CapacityError> {
    let (asked, most) = (config.relaxation.unwrap_or(SEGMENT), usize::MAX);
    let k = asked.min(config.capacity.max(1)).checked_ilog2();
    k.map(|log| 1 << log).ok_or(CapacityError::OutOfRange { asked, most })
}

/// Slots, a segment behind the other.
struct Segments<T> {
    first: NonNull<Slot<T>>,
    shape: SegmentShape,
}

impl<T> Clone for Segments<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// How many segments of how many slots there are, both powers of two, and the number of the first
/// segment.
#[derive(Debug, Clone, Copy)]
struct SegmentShape {
    n: usize,
    k: usize,
    first: u64,
}

impl SegmentShape {
    fn of<T>(config: Config) -> Result<Self, CapacityError> {
        let (k, asked) = (segment_len(config)?, config.capacity);
        let log = (most_slots::<Header<T>>() / k).checked_ilog2();
        let most = log.map_or(0, |log| ((1_usize << log) - 1).saturating_mul(k).saturating_add(1));
        if asked == 0 || asked > most {
            return Err(CapacityError::OutOfRange { asked, most });
        }
        let n = ((asked - 1).div_ceil(k) + 1).next_power_of_two();
        Ok(Self { n, k, first: config.first & (u64::MAX >> 2) & !(n as u64 - 1) })
    }
}

impl<T> Slots for Segments<T> {
    const SLOT: Layout = Layout::new::<Slot<T>>();
    type Shape = SegmentShape;

    fn slots(shape: SegmentShape) -> Result<Layout, LayoutError> {
        array(Self::SLOT, shape.n * shape.k)
    }

    unsafe fn init(_: NonNull<u8>, slots: NonNull<u8>, shape: SegmentShape) -> Self {
        let first = slots.cast::<Slot<T>>();
        for i in 0..shape.n * shape.k {
            let number = shape.first.wrapping_add((i / shape.k) as u64);
            // SAFETY: the caller's contract: there is room for all slots.
            unsafe { Slot::init(first.add(i).as_ptr(), number) };
        }
        Self { first, shape }
    }

    unsafe fn finish(&self) {
        // SAFETY: `init` has made the slots, which are not used afterwards.
        let drop = |i| unsafe { self.first.add(i).drop_in_place() };
        (0..self.shape.n * self.shape.k).for_each(drop);
    }
}

impl<T> Segments<T> {
    /// Segment number `number`, or the one that has its slots in another lap.
    #[inline]
    fn at(&self, number: u64) -> &[Slot<T>] {
        let place = number as usize & (self.shape.n - 1);
        // SAFETY: there are `n` segments of `k` slots, which live as long as the region.
        unsafe { slice::from_raw_parts(self.first.add(place * self.shape.k).as_ptr(), self.shape.k) }
    }

    /// All slots.
    fn all(&self) -> &[Slot<T>] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.shape.n * self.shape.k) }
    }
}

/// Numbers of segments, which serve their slots as laps. `head` is at most one ahead of `tail`.
struct Header<T> {
    /// The oldest segment with items.
    head: Padded<AtomicU64>,
    /// The segment that is being filled.
    tail: Padded<AtomicU64>,
    /// Handles made so far: each has random numbers of its own.
    handles: AtomicU64,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Segments<T>;

    fn drop_items(&self, segments: &Segments<T>) {
        let mut slots = segments.all().iter();
        // SAFETY: all handles are gone. Each slot is visited once.
        drop_each(|| slots.find_map(|slot| unsafe { slot.take_last() }));
    }
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
    config.only(&[ConfigOption::Relaxation])?;
    let shape = SegmentShape::of::<T>(config)?;
    let end = || Padded(AtomicU64::new(shape.first));
    let handles = AtomicU64::new(2);
    let header = Header { head: end(), tail: end(), handles, items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    let [one, other] = [0, 1].map(Random::new);
    Ok((Producer { end: tx, random: one }, Consumer { end: rx, random: other }))
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

/// Segment number `number`, as a lap of its slots has it.
#[inline]
fn next(number: u64, distance: usize) -> u64 {
    number.wrapping_add(distance as u64)
}

impl<T> Side<T> {
    /// Random numbers for a new handle.
    fn fresh(&self) -> Random {
        // Relaxed: only the number matters.
        Random::new(self.header().handles.fetch_add(1, Ordering::Relaxed))
    }

    fn head(&self) -> u64 {
        // Acquire ↔ Release in `move_on`: all items of earlier segments are taken.
        self.header().head.load(Ordering::Acquire)
    }

    fn tail(&self) -> u64 {
        // Acquire ↔ Release in `move_on`: no slot of an earlier segment is free.
        self.header().tail.load(Ordering::Acquire)
    }

    fn capacity(&self) -> usize {
        let SegmentShape { n, k, .. } = self.slots().shape;
        (n - 1) * k + 1
    }

    /// Looks at segment `number`.
    fn look(&self, number: u64) -> Look {
        look(self.slots().at(number), number)
    }

    /// Items inside. Visits all segments that have some.
    fn len(&self) -> usize {
        let SegmentShape { n, k, .. } = self.slots().shape;
        let (head, tail) = (self.head(), self.tail());
        let segments = tail.wrapping_sub(head).wrapping_add(1).min(n as u64);
        let len: usize = (0..segments).map(|i| self.look(head.wrapping_add(i)).full).sum();
        len.min(n * k)
    }

    /// Moves `head` or `tail` from a segment to the next one, unless another thread has.
    fn move_on(end: &AtomicU64, from: u64) {
        // Release ↔ Acquire in `head` and `tail`: what this thread has seen of the segment.
        let _ = end.compare_exchange(from, next(from, 1), Ordering::Release, Ordering::Relaxed);
    }

    /// Whether no item is inside; or busy, if an unfinished push is in the way.
    fn has_none(&self) -> Result<bool, TryPopError> {
        loop {
            let head = self.head();
            let seen = self.look(head);
            if seen.full > 0 {
                return Ok(false);
            }
            if seen.is_used_up() {
                Self::move_on(&self.header().head, head);
                continue;
            }
            // An open slot means that `tail` has not left this segment.
            let is_last = seen.open > 0 || self.tail() == head;
            if self.look(head) == seen {
                return if is_last { Ok(true) } else { Err(TryPopError::Busy) };
            }
        }
    }

    /// Moves `tail` on from a segment without free slots, if there is a segment behind it.
    fn move_tail(&self, tail: u64) -> Result<(), TryPushError<()>> {
        let seen = self.look(tail);
        if seen.open > 0 {
            // A slot whose last item is still being moved out. Otherwise a look has missed a slot
            // that has come back since.
            return if seen.late == seen.open { Err(TryPushError::Busy(())) } else { Ok(()) };
        }
        let head = self.head();
        // `head` may be one ahead of `tail`, and `tail` of the caller may be out of date.
        if (next(tail, 1).wrapping_sub(head) as i64) < self.slots().shape.n as i64 {
            Self::move_on(&self.header().tail, tail);
            return Ok(());
        }
        let seen = self.look(head);
        if seen.is_used_up() {
            Self::move_on(&self.header().head, head);
            return Ok(());
        }
        match seen.full {
            0 => Err(TryPushError::Busy(())),
            _ => Err(full(self.peer_is_gone(), ())),
        }
    }
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
            if let Some(slot) = find(segment, &mut self.random, |slot| slot.reserve(tail)) {
                // SAFETY: this thread has reserved the slot.
                unsafe { slot.fill(tail, item) };
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
        loop {
            let tail = self.end.tail();
            if self.end.look(tail).open > 0 {
                return false;
            }
            if self.end.move_tail(tail).is_err() {
                return true;
            }
        }
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
            if let Some(slot) = find(segment, &mut self.random, |slot| slot.claim(head)) {
                // SAFETY: this thread has claimed the slot.
                return Ok(unsafe { slot.take(next(head, self.end.slots().shape.n)) });
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
        self.end.slots().shape.k
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
