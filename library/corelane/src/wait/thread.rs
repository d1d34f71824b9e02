//! How a thread waits.

use std::time::Instant;

use super::bell::{Bell, Look, Wait};
use crate::memory::{limit, park, pause, this_thread, yield_now};

/// For how long a thread looks before it sleeps, in pauses: it adapts to the waits so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks(u32);

/// The longest: some five microseconds, as long as a sleep takes at least.
const MOST: u32 = limit(200, 0) as u32;
/// The shortest.
const FEWEST: u32 = limit(4, 0) as u32;
/// Most pauses between two looks. Each look may take a line from the other side.
const INTERVAL: u32 = 16;

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
        let (mut waited, mut interval) = (0, 1);
        while waited < self.0 {
            if is_over() {
                return None;
            }
            pause(interval);
            waited += interval;
            interval = (2 * interval).clamp(1, INTERVAL);
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
