//! Turns of calls that gather room: two callers that both had a part of their room would wait for
//! each other for ever.

use crate::memory::{AtomicBool, Ordering};
use crate::unwind::quietly;
use crate::wait::bell::{Bell, Look};

/// One turn at a time. Callers wait at the bell for the end of the turn.
pub(super) struct Turns {
    pub(super) bell: Bell,
    is_taken: AtomicBool,
}

impl Default for Turns {
    fn default() -> Self {
        Self { bell: Bell::default(), is_taken: AtomicBool::new(false) }
    }
}

/// The turn of a call. It ends when this is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Whether no call has the turn.
    pub(super) fn is_free(&self) -> bool {
        // Relaxed, as all accesses: a turn protects no data, and a sleeper looks after a fence.
        !self.is_taken.load(Ordering::Relaxed)
    }

    /// One look for the turn.
    pub(super) fn look(&self) -> Look<Turn<'_>> {
        match self.is_taken.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Look::Done(Turn(self)),
            Err(_) => Look::NotYet,
        }
    }
}

impl Turn<'_> {
    /// Ends the turn of a caller that has its room: a waker's panic would lose the room, and is
    /// caught.
    pub(super) fn end_and_catch(self) {
        quietly(|| drop(self));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Relaxed);
        self.0.bell.ring();
    }
}
