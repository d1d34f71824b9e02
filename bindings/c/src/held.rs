//! What a call of C leaves open for a later one: room that is claimed, or a record that is lent.

use std::mem::ManuallyDrop;
use std::ptr;

/// A handle with claims or records.
pub(crate) trait Opens {
    /// A claim or a record, without its borrow of the handle.
    type Open;

    /// Gives the room up, or removes the record. It is the last one of this handle.
    fn end(&mut self, open: Self::Open);
}

/// A handle, and what is open from one call of C to a later one.
pub(crate) struct Held<Q: Opens> {
    handle: Q,
    open: Option<Q::Open>,
}

impl<Q: Opens> Held<Q> {
    pub(crate) fn new(handle: Q) -> Self {
        Self { handle, open: None }
    }

    /// The handle, with nothing open.
    pub(crate) fn free(&mut self) -> &mut Q {
        if let Some(open) = self.open.take() {
            self.handle.end(open);
        }
        &mut self.handle
    }

    pub(crate) fn get(&self) -> &Q {
        &self.handle
    }

    /// Leaves a claim or a record of the handle open.
    pub(crate) fn keep(&mut self, open: Q::Open) {
        self.open = Some(open);
    }

    /// The handle, and what was open.
    pub(crate) fn take(&mut self) -> (&mut Q, Option<Q::Open>) {
        (&mut self.handle, self.open.take())
    }

    pub(crate) fn into_inner(mut self) -> Q {
        self.free();
        let this = ManuallyDrop::new(self);
        // SAFETY: it is not used any more, and not dropped.
        unsafe { ptr::read(&raw const this.handle) }
    }
}

impl<Q: Opens> Drop for Held<Q> {
    fn drop(&mut self) {
        self.free();
    }
}
