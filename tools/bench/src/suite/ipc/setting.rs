//! The parameters of `lane bench ipc`, and what is said about its results.

use serde::{Deserialize, Serialize};

use super::pause::Pause;
use crate::kinds::Test;
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::wait::Strategy;
use crate::suite::{About, Suite};
use crate::table::{
    CPU, CPU_RX, CPU_TX, Column, DOUBLED, HUNG, KILLS, KILLS_LOST, LEFT, P50, P99, RATIO_PEER,
    RX_SHARE, SLEEPS, TIMES_FLOOR, TRIPS,
};

/// Two processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IpcSetting {
    pub(crate) record_bytes: usize,
    pub(crate) strategy: Strategy,
    /// Threads of each process that send, and as many that receive.
    pub(crate) threads: usize,
    /// What a thread does after each message.
    #[serde(default, skip_serializing_if = "Pause::is_none")]
    pub(crate) pause_ns: Pause,
    /// Records per second, if they are sent on a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<u64>,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "ipc",
    heading: "Between processes",
    reading: "One process measures, and starts the other one. Each has a core. Strategies share \
     a table; peers have only their own. The floor `futex_rtt` is two threads that wake each \
     other in turn, each on its core.",
    sleeps: true,
    ..About::NONE
};

impl Suite for IpcSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match result.test {
            Test::Rtt => "rtt, one record there and back",
            Test::Stream => "stream, one record per call",
            Test::Cpu => "cpu, processor time of a record",
            Test::PingPong => "ping-pong, threads that send and threads that receive",
            _ => "kill, processes that are killed at random moments",
        };
        let title = format!("{what}, two processes, capacity {}", result.params.capacity);
        let rate = self.rate.map(|rate| format!(", {rate} records/s")).unwrap_or_default();
        let threads = match result.test {
            Test::PingPong => format!(", {0}x{0} threads", self.threads),
            _ => String::new(),
        };
        let pauses = match self.pause_ns.is_none() {
            true => String::new(),
            false => format!(", pauses of {}", self.pause_ns),
        };
        (title, Some(format!("{} bytes{threads}{pauses}{rate}", self.record_bytes)))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Kill => (test.unit(), &[KILLS, KILLS_LOST, DOUBLED, HUNG, LEFT]),
            Test::Cpu => (test.unit(), &[RATIO_PEER, CPU_TX, CPU_RX, SLEEPS]),
            Test::PingPong => {
                (test.unit(), &[TRIPS, RATIO_PEER, P50, P99, CPU_TX, CPU_RX, RX_SHARE, SLEEPS])
            }
            _ => (test.unit(), &[RATIO_PEER, TIMES_FLOOR, CPU, SLEEPS]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Rtt => {
                "Means of a round trip; less is better. × peer: of the best peer. × floor: of \
                 line_rtt, where the strategy is sleep of futex_rtt. cpu ns, sleeps: of the \
                 process that asks."
            }
            Test::Stream => {
                "Medians with quartiles; less is better. × floor: of a line_stream of as many \
                 bytes. cpu ns, sleeps: of the process that receives."
            }
            Test::PingPong => {
                "Time of a round trip, with those of all messages counted; less is better. NxN: \
                 each process has N threads that send and N that receive, and all have its core. \
                 p50, p99: from the send of a message until its receiver has it. send, receive: \
                 processor time of a round trip, of the sending and of the receiving threads of \
                 one process, with pauses. of the core, sleeps: of the receiving threads."
            }
            Test::Cpu => {
                "Processor time of a record. send: time of the sender's call. receive: processor \
                 time of the receiver. sleeps: of the receiver."
            }
            _ => {
                "Processes that push, and processes that pop, are killed in turn, within 2 ms \
                 after they have begun. lost: missing, but the record that was under way. hung: \
                 did not find out within ten seconds. left behind: descriptors and sides. ms to \
                 open: at the 99th percentile."
            }
        }
    }

    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        let (name, floor) = match test {
            Test::Rtt if self.strategy == Strategy::Sleep => {
                ("futex_rtt", results.futex_rtt(group)[0])
            }
            Test::Rtt => ("line_rtt", results.line_rtt(group)),
            Test::Stream => return results.stream_floor(self.record_bytes, group),
            _ => return None,
        };
        floor.map(|quartiles| (name, quartiles.median))
    }

    fn condition(&self) -> Option<String> {
        Some(format!("{} bytes", self.record_bytes))
    }

    fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Memory that processes share doesn't grow.
    fn bounds_all(&self) -> bool {
        true
    }

    fn is_alike(&self, other: &Self) -> bool {
        *self == Self { strategy: self.strategy, ..other.clone() }
    }
}
