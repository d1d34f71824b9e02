//! The parameters of `lane bench wait`, and what is said about its results.

use clap::ValueEnum;
use corelane::wait;
use corelane_report::name;
use serde::{Deserialize, Serialize};

use super::beside::Beside;
use crate::kinds::{Placement, TeamSize, Test, WORD};
use crate::results::{CellResult, Results};
use crate::stats::{Group, Quartiles};
use crate::suite::{About, Suite};
use crate::table::{
    CPU, CPU_RX, CPU_TX, Column, MAX, P50, P99, P999, PER_S, RATIO_FLOOR, RATIO_PEER, RUN, SLEEPS,
    TIMES_FLOOR,
};

/// Threads or tasks whose calls wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WaitSetting {
    #[serde(flatten)]
    pub(crate) size: TeamSize,
    pub(crate) placement: Placement,
    #[serde(flatten)]
    pub(crate) way: Way,
    /// Of `ping-pong`: whether both sides sleep before each item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sleeps: Option<bool>,
    /// Items per second, if they are sent on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
    /// What computes beside.
    #[serde(flatten)]
    pub(crate) beside: Option<Beside>,
}

/// How the calls of a queue wait. A queue may have several ways.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) mode: Mode,
    pub(crate) runtime: Runtime,
    pub(crate) strategy: Strategy,
    pub(crate) handles: Sharing,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "wait",
    heading: "Calls that wait",
    reading: "Calls wait for room and for items; threads may sleep. 2x4 is two producers and \
     four consumers. Placed apart: no core has both sides; mixed: each core has both; free: \
     threads aren't pinned. Rows with spin or yield are the plain handles of the queue, which \
     try again after a pause or a yield: they show what sleeping saves and costs. The floor \
     `futex_rtt` is two threads that wake each other in turn, each on its core.",
    sleeps: true,
    ..About::NONE
};

impl Suite for WaitSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match (result.test, self.sleeps) {
            (Test::Stream, _) => "stream, one item per call",
            (Test::PingPong, Some(true)) => "ping-pong, all threads sleep before",
            (Test::PingPong, _) => "ping-pong, all threads busy",
            (Test::OpenLoop, _) => "open-loop, latency",
            (Test::Cpu, _) => "cpu, processor time of an item",
            (Test::Idle, _) => "idle, processor time of a receiver without items",
            _ => "fan-in, latency",
        };
        let mode = match (self.way.mode, self.way.runtime) {
            (Mode::Blocking, _) | (_, Runtime::None) => "threads that wait".to_owned(),
            (Mode::Async, runtime) => format!("tasks of {}", name(&runtime)),
        };
        let (capacity, placement) = (result.params.capacity, name(&self.placement));
        let beside = match self.beside {
            Some(Beside { processes, nice: 0 }) => format!(", beside {processes} processes"),
            Some(Beside { processes, nice }) => {
                format!(", beside {processes} processes of nice {nice}")
            }
            None => String::new(),
        };
        let title = format!("{what}, {mode}, capacity {capacity}, placed {placement}{beside}");
        let each = match (result.test, self.rate) {
            (Test::Stream, _) => Some(self.size.to_string()),
            (Test::PingPong, _) if self.size.threads() > 2 => {
                Some(format!("{} ask, {} answer", self.size.producers, self.size.consumers))
            }
            (Test::FanIn, Some(rate)) => {
                Some(format!("{} lanes, {rate} items/s", self.size.producers))
            }
            (_, rate) => rate.map(|rate| format!("{rate} items/s")),
        };
        (title, each)
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Stream => (test.unit(), &[PER_S, RATIO_PEER, RATIO_FLOOR, RUN, CPU, SLEEPS]),
            Test::PingPong => (test.unit(), &[RATIO_PEER, TIMES_FLOOR, P99, CPU, SLEEPS]),
            Test::Cpu => (test.unit(), &[RATIO_PEER, CPU_TX, CPU_RX, SLEEPS, P50]),
            Test::Idle => (test.unit(), &[RATIO_PEER]),
            _ => ("p50 ns", &[P99, P999, MAX, CPU, SLEEPS]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Stream => {
                "Medians with quartiles; less is better. M/s: million items a second. × peer, × \
                 floor: of the best bounded peer, of line_stream. run: items of one producer \
                 that a consumer gets in a row. cpu ns: processor time of all threads for an \
                 item. sleeps: how often a thread slept for an item. spin, yield: plain handles \
                 that try again."
            }
            Test::PingPong => {
                "Beside: the mean of a round trip; otherwise the median, from the send. × floor: \
                 of line_rtt, or of futex_rtt if threads sleep before. cpu ns: processor time of \
                 all threads for a round trip, without pauses; of tasks with pauses. sleeps: how \
                 often a thread slept, pauses included."
            }
            Test::Cpu => {
                "Processor time of an item. send: time of the sender's call. receive: processor \
                 time of the receiver. sleeps: of the receiver. p50 ns: from an item's intended \
                 send time until the receiver has it."
            }
            Test::Idle => {
                "Processor time that a second of waiting takes: 1,000,000,000 is a whole core."
            }
            _ => {
                "Time from an item's intended send time until the receiver has it. p99: one of a \
                 hundred items takes longer. cpu ns: time of the sender's call and processor \
                 time of the receiver for an item. sleeps: of the receiver."
            }
        }
    }

    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        let named = |name, floor: Option<Quartiles>| Some((name, floor?.median));
        let floor = match (test, self.sleeps) {
            (Test::Stream, _) => results.stream_floor(WORD, group),
            (Test::PingPong, Some(true)) => named("futex_rtt", results.futex_rtt(group)[0]),
            (Test::PingPong, _) => named("line_rtt", results.line_rtt(group)),
            _ => None,
        };
        // One thread needs no other core.
        floor.filter(|_| self.way.runtime != Runtime::TokioCurrent)
    }

    fn condition(&self) -> Option<String> {
        Some(name(&self.placement))
    }

    fn strategy(&self) -> Strategy {
        self.way.strategy
    }

    fn beside(&self) -> Option<Beside> {
        self.beside
    }

    fn is_alike(&self, other: &Self) -> bool {
        let place = |setting: &Self| (setting.way.mode, setting.way.runtime);
        place(self) == place(other) && *self == Self { way: self.way, ..other.clone() }
    }
}

/// Whether a call that waits blocks its thread or its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Blocks the thread.
    Blocking,
    /// Returns a future.
    Async,
}

/// How a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As the handles themselves do: they look again for a while, and then sleep.
    Adaptive,
    /// They sleep at once.
    Sleep,
    /// They look 1000 times with a pause before each, and then sleep.
    SpinThenSleep,
    /// The plain handles of the queue, and a pause after each failed try.
    Spin,
    /// The plain handles of the queue, and a yield after each failed try.
    Yield,
}

impl Strategy {
    /// How handles that wait do it; `None` of plain handles.
    pub(crate) fn of_handles(self) -> Option<wait::Strategy> {
        Some(match self {
            Self::Adaptive => wait::Strategy::Adaptive,
            Self::Sleep => wait::Strategy::Sleep,
            Self::SpinThenSleep => wait::Strategy::SpinThenSleep(1000),
            Self::Spin | Self::Yield => return None,
        })
    }

    /// How calls between processes wait.
    pub const OF_IPC: [Self; 4] = [Self::Adaptive, Self::Sleep, Self::SpinThenSleep, Self::Spin];
}

/// What runs tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// Nothing: calls block threads.
    None,
    /// Tokio, with two threads.
    Tokio,
    /// Tokio, with one thread.
    TokioCurrent,
}

impl Runtime {
    /// The runtimes that run tasks.
    pub const OF_TASKS: [Self; 2] = [Self::Tokio, Self::TokioCurrent];
}

/// How a call takes its handle. Handles of both sides may differ; then it is the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sharing {
    /// Exclusively (`&mut self`).
    Exclusive,
    /// By a shared reference.
    Shared,
}
