//! The machine's memory: every item here is a re-export or inlines to nothing.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, fence};

/// Waits for about `spins` turns of a spin loop.
#[inline]
pub fn pause(spins: u32) {
    for _ in 0..spins {
        core::hint::spin_loop();
    }
}

/// A value whose accesses the algorithm orders.
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Reads through `f`.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Writes through `f`.
    #[inline]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// The slots of a ring: a power of two of them, addressed by positions that only grow.
///
/// A position is reduced to an index here and nowhere else. Slots lie side by side, so a run of them
/// can be lent as a slice. Which slot may be touched when is up to the algorithm.
#[derive(Debug)]
pub struct Cells<T> {
    base: NonNull<MaybeUninit<T>>,
    mask: usize,
}

impl<T> Clone for Cells<T> {
    fn clone(&self) -> Self {
        Self { base: self.base, mask: self.mask }
    }
}

impl<T> Cells<T> {
    /// The slots that start at `base`; `len` is a power of two.
    pub fn new(base: NonNull<MaybeUninit<T>>, len: usize) -> Self {
        Self { base, mask: len - 1 }
    }

    /// Number of slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    /// Address of the slot at `position`.
    #[inline]
    fn slot(&self, position: u64) -> *mut MaybeUninit<T> {
        // SAFETY: `base` is the first of `mask + 1` slots, and the mask keeps the index among them.
        unsafe { self.base.as_ptr().add(position as usize & self.mask) }
    }

    /// Writes `item` into the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds no item, and no other access to it is concurrent.
    #[inline]
    pub unsafe fn write(&self, position: u64, item: T) {
        // SAFETY: the caller's.
        unsafe { self.slot(position).write(MaybeUninit::new(item)) };
    }

    /// Moves the item out of the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, which is taken for as moved, and no write to it is concurrent.
    #[inline]
    pub unsafe fn read(&self, position: u64) -> T {
        // SAFETY: the caller's.
        unsafe { self.slot(position).read().assume_init() }
    }

    /// First of the `n` slots from `position` on, which are about to be written.
    ///
    /// The run must not go over the end of the ring.
    #[inline]
    pub fn run_to_fill(&self, position: u64, _n: usize) -> *mut MaybeUninit<T> {
        self.slot(position)
    }

    /// First of the `n` slots from `position` on, which are about to be read.
    ///
    /// The run must not go over the end of the ring.
    #[inline]
    pub fn run_to_empty(&self, position: u64, _n: usize) -> *mut MaybeUninit<T> {
        self.slot(position)
    }
}
