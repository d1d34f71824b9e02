//! Rings of slots that can be lent as slices.

use core::mem::MaybeUninit;
#[cfg(feature = "literature")]
use core::slice::from_raw_parts;
use core::slice::from_raw_parts_mut;

use super::end::End;
use super::slots::State;
use crate::memory::Cells;
use crate::queue::chunk::{LentItems, LentSlots};
use crate::queue::config::Backing;

/// Slots that are contiguous in memory.
pub trait LendableSlots<T> {
    /// All of them.
    fn cells(&self) -> &Cells<T>;

    /// How many there are.
    fn count(&self) -> usize {
        self.cells().len()
    }
}

impl<T> LendableSlots<T> for Cells<T> {
    #[inline]
    fn cells(&self) -> &Self {
        self
    }
}

impl<T, H: State<Item = T, Slots: LendableSlots<T>>> End<H> {
    /// The run of `n` slots from `position` on, in one or two parts, each from `part`.
    fn run(
        &self,
        position: u64,
        n: usize,
        part: impl Fn(&Cells<T>, u64, usize) -> *mut MaybeUninit<T>,
    ) -> [(*mut MaybeUninit<T>, usize); 2] {
        let (slots, count) = (self.slots().cells(), self.slots().count());
        let to_end = count - (position as usize & (count.next_power_of_two() - 1));
        let first = if self.backing() == Backing::Mirrored { n } else { n.min(to_end) };
        let second = n - first;
        [(part(slots, position, first), first), (part(slots, 0, second), second)]
    }

    /// Free slots to be lent to the user.
    ///
    /// # Safety
    ///
    /// This is the producer's end, and the `n` slots from `position` on are free.
    pub(crate) unsafe fn lend_slots(&mut self, position: u64, n: usize) -> LentSlots<'_, T> {
        let [first, second] = self.run(position, n, Cells::run_to_fill);
        // SAFETY: by the caller's contract only this side accesses both runs of slots, and the runs
        // do not overlap, because `n` is at most the number of slots.
        unsafe { (from_raw_parts_mut(first.0, first.1), from_raw_parts_mut(second.0, second.1)) }
    }

    /// Items to be lent to the user.
    ///
    /// # Safety
    ///
    /// This is the consumer's end, and the `n` slots from `position` on hold items.
    pub(crate) unsafe fn lend_items(&mut self, position: u64, n: usize) -> LentItems<'_, T> {
        let [first, second] = self.run(position, n, Cells::run_to_empty);
        // SAFETY: as in `lend_slots`; by the caller's contract the slots hold items.
        unsafe {
            (
                from_raw_parts_mut(first.0.cast(), first.1),
                from_raw_parts_mut(second.0.cast(), second.1),
            )
        }
    }

    /// Items to be read in place.
    ///
    /// # Safety
    ///
    /// The `n` slots from `position` on hold items, which no other thread can take or change while
    /// the answer is used.
    #[cfg(feature = "literature")]
    pub(crate) unsafe fn items(&self, position: u64, n: usize) -> (&[T], &[T]) {
        let [first, second] = self.run(position, n, Cells::run_to_empty);
        // SAFETY: by the caller's contract the slots hold items, and stay as they are.
        unsafe {
            (from_raw_parts(first.0.cast(), first.1), from_raw_parts(second.0.cast(), second.1))
        }
    }
}
