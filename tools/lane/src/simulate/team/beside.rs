//! What `lane bench mpmc` has measured, to stand beside what is simulated.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::series::Growing;
use crate::failure::Failure;

/// What was measured, and where.
#[derive(Debug, Serialize)]
pub(super) struct Beside {
    pub(super) command: String,
    pub(super) machine: String,
    pub(super) points: Vec<Point>,
}

/// The throughput of a queue between so many threads.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) queue: String,
    producers: usize,
    consumers: usize,
    workload: String,
    /// Whether the cores were near or far.
    pub(super) distance: String,
    items_per_s: f64,
}

/// A file of results, as far as it is needed.
#[derive(Debug, Deserialize)]
struct File {
    command: String,
    machine: Machine,
    results: Vec<Result>,
}

#[derive(Debug, Deserialize)]
struct Machine {
    cpu: String,
    cpus: usize,
}

#[derive(Debug, Deserialize)]
struct Result {
    suite: String,
    test: String,
    queue: String,
    params: Params,
    groups: BTreeMap<String, Group>,
}

#[derive(Debug, Deserialize)]
struct Params {
    producers: Option<usize>,
    consumers: Option<usize>,
    batch: Option<usize>,
    workload: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Group {
    items_per_s: Option<f64>,
}

impl Beside {
    /// The throughput of single calls in a file of results.
    pub(super) fn read(path: &Path) -> std::result::Result<Self, Failure> {
        let name = path.display();
        let refused = |why: String| Failure::Usage(format!("{name}: {why}"));
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let is_not = "is not what `lane bench mpmc --json FILE` writes";
        let File { command, machine: Machine { cpu, cpus }, results } =
            serde_json::from_str(&text).map_err(|error| refused(format!("{is_not} ({error})")))?;
        let points: Vec<_> = results.iter().flat_map(Result::points).collect();
        if points.is_empty() {
            return Err(refused(format!("{is_not} with --test throughput")));
        }
        Ok(Self { command, machine: format!("{cpu}, {cpus} CPUs"), points })
    }
}

impl Result {
    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let Params { producers, consumers, batch, workload } = &self.params;
        let is_single = self.suite == "mpmc" && self.test == "throughput" && *batch == Some(1);
        let threads = producers.zip(*consumers).filter(|_| is_single);
        self.groups.iter().filter_map(move |(distance, group)| {
            let (producers, consumers) = threads?;
            Some(Point {
                queue: self.queue.clone(),
                producers,
                consumers,
                workload: workload.clone()?,
                distance: distance.clone(),
                items_per_s: group.items_per_s?,
            })
        })
    }
}

impl Point {
    /// In millions per second, with how far the series has grown, if it is one of this series and workload.
    pub(super) fn of(&self, growing: Growing, workload: &str) -> Option<(usize, f64)> {
        let number = growing.number_of(self.producers, self.consumers)?;
        (self.workload == workload).then_some((number, self.items_per_s / 1e6))
    }
}
