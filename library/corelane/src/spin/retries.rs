//! A short wait for another thread that is in the middle of an operation.

use crate::memory::{limit, pause};

/// How often slices and iterators look again while the queue is busy: with a pause before each look
/// that is twice as long as the last one, about a microsecond in all.
const MOST: u32 = limit(6, 1) as u32;

/// Counts the retries of one call.
#[derive(Debug, Default)]
pub(crate) struct Retries(u32);

impl Retries {
    /// Whether to look again, if the queue `is_busy`. Pauses before it says yes.
    #[inline]
    pub(crate) fn again(&mut self, is_busy: bool) -> bool {
        if !is_busy || self.0 == MOST {
            return false;
        }
        pause(1 << self.0);
        self.0 += 1;
        true
    }
}
