//! How far items left out of turn.

use crate::memory::{AtomicU64, Ordering};

/// The rank errors of some items that left a relaxed queue, as its consumers estimate them: how many
/// older items were still inside.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct RankError {
    /// The mean. 0 if there is no sample.
    pub mean: f64,
    /// The largest one.
    pub max: u64,
    /// Number of items whose rank error was estimated.
    pub samples: u64,
}

/// The sum of all samples since it was last asked for.
#[derive(Debug)]
pub(super) struct Samples {
    number: AtomicU64,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Samples {
    pub(super) fn new() -> Self {
        let [number, sum, max] = [0; 3].map(AtomicU64::new);
        Self { number, sum, max }
    }

    pub(super) fn add(&self, rank_error: u64) {
        // Relaxed, all: a statistic. A larger one may be lost to one that another thread adds.
        self.number.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(rank_error, Ordering::Relaxed);
        if self.max.load(Ordering::Relaxed) < rank_error {
            self.max.store(rank_error, Ordering::Relaxed);
        }
    }

    pub(super) fn take(&self) -> RankError {
        let [samples, sum, max] =
            [&self.number, &self.sum, &self.max].map(|of| of.swap(0, Ordering::Relaxed));
        match samples {
            // A consumer is in the middle of `add`.
            0 => RankError::default(),
            _ => RankError { mean: sum as f64 / samples as f64, max, samples },
        }
    }
}
