//! Which settings are measured, and which of them is chosen.

use std::sync::Arc;
use std::time::Duration;

use core_affinity::CoreId;
use corelane_report::{Choice, Failure, interrupt, name};

use super::goal::{Goal, Values};
use crate::catalogue::Entry;
use crate::kinds::TeamSize;
use crate::params::Length;
use crate::plan::{Cell, Plan};
use crate::results::Results;
use crate::runner::run;
use crate::suite::replay::{self, Candidate, Workload, candidates};
use crate::suite::wait::Strategy;

/// How many times the best value the usual queue and the recorded capacity may have to be chosen.
const OTHER_QUEUE: f64 = 1.05;
const OTHER_CAPACITY: f64 = 1.1;
/// A queue of byte records, which only measurements use for items.
const BYTES: &str = "bbq-bytes";
/// The channels that a program takes if others are no better.
const USUAL_CHANNELS: [&str; 2] = ["channel-local", "channel"];
/// Queues and channels that go on to the second part, besides the best peer.
const FINALISTS: usize = 3;
/// Batches of the second part, besides the recorded one.
const BATCHES: [usize; 3] = [1, 8, 32];
/// Capacities of the third part, besides the recorded one.
const CAPACITIES: [usize; 5] = [16, 64, 256, 1024, 4096];

/// A queue, and how it is used.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    pub(super) candidate: Candidate,
    pub(super) capacity: usize,
    pub(super) batch: usize,
    pub(super) strategy: Strategy,
}

impl Variant {
    pub(super) fn entry(&self) -> &'static Entry {
        self.candidate.entry()
    }

    pub(super) fn is_peer(&self) -> bool {
        self.entry().is_peer()
    }

    /// Whether it is a queue of corelane, and no channel.
    fn is_our_queue(&self) -> bool {
        !self.is_peer() && self.candidate.is_queue()
    }

    /// For programs.
    pub(super) fn choice(&self) -> Choice {
        Choice {
            queue: self.entry().info.id.into(),
            package: self.entry().package().map(str::to_owned),
            capacity: self.capacity,
            batch: self.batch,
            wait: self.candidate.is_queue().then(|| name(&self.strategy)),
        }
    }
}

/// A variant, and what was measured of it.
pub(super) type Ranked = (Variant, Values);

/// What a search has found.
pub(super) struct Outcome {
    /// The best queue of corelane, which is no channel.
    pub(super) ours: Variant,
    /// The best setting of each goal, of those that were measured together.
    pub(super) goals: Vec<(Goal, Ranked)>,
    /// Those that were measured together with the best one, the best first. There is at least one.
    pub(super) last: Vec<Ranked>,
    /// All queues, as they were measured first, the best first.
    pub(super) first: Vec<Ranked>,
    pub(super) parts: Vec<Results>,
}

impl Outcome {
    pub(super) fn best(&self) -> &Variant {
        &self.last[0].0
    }
}

/// What is searched.
#[derive(Debug)]
pub(super) struct Search {
    workload: Arc<Workload>,
    cores: Vec<CoreId>,
    rounds: usize,
    candidates: Vec<Candidate>,
}

impl Search {
    pub(super) fn new(
        workload: Arc<Workload>,
        cores: Vec<CoreId>,
        rounds: usize,
        has_peers: bool,
    ) -> Result<Self, Failure> {
        let size = workload.size();
        let fits = |one: &Candidate| {
            let entry = one.entry();
            let is_wanted = has_peers || !entry.is_peer();
            let is_usual = !entry.is_literature() && !entry.info.delayed && entry.is_for_any();
            let is_usual = is_usual && entry.info.id != BYTES;
            is_wanted && is_usual && entry.info.sides.allow(size.producers, size.consumers)
        };
        let candidates: Vec<_> = candidates().into_iter().filter(fits).collect();
        match candidates.is_empty() {
            true => Err(Failure::Usage(format!("no queue is for {size} threads"))),
            false => Ok(Self { workload, cores, rounds, candidates }),
        }
    }

    /// About how long it takes.
    pub(super) fn time(&self) -> Duration {
        let variants = self.candidates.len() + (FINALISTS + 2) * 10 + 2 * CAPACITIES.len();
        let each = Length::Time(self.workload.length()).time();
        each.saturating_mul((variants * self.rounds) as u32)
    }

    /// `None` if the run was interrupted before anything was compared.
    pub(super) fn run(&self, goal: Goal) -> Result<Option<Outcome>, Failure> {
        let mut parts = Vec::new();
        let first = self.compare(self.queues(), goal, &mut parts)?;
        if first.is_empty() {
            return Ok(None);
        }
        let second = self.compare(self.ways(&first), goal, &mut parts)?;
        let second = if second.is_empty() { first.clone() } else { second };
        let third = self.compare(self.capacities(&second), goal, &mut parts)?;
        let last = match third.is_empty() {
            true => second.clone(),
            false => recorded_first(third, goal, self.workload.capacity),
        };
        let ours = |all: &[Ranked]| {
            let ours = all.iter().filter(|one| one.0.is_our_queue()).copied().collect();
            let ours = usual_first(ours, goal, self.workload.size());
            recorded_first(ours, goal, self.workload.capacity).first().map(|one| one.0)
        };
        let goals = Goal::ALL.into_iter().filter_map(|goal| {
            let measured: Vec<_> = second.iter().map(|one| one.1).collect();
            Some((goal, second[goal.best(&measured)?]))
        });
        Ok(Some(Outcome {
            ours: ours(&last).or(ours(&second)).or(ours(&first)).unwrap_or(last[0].0),
            goals: goals.collect(),
            last,
            first,
            parts,
        }))
    }

    /// All queues as the program uses its queue now.
    fn queues(&self) -> Vec<Variant> {
        let (capacity, batch) = (self.workload.capacity, self.workload.batch());
        let variant = |candidate: &Candidate| {
            let strategy = candidate.strategies()[0];
            let batch = if candidate.is_queue() { batch.min(capacity) } else { 1 };
            Variant { candidate: *candidate, capacity, batch, strategy }
        };
        self.candidates.iter().map(variant).collect()
    }

    /// The best queues, the usual one, the best queue of corelane and the best peer, with all batches
    /// and ways to wait.
    fn ways(&self, first: &[Ranked]) -> Vec<Variant> {
        let size = self.workload.size();
        let others: [&dyn Fn(&Variant) -> bool; 3] = [
            &|one| is_usual(one, size) && one.is_our_queue(),
            &Variant::is_our_queue,
            &Variant::is_peer,
        ];
        let others = others.map(|is_it| first.iter().position(|(one, _)| is_it(one)));
        let mut finalists: Vec<_> = (0..first.len().min(FINALISTS)).collect();
        for at in others.into_iter().flatten() {
            if !finalists.contains(&at) {
                finalists.push(at);
            }
        }
        let mut all = Vec::new();
        for (variant, _) in finalists.into_iter().map(|at| first[at]) {
            let batches = BATCHES.iter().copied().filter(|batch| *batch <= variant.capacity);
            let mut batches: Vec<_> = batches.chain([variant.batch]).collect();
            batches.sort_unstable();
            batches.dedup();
            batches.retain(|batch| *batch == 1 || variant.candidate.is_queue());
            for &strategy in variant.candidate.strategies() {
                all.extend(batches.iter().map(|&batch| Variant { batch, strategy, ..variant }));
            }
        }
        all
    }

    /// The best setting of all, and of the other side of the comparison with peers, with all
    /// capacities.
    fn capacities(&self, second: &[Ranked]) -> Vec<Variant> {
        let Some((best, _)) = second.first() else { return Vec::new() };
        let other = second.iter().find(|(one, _)| one.is_peer() != best.is_peer());
        let mut all = Vec::new();
        for variant in [Some(*best), other.map(|one| one.0)].into_iter().flatten() {
            let recorded = variant.capacity;
            let is_other = |n: &usize| *n >= variant.batch && n.abs_diff(recorded) > recorded / 8;
            let capacities = [recorded].into_iter().chain(CAPACITIES.into_iter().filter(is_other));
            all.extend(capacities.map(|capacity| Variant { capacity, ..variant }));
        }
        all
    }

    /// Measures the settings, and ranks them, the best first. Settings that aren't possible are
    /// left out.
    fn compare(
        &self,
        mut variants: Vec<Variant>,
        goal: Goal,
        parts: &mut Vec<Results>,
    ) -> Result<Vec<Ranked>, Failure> {
        if interrupt::requested() {
            return Ok(Vec::new());
        }
        variants.retain(|variant| self.cell(variant).probe().is_ok());
        let cells = variants.iter().map(|variant| self.cell(variant)).collect();
        let results = run(&Arc::new(Plan::of(cells, self.cores.clone(), Some(self.rounds))))?;
        // Without a limit for far cores, all rounds are of one group.
        let measured = variants
            .into_iter()
            .zip(&results.results)
            .filter_map(|(variant, result)| Some((variant, result.groups.values().next()?.into())));
        let measured: Vec<Ranked> = measured.collect();
        parts.push(results.clone());
        let values: Vec<_> = measured.iter().map(|one| one.1).collect();
        let ranked = goal.ranked(&values).into_iter().map(|at| measured[at]).collect();
        Ok(usual_first(ranked, goal, self.workload.size()))
    }

    fn cell(&self, variant: &Variant) -> Cell {
        let &Variant { candidate, capacity, batch, strategy } = variant;
        let params = replay::setting(&self.workload, batch, strategy);
        let length = Length::Time(self.workload.length());
        replay::cell(candidate, &self.workload, capacity, params, length)
    }
}

/// Whether a program takes it if others are no better.
fn is_usual(variant: &Variant, size: TeamSize) -> bool {
    let id = variant.entry().info.id;
    let queue = if size == TeamSize::ONE { "linering" } else { "leased" };
    id == queue || USUAL_CHANNELS.contains(&id)
}

/// The best settings, of which one of the usual queue, or at least of corelane, comes first if it
/// is about as good.
fn usual_first(mut ranked: Vec<Ranked>, goal: Goal, size: TeamSize) -> Vec<Ranked> {
    let ways: [&dyn Fn(&Variant) -> bool; 2] = [&|one| is_usual(one, size), &|one| !one.is_peer()];
    let best = ranked.first().copied();
    let is_level =
        |one: &Ranked| best.is_some_and(|best| goal.is_level(&one.1, &best.1, OTHER_QUEUE));
    let first =
        ways.iter().find_map(|is_it| ranked.iter().position(|one| is_it(&one.0) && is_level(one)));
    if let Some(at) = first {
        ranked[..=at].rotate_right(1);
    }
    ranked
}

/// The best settings, of which the best one with the recorded capacity comes first if it is about as
/// good: the program's bursts may need this capacity.
fn recorded_first(mut ranked: Vec<Ranked>, goal: Goal, capacity: usize) -> Vec<Ranked> {
    let Some(best) = ranked.first().copied() else { return ranked };
    let is_it = |one: &Ranked| {
        let is_same = one.0.entry().info.id == best.0.entry().info.id;
        is_same && one.0.capacity == capacity && goal.is_level(&one.1, &best.1, OTHER_CAPACITY)
    };
    if let Some(at) = ranked.iter().position(is_it) {
        ranked[..=at].rotate_right(1);
    }
    ranked
}
