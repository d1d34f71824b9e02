//! Panics of tasks whose results no task awaits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{mem, thread};

/// Calls it, and catches its panic.
pub(crate) fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        mem::forget(payload); // it may panic when it is dropped
    }
}

/// The output of a task, or the payload of its panic. If no task awaits it, its drop catches
/// panics.
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
