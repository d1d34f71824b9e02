//! A counted pointer, as `Arc`. To make one fails where there is no memory, and doesn't abort.

use alloc::boxed::Box;
use core::ops::Deref;
use core::ptr::NonNull;
// The machine's atomics, as in `Arc`: models don't see them.
use core::sync::atomic::{AtomicUsize, Ordering};

use super::alloc::try_box;

/// One of several owners of a value. The last one drops it.
pub(crate) struct Counted<T>(NonNull<Inner<T>>);

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: as `Arc`: owners on several threads share the value, and any of them may drop it.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}

impl<T> Counted<T> {
    /// The only owner. `None` if there is no memory.
    pub(crate) fn new(value: T) -> Option<Self> {
        let inner = try_box(Inner { owners: AtomicUsize::new(1), value }).ok()?;
        Some(Self(NonNull::from(Box::leak(inner))))
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: it lives as long as an owner does.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    #[inline(always)] // the lookup of each call of a lease
    fn deref(&self) -> &T {
        // SAFETY: as in `inner`.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        // Relaxed: the thread that uses the new owner got it from this thread. There are never more
        // owners than a queue may have ends.
        self.inner().owners.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl<T> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        // Release ↔ Acquire of the last owner: all that this one did with the value.
        if self.inner().owners.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire ↔ Release above, of all other owners. Not a fence: sanitizers don't see it.
            self.inner().owners.load(Ordering::Acquire);
            // SAFETY: it came from a box, and no owner is left.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
