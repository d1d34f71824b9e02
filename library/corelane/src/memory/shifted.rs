//! Slots of which each access is seen, at other positions.

use super::Cells;

/// Slots at positions that are larger than their own.
#[derive(Debug)]
pub struct Shifted<T> {
    cells: Cells<T>,
    offset: u64,
}

impl<T> Clone for Shifted<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), offset: self.offset }
    }
}

impl<T> Shifted<T> {
    /// As [`Cells::write`].
    ///
    /// # Safety
    ///
    /// As there. There is a slot at `position`.
    #[track_caller]
    pub unsafe fn write(&self, position: u64, item: T) {
        // SAFETY: the caller's contract.
        unsafe { self.cells.write(position.wrapping_sub(self.offset), item) };
    }

    /// As [`Cells::read`].
    ///
    /// # Safety
    ///
    /// As there. There is a slot at `position`.
    #[track_caller]
    pub unsafe fn read(&self, position: u64) -> T {
        // SAFETY: the caller's contract.
        unsafe { self.cells.read(position.wrapping_sub(self.offset)) }
    }
}

impl<T> Cells<T> {
    /// These slots, at positions that are larger by `offset`.
    pub fn shifted(&self, offset: u64) -> Shifted<T> {
        Shifted { cells: self.clone(), offset }
    }
}
