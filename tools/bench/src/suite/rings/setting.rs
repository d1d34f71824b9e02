//! The parameters of `lane bench rings`, and what is said about its results.

use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::CellResult;
use crate::suite::{About, Suite};
use crate::table::{Column, GAIN, PER_S};

/// Most entries of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct RingsSetting {
    pub(crate) batch: usize,
}

/// The gain of bbq over the rings of io_uring in J. Wang 2024, §2.6.3, for the most entries of a
/// batch and the entries of the submission ring. The text names no others.
pub fn paper_gain(batch: usize, entries: usize) -> Option<f64> {
    match (batch, entries) {
        (1, 32) => Some(6.7),
        (1, 1024) => Some(6.9),
        (32, 32) => Some(20.9),
        (32, 1024) => Some(50.5),
        _ => None,
    }
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "rings",
    heading: "The rings of io_uring",
    reading: "One thread submits requests of 64 bytes, a second one, the kernel, completes each at once with 16 bytes, \
     and a third one takes the completions: J. Wang 2024, §2.6.3, Fig. 2.12. io-uring is the algorithm of both rings, \
     and nothing else of the kernel. Others are queues in place of both. gain is how many times \
     faster than io-uring. The thesis's gains are of the whole io_uring of Linux 5.14 in user space without I/O, \
     whose other parts are not named, with a core for each thread; so they are not the gains of a ring alone.",
    ..About::NONE
};

impl Suite for RingsSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let batches = match self.batch {
            1 => "batches of 1".to_owned(),
            most => format!("batches of 1 to {most}"),
        };
        let (entries, wait) = (result.params.capacity, result.params.wait.words());
        let gain = paper_gain(self.batch, entries);
        let paper =
            gain.map_or(String::new(), |gain| format!("; gain of bbq in the thesis: {gain}×"));
        let title = format!("requests and completions, {batches}");
        (title, Some(format!("SQ of {entries}, CQ of {}, {wait}{paper}", 2 * entries)))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), &[PER_S, GAIN])
    }

    fn legend(&self, _: Test) -> &'static str {
        "Medians with quartiles; less is better. M/s: million requests a second. gain: times faster than io-uring."
    }

    fn column(&self, result: &CellResult) -> Option<String> {
        Some(format!("SQ {}, {}", result.params.capacity, self.batch))
    }
}
