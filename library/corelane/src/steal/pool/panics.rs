//! The payloads of tasks' panics.

use super::PanicPayload;
use crate::memory::Mutex;
use crate::unwind::quietly;

/// Keeps the first panic, and drops further ones.
pub(in crate::steal) fn keep_first(panic: &Mutex<Option<PanicPayload>>, payload: PanicPayload) {
    let mut first = panic.lock();
    let further = match &*first {
        None => first.replace(payload),
        Some(_) => Some(payload),
    };
    drop(first);
    // The destructor of a payload may panic, too.
    quietly(|| drop(further));
}
