//! The parameters of `lane bench ring`, and what is said about its results.

use corelane_report::name;
use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::CellResult;
use crate::suite::{About, Suite};
use crate::table::{Column, PER_S, RATIO_PEER};
use crate::threads::Wait;

/// Threads in a ring, each with a queue to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RingSetting {
    pub(crate) threads: usize,
    pub(crate) in_flight: u64,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "ring",
    heading: "Threads in a ring",
    reading: "A message has gone round when all threads but the first have copied, freed and \
     passed it on, and the first thread, which sent it, has taken it back. With more threads \
     than cores they yield while they wait. × peer is a multiple of the best bounded peer, or of \
     the best unbounded peer if all queues of corelane are unbounded: less is better.",
    recommends: true,
    ..About::NONE
};

impl Suite for RingSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let Self { threads, in_flight } = self;
        let (capacity, wait) = (result.params.capacity, result.params.wait.words());
        let title =
            format!("threads in a ring, {in_flight} messages under way, capacity {capacity}");
        (title, Some(format!("{threads} threads, {wait}")))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), &[PER_S, RATIO_PEER])
    }

    fn legend(&self, _: Test) -> &'static str {
        "Medians with quartiles; less is better. M/s: million messages a second. × peer: of the \
         best bounded peer."
    }

    fn column(&self, result: &CellResult) -> Option<String> {
        let threads = format!("{} threads", self.threads);
        Some(match result.params.wait {
            Wait::Greedy => format!("{threads} {}", name(&Wait::Greedy)),
            _ => threads,
        })
    }

    fn purpose(&self, _: &CellResult) -> Option<String> {
        Some(format!("for a ring of {} threads", self.threads))
    }
}
