//! How a thread waits.

use std::time::Instant;

use super::bell::{Bell, Look, Wait};
use crate::memory::{limit, park, pause, this_thread, yield_now};

/// How often a thread looks and yields before it sleeps: it adapts to the waits so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks(u32);

/// Looks with a pause before each: about as long as two far lines need for a round trip.
const PAUSES: u32 = limit(20, 0) as u32;
/// Most yields: some five microseconds if no other thread wants the core, as long as a sleep takes at least.
const MOST: u32 = limit(10, 0) as u32;
/// Fewest yields.
const FEWEST: u32 = limit(1, 0) as u32;

impl Looks {
    pub(crate) fn new() -> Self {
        Self(MOST)
    }

    /// Blocks the thread until a look finds something. `None` if that was not before `until`.
    ///
    /// The first look has been made, in vain.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait<R>(
        &mut self,
        bell: &Bell,
        until: Option<Instant>,
        mut look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        for n in 0..PAUSES + self.0 {
            if is_over() {
                return None;
            }
            match n < PAUSES {
                true => pause(1),
                // Another thread may need this core to make what is waited for.
                false => yield_now(),
            }
            if let Look::Done(found) = look() {
                self.0 = (2 * self.0).clamp(FEWEST, MOST);
                return Some(found);
            }
        }
        self.0 = (self.0 / 2).clamp(FEWEST, MOST);
        let waker = this_thread();
        let mut wait = Wait::at(bell);
        while !is_over() {
            match wait.poll(&waker, &mut look) {
                Look::Done(found) => return Some(found),
                Look::NotYet => park(until),
                Look::Busy => yield_now(),
            }
        }
        // The ring may have come in time, and the thread got a core only now.
        match look() {
            Look::Done(found) => Some(found),
            Look::NotYet | Look::Busy => None,
        }
    }
}
