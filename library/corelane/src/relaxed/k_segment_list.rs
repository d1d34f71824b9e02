//! `usq`: an unbounded list of segments of k slots.
//!
//! As [`k_segment`](super::k_segment), but a segment is used once. A push that finds no free slot
//! in the last segment appends another. A pop that finds all items of the first segment taken goes
//! on to the next one.
//!
#![doc = advice!(literature usq)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free but for the allocator, k-FIFO (linearizable but for unfinished calls). Cloning and dropping handles takes a lock for a moment |
//! | k | the slots of a segment: [as asked](Config::relaxation), rounded down to a power of two; 64 by default. Not more than [`Config::capacity`] |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for a segment |
//! | memory | a word for each slot besides the item. Segments that all consumers have left are freed by hazard pointers, of which each handle has one |
//! | a stopped thread | keeps one segment from being freed. In the middle of a push: when all other items of its segment are popped, pops say busy, if there are newer segments. In the middle of a pop it stops no other thread |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | as `k_segment`; a change of segments needs a fence, and an allocation in a push |
//! | closing | a push says closed when all consumers are gone |
//! | paper | C. M. Kirsch, M. Lippautz, H. Payer: *Fast and Scalable, Lock-free k-FIFO Queues* (PaCT 2013); the USQ of J. Wang 2024, §3.2 (P3), Table 3.2 |
//!
//! It is k-FIFO for the reason that `k_segment` gives. The departures from the paper are the same.
//! Segments are freed by hazard pointers; the paper's program doesn't free them.
//!
//! ```
//! use corelane::{Config, relaxed::k_segment_list};
//!
//! let (mut tx, mut rx) = k_segment_list::queue_with(Config::new(4))?;
//! (0..1000_usize).for_each(|n| tx.try_push(n).unwrap());
//! for (i, n) in rx.pop_iter().enumerate() {
//!     assert!(n.abs_diff(i) < 4, "one of the four oldest");
//! }
//! # Ok::<(), corelane::CapacityError>(())
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;

use super::k_segment::SEGMENT;
use super::parts::pop_or_closed;
use super::segments::segment_len;
use super::single_use::{Slot, find, look};
use crate::hazard::{Costs, Domain, Guarded, Hazard};
use crate::memory::{AtomicPtr, AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, CapacityError, Config, Info, MOST_COUNTED, Memory, Sides, TryPopError, TryPushError,
    answered_by, full, handles, queue_type,
};
use crate::random::Random;
use crate::region::{End, NoSlots, State, ends, no_memory};
use crate::unwind::drop_each;

/// The only lap of a segment.
const LAP: u64 = 0;
/// The lap in which a slot whose item was taken is free: no push comes to it.
const OVER: u64 = 1;

/// A pointer to a segment.
type Link<T> = AtomicPtr<Guarded<Segment<T>>>;

/// A part of the list.
struct Segment<T> {
    slots: Box<[Slot<T>]>,
    /// The next segment. There is one only if no slot here is free.
    next: Link<T>,
}

impl<T> Segment<T> {
    /// An empty segment of `k` slots, if there is memory for it.
    fn new(k: usize) -> Option<Box<Guarded<Self>>> {
        let mut slots = Vec::new();
        slots.try_reserve_exact(k).ok()?;
        for place in &mut slots.spare_capacity_mut()[..k] {
            // SAFETY: the place is the vector's.
            unsafe { Slot::init(place.as_mut_ptr(), LAP) };
        }
        // SAFETY: there is room for `k` slots, which were made above.
        unsafe { slots.set_len(k) };
        let next = AtomicPtr::new(ptr::null_mut());
        Guarded::new(Self { slots: slots.into_boxed_slice(), next })
    }

    /// The segment behind this one, if there is one.
    fn next(&self) -> Option<*mut Guarded<Self>> {
        // Acquire ↔ Release in `append`: the next segment is initialized, no slot here is free, and
        // `tail` was here. A thread that stores this pointer in `head` or `tail` passes that on. No
        // model shows it: loom's fences order so much that `Hazard` hides it.
        let next = self.next.load(Ordering::Acquire);
        (!next.is_null()).then_some(next)
    }
}

/// Each segment that a consumer leaves pays for a scan, unless there are many handles.
const COSTS: Costs = Costs { overhead: 0, steps: 8, at_drop: true };

/// The head and the tail of the list.
struct Header<T> {
    head: Padded<Link<T>>,
    /// The last segment, or one before it.
    tail: Padded<Link<T>>,
    k: usize,
    /// Handles made so far: each has random numbers of its own.
    handles: AtomicU64,
    domain: Domain<Segment<T>>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // Relaxed: the drop of the handles orders their accesses before this one.
        let mut segment = self.head.load(Ordering::Relaxed);
        let mut slot = 0;
        drop_each(|| {
            loop {
                // SAFETY: all handles are gone. The segments from `head` on have not been retired.
                // Each is freed once, and each of its slots visited once.
                unsafe {
                    let Some(place) = segment.as_ref()?.slots.get(slot) else {
                        segment = Box::from_raw(segment).next.load(Ordering::Relaxed);
                        slot = 0;
                        continue;
                    };
                    slot += 1;
                    if let Some(item) = place.take_last() {
                        return Some(item);
                    }
                }
            }
        });
    }
}

/// A new queue, with the default of k.
///
/// # Errors
///
/// If there is no memory for it.
pub fn queue<T: Send>() -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(SEGMENT))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`]; also if the capacity or the [relaxation](Config::relaxation) is 0.
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[ConfigOption::Relaxation])?;
    let (k, most) = (segment_len(config, SEGMENT)?, isize::MAX as usize / size_of::<Slot<T>>());
    if config.capacity == 0 || k > most {
        return Err(CapacityError::OutOfRange { asked: config.capacity, most });
    }
    let error = CapacityError::OutOfMemory { bytes: k * size_of::<Slot<T>>() };
    let segment = Box::into_raw(Segment::new(k).ok_or(error)?);
    let end = || Padded(AtomicPtr::new(segment));
    let (handles, domain) = (AtomicU64::new(0), Domain::new(COSTS));
    let header = Header { head: end(), tail: end(), k, handles, domain };
    // SAFETY: the segment came from a box above, and the header, which pointed to it, is gone.
    let (tx, rx) =
        ends(Memory::Heap, (), header).inspect_err(|_| drop(unsafe { Box::from_raw(segment) }))?;
    let (tx, rx) = (Producer::new(tx), Consumer::new(rx));
    Ok((tx.ok_or(error)?, rx.ok_or(error)?))
}

/// Random numbers for a new handle.
fn fresh<T>(header: &Header<T>) -> Random {
    // Relaxed: only the number matters.
    Random::new(header.handles.fetch_add(1, Ordering::Relaxed))
}

/// Items from the first segment on, up to [`MOST_COUNTED`] and the slots of a segment. Leaves
/// `segment` at the tail.
fn count<T>(segment: &mut Hazard<Segment<T>>, header: &Header<T>) -> usize {
    // A hazard protects only one segment, and others may be freed meanwhile. So this counts again
    // from `head`, if `head` has moved.
    'again: loop {
        segment.protect(&header.head);
        let head = segment.node();
        let mut len = look(&segment.get().slots, LAP).full;
        while let Some(next) = segment.get().next() {
            if len > MOST_COUNTED {
                return len;
            }
            // SAFETY: a segment behind `head` is retired only after `head` has moved past it.
            if !unsafe { segment.follow(next, &header.head, head) } {
                continue 'again;
            }
            len += look(&segment.get().slots, LAP).full;
        }
        return len;
    }
}

/// A sending side.
pub struct Producer<T: Send> {
    /// The last segment that the producer has seen. Dropped before `end`, which may free the
    /// domain.
    last: Hazard<Segment<T>>,
    random: Random,
    end: End<Header<T>>,
}

/// A receiving side.
pub struct Consumer<T: Send> {
    /// The first segment that the consumer has seen. Dropped before `end`.
    first: Hazard<Segment<T>>,
    random: Random,
    end: End<Header<T>>,
}

impl<T: Send> Producer<T> {
    fn new(end: End<Header<T>>) -> Option<Self> {
        let Header { tail, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `tail` and `head` point to segments of the list, and move
        // on before these are retired.
        let last = unsafe { Hazard::new(domain, tail) }?;
        Some(Self { last, random: fresh(end.header()), end })
    }

    /// Goes on to the segment behind the protected one, which has no free slot. Appends one if
    /// there is none. `None` if there is no memory for it.
    #[cold]
    fn append(&mut self) -> Option<()> {
        let Header { tail, k, .. } = self.end.header();
        let last = self.last.get();
        let next = match last.next() {
            Some(next) => next,
            None => {
                let new = Box::into_raw(Segment::new(*k)?);
                let null = ptr::null_mut();
                // Release ↔ Acquire in `next`: the segment is initialized, no slot of the last one
                // is free, and `tail` was there. Acquire ↔ the same of a faster producer, as in `next`.
                let hung =
                    last.next.compare_exchange(null, new, Ordering::Release, Ordering::Acquire);
                // SAFETY: the segment came from a box, and no other thread has seen it.
                hung.inspect_err(|_| drop(unsafe { Box::from_raw(new) })).err().unwrap_or(new)
            }
        };
        // Release ↔ Acquire in `Hazard::protect`: the segment is initialized.
        let from = self.last.node();
        let _ = tail.compare_exchange(from, next, Ordering::Release, Ordering::Relaxed);
        Some(())
    }
}

impl<T: Send> queue::Producer for Producer<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.is_closed() {
            return Err(full(true, item));
        }
        loop {
            self.last.protect(&self.end.header().tail);
            let slots = &self.last.get().slots;
            let first = self.random.below(slots.len());
            if let Some(place) = find(slots, first, |slot| slot.reserve(LAP)) {
                // SAFETY: this thread has reserved the slot.
                unsafe { slots[place].fill(LAP, item) };
                return Ok(());
            }
            if self.append().is_none() {
                return Err(full(false, item));
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        count(&mut self.last, self.end.header())
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Consumer<T> {
    fn new(end: End<Header<T>>) -> Option<Self> {
        let Header { head, domain, .. } = end.header();
        // SAFETY: as for a producer.
        let first = unsafe { Hazard::new(domain, head) }?;
        Some(Self { first, random: fresh(end.header()), end })
    }

    fn pop(&mut self) -> Result<T, TryPopError> {
        loop {
            self.first.protect(&self.end.header().head);
            let slots = &self.first.get().slots;
            let first = self.random.below(slots.len());
            if let Some(place) = find(slots, first, |slot| slot.claim(LAP)) {
                // SAFETY: this thread has claimed the slot.
                return Ok(unsafe { slots[place].take(OVER) });
            }
            if self.has_none()? {
                return Err(TryPopError::Empty);
            }
        }
    }

    /// Whether no item is inside; or busy, if an unfinished push is in the way.
    fn has_none(&mut self) -> Result<bool, TryPopError> {
        loop {
            self.first.protect(&self.end.header().head);
            let first = self.first.get();
            let seen = look(&first.slots, LAP);
            if seen.full > 0 {
                return Ok(false);
            }
            let next = first.next();
            if let (true, Some(next)) = (seen.is_used_up(), next) {
                self.leave(next);
                continue;
            }
            if look(&first.slots, LAP) == seen {
                return if next.is_none() { Ok(true) } else { Err(TryPopError::Busy) };
            }
        }
    }

    /// Goes on to `next`, the segment behind the protected one, of which all items are taken.
    #[cold]
    fn leave(&mut self, next: *mut Guarded<Segment<T>>) {
        let Header { head, tail, domain, .. } = self.end.header();
        let first = self.first.node();
        // `tail` first, so that it never points to a retired segment. Relaxed: `Segment::next` has
        // acquired that `tail` was at this segment. No model shows the orderings below, as there.
        if tail.load(Ordering::Relaxed) == first {
            // Release ↔ Acquire in `Hazard::protect`: the segment is initialized.
            let _ = tail.compare_exchange(first, next, Ordering::Release, Ordering::Relaxed);
        }
        // Release ↔ Acquire in `Hazard::protect`: the segment is initialized, and `tail` has moved
        // on.
        let moved = head.compare_exchange(first, next, Ordering::Release, Ordering::Relaxed);
        self.first.protect(head);
        if moved.is_ok() {
            // SAFETY: the segment came from a box. `head` and `tail` have moved on for good. A
            // segment is used only while a hazard protects it.
            unsafe { domain.retire(first) };
        }
        domain.reclaim(1);
    }
}

impl<T: Send> queue::Consumer for Consumer<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        pop_or_closed(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        count(&mut self.first, self.end.header())
    }

    fn is_empty(&mut self) -> bool {
        self.has_none() == Ok(true)
    }

    fn relaxation(&self) -> usize {
        self.end.header().k
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

impl<T: Send> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

handles! {
    [T: Send] Producer<T>: producer of T;
    [T: Send] Consumer<T>: consumer of T;
}

queue_type!(Usq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "usq",
    name: "unbounded k-segment queue",
    paper: "Kirsch, Lippautz, Payer 2013; Wang 2024, Table 3.2",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free k-FIFO but for the allocator",
    bounded: false,
    relaxed: true,
    capacity: "unbounded",
    choose: advice!(choose usq),
    avoid: advice!(avoid usq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;

    #[test]
    fn none_is_lost_or_doubled() {
        for k in [1, 8, 64] {
            tests::none_is_lost_or_doubled::<Usq>(Config::new(k));
        }
    }

    #[test]
    fn is_k_fifo() {
        for k in [1, 2, 16, 64] {
            tests::is_k_fifo::<Usq>(Config::new(100).relaxation(k));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<Usq>(Config::new(2));
    }

    #[test]
    fn counts() {
        let (mut tx, mut rx) = queue_with(Config::new(4)).unwrap();
        for n in 0..100 {
            tx.try_push(n).unwrap();
            assert_eq!((tx.len(), rx.len()), (n + 1, n + 1));
        }
        for n in (0..100).rev() {
            rx.try_pop().unwrap();
            assert_eq!((tx.len(), rx.len(), rx.is_empty()), (n, n, n == 0));
        }
    }
}
