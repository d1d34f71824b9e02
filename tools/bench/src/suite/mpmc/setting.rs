//! The parameters of `lane bench mpmc`, and what is said about its results.

use clap::ValueEnum;
use corelane_report::name;
use serde::{Deserialize, Serialize};

use crate::kinds::{Placement, TeamSize, Test, WORD};
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::{About, Suite, waiting};
use crate::table::{
    Column, FAILED, FAIR_C, FAIR_P, LOST, P50, P99, PER_S, POP_P50, POP_P99, PUSH_P50, PUSH_P99,
    RATIO_FLOOR, RATIO_PEER, RUN,
};
use crate::threads::Wait;

/// Several producers and several consumers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MpmcSetting {
    #[serde(flatten)]
    pub(crate) size: TeamSize,
    /// `None` with a single thread, and in results of programs that had only one placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) placement: Option<Placement>,
    pub(crate) batch: usize,
    pub(crate) workload: Workload,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<Operation>,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "mpmc",
    heading: "Between several threads",
    reading: "2x4 is two producers and four consumers. Placed apart: no core has both sides; \
     mixed: each core has both; free: threads aren't pinned. Counter and lock are floors: what \
     an item costs if its producer and its consumer do nothing but add to one counter, or take \
     one lock. Fairness (fair P, fair C) is the number of items of the slowest producer or \
     consumer per item of the fastest. × peer and × floor are multiples of the best bounded peer \
     and of the floor: less is better. Lost are items that no consumer popped: pushes that found \
     no room and were not retried, or overwritten items. Overwrite: 2x0 is without a consumer; \
     there bbq is the queue whose producers wait.",
    recommends: true,
    ..About::NONE
};

impl Suite for MpmcSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let capacity = format!("capacity {}", result.params.capacity);
        let what = match (result.test, self.operation) {
            (Test::FullEmpty, Some(Operation::Push)) => "full: a push that fails",
            (Test::FullEmpty, _) => "empty: a pop that fails",
            (test, _) => {
                let (what, workload) = (self.title(test), name(&self.workload));
                let size = format!("{} threads, {}", self.size, result.params.wait.words());
                let placed =
                    self.placement.map(|placement| format!(", placed {}", name(&placement)));
                let placed = placed.unwrap_or_default();
                return (format!("{what}, {workload} workload, {capacity}{placed}"), Some(size));
            }
        };
        (format!("{what}, one thread, {capacity}"), None)
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Throughput => {
                (test.unit(), &[PER_S, RATIO_PEER, RATIO_FLOOR, FAIR_P, FAIR_C, FAILED, RUN])
            }
            Test::DataLatency => ("mean ns", &[P50, P99, RATIO_PEER, RATIO_FLOOR, LOST]),
            Test::OpLatency => {
                ("push + pop ns", &[PUSH_P50, PUSH_P99, POP_P50, POP_P99, RATIO_PEER, LOST])
            }
            Test::FullEmpty => (test.unit(), &[RATIO_PEER]),
            _ => (test.unit(), &[PER_S, LOST, FAIR_P]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Throughput => {
                "Medians with quartiles; less is better. M/s: million items a second. × peer, × \
                 floor: of the best bounded peer, of line_stream. fair P, fair C: items of the \
                 slowest producer, consumer per item of the fastest. failed: calls in vain per \
                 item. run: items of one producer that a consumer gets in a row. counter, lock: \
                 what an item costs if its producer and its consumer add to one counter, take \
                 one lock."
            }
            Test::DataLatency => {
                "Time that items stay in the queue. × peer, × floor: of the best bounded peer, \
                 of half a line_rtt. lost: found no room."
            }
            Test::OpLatency => {
                "A push and a pop together, without the slowest hundredth. × peer: of the best \
                 bounded peer. lost: found no room."
            }
            Test::FullEmpty => {
                "Medians with quartiles; less is better. × peer: of the best bounded peer."
            }
            _ => {
                "M/s: million pushes a second. lost: overwritten before they were popped. fair \
                 P: items of the slowest producer per item of the fastest. bbq doesn't \
                 overwrite: its producers wait."
            }
        }
    }

    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        match test {
            Test::Throughput => results.stream_floor(WORD, group),
            // No item arrives faster than a flag.
            Test::DataLatency => Some(("half line_rtt", results.line_rtt(group)?.median / 2.0)),
            // Calls needn't reach another core.
            _ => None,
        }
    }

    fn column(&self, result: &CellResult) -> Option<String> {
        if self.operation.is_some() {
            return None;
        }
        // Programs that had one placement had one way of waiting beside `greedy`.
        let is_usual = match result.params.wait {
            Wait::Spin | Wait::Yield => self.placement.is_none(),
            wait => wait != Wait::Greedy,
        };
        let size = self.size;
        Some(if is_usual {
            size.to_string()
        } else {
            format!("{size} {}", name(&result.params.wait))
        })
    }

    fn purpose(&self, result: &CellResult) -> Option<String> {
        if self.workload != Workload::Simple {
            return None;
        }
        let purpose = match (result.test, self.batch) {
            (Test::Throughput, 1) => format!("for {} threads", self.size),
            (Test::Throughput, n) => format!("for {} threads, {n} items a call,", self.size),
            (Test::DataLatency, _) => format!("for short stays, {} threads,", self.size),
            _ => return None,
        };
        let wait = result.params.wait;
        Some(if wait == Wait::PauseYield { purpose } else { waiting(&purpose, wait) })
    }

    fn condition(&self) -> Option<String> {
        self.placement.map(|placement| name(&placement))
    }

    fn forget_condition(&mut self) {
        self.placement = None;
    }
}

impl MpmcSetting {
    fn title(&self, test: Test) -> String {
        match (test, self.batch) {
            (Test::DataLatency, _) => "data-latency, how long items stay".into(),
            (Test::OpLatency, _) => "op-latency, how long single calls take".into(),
            (Test::Overwrite, _) => "overwrite, what a push costs".into(),
            (_, 1) => "throughput, one item per call".into(),
            (_, batch) => format!("throughput, up to {batch} items per call"),
        }
    }
}

/// Work of the threads besides their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Only check the items.
    Simple,
    /// Allocate and free a buffer for each item, and spin for up to a hundred turns before each
    /// call.
    Complex,
    /// 10,000 pushes a second by each producer, 1,000 pops a second by each consumer; items that
    /// find no room are lost.
    Profiling,
}

/// A call that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Into a full queue.
    Push,
    /// From an empty one.
    Pop,
}
