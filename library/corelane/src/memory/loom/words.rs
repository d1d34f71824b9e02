//! Words that are atomics at times, and bytes at other times: loom's atomics lie apart.

use std::ptr::NonNull;
use std::sync::Arc;

use super::{AtomicU64, Cells};

/// The words of a ring, as in the real world.
#[derive(Debug, Clone)]
pub struct Words {
    cells: Cells<u64>,
    atomics: Arc<[AtomicU64]>,
}

impl Words {
    /// The `len` words that start at `base`.
    ///
    /// # Safety
    ///
    /// `base` is aligned to 8 bytes and points to `len` initialised words, which outlive the array
    /// and its clones. Every place that the array is asked for is below `len`, and every run ends
    /// there.
    pub unsafe fn new(base: NonNull<u64>, len: usize) -> Self {
        // SAFETY: the caller's contract.
        let cells = unsafe { Cells::new(base.cast(), len) };
        Self { cells, atomics: (0..len).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The word at `place`, as an atomic. Fails if a write of its bytes may be concurrent.
    #[track_caller]
    pub fn atomic(&self, place: usize) -> &AtomicU64 {
        &self.atomics[self.cells.touch(place as u64)]
    }

    /// First byte of the `n` words from `place` on, to be written next.
    #[track_caller]
    pub fn bytes_to_fill(&self, place: usize, n: usize) -> *mut u8 {
        self.cells.run_to_fill(place as u64, n).cast()
    }

    /// First byte of the `n` words from `place` on, to be read next.
    #[track_caller]
    pub fn bytes_to_empty(&self, place: usize, n: usize) -> *mut u8 {
        self.cells.run_to_empty(place as u64, n).cast()
    }
}
