//! A ring of segments, of which only the newest is filled and only the oldest emptied.
//!
//! [`k_segment`](super::k_segment) says why this is k-FIFO.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use super::single_use::{Look, Slot, look};
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::queue::config::ConfigOption;
use crate::queue::{CapacityError, Config, TryPopError, TryPushError, full};
use crate::random::Random;
use crate::region::{End, Slots, State, array, ends, most_slots};
use crate::unwind::drop_each;

/// The k of a queue with these options, a power of two.
pub(super) fn segment_len(config: Config, default: usize) -> Result<usize, CapacityError> {
    let (asked, most) = (config.relaxation.unwrap_or(default), usize::MAX);
    // A capacity of 0 is refused later, with the most that is possible.
    let slots = if config.capacity == 0 { usize::MAX } else { config.capacity };
    let k = asked.min(slots).checked_ilog2();
    k.map(|log| 1 << log).ok_or(CapacityError::OutOfRange { asked, most })
}

/// Slots, a segment behind the other.
pub(super) struct Segments<T> {
    first: NonNull<Slot<T>>,
    blocks: NonNull<Blocks>,
    shape: SegmentShape,
}

impl<T> Clone for Segments<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// The blocks of a segment that have an owner. Each word has the last 32 bits of the segment's
/// number, and a bit for each block.
pub(super) struct Blocks {
    /// Blocks that a producer fills, or has filled.
    pub(super) producers: Padded<AtomicU64>,
    /// Blocks that a consumer empties, or has emptied.
    pub(super) consumers: Padded<AtomicU64>,
}

/// How many segments of how many slots there are, both powers of two, and the number of the first
/// segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentShape {
    pub(super) n: usize,
    pub(super) k: usize,
    first: u64,
    have_blocks: bool,
}

impl SegmentShape {
    fn of<T>(config: Config, default: usize, have_blocks: bool) -> Result<Self, CapacityError> {
        let (k, asked) = (segment_len(config, default)?, config.capacity);
        let log = (most_slots::<Header<T>>() / k).checked_ilog2();
        let most = log.map_or(0, |log| ((1_usize << log) - 1).saturating_mul(k).saturating_add(1));
        if asked == 0 || asked > most {
            return Err(CapacityError::OutOfRange { asked, most });
        }
        let n = ((asked - 1).div_ceil(k) + 1).next_power_of_two();
        let first = config.first & (u64::MAX >> 2) & !(n as u64 - 1);
        Ok(Self { n, k, first, have_blocks })
    }
}

impl<T> Slots for Segments<T> {
    // More than a slot has, as a segment of one slot may have blocks.
    const SLOT: Layout = Layout::new::<(Slot<T>, Blocks)>();
    type Shape = SegmentShape;

    fn slots(shape: SegmentShape) -> Result<Layout, LayoutError> {
        array(Layout::new::<Slot<T>>(), shape.n * shape.k)
    }

    fn variables(shape: SegmentShape) -> Result<Layout, LayoutError> {
        array(Layout::new::<Blocks>(), if shape.have_blocks { shape.n } else { 0 })
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: SegmentShape) -> Self {
        let first = slots.cast::<Slot<T>>();
        for i in 0..shape.n * shape.k {
            let number = shape.first.wrapping_add((i / shape.k) as u64);
            // SAFETY: the caller's contract: there is room for all slots.
            unsafe { Slot::init(first.add(i).as_ptr(), number) };
        }
        let blocks = variables.cast::<Blocks>();
        let in_use = if shape.have_blocks { shape.n } else { 0 };
        for i in 0..in_use {
            let number = shape.first.wrapping_add(i as u64);
            let word = || Padded(AtomicU64::new(number << 32));
            // SAFETY: as above, for the blocks of all segments.
            unsafe { blocks.add(i).write(Blocks { producers: word(), consumers: word() }) };
        }
        Self { first, blocks, shape }
    }

    unsafe fn finish(&self) {
        // SAFETY: `init` has made the slots, which are not used afterwards.
        let drop = |i| unsafe { self.first.add(i).drop_in_place() };
        (0..self.shape.n * self.shape.k).for_each(drop);
        if self.shape.have_blocks {
            // SAFETY: as above.
            (0..self.shape.n).for_each(|i| unsafe { self.blocks.add(i).drop_in_place() });
        }
    }
}

impl<T> Segments<T> {
    /// Segment number `number`, or the one that has its slots in another lap.
    #[inline]
    pub(super) fn at(&self, number: u64) -> &[Slot<T>] {
        let place = number as usize & (self.shape.n - 1);
        // SAFETY: there are `n` segments of `k` slots, which live as long as the region.
        unsafe {
            slice::from_raw_parts(self.first.add(place * self.shape.k).as_ptr(), self.shape.k)
        }
    }

    /// The blocks of segment number `number`.
    #[inline]
    pub(super) fn blocks(&self, number: u64) -> &Blocks {
        assert!(self.shape.have_blocks);
        // SAFETY: each segment has blocks, which live as long as the region.
        unsafe { self.blocks.add(number as usize & (self.shape.n - 1)).as_ref() }
    }

    /// How many slots there are, and of how many.
    #[inline]
    pub(super) fn shape(&self) -> SegmentShape {
        self.shape
    }

    /// All slots.
    pub(super) fn all(&self) -> &[Slot<T>] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.shape.n * self.shape.k) }
    }
}

/// Numbers of segments, which serve their slots as laps. `head` is at most one ahead of `tail`.
pub(super) struct Header<T> {
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

/// Both ends of a queue. If `k` is not asked for, it is `default`. Segments have [`Blocks`] if they
/// `have_blocks`.
pub(super) fn open<T: Send>(
    config: Config,
    default: usize,
    have_blocks: bool,
) -> Result<(Side<T>, Side<T>), CapacityError> {
    config.only(&[ConfigOption::Relaxation])?;
    let shape = SegmentShape::of::<T>(config, default, have_blocks)?;
    let end = || Padded(AtomicU64::new(shape.first));
    let handles = AtomicU64::new(2);
    let header = Header { head: end(), tail: end(), handles, items: PhantomData };
    ends(config.memory, shape, header)
}

/// A part of a handle: its access to the queue.
pub(super) type Side<T> = End<Header<T>>;

/// Segment number `number`, as a lap of its slots has it.
#[inline]
pub(super) fn next(number: u64, distance: usize) -> u64 {
    number.wrapping_add(distance as u64)
}

impl<T> Side<T> {
    /// Random numbers for a new handle.
    pub(super) fn fresh(&self) -> Random {
        // Relaxed: only the number matters.
        Random::new(self.header().handles.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of the oldest segment with items.
    pub(super) fn head(&self) -> u64 {
        // Acquire ↔ Release in `move_on`: all items of earlier segments are taken.
        self.header().head.load(Ordering::Acquire)
    }

    /// The number of the segment that is being filled.
    pub(super) fn tail(&self) -> u64 {
        // Acquire ↔ Release in `move_on`: no slot of an earlier segment is free. A consumer that
        // learns of an item in the next segment must know this, too. No model shows it.
        self.header().tail.load(Ordering::Acquire)
    }

    /// Items that always fit.
    pub(super) fn capacity(&self) -> usize {
        let SegmentShape { n, k, .. } = self.slots().shape;
        (n - 1) * k + 1
    }

    /// Looks at segment `number`.
    pub(super) fn look(&self, number: u64) -> Look {
        look(self.slots().at(number), number)
    }

    /// Items inside. Visits all segments that have some.
    pub(super) fn len(&self) -> usize {
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
    pub(super) fn has_none(&self) -> Result<bool, TryPopError> {
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
    pub(super) fn move_tail(&self, tail: u64) -> Result<(), TryPushError<()>> {
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

    /// Whether a push would find no slot.
    pub(super) fn is_full(&self) -> bool {
        loop {
            let tail = self.tail();
            if self.look(tail).open > 0 {
                return false;
            }
            if self.move_tail(tail).is_err() {
                return true;
            }
        }
    }

    /// Moves the item out of a slot of segment `number`.
    ///
    /// # Safety
    ///
    /// The caller has claimed the slot in this segment.
    #[inline]
    pub(super) unsafe fn take(&self, slot: &Slot<T>, number: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { slot.take(next(number, self.slots().shape.n)) }
    }
}
