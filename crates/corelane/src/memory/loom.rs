//! loom's memory: every access is a step that the model checker orders in all allowed ways.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use loom::cell::UnsafeCell as Tracker;

pub use loom::cell::UnsafeCell;
pub use loom::sync::Arc;
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

/// Lets the others run: one step, however long the wait would be.
pub fn pause(spins: u32) {
    if spins > 0 {
        loom::hint::spin_loop();
    }
}

/// The slots of a ring, as in the real world.
///
/// Items lie side by side in plain memory, so that runs of them can be lent as slices. Beside each
/// slot stands a tracker, through which loom sees who touches it.
#[derive(Debug)]
pub struct Cells<T> {
    base: NonNull<MaybeUninit<T>>,
    trackers: std::sync::Arc<[Tracker<()>]>,
}

impl<T> Clone for Cells<T> {
    fn clone(&self) -> Self {
        Self { base: self.base, trackers: self.trackers.clone() }
    }
}

impl<T> Cells<T> {
    /// The slots that start at `base`; `len` is a power of two.
    pub fn new(base: NonNull<MaybeUninit<T>>, len: usize) -> Self {
        Self { base, trackers: (0..len).map(|_| Tracker::new(())).collect() }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.trackers.len()
    }

    fn index(&self, position: u64) -> usize {
        position as usize & (self.len() - 1)
    }

    fn slot(&self, position: u64) -> *mut MaybeUninit<T> {
        // SAFETY: `base` is the first of `len` slots, and `index` is below that.
        unsafe { self.base.as_ptr().add(self.index(position)) }
    }

    /// Writes `item` into the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds no item, and no other access to it is concurrent.
    #[track_caller]
    pub unsafe fn write(&self, position: u64, item: T) {
        self.trackers[self.index(position)].with_mut(|_| ());
        // SAFETY: the caller's; the tracker has found no concurrent access.
        unsafe { self.slot(position).write(MaybeUninit::new(item)) };
    }

    /// Moves the item out of the slot at `position`.
    ///
    /// # Safety
    ///
    /// The slot holds an item, which is taken for as moved, and no write to it is concurrent.
    #[track_caller]
    pub unsafe fn read(&self, position: u64) -> T {
        self.trackers[self.index(position)].with_mut(|_| ());
        // SAFETY: the caller's; the tracker has found no concurrent access.
        unsafe { self.slot(position).read().assume_init() }
    }

    /// First of the `n` slots from `position` on, which are about to be written or read.
    ///
    /// The run must not go over the end of the ring.
    #[track_caller]
    pub fn run(&self, position: u64, n: usize) -> *mut MaybeUninit<T> {
        for tracker in &self.trackers[self.index(position)..][..n] {
            tracker.with_mut(|_| ());
        }
        self.slot(position)
    }
}
