//! The parameters of `lane bench replay`, and what is said about its results.

use serde::{Deserialize, Serialize};

use crate::kinds::{TeamSize, Test};
use crate::results::CellResult;
use crate::suite::wait::Strategy;
use crate::suite::{About, Suite};
use crate::table::{CPU, Column, P50, P99, RATIO_PEER, SLEEPS};

/// A workload, and how it is moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplaySetting {
    /// The name of the workload's file.
    pub(crate) workload: String,
    pub(crate) size: TeamSize,
    pub(crate) batch: usize,
    pub(crate) strategy: Strategy,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "replay",
    heading: "A recorded workload",
    reading: "Each thread of the workload has a thread, which works as long between its calls as the recorded \
     one. One producer and one consumer have a core each; more threads aren't pinned. Calls go through a pointer, \
     the same for all queues. Peers are used through calls that don't wait, and channels through calls that do.",
    ..About::NONE
};

impl Suite for ReplaySetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let title =
            format!("{}, {}, capacity {}", self.workload, self.size, result.params.capacity);
        (title, Some(format!("batches of {}", self.batch)))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), &[RATIO_PEER, P50, P99, CPU, SLEEPS])
    }

    fn legend(&self, _: Test) -> &'static str {
        "ns/item: time of the whole run, with the threads' own work. × peer: of the best peer. p50, p99: from when an \
         item is ready until a consumer has it. cpu ns: processor time of all threads for an item, with their own work."
    }

    fn strategy(&self) -> Strategy {
        self.strategy
    }

    fn is_alike(&self, other: &Self) -> bool {
        *self == Self { strategy: self.strategy, ..other.clone() }
    }
}
