//! Private buffers for batches, for queues whose slots can't be lent.
//!
//! Each slot of the FastForward family has a flag or a null, so a run of slots is no slice of
//! items. These buffers lend batches instead. Their items are copied one by one.

use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use super::chunk::{LentItems, LentSlots};
use crate::unwind::drop_each;

/// Where a producer's batch is written before it is copied to the slots.
///
/// Memory is allocated at the first use. The vector is always empty; its spare capacity is the
/// buffer.
pub(crate) struct Staging<T>(Vec<T>);

impl<T> Staging<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Room for `n` items.
    pub(crate) fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        self.0.reserve(n);
        (&mut self.0.spare_capacity_mut()[..n], &mut [])
    }

    /// Moves the first `n` items, each with its index, to `put`.
    ///
    /// # Safety
    ///
    /// The first `n` items have been written since they were lent.
    pub(crate) unsafe fn drain(&mut self, n: usize, mut put: impl FnMut(u64, T)) {
        for (i, slot) in self.written(n).iter().enumerate() {
            // SAFETY: by the caller's contract the slot holds an item, and each is read once.
            put(i as u64, unsafe { slot.assume_init_read() });
        }
    }

    /// The first `n` slots.
    pub(crate) fn written(&mut self, n: usize) -> &[MaybeUninit<T>] {
        &self.0.spare_capacity_mut()[..n]
    }
}

/// Items that a consumer has copied out of its slots to lend them, the oldest first.
///
/// The slots stay full until the items are released, so a chunk that is dropped frees no slot. Its
/// items then stay here, in front of all others.
pub(crate) struct Staged<T> {
    items: Vec<MaybeUninit<T>>,
    start: usize,
}

impl<T> Staged<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), start: 0 }
    }

    /// Number of items that are staged.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.start
    }

    /// Makes at least the `n` oldest items staged; `read(i)` copies the `i`th oldest out of its
    /// slot.
    pub(crate) fn stage(&mut self, n: usize, mut read: impl FnMut(u64) -> T) {
        self.close_up();
        let staged = self.len();
        self.items.extend((staged..n).map(|i| MaybeUninit::new(read(i as u64))));
    }

    /// Stages the `n` items behind the staged items, which `read` copies to the address that it is
    /// given.
    ///
    /// # Safety
    ///
    /// `read` writes `n` items, and doesn't panic.
    pub(crate) unsafe fn stage_run(&mut self, n: usize, read: impl FnOnce(*mut T)) {
        self.items.reserve(n);
        read(self.items.spare_capacity_mut().as_mut_ptr().cast());
        // SAFETY: there is room for `n` more, and elements need not be initialised.
        unsafe { self.items.set_len(self.items.len() + n) };
    }

    /// Moves the staged items to the front of the buffer, if at most half of the buffer is staged.
    /// A reader that commits a few items of a long chunk would otherwise move all others each time.
    pub(crate) fn close_up(&mut self) {
        if self.start >= self.len() {
            self.items.drain(..self.start);
            self.start = 0;
        }
    }

    /// The `n` oldest items, which are staged.
    pub(crate) fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        let items = &mut self.items[self.start..][..n];
        // SAFETY: all elements from `start` on hold items.
        (unsafe { &mut *(ptr::from_mut(items) as *mut [T]) }, &mut [])
    }

    /// Takes the oldest item, if any is staged.
    ///
    /// It has no branch that could panic, because a call that may unwind keeps the caller's handle
    /// in memory.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        let item = self.items.get(self.start)?;
        self.start += 1;
        // SAFETY: all elements from `start` on hold items, and `start` has moved past this element.
        Some(unsafe { item.assume_init_read() })
    }

    /// Stops holding the `n` oldest items.
    ///
    /// # Safety
    ///
    /// These items have been moved out.
    pub(crate) unsafe fn forget(&mut self, n: usize) {
        self.start += n;
    }
}

impl<T> Drop for Staged<T> {
    fn drop(&mut self) {
        drop_each(|| self.take());
    }
}

impl<T> fmt::Debug for Staging<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staging").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Staged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("len", &self.len()).finish_non_exhaustive()
    }
}
