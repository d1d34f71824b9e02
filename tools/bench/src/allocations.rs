//! An allocator that counts what chosen threads allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The system's allocator. It counts while memory is measured; otherwise a call loads one flag more.
///
/// A program that measures memory has it as its `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

static IS_ON: AtomicBool = AtomicBool::new(false);
/// Bytes that are allocated now, and the most at one moment.
static BYTES: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes `calls` of the allocator, which have allocated `bytes`; fewer than 0 if they freed memory.
#[inline]
fn note(calls: u64, bytes: i64) {
    // Relaxed, here and below: a thread's counts are read after it was joined.
    if IS_ON.load(Ordering::Relaxed) {
        count(calls, bytes);
    }
}

#[cold]
fn count(calls: u64, bytes: i64) {
    if IS_COUNTED.get() {
        CALLS.fetch_add(calls, Ordering::Relaxed);
        let before = BYTES.fetch_add(bytes, Ordering::Relaxed);
        MOST.fetch_max(before + bytes, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        // SAFETY: the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(0, -(layout.size() as i64));
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller's contract.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// What some threads allocate. There is one such count at a time.
pub(crate) struct Allocations(
    #[expect(dead_code, reason = "the lock is held")] MutexGuard<'static, ()>,
);

impl Allocations {
    pub(crate) fn begin() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        CALLS.store(0, Ordering::Relaxed);
        BYTES.store(0, Ordering::Relaxed);
        MOST.store(0, Ordering::Relaxed);
        IS_ON.store(true, Ordering::Relaxed);
        Self(alone)
    }

    /// Counts what this thread allocates and frees in `work`.
    pub(crate) fn of<R>(&self, work: impl FnOnce() -> R) -> R {
        IS_COUNTED.set(true);
        let result = work();
        IS_COUNTED.set(false);
        result
    }

    /// Allocations so far.
    pub(crate) fn calls(&self) -> u64 {
        CALLS.load(Ordering::Relaxed)
    }

    /// The most bytes that were allocated at one moment.
    pub(crate) fn most_bytes(&self) -> i64 {
        MOST.load(Ordering::Relaxed)
    }
}

impl Drop for Allocations {
    fn drop(&mut self) {
        IS_ON.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn the_most_bytes_and_the_calls_of_chosen_threads_are_counted() {
        let all = Allocations::begin();
        let bytes = all.of(|| vec![0_u8; 1000]);
        let _of_nobody = vec![0_u8; 5000];
        let mut grown = all.of(|| {
            drop(bytes);
            Vec::<u8>::with_capacity(300)
        });
        assert_eq!((all.calls(), all.most_bytes()), (2, 1000));
        all.of(|| grown.reserve_exact(1200));
        assert_eq!((all.calls(), all.most_bytes()), (3, 1200));
    }
}
