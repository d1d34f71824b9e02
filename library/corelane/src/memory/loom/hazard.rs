//! Hazard pointers, as far as a model needs them: what would have been freed is known, so that nobody comes to it.
//!
//! Either a thread that retires something sees that it is protected, or who would protect it sees that it can't be come
//! to any more. Real ones have fences for that. Here a pointer is read and protected in one step, and that step reads
//! what was written last: without fences, so that models depend on no more order than hazard pointers promise.
//!
//! What has been freed is given back when the domain is dropped, so no address is used twice. loom switches threads at
//! its own accesses only, so that what is in a cell here changes in one step.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{AtomicPtr, Ordering};

/// What is in use, and what waits until it isn't.
#[derive(Debug)]
pub struct Domain(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    /// The addresses that hazards protect, by their numbers.
    protected: BTreeMap<usize, usize>,
    /// How many hazards there have been.
    hazards: usize,
    retired: Vec<Retired>,
}

#[derive(Debug)]
struct Retired {
    address: usize,
    is_free: bool,
    free: unsafe fn(usize),
}

// SAFETY: all threads of a model are coroutines of one thread, and no cell is in use when another goes on.
unsafe impl Sync for Domain {}
// SAFETY: what is retired may be sent.
unsafe impl Send for Domain {}

impl Domain {
    /// Nothing is in use.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self(RefCell::default())
    }

    /// Takes `pointer` for free when nothing protects it any more.
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
        let retired = Retired { address: pointer as usize, is_free: false, free: free::<T> };
        self.0.borrow_mut().retired.push(retired);
        self.reclaim();
    }

    /// Takes for free what was retired and is in no hazard.
    pub fn reclaim(&self) {
        let State { protected, retired, .. } = &mut *self.0.borrow_mut();
        for retired in retired {
            retired.is_free |= !protected.values().any(|address| *address == retired.address);
        }
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        for retired in self.0.get_mut().retired.drain(..) {
            // SAFETY: the domain is dropped, so nothing is in use any more.
            unsafe { (retired.free)(retired.address) };
        }
    }
}

/// What `source` leads to now: an exchange that always fails reads what was written last.
fn newest<T>(source: &AtomicPtr<T>) -> *mut T {
    source.turn.take();
    let (null, acquire) = (std::ptr::null_mut(), Ordering::Acquire);
    let found = source.value.compare_exchange(null, null, acquire, acquire);
    found.expect_err("it leads to something")
}

/// Keeps one thing from being freed: that to which a pointer led when it was read last.
#[derive(Debug)]
pub struct Hazard<T> {
    domain: *const Domain,
    number: usize,
    pointer: *mut T,
}

// SAFETY: a hazard is a reference to something that others refer to as well.
unsafe impl<T: Send + Sync> Send for Hazard<T> {}

impl<T> Hazard<T> {
    /// Protects what `source` leads to.
    ///
    /// # Safety
    ///
    /// `domain` lives as long as the hazard. Each `source` that this and [`protect`](Self::protect) get leads to
    /// something, and to nothing that has been retired in `domain`; and to nothing that is freed otherwise.
    pub unsafe fn new(domain: &Domain, source: &AtomicPtr<T>) -> Self {
        let number = {
            let state = &mut *domain.0.borrow_mut();
            state.hazards += 1;
            state.hazards
        };
        let mut this = Self { domain, number, pointer: std::ptr::null_mut() };
        this.protect(source);
        this
    }

    fn domain(&self) -> &Domain {
        // SAFETY: it lives as long as the hazard, by the word of who made it.
        unsafe { &*self.domain }
    }

    /// Protects what `source` leads to, instead of what it protected before.
    pub fn protect(&mut self, source: &AtomicPtr<T>) {
        source.turn.take();
        if source.value.load(Ordering::Acquire) == self.pointer {
            return;
        }
        self.pointer = newest(source);
        self.domain().0.borrow_mut().protected.insert(self.number, self.pointer as usize);
    }

    /// Protects `pointer`, which was read from what this or another hazard protects, if `source` still leads to `from`;
    /// else what `source` leads to, and says `false`.
    ///
    /// # Safety
    ///
    /// As long as `source` leads to `from`, nobody retires `pointer`. `source` is as in [`new`](Self::new).
    pub unsafe fn follow(&mut self, pointer: *mut T, source: &AtomicPtr<T>, from: *mut T) -> bool {
        self.domain().0.borrow_mut().protected.insert(self.number, pointer as usize);
        let is_there = newest(source) == from;
        self.pointer = if is_there { pointer } else { std::ptr::null_mut() };
        if !is_there {
            self.protect(source);
        }
        is_there
    }

    /// What it protects. Panics if that has been freed.
    pub fn get(&self) -> &T {
        let address = self.pointer as usize;
        let is_free = |retired: &Retired| retired.address == address && retired.is_free;
        assert!(!self.domain().0.borrow().retired.iter().any(is_free), "use after free");
        // SAFETY: it has not been freed; see `new`.
        unsafe { &*self.pointer }
    }

    /// Where that is.
    pub fn pointer(&self) -> *mut T {
        self.pointer
    }
}

impl<T> Drop for Hazard<T> {
    fn drop(&mut self) {
        self.domain().0.borrow_mut().protected.remove(&self.number);
    }
}
