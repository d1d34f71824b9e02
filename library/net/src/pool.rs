//! Buffers of large packets, which are used again: new ones cost a page fault for each 4 KiB.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// The length from which a packet has a buffer of this pool. Small ones would keep too much memory.
pub(crate) const LARGE: usize = 32 << 10;
/// Most buffers that are kept, and the largest.
const MOST: usize = 32;
const LARGEST: usize = 1 << 20;

static FREE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// An empty buffer for about `len` bytes.
pub(crate) fn buffer(len: usize) -> Vec<u8> {
    if len < LARGE {
        return Vec::with_capacity(len);
    }
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let mut buffer = free.unwrap_or_default();
    buffer.reserve(len);
    buffer
}

/// The bytes of a buffer, which comes back to the pool when they are dropped.
pub(crate) fn share(buffer: Vec<u8>) -> Bytes {
    if buffer.capacity() < LARGE { buffer.into() } else { Bytes::from_owner(Lent(buffer)) }
}

struct Lent(Vec<u8>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < MOST && self.0.capacity() <= LARGEST {
            self.0.clear();
            free.push(std::mem::take(&mut self.0));
        }
    }
}
