//! The parameters of `lane bench executor`, and what is said about its results.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::CellResult;
use crate::suite::{About, Suite};
use crate::table::{CPU, Column, P50_US, P99_US, P999_US, RATIO_PEER, REQUESTS};

/// An executor of tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExecutorSetting {
    pub(crate) workers: usize,
    /// Of a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) connections: Option<usize>,
    /// What loads a server; `None` if it is a thread of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load: Option<HttpLoad>,
    /// Of `fork-join`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) computation: Option<Computation>,
    /// How long a task of `grain` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task_ns: Option<u64>,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "executor",
    heading: "Executors of tasks",
    reading: "The workers are not pinned. The first task runs on a worker, too.",
    measured: "executor",
    pins: false,
    ..About::NONE
};

impl Suite for ExecutorSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match result.test {
            Test::SpawnJoin => "spawn-join, 256 empty tasks that are spawned and awaited",
            Test::PingPong => "ping-pong, two tasks that wake each other",
            Test::Yield => "yield, 256 tasks that let each other run",
            Test::FanOut => "fan-out, 256 empty tasks that nobody awaits",
            Test::ForkJoin => match self.computation {
                Some(Computation::Sum) => "fork-join, the sum of 262144 numbers, 1024 by a task",
                _ => "fork-join, a Fibonacci number, by calls that do nothing else",
            },
            Test::Grain => "grain, tasks that take a while, all spawned by one of them",
            Test::Http => match self.load {
                Some(HttpLoad::Wrk) => "http, hyper over the loopback, loaded by wrk",
                _ => "http, hyper over the loopback",
            },
            _ => "chain, 1000 tasks of which each spawns the next",
        };
        let workers = match self.workers {
            1 => "1 worker".into(),
            n => format!("{n} workers"),
        };
        let size = match (self.connections, self.task_ns) {
            (Some(n), _) => format!("{workers}, {n} connections"),
            (None, Some(ns)) => format!("{workers}, {} us for a task", ns as f64 / 1e3),
            (None, None) => workers,
        };
        (what.into(), Some(size))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Http => (test.unit(), &[RATIO_PEER, REQUESTS, P50_US, P99_US, P999_US, CPU]),
            _ => (test.unit(), &[RATIO_PEER]),
        }
    }

    fn legend(&self, _: Test) -> &'static str {
        "Nanoseconds for each task, round trip, yield, join, or request, of all workers \
         together; less is better. × peer: of the best peer. cpu ns: processor time of the \
         server for each request."
    }
}

/// What loads an HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum HttpLoad {
    /// A thread of this program.
    Own,
    /// The program wrk.
    Wrk,
}

/// What forks and joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computation {
    /// A Fibonacci number: calls that do nothing else.
    Fibonacci,
    /// The sum of a slice, of 1024 numbers at a time.
    Sum,
}
