//! Waiting after a failed compare-and-swap.

use crate::memory::pause;

/// How long a consumer waits after its compare-and-swap has failed, so that others proceed
/// undisturbed: longer each time.
#[derive(Debug)]
pub(crate) struct Backoff {
    pauses: u32,
}

impl Backoff {
    /// Most pauses at a time: some microseconds.
    const MOST: u32 = 256;

    pub(crate) fn new() -> Self {
        Self { pauses: 4 }
    }

    /// Waits.
    #[inline]
    pub(crate) fn wait(&mut self) {
        pause(self.pauses);
        self.pauses = (2 * self.pauses).min(Self::MOST);
    }
}
