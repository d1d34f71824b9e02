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
    /// `base` is aligned to 8 bytes and points to `len` initialised words, a power of two, which outlive the array and its clones.
    pub unsafe fn new(base: NonNull<u64>, len: usize) -> Self {
        // SAFETY: the caller's contract.
        let cells = unsafe { Cells::new(base.cast(), len) };
        Self { cells, atomics: (0..len).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The word at `position`, as an atomic. Fails if a write of its bytes may be concurrent.
    #[track_caller]
    pub fn atomic(&self, position: u64) -> &AtomicU64 {
        &self.atomics[self.cells.touch(position)]
    }

    /// First byte of the `n` words from `position` on, to be written next.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn bytes_to_fill(&self, position: u64, n: usize) -> *mut u8 {
        self.cells.run_to_fill(position, n).cast()
    }

    /// First byte of the `n` words from `position` on, to be read next.
    ///
    /// The run must not cross the end of the ring.
    #[track_caller]
    pub fn bytes_to_empty(&self, position: u64, n: usize) -> *mut u8 {
        self.cells.run_to_empty(position, n).cast()
    }
}
