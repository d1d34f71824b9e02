//! What a call of C borrows for a later one: room that is claimed, or a record that is lent.

use std::{mem, ptr};

/// A handle on the heap, and what borrows it from one call of C to a later one.
pub(crate) struct Held<Q, G> {
    /// Dropped before the handle. While it is there, nothing else uses the handle.
    pub(crate) guard: Option<G>,
    /// From a box.
    handle: *mut Q,
}

impl<Q, G> Held<Q, G> {
    pub(crate) fn new(handle: Q) -> Self {
        Self { guard: None, handle: Box::into_raw(Box::new(handle)) }
    }

    /// The handle, with no guard.
    pub(crate) fn free(&mut self) -> &'static mut Q {
        self.guard = None;
        // SAFETY: it is from a box that is freed by the drop of this, and has no guard. What borrows
        // it is kept in `guard` at most.
        unsafe { &mut *self.handle }
    }

    pub(crate) fn get(&self) -> &Q {
        // SAFETY: as above; a guard has no reference to what these calls read but through the same
        // thread.
        unsafe { &*self.handle }
    }

    pub(crate) fn into_inner(mut self) -> Q {
        self.guard = None;
        let handle = mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: it is from a box, and is not used any more.
        *unsafe { Box::from_raw(handle) }
    }
}

impl<Q, G> Drop for Held<Q, G> {
    fn drop(&mut self) {
        self.guard = None;
        if !self.handle.is_null() {
            // SAFETY: it is from a box, and no guard borrows it.
            drop(unsafe { Box::from_raw(self.handle) });
        }
    }
}
