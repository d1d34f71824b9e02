//! Hazard pointers: the crate `haphazard`.

use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering, fence};

use alloc::boxed::Box;

use haphazard::HazardPointer;
use haphazard::raw::Domain as Pointers;

/// What tells this crate's domains from others'.
struct Family;

/// What is in use, and what waits until it isn't. Freed with all that waits.
pub struct Domain(Pointers<Family>);

impl Domain {
    /// Nothing is in use.
    #[expect(clippy::new_without_default, reason = "the facade has no defaults")]
    pub fn new() -> Self {
        Self(Pointers::new(&Family))
    }

    /// Frees `pointer` when nothing protects it any more, at the next call of this or of
    /// [`reclaim`](Self::reclaim): this one looks for what can be freed once there are more than a thousand,
    /// or twice as many as there have been hazards at once. Allocates a note, and aborts if there is no memory.
    ///
    /// # Safety
    ///
    /// `pointer` comes from a box; nobody can come to it any more, but who has it in a [`Hazard`] of this domain.
    pub unsafe fn retire<T: Send>(&self, pointer: *mut T) {
        // SAFETY: the caller's.
        unsafe { self.0.retire_ptr::<T, Box<T>>(pointer) };
    }

    /// Frees what was retired and is in no hazard.
    pub fn reclaim(&self) {
        self.0.eager_reclaim();
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain").finish_non_exhaustive()
    }
}

/// Keeps one thing from being freed: that to which a pointer led when it was read last.
pub struct Hazard<T> {
    /// Always there. Not known to be a reference, as it would be one to nothing until the end of the function in
    /// which a handle is dropped, and its domain with it.
    hazard: MaybeUninit<HazardPointer<'static, Family>>,
    pointer: *mut T,
}

// SAFETY: a hazard is a reference to something that others refer to as well, and has no thread of its own.
unsafe impl<T: Send + Sync> Send for Hazard<T> {}

impl<T> Hazard<T> {
    /// Protects what `source` leads to.
    ///
    /// # Safety
    ///
    /// `domain` lives as long as the hazard. Each `source` that this and [`protect`](Self::protect) get leads to
    /// something, and to nothing that has been retired in `domain`; and to nothing that is freed otherwise.
    #[inline]
    pub unsafe fn new(domain: &Domain, source: &AtomicPtr<T>) -> Self {
        let pointers = &raw const domain.0;
        // SAFETY: it lives as long as the hazard, by the caller's word.
        let hazard = MaybeUninit::new(HazardPointer::new_in_domain(unsafe { &*pointers }));
        let mut this = Self { hazard, pointer: null_mut() };
        this.protect(source);
        this
    }

    /// Protects what `source` leads to, instead of what it protected before, and acquires what was released with
    /// the pointer. If it is the same, that takes no fence.
    #[inline]
    pub fn protect(&mut self, source: &AtomicPtr<T>) {
        if source.load(Ordering::Acquire) == self.pointer {
            return;
        }
        let (pointer, _) = self.hazard().protect_ptr(source).expect("it leads to something");
        self.pointer = pointer.as_ptr();
    }

    #[inline]
    fn hazard(&mut self) -> &mut HazardPointer<'static, Family> {
        // SAFETY: it is there until this is dropped.
        unsafe { self.hazard.assume_init_mut() }
    }

    /// Protects `pointer`, which was read from what this or another hazard protects, if `source` still leads to `from`;
    /// else what `source` leads to, and says `false`.
    ///
    /// # Safety
    ///
    /// As long as `source` leads to `from`, nobody retires `pointer`. `source` is as in [`new`](Self::new).
    #[inline]
    pub unsafe fn follow(&mut self, pointer: *mut T, source: &AtomicPtr<T>, from: *mut T) -> bool {
        self.hazard().protect_raw(pointer);
        // As in `protect_ptr`: either who frees sees the hazard, or this thread that `source` has gone on.
        fence(Ordering::SeqCst);
        let is_there = source.load(Ordering::Acquire) == from;
        self.pointer = if is_there { pointer } else { null_mut() };
        if !is_there {
            self.protect(source);
        }
        is_there
    }

    /// What it protects.
    #[inline]
    pub fn get(&self) -> &T {
        // SAFETY: it has not been freed, as it is protected; see `new`.
        unsafe { &*self.pointer }
    }

    /// Where that is.
    #[inline]
    pub fn pointer(&self) -> *mut T {
        self.pointer
    }
}

impl<T> Drop for Hazard<T> {
    fn drop(&mut self) {
        // SAFETY: it has been there until now.
        unsafe { self.hazard.assume_init_drop() };
    }
}

impl<T> fmt::Debug for Hazard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hazard").field(&self.pointer).finish()
    }
}
