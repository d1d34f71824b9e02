//! Padding that keeps groups of variables on cache lines of their own.

use core::ops::Deref;

/// Bytes that two groups of variables are kept apart.
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

const _: () = assert!(align_of::<Padded<u8>>() == APART);
