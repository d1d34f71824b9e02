//! Padding that keeps groups of variables on cache lines of their own.

use core::ops::Deref;

/// Bytes between two groups of variables.
///
/// A line has 64 bytes on most machines, but adjacent-line prefetchers move lines in pairs, and
/// some processors have lines of 128.
pub const APART: usize = 128;

/// A value that shares its cache lines with nothing else.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A place among `n`, a power of two, for each position. Consecutive positions have places in
/// different cache lines, if a line has room for several values of type `T`, and there are several
/// lines.
#[inline]
pub(crate) fn spread<T>(position: u64, n: usize) -> usize {
    let group = const { (APART / size_of::<T>()).checked_ilog2() };
    let (mask, order) = (n - 1, n.ilog2());
    let i = position as usize & mask;
    match group {
        Some(group) if order > group => i << group & mask | i >> (order - group),
        _ => i,
    }
}

const _: () = assert!(align_of::<Padded<u8>>() == APART);
