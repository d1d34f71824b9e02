//! The results, in the shape of the JSON file.

use corelane_bench::SwitchTest;
use corelane_report::Origin;
use corelane_simulate::{Switching, SwitchingRun};
use serde::Serialize;

use super::paper::{Comparison, compare};
use crate::options::{Model, SwitchArgs};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize)]
pub(super) struct SwitchOutcome {
    #[serde(flatten)]
    pub(super) origin: Origin,
    machine: String,
    model: Model,
    capacity: usize,
    switch_batch: usize,
    seed: u64,
    pub(super) cells: Vec<SwitchCell>,
    pub(super) comparisons: Vec<Comparison>,
}

/// A queue with a number of clients and a workload.
#[derive(Debug, Serialize)]
pub(super) struct SwitchCell {
    pub(super) queue: String,
    pub(super) test: SwitchTest,
    pub(super) clients: usize,
    pub(super) batch: usize,
    /// Packets that the switch has pulled, per second of simulated time.
    packets_per_s: f64,
    /// The share that it has dropped.
    dropped: f64,
    switch_misses_per_packet: f64,
    client_misses_per_packet: f64,
}

impl SwitchCell {
    pub(super) fn new(queue: &str, test: SwitchTest, task: &Switching, run: &SwitchingRun) -> Self {
        Self {
            queue: queue.into(),
            test,
            clients: task.clients,
            batch: task.batch,
            packets_per_s: run.packets_per_s(),
            dropped: run.dropped,
            switch_misses_per_packet: run.switch_misses,
            client_misses_per_packet: run.client_misses,
        }
    }

    pub(super) fn millions_per_s(&self) -> f64 {
        self.packets_per_s / 1e6
    }

    pub(super) fn switch_misses(&self) -> f64 {
        self.switch_misses_per_packet
    }
}

impl SwitchOutcome {
    pub(super) fn new(args: &SwitchArgs, cells: Vec<SwitchCell>) -> Self {
        Self {
            origin: Origin::now("lane simulate", SCHEMA),
            machine: args.machine.clone(),
            model: args.model,
            capacity: args.capacity.0,
            switch_batch: args.switch_batch.0,
            seed: args.seed,
            comparisons: compare(&cells),
            cells,
        }
    }

    /// The workloads, each with the packets that clients send in one go.
    pub(super) fn workloads(&self) -> Vec<(SwitchTest, usize)> {
        let mut workloads: Vec<_> = self.cells.iter().map(SwitchCell::workload).collect();
        workloads.dedup();
        let first = workloads.first().copied();
        // The cells of the second queue begin with the first workload again.
        let again = workloads.iter().skip(1).position(|workload| Some(*workload) == first);
        workloads.truncate(again.map_or(workloads.len(), |at| at + 1));
        workloads
    }

    pub(super) fn circumstances(&self) -> String {
        let Self { machine, model, capacity, switch_batch, seed, .. } = self;
        let counting = model.words();
        format!(
            "{machine}{counting}; capacity {capacity}, the switch pulls {switch_batch}; seed {seed}"
        )
    }
}

impl SwitchCell {
    pub(super) fn workload(&self) -> (SwitchTest, usize) {
        (self.test, self.batch)
    }
}
