//! The texts of `lane bench ipc`.

use corelane_report::short;

use super::{Column, RATIO_PEER, TIMES_FLOOR};
use crate::kinds::{Strategy, Test, WORD};
use crate::params::IpcSetting;
use crate::results::{CellResult, Results};
use crate::stats::Group;

pub(super) fn floor(
    results: &Results,
    test: Test,
    ipc: &IpcSetting,
    group: Group,
) -> Option<(&'static str, f64)> {
    let (name, floor, times) = match test {
        Test::Rtt if ipc.strategy == Strategy::Sleep => {
            ("futex_rtt", results.futex_rtt(group)[0], 1)
        }
        Test::Rtt => ("line_rtt", results.line_rtt(group), 1),
        Test::Stream => ("block_handoff", results.block_handoff(group), ipc.record_bytes / WORD),
        _ => return None,
    };
    floor.map(|quartiles| (name, quartiles.median * times as f64))
}

/// The title of a chart, and of one of its tables.
pub(super) fn titles(result: &CellResult, ipc: &IpcSetting) -> (String, Option<String>) {
    let what = match result.test {
        Test::Rtt => "rtt, one record there and back",
        Test::Stream => "stream, one record per call",
        Test::Cpu => "cpu, processor time of a record",
        Test::PingPong => "ping-pong, threads that ask and threads that answer",
        _ => "kill, processes that are killed at random moments",
    };
    let title = format!("{what}, two processes, capacity {}", result.params.capacity);
    let rate = ipc.rate.map(|rate| format!(", {rate} records/s")).unwrap_or_default();
    let threads = match result.test {
        Test::PingPong => format!(", {} of each", ipc.threads),
        _ => String::new(),
    };
    (title, Some(format!("{} bytes{threads}{rate}", ipc.record_bytes)))
}

const CPU: Column = ("cpu ns", |s, _| Some(short(s.cpu_ns_per_item?)));
const CPU_TX: Column = ("send", |s, _| Some(short(s.cpu_ns?.producers)));
const CPU_RX: Column = ("receive", |s, _| Some(short(s.cpu_ns?.consumers)));
const SLEEPS: Column = ("sleeps", |s, _| Some(short(s.sleeps_per_item?)));
const KILLS: Column = ("kills", |s, _| Some(s.kills?.kills.to_string()));
const LOST: Column = ("lost", |s, _| Some(s.kills?.lost.to_string()));
const DOUBLED: Column = ("doubled", |s, _| Some(s.kills?.doubled.to_string()));
const HUNG: Column = ("hung", |s, _| Some(s.kills?.hung.to_string()));
const LEFT: Column = ("left behind", |s, _| Some(s.kills?.left_behind.to_string()));

pub(super) fn columns(test: Test) -> (&'static str, &'static [Column]) {
    match test {
        Test::Kill => (test.unit(), &[KILLS, LOST, DOUBLED, HUNG, LEFT]),
        Test::Cpu => (test.unit(), &[RATIO_PEER, CPU_TX, CPU_RX, SLEEPS]),
        Test::PingPong => (test.unit(), &[RATIO_PEER, CPU, SLEEPS]),
        _ => (test.unit(), &[RATIO_PEER, TIMES_FLOOR, CPU, SLEEPS]),
    }
}

pub(super) fn legend(test: Test) -> &'static str {
    match test {
        Test::Rtt => {
            "Means of a round trip; less is better. × peer: of the best peer. × floor: of line_rtt, where the strategy is sleep of \
             futex_rtt. cpu ns, sleeps: of the process that asks."
        }
        Test::Stream => {
            "Medians with quartiles; less is better. × floor: of a block_handoff of as many bytes. cpu ns, sleeps: of the process \
             that receives."
        }
        Test::PingPong => {
            "Time of a round trip, with those of all threads counted; less is better. The threads of a process share its core. Any thread may answer, \
             and get any answer. cpu ns, sleeps: of the threads that ask."
        }
        Test::Cpu => {
            "Processor time of a record. send: time of the sender's call. receive: processor time of the receiver. sleeps: of the \
             receiver."
        }
        _ => {
            "Processes that push, and processes that pop, are killed in turn, within 2 ms after they have begun. lost: missing, but the record that was \
             under way. hung: did not find out within ten seconds. left behind: descriptors and sides. ms to open: at the 99th \
             percentile."
        }
    }
}

pub(super) const READING: &str = "One process measures, and starts the other one. Each has a core. Strategies share a table; peers have \
    only their own. The floor `futex_rtt` is two threads that wake each other in turn, each on its core.";
