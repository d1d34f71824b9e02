//! What a run gave, in the shape of the JSON file.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::cell::{Params, PerceivedBatch, Sample};
use crate::cli::Test;
use crate::floor::Floors;
use crate::grid;
use crate::machine::Machine;
use crate::stats::{Group, Quartiles};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// Everything measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Results {
    schema: u32,
    /// The command line.
    pub(crate) command: String,
    /// Seconds since 1970 at the end of the run.
    pub(crate) unix_time: u64,
    /// Where.
    pub(crate) machine: Machine,
    /// Whether Ctrl-C ended the run early.
    pub(crate) interrupted: bool,
    /// Rounds left out because the cores moved between near and far during them.
    pub(crate) mixed_rounds: usize,
    /// The floors, round by round.
    pub(crate) rounds: Vec<Round>,
    /// One entry per queue, test and parameters.
    pub(crate) results: Vec<CellResult>,
}

/// One round that counts.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Round {
    /// See [`Floors::line_rtt_ns`].
    pub(crate) line_rtt_ns: f64,
    /// See [`Floors::block_handoff_ns`].
    pub(crate) block_handoff_ns_per_u64: f64,
    /// Near or far.
    pub(crate) group: Group,
}

impl Round {
    /// A round between two looks at the floors; none if the cores moved in between.
    pub(crate) fn between(begin: Floors, end: Floors, far_above_ns: f64) -> Option<Self> {
        let group = Group::of(begin.line_rtt_ns, far_above_ns);
        (Group::of(end.line_rtt_ns, far_above_ns) == group).then_some(Self {
            line_rtt_ns: (begin.line_rtt_ns + end.line_rtt_ns) / 2.0,
            block_handoff_ns_per_u64: (begin.block_handoff_ns + end.block_handoff_ns) / 2.0,
            group,
        })
    }
}

/// What one cell gave.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CellResult {
    suite: &'static str,
    /// What was measured.
    pub(crate) test: Test,
    /// On which queue.
    pub(crate) queue: String,
    /// Whether that isn't ours.
    pub(crate) peer: bool,
    /// With what parameters.
    pub(crate) params: Params,
    unit: &'static str,
    /// The values; a group without rounds is left out.
    pub(crate) groups: BTreeMap<Group, Summary>,
}

/// What one cell gave in the rounds of one group.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Summary {
    /// Of the value, over rounds.
    #[serde(flatten)]
    pub(crate) value: Quartiles,
    /// Medians over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) perceived_batch: Option<PerceivedBatch>,
    /// Over all items of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ns: Option<Latency>,
}

/// Latency percentiles in nanoseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Latency {
    /// Items.
    pub(crate) items: u64,
    /// Half of the items took at most this.
    pub(crate) p50: u64,
    /// 99 of 100 did.
    pub(crate) p99: u64,
    /// 999 of 1000 did.
    #[serde(rename = "p99.9")]
    pub(crate) p999: u64,
    /// All did.
    pub(crate) max: u64,
}

impl Results {
    /// The results of a run that is over.
    pub(crate) fn new(
        machine: Machine,
        interrupted: bool,
        mixed_rounds: usize,
        rounds: Vec<Round>,
        results: Vec<CellResult>,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        let unix_time = now.as_secs();
        let schema = SCHEMA;
        Self { schema, command, unix_time, machine, interrupted, mixed_rounds, rounds, results }
    }

    /// The groups that have rounds.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Group> {
        Group::ALL.into_iter().filter(|group| self.rounds_of(*group).next().is_some())
    }

    /// The rounds of `group`.
    pub(crate) fn rounds_of(&self, group: Group) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| round.group == group)
    }

    /// Nanoseconds of a line's round trip in the rounds of `group`.
    pub(crate) fn line_rtt(&self, group: Group) -> Option<Quartiles> {
        Quartiles::of(self.rounds_of(group).map(|round| round.line_rtt_ns))
    }

    /// Nanoseconds per u64 of a block hand-off in the rounds of `group`.
    pub(crate) fn block_handoff(&self, group: Group) -> Option<Quartiles> {
        Quartiles::of(self.rounds_of(group).map(|round| round.block_handoff_ns_per_u64))
    }

    /// The floor that values of `test` are compared with, and its name.
    pub(crate) fn floor(&self, test: Test, group: Group) -> Option<(&'static str, f64)> {
        let (name, quartiles) = match test {
            Test::Stream => ("block_handoff", self.block_handoff(group)?),
            Test::Rtt => ("line_rtt", self.line_rtt(group)?),
            // There is no floor for waiting in a queue.
            Test::OpenLoop => return None,
        };
        Some((name, quartiles.median))
    }

    /// The results by test and parameters, but for the matrices; each list with the fastest queue of `group` first.
    pub(crate) fn tables(&self, group: Group) -> Vec<Vec<&CellResult>> {
        let mut tables: Vec<Vec<&CellResult>> = Vec::new();
        let wanted = |r: &&CellResult| !r.is_grid() && r.groups.contains_key(&group);
        for result in self.results.iter().filter(wanted) {
            let alike = |table: &&mut Vec<&CellResult>| table[0].is_alike(result);
            match tables.iter_mut().find(alike) {
                Some(table) => table.push(result),
                None => tables.push(vec![result]),
            }
        }
        for table in &mut tables {
            table.sort_by(|a, b| f64::total_cmp(&a.median(group), &b.median(group)));
        }
        tables
    }
}

impl CellResult {
    /// The result of a cell from its samples, by group.
    pub(crate) fn new(
        test: Test,
        queue: String,
        peer: bool,
        params: Params,
        samples: &BTreeMap<Group, Vec<Sample>>,
    ) -> Self {
        let summarise = |(group, samples): (&Group, &Vec<_>)| Some((*group, Summary::of(samples)?));
        let groups = samples.iter().filter_map(summarise).collect();
        Self { suite: "spsc", test, queue, peer, params, unit: test.unit(), groups }
    }

    /// Whether it is one square of a matrix.
    pub(crate) fn is_grid(&self) -> bool {
        self.params.regime == grid::REGIME
    }

    /// Whether both say the same of different queues.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.test == other.test && self.params == other.params
    }

    /// The median of the rounds of `group`, in which there are some.
    pub(crate) fn median(&self, group: Group) -> f64 {
        self.groups.get(&group).map_or(f64::INFINITY, |summary| summary.value.median)
    }
}

impl Summary {
    fn of(samples: &[Sample]) -> Option<Self> {
        let value = Quartiles::of(samples.iter().map(|sample| sample.value))?;
        Some(Self { value, perceived_batch: perceived(samples), latency_ns: latency(samples) })
    }
}

fn perceived(samples: &[Sample]) -> Option<PerceivedBatch> {
    let median = |side: fn(PerceivedBatch) -> f64| {
        let values = samples.iter().filter_map(|sample| sample.perceived_batch.map(side));
        Some(Quartiles::of(values)?.median)
    };
    Some(PerceivedBatch { producer: median(|b| b.producer)?, consumer: median(|b| b.consumer)? })
}

fn latency(samples: &[Sample]) -> Option<Latency> {
    let mut histograms = samples.iter().filter_map(|sample| sample.latency.as_ref());
    let mut all = histograms.next()?.clone();
    for histogram in histograms {
        all.add(histogram).expect("all have the same bounds");
    }
    Some(Latency::of(&all))
}

impl Latency {
    fn of(latencies: &Histogram<u64>) -> Self {
        Self {
            items: latencies.len(),
            p50: latencies.value_at_quantile(0.5),
            p99: latencies.value_at_quantile(0.99),
            p999: latencies.value_at_quantile(0.999),
            max: latencies.max(),
        }
    }
}
