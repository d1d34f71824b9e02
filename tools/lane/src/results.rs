//! What a run gave, in the shape of the JSON file.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::catalogue;
use crate::floor::Floors;
use crate::machine::Machine;
use crate::spsc::Spsc;
use crate::stats::{Group, Quartiles};
use crate::suite::{Suite, Yardsticks};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// Everything measured.
#[derive(Debug, Clone, Serialize)]
#[serde(bound = "")]
pub(crate) struct Results<S: Suite = Spsc> {
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
    pub(crate) results: Vec<CellResult<S>>,
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
#[serde(bound = "")]
pub(crate) struct CellResult<S: Suite = Spsc> {
    suite: &'static str,
    /// What was measured.
    pub(crate) test: S::Test,
    /// On which queue.
    pub(crate) queue: String,
    /// Whether that isn't ours.
    pub(crate) peer: bool,
    /// With what parameters.
    pub(crate) params: S::Params,
    unit: &'static str,
    /// The values; a group without rounds is left out.
    pub(crate) groups: BTreeMap<Group, Summary<S>>,
}

/// What one cell gave in the rounds of one group.
#[derive(Debug, Clone, Serialize)]
#[serde(bound = "")]
pub(crate) struct Summary<S: Suite = Spsc> {
    /// Of the value, over rounds.
    #[serde(flatten)]
    pub(crate) value: Quartiles,
    /// The rest.
    #[serde(flatten)]
    pub(crate) details: S::Details,
}

/// The name of what the machine itself can do, and its value.
pub(crate) type Floor = (&'static str, f64);

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

impl<S: Suite> Results<S> {
    /// The results of a run that is over.
    pub(crate) fn new(
        machine: Machine,
        interrupted: bool,
        mixed_rounds: usize,
        rounds: Vec<Round>,
        results: Vec<CellResult<S>>,
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

    /// What the values of `table` are compared with in `group`.
    pub(crate) fn yardsticks(&self, table: &[&CellResult<S>], group: Group) -> Yardsticks {
        let floor = S::floor(self, table[0].test, group).map(|(_, floor)| floor);
        let best_peer = best_peer(table).map(|peer| peer.median(group));
        Yardsticks { floor, best_peer }
    }

    /// The results by test and parameters, but for the matrices; each list with the fastest queue of
    /// `group` first.
    pub(crate) fn tables(&self, group: Group) -> Vec<Vec<&CellResult<S>>> {
        let mut tables: Vec<Vec<&CellResult<S>>> = Vec::new();
        let wanted = |r: &&CellResult<S>| S::has_table(&r.params) && r.groups.contains_key(&group);
        for result in self.results.iter().filter(wanted) {
            let alike = |table: &&mut Vec<&CellResult<S>>| table[0].is_alike(result);
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

impl<S: Suite> CellResult<S> {
    /// The result of a cell from its samples, by group.
    pub(crate) fn new(
        test: S::Test,
        queue: String,
        peer: bool,
        params: S::Params,
        samples: &BTreeMap<Group, Vec<S::Sample>>,
    ) -> Self {
        let summarise = |(group, samples): (&Group, &Vec<_>)| Some((*group, Summary::of(samples)?));
        let groups = samples.iter().filter_map(summarise).collect();
        Self { suite: S::NAME, test, queue, peer, params, unit: S::unit(test), groups }
    }

    /// The queue, and that it has no bounds if that is so and its name doesn't say it.
    pub(crate) fn label(&self) -> String {
        match catalogue::find(&self.queue) {
            Some(entry)
                if !(entry.bounded || entry.overwrites || entry.id.ends_with("-unbounded")) =>
            {
                format!("{} (unbounded)", self.queue)
            }
            _ => self.queue.clone(),
        }
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

/// Those of a table that answer its question: queues that are full some day; or such as never are, if none of ours is.
pub(crate) fn comparable<'a, S: Suite>(table: &[&'a CellResult<S>]) -> Vec<&'a CellResult<S>> {
    let is_bounded = |result: &CellResult<S>| {
        catalogue::find(&result.queue).is_none_or(|entry| entry.bounded || entry.overwrites)
    };
    let ours = || table.iter().filter(|result| !result.peer);
    let are_bounded = ours().next().is_none() || ours().any(|result| is_bounded(result));
    table.iter().copied().filter(|result| is_bounded(result) == are_bounded).collect()
}

/// The fastest peer of a table that is sorted, of those that are comparable.
pub(crate) fn best_peer<'a, S: Suite>(table: &[&'a CellResult<S>]) -> Option<&'a CellResult<S>> {
    comparable(table).into_iter().find(|result| result.peer)
}

impl<S: Suite> Summary<S> {
    fn of(samples: &[S::Sample]) -> Option<Self> {
        let value = Quartiles::of(samples.iter().map(S::value))?;
        Some(Self { value, details: S::details(samples) })
    }
}

impl Latency {
    /// Those of a histogram of nanoseconds.
    pub(crate) fn of(latencies: &Histogram<u64>) -> Self {
        Self {
            items: latencies.len(),
            p50: latencies.value_at_quantile(0.5),
            p99: latencies.value_at_quantile(0.99),
            p999: latencies.value_at_quantile(0.999),
            max: latencies.max(),
        }
    }
}
