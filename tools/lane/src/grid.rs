//! Throughput over the loads of both sides: the matrices of paper 1, Fig. 14.

use crate::results::{CellResult, Results};
use crate::stats::Group;

/// Name of the grid's regime.
pub(crate) const REGIME: &str = "grid";

/// One queue's matrix.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    result: &'a CellResult,
    /// All measured pairs of loads.
    pub(crate) points: Vec<Point>,
}

/// One pair of loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// The producer's.
    pub(crate) load_p_ns: u64,
    /// The consumer's.
    pub(crate) load_c_ns: u64,
    /// Millions of items per second.
    pub(crate) throughput: f64,
}

/// The matrices of all queues, as measured in the rounds of `group`.
pub(crate) fn maps(results: &Results, group: Group) -> Vec<Map<'_>> {
    let mut maps: Vec<Map<'_>> = Vec::new();
    let measured =
        |result: &&CellResult| result.params.regime == REGIME && result.groups.contains_key(&group);
    for result in results.results.iter().filter(measured) {
        let params = &result.params;
        let point = Point {
            load_p_ns: params.load_p_ns,
            load_c_ns: params.load_c_ns,
            throughput: 1e3 / result.median(group),
        };
        match maps.iter_mut().find(|map| map.is_of(result)) {
            Some(map) => map.points.push(point),
            None => maps.push(Map { result, points: vec![point] }),
        }
    }
    maps
}

impl Map<'_> {
    fn is_of(&self, result: &CellResult) -> bool {
        let (ours, theirs) = (&self.result.params, &result.params);
        self.result.queue == result.queue
            && (ours.batch, ours.payload, ours.wait) == (theirs.batch, theirs.payload, theirs.wait)
    }

    /// The queue and what is special about its parameters.
    pub(crate) fn title(&self) -> String {
        let params = &self.result.params;
        let batch = if params.batch > 1 { format!(", batch {}", params.batch) } else { "".into() };
        format!("{}{batch}, {}, {}", self.result.queue, params.payload.name(), params.wait.words())
    }

    /// The producer's loads, ascending.
    pub(crate) fn columns(&self) -> Vec<u64> {
        distinct(self.points.iter().map(|point| point.load_p_ns))
    }

    /// The consumer's loads, ascending.
    pub(crate) fn rows(&self) -> Vec<u64> {
        distinct(self.points.iter().map(|point| point.load_c_ns))
    }

    /// The throughput at a pair of loads, if it was measured.
    pub(crate) fn at(&self, load_p_ns: u64, load_c_ns: u64) -> Option<f64> {
        let here = |p: &&Point| (p.load_p_ns, p.load_c_ns) == (load_p_ns, load_c_ns);
        self.points.iter().find(here).map(|point| point.throughput)
    }
}

/// All of them once, ascending.
pub(crate) fn distinct(all: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut loads: Vec<_> = all.collect();
    loads.sort_unstable();
    loads.dedup();
    loads
}
