//! What tasks have panicked with.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::PanicPayload;
use crate::memory::Mutex;

/// Keeps the first panic, and drops further ones.
pub(in crate::steal) fn keep_first(panic: &Mutex<Option<PanicPayload>>, payload: PanicPayload) {
    let mut first = panic.lock();
    let further = match &*first {
        None => first.replace(payload),
        Some(_) => Some(payload),
    };
    drop(first);
    drop_quietly(further);
}

/// Drops a panic's payload, whose destructor may panic.
pub(in crate::steal) fn drop_quietly(payload: Option<PanicPayload>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(another);
    }
}
