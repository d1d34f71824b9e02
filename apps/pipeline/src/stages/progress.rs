//! What has been seen so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// What has been seen so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Packets that were read.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that the stages have finished.
    pub classified: u64,
    /// Packets lost because a queue was full.
    pub dropped: u64,
    /// Flows that are over.
    pub flows: u64,
}

/// Counters of the stages, which the merging thread reads now and then.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) packets: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) classified: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Counters {
    pub(super) fn progress(&self, flows: u64) -> Progress {
        // Relaxed: numbers to be shown.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            packets: read(&self.packets),
            bytes: read(&self.bytes),
            classified: read(&self.classified),
            dropped: read(&self.dropped),
            flows,
        }
    }
}

/// Adds to a counter that is only shown, and read when the threads have ended.
pub(super) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
