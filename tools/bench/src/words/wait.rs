//! The texts of `lane bench wait`.

use corelane_report::{name, short};

use super::{Column, MAX, P50, P99, P999, PER_S, RATIO_FLOOR, RATIO_PEER, RUN, TIMES_FLOOR};
use crate::beside::Beside;
use crate::kinds::{Mode, Runtime, Test};
use crate::params::WaitSetting;
use crate::results::{CellResult, Results};
use crate::stats::Group;

pub(super) fn floor(
    results: &Results,
    test: Test,
    wait: &WaitSetting,
    group: Group,
) -> Option<(&'static str, f64)> {
    let (name, floor) = match (test, wait.sleeps) {
        (Test::Stream, _) => ("block_handoff", results.block_handoff(group)),
        (Test::PingPong, Some(true)) => ("futex_rtt", results.futex_rtt(group)[0]),
        (Test::PingPong, _) => ("line_rtt", results.line_rtt(group)),
        _ => return None,
    };
    // One thread needs no other core.
    let floor = floor.filter(|_| wait.way.runtime != Runtime::TokioCurrent);
    floor.map(|quartiles| (name, quartiles.median))
}

/// The title of a chart, and of one of its tables.
pub(super) fn titles(result: &CellResult, wait: &WaitSetting) -> (String, Option<String>) {
    let what = match (result.test, wait.sleeps) {
        (Test::Stream, _) => "stream, one item per call",
        (Test::PingPong, Some(true)) => "ping-pong, all threads sleep before",
        (Test::PingPong, _) => "ping-pong, all threads busy",
        (Test::OpenLoop, _) => "open-loop, latency",
        (Test::Cpu, _) => "cpu, processor time of an item",
        (Test::Idle, _) => "idle, processor time of a receiver without items",
        _ => "fan-in, latency",
    };
    let mode = match (wait.way.mode, wait.way.runtime) {
        (Mode::Blocking, _) | (_, Runtime::None) => "threads that wait".to_owned(),
        (Mode::Async, runtime) => format!("tasks of {}", name(&runtime)),
    };
    let (capacity, placement) = (result.params.capacity, name(&wait.placement));
    let beside = match wait.beside {
        Some(Beside { processes, nice: 0 }) => format!(", beside {processes} processes"),
        Some(Beside { processes, nice }) => {
            format!(", beside {processes} processes of nice {nice}")
        }
        None => String::new(),
    };
    let title = format!("{what}, {mode}, capacity {capacity}, placed {placement}{beside}");
    let each = match (result.test, wait.rate) {
        (Test::Stream, _) => Some(wait.size.to_string()),
        (Test::PingPong, _) if wait.size.threads() > 2 => {
            Some(format!("{} ask, {} answer", wait.size.producers, wait.size.consumers))
        }
        (Test::FanIn, Some(rate)) => Some(format!("{} lanes, {rate} items/s", wait.size.producers)),
        (_, rate) => rate.map(|rate| format!("{rate} items/s")),
    };
    (title, each)
}

const CPU: Column = ("cpu ns", |s, _| Some(short(s.cpu_ns_per_item?)));
const CPU_TX: Column = ("send", |s, _| Some(short(s.cpu_ns?.producers)));
const CPU_RX: Column = ("receive", |s, _| Some(short(s.cpu_ns?.consumers)));
const SLEEPS: Column = ("sleeps", |s, _| Some(short(s.sleeps_per_item?)));

pub(super) fn columns(test: Test) -> (&'static str, &'static [Column]) {
    match test {
        Test::Stream => (test.unit(), &[PER_S, RATIO_PEER, RATIO_FLOOR, RUN, CPU, SLEEPS]),
        Test::PingPong => (test.unit(), &[RATIO_PEER, TIMES_FLOOR, P99, CPU, SLEEPS]),
        Test::Cpu => (test.unit(), &[RATIO_PEER, CPU_TX, CPU_RX, SLEEPS, P50]),
        Test::Idle => (test.unit(), &[RATIO_PEER]),
        _ => ("p50 ns", &[P99, P999, MAX, CPU, SLEEPS]),
    }
}

pub(super) fn legend(test: Test) -> &'static str {
    match test {
        Test::Stream => {
            "Medians with quartiles; less is better. M/s: million items a second. × peer, × floor: of the best bounded peer, of \
             block_handoff. run: items of one producer that a consumer gets in a row. cpu ns: processor time of all threads \
             for an item. sleeps: how often a thread slept for an item. spin, yield: plain handles that try again."
        }
        Test::PingPong => {
            "Beside: the mean of a round trip; otherwise the median, from the send. × floor: of line_rtt, or of futex_rtt if \
             threads sleep before. cpu ns: processor time of all threads for a round trip, without pauses; of tasks with pauses. \
             sleeps: how often a thread slept, pauses included."
        }
        Test::Cpu => {
            "Processor time of an item. send: time of the sender's call. receive: processor time of the receiver. sleeps: of \
             the receiver. p50 ns: from an item's intended send time until the receiver has it."
        }
        Test::Idle => {
            "Processor time that a second of waiting takes: 1,000,000,000 is a whole core."
        }
        _ => {
            "Time from an item's intended send time until the receiver has it. p99: one of a hundred items takes longer. cpu ns: \
             time of the sender's call and processor time of the receiver for an item. sleeps: of the receiver."
        }
    }
}

pub(super) const READING: &str = "Calls wait for room and for items; threads may sleep. 2x4 is two producers and four consumers. \
    Placed apart: no core has both sides; mixed: each core has both; free: threads aren't pinned. Rows with spin or yield \
    are the plain handles of the queue, which try again after a pause or a yield: they show what sleeping saves and costs. \
    The floor `futex_rtt` is two threads that wake each other in turn, each on its core.";
