//! Words of a ring that are atomics at times, and bytes at other times.

use core::ptr::NonNull;

use super::{AtomicU64, Cells};

/// The words of a ring, by their places in it.
///
/// The algorithm decides when a word is an atomic and when it is bytes: no access of the one kind
/// is concurrent to a write of the other kind.
#[derive(Debug, Clone)]
pub struct Words(Cells<u64>);

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
        Self(unsafe { Cells::new(base.cast(), len) })
    }

    /// The word at `place`, as an atomic.
    #[inline]
    pub fn atomic(&self, place: usize) -> &AtomicU64 {
        const { assert!(size_of::<AtomicU64>() == size_of::<u64>()) };
        // SAFETY: the word is one of the array, so it is initialised, and aligned as an atomic. It
        // lives as long as the array.
        unsafe { &*self.0.slot(place as u64).cast() }
    }

    /// First byte of the `n` words from `place` on, to be written next.
    #[inline]
    #[track_caller]
    pub fn bytes_to_fill(&self, place: usize, n: usize) -> *mut u8 {
        self.0.run_to_fill(place as u64, n).cast()
    }

    /// First byte of the `n` words from `place` on, to be read next.
    #[inline]
    #[track_caller]
    pub fn bytes_to_empty(&self, place: usize, n: usize) -> *mut u8 {
        self.0.run_to_empty(place as u64, n).cast()
    }
}
