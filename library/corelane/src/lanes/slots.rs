//! The memory of the lanes: two positions for each, and its slots.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use super::Header;
use crate::memory::{AtomicU64, limit};
use crate::pad::Padded;
use crate::plain::Words;
use crate::queue::CapacityError;
use crate::region::{Attach, Slots, slots_for};

/// How many lanes there are, and the slots of each, a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub(crate) lanes: usize,
    pub(crate) len: usize,
}

/// Groups of slots that are given back together.
const GROUPS: usize = limit(8, 2) as usize;

impl Shape {
    /// For at least `capacity` items in each lane.
    pub(crate) fn new<T>(lanes: usize, capacity: usize) -> Result<Self, CapacityError> {
        let mut shape = Self { lanes, len: slots_for::<Header<T>>(capacity, 0)? };
        if shape.promised() < capacity {
            shape.len = slots_for::<Header<T>>(shape.len, 1)?;
        }
        Ok(shape)
    }

    /// Slots that are given back together.
    pub(super) fn together(self) -> usize {
        (self.len / GROUPS).max(1)
    }

    /// Items of a lane for which there is always room: in the worst case all but one of a group
    /// were read and are not given back.
    pub(super) fn promised(self) -> usize {
        self.len - (self.together() - 1)
    }
}

/// All lanes of a queue.
#[derive(Debug)]
pub struct Lanes<T> {
    positions: NonNull<Positions>,
    slots: Words<T, 1>,
    shape: Shape,
}

/// How far the consumers of a lane have come.
#[derive(Debug)]
struct Positions {
    head: Padded<AtomicU64>,
    read: Padded<AtomicU64>,
}

/// One lane.
pub(super) struct Lane<'a, T> {
    /// Position of the oldest item that was not taken.
    pub(super) head: &'a AtomicU64,
    /// An earlier head: up to it, slots are given back to the producer, which reads only this word.
    pub(super) read: &'a AtomicU64,
    /// Each slot has a stamp: its item's position plus 1.
    pub(super) slots: Words<T, 1>,
}

impl<T> Clone for Lanes<T> {
    fn clone(&self) -> Self {
        Self { positions: self.positions, slots: self.slots.clone(), shape: self.shape }
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
        // SAFETY: `init` wrote the positions of each lane.
        let Positions { head, read } = unsafe { self.positions.add(number).as_ref() };
        Lane { head: &head.0, read: &read.0, slots: self.slots.part(number, self.shape.len) }
    }
}

impl<T> Slots for Lanes<T> {
    const SLOT: Layout = Words::<T, 1>::SLOT;
    type Shape = Shape;

    fn slots(shape: Shape) -> Result<Layout, LayoutError> {
        Words::<T, 1>::slots(shape.lanes.saturating_mul(shape.len))
    }

    fn variables(shape: Shape) -> Result<Layout, LayoutError> {
        Layout::array::<Positions>(shape.lanes)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        let positions = variables.cast::<Positions>();
        // SAFETY: by the caller's contract there is room for all positions and slots. Only words are
        // written: other processes may see the bytes between them.
        unsafe {
            for lane in 0..shape.lanes {
                let lane = positions.add(lane).as_ptr();
                (&raw mut (*lane).head.0).write(AtomicU64::new(0));
                (&raw mut (*lane).read.0).write(AtomicU64::new(0));
            }
            Self { positions, slots: Words::init(variables, slots, shape.lanes * shape.len), shape }
        }
    }

    unsafe fn finish(&self) {
        // SAFETY: all positions were written by `init`, and nothing of this is used any more.
        unsafe {
            (0..self.shape.lanes).for_each(|lane| self.positions.add(lane).drop_in_place());
            self.slots.finish();
        }
    }
}

impl<T> Attach for Lanes<T> {
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, shape: Shape) -> Self {
        // SAFETY: the caller's contract.
        let slots = unsafe { Words::attach(variables, slots, shape.lanes * shape.len) };
        Self { positions: variables.cast(), slots, shape }
    }
}
