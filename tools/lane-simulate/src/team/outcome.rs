//! The results, in the shape of the JSON file.

use corelane_report::Origin;
use corelane_simulate::Team;
use serde::Serialize;

use super::beside::Beside;
use super::cell::TeamCell;
use super::paper::{Comparison, Ranking, compare, rank};
use crate::options::{Model, TeamArgs};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
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
    /// The paper's rankings of queues, if there was a sweep.
    pub(super) rankings: Vec<Ranking>,
}

/// A missing result.
#[derive(Debug, Serialize)]
pub(super) struct Missing {
    pub(super) why: String,
    pub(super) is_fault: bool,
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

    /// A note on queues that overwrite, if there are some.
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

    /// Where the measurements beside the simulation were made, for people.
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
