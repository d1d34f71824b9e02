//! Stand-ins where there is no mapping: every region is on the heap.

use core::ptr::NonNull;

use crate::queue::Backing;

pub(super) const PAGE: usize = 4096;

pub(super) fn huge_pages(_size: usize) -> Option<(NonNull<u8>, usize, Backing)> {
    None
}

pub(super) fn mirrored(_size: usize, _tail: usize) -> Option<(NonNull<u8>, usize, Backing)> {
    None
}

pub(super) unsafe fn unmap(_base: NonNull<u8>, _len: usize) {}
