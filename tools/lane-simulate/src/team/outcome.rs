//! What came out, in the shape of the JSON file.

use corelane_bench::{TeamSize, Workload};
use corelane_report::Origin;
use corelane_simulate::{Member, Queue, Team, TeamRun};
use serde::Serialize;

use super::beside::Beside;
use super::paper::{Comparison, Ranking, compare, rank};
use crate::options::{Model, TeamArgs};
use crate::outcome::{LineCosts, PerItem, by_line};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// Everything that was simulated.
#[derive(Debug, Serialize)]
pub(super) struct TeamOutcome {
    #[serde(flatten)]
    pub(super) origin: Origin,
    machine: String,
    model: Model,
    capacity: usize,
    warm_up: u64,
    items: u64,
    seed: u64,
    /// Whether numbers of threads grow step by step, as in the paper's figures.
    pub(super) sweep: bool,
    pub(super) cells: Vec<TeamCell>,
    pub(super) missing: Vec<Missing>,
    pub(super) beside: Option<Beside>,
    pub(super) comparisons: Vec<Comparison>,
    /// Which queues it says are ahead, if there was a sweep.
    pub(super) rankings: Vec<Ranking>,
}

/// A result that there isn't.
#[derive(Debug, Serialize)]
pub(super) struct Missing {
    pub(super) why: String,
    pub(super) is_fault: bool,
}

/// One queue with so many threads.
#[derive(Debug, Serialize)]
pub(super) struct TeamCell {
    pub(super) queue: String,
    pub(super) producers: usize,
    pub(super) consumers: usize,
    pub(super) workload: Workload,
    /// Whether items are counted when they are pushed, since some are overwritten, not when they are popped.
    pub(super) overwrites: bool,
    pub(super) bounded: bool,
    /// Items that were popped, or pushed, per second of simulated time.
    pub(super) items_per_s: f64,
    pub(super) misses_per_item: f64,
    /// Number of these items while everything was counted.
    items: u64,
    pub(super) sides: [TeamSide; 2],
}

/// What the threads of a side did.
#[derive(Debug, Serialize)]
pub(super) struct TeamSide {
    /// Items of the slowest thread for each of the fastest.
    pub(super) fairness: f64,
    /// How often the queue was found full or empty, for each item.
    pub(super) failed_per_item: f64,
    items: Vec<u64>,
    #[serde(flatten)]
    pub(super) costs: PerItem,
    pub(super) lines: Vec<LineCosts>,
}

impl TeamSide {
    /// Costs are those of all threads, for each of so many items.
    fn new(members: &[Member], counted: u64) -> Self {
        let items: Vec<u64> = members.iter().map(|member| member.items).collect();
        let most = items.iter().max().copied().unwrap_or_default().max(1);
        let least = items.iter().min().copied().unwrap_or_default();
        let failed: u64 = members.iter().map(|member| member.failed).sum();
        let (costs, lines) = by_line(members.iter().map(|member| &member.core), counted);
        Self {
            fairness: least as f64 / most as f64,
            failed_per_item: failed as f64 / counted as f64,
            items,
            costs,
            lines,
        }
    }
}

impl TeamCell {
    pub(super) fn new(queue: &Queue, size: TeamSize, workload: Workload, run: &TeamRun) -> Self {
        Self {
            queue: queue.id.into(),
            producers: size.producers,
            consumers: size.consumers,
            workload,
            overwrites: queue.info.overwrites,
            bounded: queue.info.bounded,
            items_per_s: run.items_per_s(),
            misses_per_item: run.misses_per_item(),
            items: run.items,
            sides: run.members.each_ref().map(|members| TeamSide::new(members, run.items)),
        }
    }

    pub(super) fn millions_per_s(&self) -> f64 {
        self.items_per_s / 1e6
    }
}

impl TeamOutcome {
    pub(super) fn new(
        args: &TeamArgs,
        team: &Team,
        beside: Option<Beside>,
        cells: Vec<TeamCell>,
        missing: Vec<Missing>,
    ) -> Self {
        Self {
            origin: Origin::now("lane simulate", SCHEMA),
            machine: args.machine.clone(),
            model: args.model,
            capacity: team.capacity,
            warm_up: team.warm_up,
            items: team.items,
            seed: args.seed,
            sweep: args.sweep,
            beside,
            comparisons: if args.sweep { compare(&cells) } else { Vec::new() },
            rankings: if args.sweep { rank(&cells) } else { Vec::new() },
            cells,
            missing,
        }
    }

    pub(super) fn by_workload(&self) -> impl Iterator<Item = &[TeamCell]> {
        self.cells.chunk_by(|a, b| a.workload == b.workload)
    }

    /// What is to be known of queues that overwrite, if there are some.
    pub(super) fn of_overwriting(&self) -> Option<String> {
        let mut names: Vec<_> =
            self.cells.iter().filter(|cell| cell.overwrites).map(|cell| &*cell.queue).collect();
        names.dedup();
        (!names.is_empty()).then(|| {
            format!(
                "Of {} items are counted when they are pushed: some are overwritten.",
                names.join(", ")
            )
        })
    }

    /// Where what stands beside it was measured, for people.
    pub(super) fn measured(&self) -> Option<String> {
        let Beside { command, machine, .. } = self.beside.as_ref()?;
        Some(format!(
            "Measured, not simulated, are the figures that say so: on {machine}, by `{command}`."
        ))
    }

    pub(super) fn circumstances(&self) -> String {
        let Self { machine, capacity, warm_up, items, seed, .. } = self;
        let counting = self.model.words();
        format!(
            "{machine}{counting}; capacity {capacity}, {items} items after {warm_up}; seed {seed}"
        )
    }
}
