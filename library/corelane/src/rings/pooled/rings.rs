//! The rings of the pool.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;
use core::slice;

use crate::memory::{AtomicU64, Ordering, limit};
use crate::pad::Padded;
use crate::pool::Names;
use crate::region::{Attach, Slots, array};
use crate::rings::closable_ring::{Ring, empty_slot, first_position};
use crate::rings::lcrq::DoubleSlot;
use crate::slot::Token;

/// How many rings there are.
pub(super) const RINGS: usize = limit(8, 4) as usize;

/// Links, and the states of rings: above these bits is how often the ring has been free.
const BITS: u32 = 25;
pub(super) const NAMES: Names = Names::of_bits(BITS);

/// The bits of a ring's state that count the handles in it.
const INSIDE: u64 = RETIRED - 1;
/// The bit of a ring's state that says the ring is no longer in the list.
const RETIRED: u64 = 1 << (BITS - 1);

/// Whether a handle that has found this state may use the ring of this name.
#[inline]
pub(super) fn is_open_to(name: u64, state: u64) -> bool {
    NAMES.same_count(name, state) && state & RETIRED == 0
}

/// Whether the ring is no longer in the list, and no handle is in it.
#[inline]
pub(super) fn is_to_be_freed(state: u64) -> bool {
    state & (RETIRED | INSIDE) == RETIRED
}

/// A ring, without its slots.
#[derive(Debug)]
#[repr(C)]
struct Frame {
    head: Padded<AtomicU64>,
    tail: Padded<AtomicU64>,
    state: Padded<AtomicU64>,
    /// Of a ring in the list: the next ring, or none. A producer appends a ring only after it has
    /// observed this ring closed. Of a free ring: the next free ring, or none.
    next: Padded<AtomicU64>,
    /// Number of rings that were appended before.
    number: AtomicU64,
}

/// Slots of each ring, and where positions and counts start.
#[derive(Debug, Clone, Copy)]
pub struct RingsShape {
    pub(super) n: usize,
    pub(super) first: u64,
}

/// All rings.
#[derive(Debug)]
pub struct Rings<T> {
    frames: NonNull<Frame>,
    slots: NonNull<DoubleSlot<T>>,
    n: usize,
}

impl<T> Clone for Rings<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T: Token> Rings<T> {
    /// Slots of each ring.
    #[inline]
    pub(super) fn n(&self) -> usize {
        self.n
    }

    #[inline]
    fn frame(&self, name: u64) -> &Frame {
        let index = NAMES.index(name) as usize;
        debug_assert!(index < RINGS, "there is no such ring");
        // SAFETY: links that are followed name one of the rings, which `init` has written.
        unsafe { self.frames.add(index).as_ref() }
    }

    /// The ring of this name.
    #[inline]
    pub(super) fn ring(&self, name: u64) -> Ring<'_, DoubleSlot<T>> {
        let Frame { head, tail, .. } = self.frame(name);
        // SAFETY: as in `frame`. Each ring has `n` slots.
        let slots = unsafe {
            let first = self.slots.add(NAMES.index(name) as usize * self.n);
            slice::from_raw_parts(first.as_ptr(), self.n)
        };
        Ring { head, tail, slots }
    }

    /// How many handles are in the ring, and for how manieth time it is used.
    #[inline]
    pub(super) fn state(&self, name: u64) -> &AtomicU64 {
        &self.frame(name).state
    }

    /// The ring's link in the list, or in the list of free rings.
    #[inline]
    pub(super) fn next(&self, name: u64) -> &AtomicU64 {
        &self.frame(name).next
    }

    /// The ring behind this one, if there is one. Then this ring is closed.
    #[inline]
    pub(super) fn behind(&self, name: u64) -> Option<u64> {
        // Acquire ↔ Release in `append`: the next ring is open, and this ring has been closed.
        let next = self.next(name).load(Ordering::Acquire);
        (!NAMES.is_none(next)).then_some(next)
    }

    /// Appends `new` to the ring `last`, which is closed, unless another ring is there.
    pub(super) fn append(&self, last: u64, new: u64) -> bool {
        let next = self.next(last);
        // Release ↔ Acquire in `behind`: the new ring is open, and `last` is closed.
        let none = NAMES.none(0);
        next.compare_exchange(none, new, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Marks a ring that is no longer in the list.
    pub(super) fn retire(&self, name: u64) {
        // Release ↔ Acquire in `enter`: `head` and `tail` have moved on. Also ↔ Acquire in `leave`.
        self.state(name).fetch_or(RETIRED, Ordering::Release);
    }

    /// Opens a ring that was free, to follow the ring `last`. Returns the ring's name.
    pub(super) fn reopen(&self, taken: u64, last: u64) -> u64 {
        // Relaxed, all: the list of free rings has acquired the ring, and `append` publishes it.
        let frame = self.frame(taken);
        let number = self.frame(last).number.load(Ordering::Relaxed).wrapping_add(1);
        frame.number.store(number, Ordering::Relaxed);
        frame.next.store(NAMES.none(0), Ordering::Relaxed);
        self.ring(taken).reopen();
        NAMES.with_count(taken, frame.state.load(Ordering::Relaxed))
    }

    /// How many rings `last` is behind `first`.
    pub(super) fn between(&self, first: u64, last: u64) -> usize {
        // Relaxed: a snapshot.
        let number = |name| self.frame(name).number.load(Ordering::Relaxed);
        number(last).wrapping_sub(number(first)) as usize
    }
}

impl<T: Token> Slots for Rings<T> {
    const SLOT: Layout = Layout::new::<DoubleSlot<T>>();
    type Shape = RingsShape;

    fn slots(shape: RingsShape) -> Result<Layout, LayoutError> {
        array(Self::SLOT, shape.n.saturating_mul(RINGS))
    }

    fn variables(_: RingsShape) -> Result<Layout, LayoutError> {
        Layout::array::<Frame>(RINGS)
    }

    /// The first ring is in the list, and all others are free.
    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: RingsShape) -> Self {
        let (frames, slots) = (variables.cast::<Frame>(), slots.cast::<DoubleSlot<T>>());
        let position = first_position(shape.n, shape.first);
        let word = |value| Padded(AtomicU64::new(value));
        for index in 0..RINGS {
            let next = match index {
                0 => NAMES.none(0),
                _ if index + 1 == RINGS => NAMES.none(0),
                _ => NAMES.link(index as u64 + 1, shape.first),
            };
            let frame = Frame {
                head: word(position),
                tail: word(position),
                state: word(NAMES.link(0, shape.first)),
                next: word(next),
                number: AtomicU64::new(0),
            };
            // SAFETY: by the caller's contract there is room for all rings.
            unsafe { frames.add(index).write(frame) };
        }
        for slot in 0..RINGS * shape.n {
            // SAFETY: as above.
            unsafe { slots.add(slot).write(empty_slot(shape.n, position)) };
        }
        Self { frames, slots, n: shape.n }
    }

    unsafe fn finish(&self) {
        // SAFETY: all was written by `init`, and nothing of this is used any more.
        unsafe {
            (0..RINGS).for_each(|index| self.frames.add(index).drop_in_place());
            (0..RINGS * self.n).for_each(|slot| self.slots.add(slot).drop_in_place());
        }
    }
}

impl<T: Token> Attach for Rings<T> {
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, shape: RingsShape) -> Self {
        Self { frames: variables.cast(), slots: slots.cast(), n: shape.n }
    }
}
