//! Panics of what nobody waits for any more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{mem, thread};

/// Calls it. Its panic ends there.
pub(crate) fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        mem::forget(payload); // it may panic when it is dropped
    }
}

/// What a task returns, or has panicked with. Dropped, since nobody awaits it, it drops that
/// quietly.
pub(crate) struct Outcome<T>(Option<thread::Result<T>>);

impl<T> Outcome<T> {
    pub(crate) fn new(result: thread::Result<T>) -> Self {
        Self(Some(result))
    }

    pub(crate) fn into_result(mut self) -> thread::Result<T> {
        self.0.take().expect("only this takes it")
    }
}

impl<T> Drop for Outcome<T> {
    fn drop(&mut self) {
        if let Some(result) = self.0.take() {
            quietly(|| drop(result));
        }
    }
}
