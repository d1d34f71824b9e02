//! The cells of `lane bench replay`.

use std::sync::Arc;

use corelane_report::Failure;

use super::args::STRATEGIES;
use super::measure::measure;
use super::workload::Workload;
use super::{ReplayArgs, ReplaySetting, ends};
use crate::catalogue::{Entry, Measured, ids_among};
use crate::cores;
use crate::kinds::{TeamSize, Test, between};
use crate::params::{Length, Params};
use crate::plan::{Cell, Kernel, Plan, check_batches};
use crate::queues;
use crate::suite::pipeline::Maker;
use crate::suite::wait::{self, ChannelKernel, Strategy};
use crate::threads::Wait;

/// The channels that are candidates. Others are queues that are candidates themselves.
const CHANNELS: [&str; 7] =
    ["channel", "channel-local", "crossbeam-channel", "kanal", "flume", "crossfire", "std-channel"];

/// What may move a workload.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Candidate {
    /// A queue or a peer whose calls don't wait, with handles that wait.
    Queue(Maker, &'static Entry),
    /// A channel, whose calls wait themselves.
    Channel(&'static ChannelKernel, &'static Entry),
}

impl AsRef<Entry> for Candidate {
    fn as_ref(&self) -> &Entry {
        self.entry()
    }
}

impl Candidate {
    pub(crate) fn entry(&self) -> &'static Entry {
        match self {
            Self::Queue(_, entry) | Self::Channel(_, entry) => entry,
        }
    }

    pub(super) fn can_have(&self, size: TeamSize) -> bool {
        self.entry().info.sides.allow(size.producers, size.consumers)
    }

    /// The ways in which its threads can wait, the usual one first.
    pub(crate) fn strategies(&self) -> &'static [Strategy] {
        match self {
            Self::Channel(..) => &[Strategy::Adaptive],
            Self::Queue(_, entry) if entry.is_peer() => &[Strategy::Yield, Strategy::Spin],
            Self::Queue(..) => &STRATEGIES,
        }
    }

    /// Whether its threads can wait in ways that are chosen, and its calls move several items.
    pub(crate) fn is_queue(&self) -> bool {
        matches!(self, Self::Queue(..))
    }
}

/// All bounded queues and peers that keep items in order, corelane's first.
pub(crate) fn candidates() -> Vec<Candidate> {
    let is_channel = |entry: &Entry| CHANNELS.contains(&entry.info.id);
    let queues = queues::all().iter().filter(|one| !is_channel(&one.entry));
    let queues = queues.filter_map(|one| {
        let maker = one.kernel.boxes.filter(|_| one.entry.info.bounded)?;
        Some(Candidate::Queue(maker, &one.entry))
    });
    let channels = wait::entries().iter().filter(|one| is_channel(&one.entry));
    let channels = channels.filter_map(|one: &'static Measured<Vec<ChannelKernel>>| {
        let kernel = one.kernel.iter().find(|kernel| kernel.blocks())?;
        Some(Candidate::Channel(kernel, &one.entry))
    });
    let mut all: Vec<_> = queues.chain(channels).collect();
    all.sort_by_key(|one| one.entry().is_peer());
    all
}

impl ReplayArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let workload = Arc::new(Workload::read(&self.of).map_err(Failure::Usage)?);
        let (all, size) = (candidates(), workload.size());
        let misfit = |entry: &Entry| {
            let (id, sides) = (entry.info.id, between(entry.info.sides));
            format!(
                "{id} is between {sides}, and the workload has {size} threads; choose other queues"
            )
        };
        let named = ids_among(&all, &self.queues, |one| one.can_have(size), misfit)?;
        let is_chosen = |one: &&Candidate| {
            let entry = one.entry();
            let is_asked = match entry.is_peer() {
                true => !self.run.no_peers && (named.is_empty() || self.run.peers),
                false => named.is_empty(),
            };
            let is_named = named.iter().any(|id| id == entry.info.id);
            is_named || (is_asked && one.can_have(size) && !entry.is_literature())
        };
        let chosen: Vec<_> = all.iter().filter(is_chosen).copied().collect();
        let capacities = match self.capacity.is_empty() {
            true => vec![workload.capacity],
            false => self.capacity.iter().map(|capacity| capacity.0).collect(),
        };
        let mut cells = Vec::new();
        let length = Length::Time(self.duration.unwrap_or(workload.length()));
        for &capacity in &capacities {
            check_batches(&self.batch, capacity)?;
            for batch in self.batch.iter().map(|batch| batch.0) {
                for one in chosen.iter().filter(|one| batch == 1 || one.is_queue()) {
                    let is_wanted = |way: &&Strategy| !one.is_queue() || self.wait.contains(way);
                    for &strategy in one.strategies().iter().filter(is_wanted) {
                        let setting = setting(&workload, batch, strategy);
                        cells.push(cell(*one, &workload, capacity, setting, length));
                    }
                }
            }
        }
        let cores = cores::pair(self.of.cores)?;
        let notes = vec![format!("{}: {}", workload.name, workload.summary())];
        Plan::new(cells, vec![cores.producer, cores.consumer], &self.run, &named, notes)
    }
}

/// The parameters of a replay.
pub(crate) fn setting(workload: &Workload, batch: usize, strategy: Strategy) -> ReplaySetting {
    ReplaySetting { workload: workload.name.clone(), size: workload.size(), batch, strategy }
}

/// The measurement of a candidate.
pub(crate) fn cell(
    candidate: Candidate,
    workload: &Arc<Workload>,
    capacity: usize,
    setting: ReplaySetting,
    length: Length,
) -> Cell {
    let (probed, workload) = (setting.clone(), Arc::clone(workload));
    let params = Params { capacity, wait: Wait::Within, setting: setting.clone().into() };
    let kernel = Kernel::of(move |trial| {
        let ends = ends::open(&candidate, trial.params.capacity, &setting)?;
        measure(trial, ends, &workload, &setting)
    });
    let kernel =
        kernel.and_probe(move |params| ends::open(&candidate, params.capacity, &probed).map(drop));
    Cell { entry: candidate.entry(), test: Test::Replay, params, length, kernel }
}
