//! The memory of the lanes: a position for each, and its slots.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::AtomicU64;
use crate::pad::Padded;
use crate::plain::Words;
use crate::region::{Attach, Slots};

/// How many lanes there are, and the slots of each, a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub(crate) lanes: usize,
    pub(crate) len: usize,
}

/// All lanes of a queue.
#[derive(Debug)]
pub struct Lanes<T> {
    heads: NonNull<Padded<AtomicU64>>,
    slots: Words<T, 1>,
    shape: Shape,
}

/// One lane.
pub(super) struct Lane<'a, T> {
    /// Position of the oldest item that was not taken.
    pub(super) head: &'a AtomicU64,
    /// Each slot has a stamp: its item's position plus 1.
    pub(super) slots: Words<T, 1>,
}

impl<T> Clone for Lanes<T> {
    fn clone(&self) -> Self {
        Self { heads: self.heads, slots: self.slots.clone(), shape: self.shape }
    }
}

impl<T> Lanes<T> {
    #[inline]
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// The lane of this number, which exists.
    #[inline]
    pub(super) fn lane(&self, number: usize) -> Lane<'_, T> {
        debug_assert!(number < self.shape.lanes, "there is no such lane");
        // SAFETY: `init` wrote a head for each lane.
        let head = unsafe { &self.heads.add(number).as_ref().0 };
        Lane { head, slots: self.slots.part(number, self.shape.len) }
    }
}

impl<T> Slots for Lanes<T> {
    const SLOT: Layout = Words::<T, 1>::SLOT;
    type Shape = Shape;

    fn slots(shape: Shape) -> Result<Layout, LayoutError> {
        Words::<T, 1>::slots(shape.lanes.saturating_mul(shape.len))
    }

    fn variables(shape: Shape) -> Result<Layout, LayoutError> {
        Layout::array::<Padded<AtomicU64>>(shape.lanes)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        let heads = variables.cast::<Padded<AtomicU64>>();
        // SAFETY: by the caller's contract there is room for all heads and slots.
        unsafe {
            (0..shape.lanes).for_each(|lane| heads.add(lane).write(Padded(AtomicU64::new(0))));
            Self { heads, slots: Words::init(variables, slots, shape.lanes * shape.len), shape }
        }
    }

    unsafe fn finish(&self) {
        // SAFETY: each head was written by `init`, and nothing of this is used any more.
        unsafe {
            (0..self.shape.lanes).for_each(|lane| self.heads.add(lane).drop_in_place());
            self.slots.finish();
        }
    }
}

impl<T> Attach for Lanes<T> {
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        // SAFETY: the caller's contract.
        let slots = unsafe { Words::attach(variables, slots, shape.lanes * shape.len) };
        Self { heads: variables.cast(), slots, shape }
    }
}
