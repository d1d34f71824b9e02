//! The texts of `lane bench executor`.

use super::{Column, RATIO_PEER};
use crate::kinds::{Computation, HttpLoad, Test};
use crate::params::ExecutorSetting;
use crate::results::CellResult;

/// The title of a chart, and of one of its tables.
pub(super) fn titles(result: &CellResult, setting: &ExecutorSetting) -> (String, Option<String>) {
    let what = match result.test {
        Test::SpawnJoin => "spawn-join, 256 empty tasks that are spawned and awaited",
        Test::PingPong => "ping-pong, two tasks that wake each other",
        Test::Yield => "yield, 256 tasks that let each other run",
        Test::FanOut => "fan-out, 256 empty tasks that nobody awaits",
        Test::ForkJoin => match setting.computation {
            Some(Computation::Sum) => "fork-join, the sum of 262144 numbers, 1024 by a task",
            _ => "fork-join, a Fibonacci number, by calls that do nothing else",
        },
        Test::Grain => "grain, tasks that take a while, all spawned by one of them",
        Test::Http => match setting.load {
            Some(HttpLoad::Wrk) => "http, hyper over the loopback, loaded by wrk",
            _ => "http, hyper over the loopback",
        },
        _ => "chain, 1000 tasks of which each spawns the next",
    };
    let workers = match setting.workers {
        1 => "1 worker".into(),
        n => format!("{n} workers"),
    };
    let size = match (setting.connections, setting.task_ns) {
        (Some(n), _) => format!("{workers}, {n} connections"),
        (None, Some(ns)) => format!("{workers}, {} us for a task", ns as f64 / 1e3),
        (None, None) => workers,
    };
    (what.into(), Some(size))
}

pub(super) fn columns(test: Test) -> (&'static str, &'static [Column]) {
    (
        test.unit(),
        if test == Test::Http { &[RATIO_PEER, PER_S, P50, P99, P999, CPU] } else { &[RATIO_PEER] },
    )
}

const PER_S: Column = ("requests/s", |s, _| Some(format!("{:.0}", 1e9 / s.value.median)));
const P50: Column = ("p50 us", |s, _| Some(format!("{:.0}", s.latency_ns?.p50 as f64 / 1e3)));
const P99: Column = ("p99 us", |s, _| Some(format!("{:.0}", s.latency_ns?.p99 as f64 / 1e3)));
const P999: Column = ("p99.9 us", |s, _| Some(format!("{:.0}", s.latency_ns?.p999 as f64 / 1e3)));
const CPU: Column = ("cpu ns", |s, _| Some(format!("{:.0}", s.cpu_ns_per_item?)));

pub(super) const LEGEND: &str = "Nanoseconds for each task, round trip, yield, join, or request, of all workers together; less is better. × peer: of the best peer. \
    cpu ns: processor time of the server for each request.";

pub(super) const READING: &str =
    "The workers are not pinned. The first task runs on a worker, too.";
