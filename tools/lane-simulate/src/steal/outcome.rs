//! The results, in the shape of the JSON file.

use corelane_report::Origin;
use serde::Serialize;

use super::cell::StealCell;
use super::paper::{Comparison, compare};
use crate::options::{Model, StealArgs, StealTest};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize)]
pub(super) struct StealOutcome {
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) machines: Vec<String>,
    model: Model,
    capacity: usize,
    batch: usize,
    seed: u64,
    pub(super) cells: Vec<StealCell>,
    pub(super) comparisons: Vec<Comparison>,
}

impl StealOutcome {
    pub(super) fn new(args: &StealArgs, cells: Vec<StealCell>) -> Self {
        Self {
            origin: Origin::now("lane simulate", SCHEMA),
            machines: args.machine.clone(),
            model: args.model,
            capacity: args.capacity.0,
            batch: args.batch.0,
            seed: args.seed,
            comparisons: compare(&cells),
            cells,
        }
    }

    /// The cells of a machine and a test.
    pub(super) fn of(&self, machine: &str, test: StealTest) -> Vec<&StealCell> {
        let is_one = |cell: &&StealCell| cell.machine == machine && cell.setting.test() == test;
        self.cells.iter().filter(is_one).collect()
    }

    pub(super) fn circumstances(&self) -> String {
        let Self { capacity, batch, seed, .. } = self;
        let machines = self.machines.join(", ");
        let counting = self.model.words();
        format!("{machines}{counting}; capacity {capacity}, {batch} at a time stolen; seed {seed}")
    }
}
