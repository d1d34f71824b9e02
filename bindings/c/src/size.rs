//! Items of any number of bytes, by queues for some numbers.
//!
//! An item between threads is put into the next larger one. Processes share the slots of a lane, so
//! an item of a lane has exactly one of these sizes. All are arrays of bytes, which may be anywhere
//! in C's memory. In a lane they lie where items of the same size and an alignment of up to 8 do.

use std::ptr;

/// Calls `$then` with `$N` as the least size that is at least `$size`. `None` if there is none.
macro_rules! with_size {
    ($size:expr, $N:ident => $then:expr) => {
        $crate::size::with_size!(@ $size, $N => $then,
            1 2 4 8 12 16 20 24 32 40 48 56 64 96 128 256 512 1024)
    };
    (@ $size:expr, $N:ident => $then:expr, $($least:literal)*) => {
        match $size {
            0 => None,
            $(size if size <= $least => {
                const $N: usize = $least;
                Some($then)
            })*
            _ => None,
        }
    };
}

pub(crate) use with_size;

/// Copies an item of `size` bytes out of C's memory.
///
/// # Safety
///
/// `size` bytes can be read at `from`, and are at most N.
#[inline(always)]
pub(crate) unsafe fn read<const N: usize>(from: *const u8, size: usize) -> [u8; N] {
    if size == N {
        // SAFETY: the caller's contract.
        return unsafe { from.cast::<[u8; N]>().read() };
    }
    let mut item = [0; N];
    // SAFETY: the caller's contract.
    unsafe { ptr::copy_nonoverlapping(from, item.as_mut_ptr(), size) };
    item
}

/// Copies the first `size` bytes of an item into C's memory.
///
/// # Safety
///
/// `size` bytes may be written at `to`, and are at most N.
#[inline(always)]
pub(crate) unsafe fn write<const N: usize>(item: [u8; N], to: *mut u8, size: usize) {
    if size == N {
        // SAFETY: the caller's contract.
        unsafe { to.cast::<[u8; N]>().write(item) };
    } else {
        // SAFETY: the caller's contract.
        unsafe { ptr::copy_nonoverlapping(item.as_ptr(), to, size) };
    }
}
