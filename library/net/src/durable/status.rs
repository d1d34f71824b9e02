//! What a lane's task and its handle both see.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::End;

/// What both know, and why the task has ended.
#[derive(Debug, Default)]
pub(super) struct Status<K> {
    known: Mutex<(K, Option<End>)>,
    changed: Condvar,
}

impl<K> Status<K> {
    /// Both sides change what they know in one step, and don't panic on the way.
    pub(super) fn lock(&self) -> MutexGuard<'_, (K, Option<End>)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) -> Option<End> {
        self.lock().1.clone()
    }

    /// The task has ended. `close` disconnects the handle, whose calls then find out why.
    pub(super) fn ended(&self, end: End, close: impl FnOnce()) {
        let mut known = self.lock();
        close();
        known.1.get_or_insert(end);
        self.changed.notify_all();
    }

    /// Waits until the task has ended.
    pub(super) fn wait_for_end(&self, timeout: Duration) -> Option<End> {
        let waited =
            self.changed.wait_timeout_while(self.lock(), timeout, |known| known.1.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.1.clone()
    }
}
