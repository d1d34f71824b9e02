//! The parameters of `lane bench pipeline`, and what is said about its results.

use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::wait::Strategy;
use crate::suite::{About, Setting, Suite};
use crate::table::{CPU, Column, OVERHEAD, P99, P999, PER_S, RATIO_PEER, SLEEPS};

/// The stages of a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PipelineSetting {
    pub(crate) threads: usize,
    pub(crate) batch: usize,
    pub(crate) strategy: Strategy,
    pub(crate) parse_only: bool,
    /// The capture, if packets are not built in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<String>,
    /// Packets a second, if they come on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "pipeline",
    heading: "A pipeline",
    reading: "Packets go through four stages, each on a thread that isn't pinned: input, parse, flows, merge. \
     The floor `inline` is the same work in one thread without queues. Calls of a queue go through a pointer, the \
     same for all queues. Peers are used through calls that don't wait; all stages wait in the same way.",
    pins: false,
    ..About::NONE
};

impl Suite for PipelineSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let work = if self.parse_only { "parsed" } else { "parsed and classified" };
        let packets = match &self.trace {
            Some(file) => format!("packets of {file}, {work}"),
            None => format!("packets, {work}"),
        };
        let stages = format!("{packets}, capacity {}", result.params.capacity);
        let threads = match self.threads {
            1 => String::new(),
            n => format!(", {n} threads of flows"),
        };
        let rate = self.rate.map(|rate| format!(", {rate} packets/s")).unwrap_or_default();
        (stages, Some(format!("batches of {}{threads}{rate}", self.batch)))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::OpenLoop => ("p50 ns", &[P99, P999, CPU, SLEEPS]),
            _ => (test.unit(), &[PER_S, OVERHEAD, RATIO_PEER, CPU, SLEEPS]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::OpenLoop => {
                "Time from when a packet is due until its flow has it. p99: one of a hundred packets takes longer. \
                 cpu ns: processor time of all threads for a packet."
            }
            _ => {
                "Medians with quartiles; less is better. M/s: million packets a second. overhead: \
                 nanoseconds more than inline. × peer: of the best peer. cpu ns: processor time of all threads for a packet."
            }
        }
    }

    /// The same work without queues.
    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        let is_inline = |result: &&CellResult| {
            let is_like =
                |other: &Setting| matches!(other, Setting::Pipeline(of) if self.is_alike(of));
            result.floor && result.test == test && is_like(&result.params.setting)
        };
        let inline = results.results.iter().find(is_inline)?;
        inline.groups.contains_key(&group).then(|| ("inline", inline.median(group)))
    }

    fn column(&self, _: &CellResult) -> Option<String> {
        Some(format!("{}, {}", self.threads, self.batch))
    }

    fn strategy(&self) -> Strategy {
        self.strategy
    }

    fn is_alike(&self, other: &Self) -> bool {
        *self == Self { strategy: self.strategy, ..other.clone() }
    }
}
