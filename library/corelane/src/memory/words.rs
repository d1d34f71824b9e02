//! Words of a ring that are atomics at times, and bytes at other times.

use core::ptr::NonNull;

use super::{AtomicU64, Cells};

/// The words of a ring: a power of two of them, addressed by positions that only grow.
///
/// The algorithm decides when a word is an atomic and when it is bytes: no access of the one kind is concurrent to a write of the other
/// kind.
#[derive(Debug, Clone)]
pub struct Words(Cells<u64>);

impl Words {
    /// The `len` words that start at `base`.
    ///
    /// # Safety
    ///
    /// `base` is aligned to 8 bytes and points to `len` initialised words, a power of two, which outlive the array and its clones.
    pub unsafe fn new(base: NonNull<u64>, len: usize) -> Self {
        // SAFETY: the caller's contract.
        Self(unsafe { Cells::new(base.cast(), len) })
    }

    /// Number of words.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The word at `position`, as an atomic.
    #[inline]
    pub fn atomic(&self, position: u64) -> &AtomicU64 {
        const { assert!(size_of::<AtomicU64>() == size_of::<u64>()) };
        // SAFETY: the word is one of the array, so it is initialised, and aligned as an atomic. It lives as long as the array.
        unsafe { &*self.0.slot(position).cast() }
    }

    /// First byte of the `n` words from `position` on, to be written next.
    ///
    /// The run must not cross the end of the ring.
    #[inline]
    #[track_caller]
    pub fn bytes_to_fill(&self, position: u64, n: usize) -> *mut u8 {
        self.0.run_to_fill(position, n).cast()
    }

    /// First byte of the `n` words from `position` on, to be read next.
    ///
    /// The run must not cross the end of the ring.
    #[inline]
    #[track_caller]
    pub fn bytes_to_empty(&self, position: u64, n: usize) -> *mut u8 {
        self.0.run_to_empty(position, n).cast()
    }
}
