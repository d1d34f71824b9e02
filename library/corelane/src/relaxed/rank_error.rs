//! How far items left out of turn, as their consumer estimates it.

/// The rank errors of some items that left, as a consumer of a relaxed queue estimates them: how many
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

/// The sum of samples.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Samples {
    number: u64,
    sum: u64,
    max: u64,
}

impl Samples {
    pub(crate) fn add(&mut self, rank_error: u64) {
        self.number += 1;
        self.sum += rank_error;
        self.max = self.max.max(rank_error);
    }
}

impl From<Samples> for RankError {
    fn from(Samples { number, sum, max }: Samples) -> Self {
        Self { mean: sum as f64 / number.max(1) as f64, max, samples: number }
    }
}
