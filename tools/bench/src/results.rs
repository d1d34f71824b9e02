//! The results of a run, in the shape of the JSON file.

use std::collections::BTreeMap;

use corelane_report::Origin;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalogue::{self, Entry};
use crate::floor::Floors;
use crate::host::Host;
use crate::kinds::{Test, WORD};
use crate::params::Params;
use crate::plan::Cell;
use crate::sample::{Sample, Summary};
use crate::stats::{Group, Quartiles};
use crate::suite::Suite;
use crate::suite::spsc::Regime;

/// Version of the JSON file's shape.
pub(crate) const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) machine: Host,
    /// Rounds left out because the cores moved between near and far during them.
    pub(crate) mixed_rounds: usize,
    pub(crate) rounds: Vec<Round>,
    /// One entry per queue, test and parameters.
    pub results: Vec<CellResult>,
}

/// One round that counts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) line_rtt_ns: f64,
    pub(crate) block_handoff_ns_per_u64: f64,
    /// Two cores move lines; `None` in results of programs that compared streams with the value
    /// above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line_stream_ns_per_u64: Option<f64>,
    /// Two threads on two cores wake each other in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) futex_rtt_ns: Option<f64>,
    /// The same on one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) futex_rtt_one_core_ns: Option<f64>,
    pub(crate) group: Group,
}

impl Round {
    /// The round between two measurements of the floors; `None` if the cores moved in between.
    pub(crate) fn between(begin: Floors, end: Floors, far_above_ns: f64) -> Option<Self> {
        let group = Group::of(begin.line_rtt_ns, far_above_ns);
        let futex = |at: usize| {
            let both = begin.futex_rtt_ns.zip(end.futex_rtt_ns);
            both.map(|(begin, end)| (begin[at] + end[at]) / 2.0)
        };
        (Group::of(end.line_rtt_ns, far_above_ns) == group).then_some(Self {
            line_rtt_ns: (begin.line_rtt_ns + end.line_rtt_ns) / 2.0,
            block_handoff_ns_per_u64: (begin.block_handoff_ns + end.block_handoff_ns) / 2.0,
            line_stream_ns_per_u64: Some((begin.line_stream_ns + end.line_stream_ns) / 2.0),
            futex_rtt_ns: futex(0),
            futex_rtt_one_core_ns: futex(1),
            group,
        })
    }
}

/// The results of one cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "CellFile")]
pub struct CellResult {
    suite: String,
    /// The test.
    pub test: Test,
    /// The queue's id.
    pub queue: String,
    pub(crate) peer: bool,
    /// Whether it is no queue, but what threads cost without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) floor: bool,
    /// The version of the peer's crate.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The parameters.
    pub params: Params,
    unit: String,
    /// The values; a group without rounds is left out.
    pub groups: BTreeMap<Group, Summary>,
}

/// The same as a file has it: the suite says which parameters they are.
#[derive(Deserialize)]
struct CellFile {
    suite: String,
    test: Test,
    queue: String,
    peer: bool,
    #[serde(default)]
    floor: bool,
    version: Option<String>,
    params: Value,
    unit: String,
    groups: BTreeMap<Group, Summary>,
}

impl TryFrom<CellFile> for CellResult {
    type Error = serde_json::Error;

    fn try_from(file: CellFile) -> Result<Self, Self::Error> {
        let CellFile { suite, test, queue, peer, floor, version, params, unit, groups } = file;
        let params = Params::read(&suite, params)?;
        Ok(Self { suite, test, queue, peer, floor, version, params, unit, groups })
    }
}

impl Results {
    /// The groups that have rounds.
    pub fn groups(&self) -> impl Iterator<Item = Group> {
        Group::ALL.into_iter().filter(|group| self.rounds_of(*group).next().is_some())
    }

    /// The machine in a line.
    pub(crate) fn machine(&self) -> String {
        self.machine.summary(self.results.iter().any(|result| result.suite().about().pins))
    }

    /// The number of counted rounds.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    pub(crate) fn rounds_of(&self, group: Group) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| round.group == group)
    }

    /// Nanoseconds of a line's round trip in the rounds of `group`.
    pub fn line_rtt(&self, group: Group) -> Option<Quartiles> {
        Quartiles::of(self.rounds_of(group).map(|round| round.line_rtt_ns))
    }

    /// Nanoseconds per u64 of a block hand-off in the rounds of `group`.
    pub fn block_handoff(&self, group: Group) -> Option<Quartiles> {
        Quartiles::of(self.rounds_of(group).map(|round| round.block_handoff_ns_per_u64))
    }

    /// Nanoseconds per u64 of a stream of lines in the rounds of `group`.
    pub fn line_stream(&self, group: Group) -> Option<Quartiles> {
        Quartiles::of(self.rounds_of(group).filter_map(|round| round.line_stream_ns_per_u64))
    }

    /// The floor of streams: its name, and nanoseconds for an item of so many bytes in the rounds
    /// of `group`.
    pub(crate) fn stream_floor(&self, bytes: usize, group: Group) -> Option<(&'static str, f64)> {
        let words = (bytes / WORD) as f64;
        match self.line_stream(group) {
            Some(floor) => Some(("line_stream", floor.median * words)),
            None => Some(("block_handoff", self.block_handoff(group)?.median * words)),
        }
    }

    /// Nanoseconds in which two threads wake each other in the rounds of `group`: on two cores, and
    /// on one.
    pub(crate) fn futex_rtt(&self, group: Group) -> [Option<Quartiles>; 2] {
        let of = |value: fn(&Round) -> Option<f64>| {
            Quartiles::of(self.rounds_of(group).filter_map(value))
        };
        [of(|round| round.futex_rtt_ns), of(|round| round.futex_rtt_one_core_ns)]
    }

    /// The results by test and parameters, without the matrices. Each list has the fastest queue of
    /// `group` first.
    pub(crate) fn tables(&self, group: Group) -> Vec<Vec<&CellResult>> {
        let mut tables: Vec<Vec<&CellResult>> = Vec::new();
        let is_wanted = |r: &&CellResult| !r.is_of_grid() && r.groups.contains_key(&group);
        for result in self.results.iter().filter(is_wanted) {
            match tables.iter_mut().find(|table| table[0].is_alike(result)) {
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
    pub(crate) fn new(cell: &Cell, samples: &BTreeMap<Group, Vec<Sample>>) -> Self {
        let &Cell { entry, test, ref params, .. } = cell;
        let summarise = |(group, samples): (&Group, &Vec<_>)| {
            Some((*group, Summary::of(samples, test.counts_messages())?))
        };
        Self {
            suite: params.setting.suite().about().name.into(),
            test,
            queue: entry.info.id.to_owned(),
            peer: entry.is_peer(),
            floor: entry.is_floor,
            version: entry.version().map(str::to_owned),
            params: params.clone(),
            unit: test.unit().into(),
            groups: samples.iter().filter_map(summarise).collect(),
        }
    }

    pub(crate) fn suite(&self) -> &dyn Suite {
        self.params.setting.suite()
    }

    /// The queue, with a mark if it is unbounded and its name doesn't say so, or if it is a floor.
    pub(crate) fn label(&self) -> String {
        let queue = self.suite().label(&self.queue);
        match self.is_bounded() || self.queue.ends_with("-unbounded") {
            true if self.floor => format!("{queue} (floor)"),
            true => queue,
            false => format!("{queue} (unbounded)"),
        }
    }

    /// The title of a chart, and of one of its tables if the chart has several.
    pub(crate) fn titles(&self) -> (String, Option<String>) {
        self.suite().titles(self)
    }

    pub(crate) fn title(&self) -> String {
        let (title, part) = self.titles();
        part.map_or(title.clone(), |part| format!("{title}, {part}"))
    }

    pub(crate) fn legend(&self) -> &'static str {
        self.suite().legend(self.test)
    }

    /// The machine's own limit with which it is compared, if there is one.
    pub(crate) fn floor_of(&self, all: &Results, group: Group) -> Option<(&'static str, f64)> {
        self.suite().floor(all, self.test, group)
    }

    /// The same with the version of a crate.
    pub(crate) fn kept_label(&self) -> String {
        let version = self.version.as_ref().map(|version| format!(" {version}"));
        self.label() + &version.unwrap_or_default()
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.suite().bounds_all() || catalogue::find(&self.queue).is_none_or(Entry::is_bounded)
    }

    /// Whether it belongs into a matrix, and not into a table.
    pub(crate) fn is_of_grid(&self) -> bool {
        self.params.spsc().is_some_and(|setting| setting.regime == Regime::Grid)
    }

    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.test == other.test && self.params.is_alike(&other.params)
    }

    /// The median of the rounds of `group`; infinite if there are none.
    pub fn median(&self, group: Group) -> f64 {
        self.groups.get(&group).map_or(f64::INFINITY, |summary| summary.value.median)
    }
}

/// The comparable results of a table, without floors: bounded queues; or unbounded queues if none
/// of corelane's is bounded.
pub(crate) fn comparable<'a>(table: &[&'a CellResult]) -> Vec<&'a CellResult> {
    let table = || table.iter().copied().filter(|result| !result.floor);
    let ours = || table().filter(|result| !result.peer);
    let are_bounded = ours().next().is_none() || ours().any(|result| result.is_bounded());
    table().filter(|result| result.is_bounded() == are_bounded).collect()
}

/// The fastest comparable peer of a sorted table.
pub(crate) fn best_peer<'a>(table: &[&'a CellResult]) -> Option<&'a CellResult> {
    comparable(table).into_iter().find(|result| result.peer)
}
