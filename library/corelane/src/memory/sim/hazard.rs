//! Hazard pointers that cost nothing: what is retired is freed with the domain.
//!
//! In the real world a thread that goes on to another ring, or node, has a fence more; who retires one, some
//! microseconds once in a while.

use std::cell::RefCell;

use super::{AtomicPtr, Ordering};

/// What waits until nobody uses it.
#[derive(Debug)]
pub struct Domain(RefCell<Vec<Retired>>);

#[derive(Debug)]
struct Retired {
    address: usize,
    free: unsafe fn(usize),
}

// SAFETY: while a simulation runs, its threads are coroutines of one thread, and none goes on while the cell is in use.
unsafe impl Sync for Domain {}
// SAFETY: what is retired may be sent.
unsafe impl Send for Domain {}

impl Domain {
    /// Nothing waits.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self(RefCell::default())
    }

    /// Frees `pointer` with the domain.
    ///
    /// # Safety
    ///
    /// `pointer` comes from a box; nobody can come to it any more, but who has it in a [`Hazard`] of this domain.
    pub unsafe fn retire<T: Send>(&self, pointer: *mut T) {
        /// Drops the box at this address.
        unsafe fn free<T>(address: usize) {
            // SAFETY: it is where `retire` was given a box, and is freed once.
            drop(unsafe { Box::from_raw(address as *mut T) });
        }
        self.0.borrow_mut().push(Retired { address: pointer as usize, free: free::<T> });
    }

    /// Does nothing.
    pub fn reclaim(&self) {}
}

impl Drop for Domain {
    fn drop(&mut self) {
        for retired in self.0.get_mut().drain(..) {
            // SAFETY: the domain is dropped, so nothing is in use any more.
            unsafe { (retired.free)(retired.address) };
        }
    }
}

/// What a pointer led to when it was read last.
#[derive(Debug)]
pub struct Hazard<T>(*mut T);

// SAFETY: a hazard is a reference to something that others refer to as well.
unsafe impl<T: Send + Sync> Send for Hazard<T> {}

impl<T> Hazard<T> {
    /// What `source` leads to.
    ///
    /// # Safety
    ///
    /// `domain` lives as long as the hazard. Each `source` that this and [`protect`](Self::protect) get leads to
    /// something, and to nothing that has been retired in `domain`; and to nothing that is freed otherwise.
    #[track_caller]
    pub unsafe fn new(_domain: &Domain, source: &AtomicPtr<T>) -> Self {
        Self(source.load(Ordering::Acquire))
    }

    /// What `source` leads to, instead of what it led to before.
    #[track_caller]
    pub fn protect(&mut self, source: &AtomicPtr<T>) {
        self.0 = source.load(Ordering::Acquire);
    }

    /// Protects `pointer`, which was read from what this or another hazard protects, if `source` still leads to `from`;
    /// else what `source` leads to, and says `false`.
    ///
    /// # Safety
    ///
    /// As long as `source` leads to `from`, nobody retires `pointer`. `source` is as in [`new`](Self::new).
    #[track_caller]
    pub unsafe fn follow(&mut self, pointer: *mut T, source: &AtomicPtr<T>, from: *mut T) -> bool {
        let found = source.load(Ordering::Acquire);
        self.0 = if found == from { pointer } else { found };
        found == from
    }

    /// What it protects.
    pub fn get(&self) -> &T {
        // SAFETY: it is freed with the domain; see `new`.
        unsafe { &*self.0 }
    }

    /// Where that is.
    pub fn pointer(&self) -> *mut T {
        self.0
    }
}
