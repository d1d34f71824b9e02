//! The results, in the shape of the JSON file.

use corelane_bench::paper_gain;
use corelane_report::Origin;
use corelane_simulate::{Rings, RingsRun};
use serde::Serialize;

use crate::options::{Model, RingsArgs};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize)]
pub(super) struct RingsOutcome {
    #[serde(flatten)]
    pub(super) origin: Origin,
    machine: String,
    model: Model,
    items: usize,
    seed: u64,
    pub(super) cells: Vec<RingsCell>,
    pub(super) comparisons: Vec<Comparison>,
}

/// A queue as both rings, of one size and with one size of batches.
#[derive(Debug, Serialize)]
pub(super) struct RingsCell {
    pub(super) queue: String,
    pub(super) entries: usize,
    pub(super) batch: usize,
    ns_per_request: f64,
    misses_per_request: Misses,
}

/// Cache misses of each thread.
#[derive(Debug, Serialize)]
struct Misses {
    submit: f64,
    kernel: f64,
    complete: f64,
}

/// A gain in the text of the thesis, and the simulated ones.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) batch: usize,
    pub(super) entries: usize,
    pub(super) paper: f64,
    /// How many times faster than the rings of io_uring each queue is.
    pub(super) gains: Vec<(String, f64)>,
}

impl RingsCell {
    pub(super) fn new(queue: &str, task: &Rings, run: &RingsRun) -> Self {
        let [submit, kernel, complete] = run.misses;
        Self {
            queue: queue.into(),
            entries: task.entries,
            batch: task.batch,
            ns_per_request: run.ns_per_request,
            misses_per_request: Misses { submit, kernel, complete },
        }
    }

    pub(super) fn ns(&self) -> f64 {
        self.ns_per_request
    }

    pub(super) fn kernel_misses(&self) -> f64 {
        self.misses_per_request.kernel
    }

    pub(super) fn application_misses(&self) -> f64 {
        self.misses_per_request.submit + self.misses_per_request.complete
    }
}

impl RingsOutcome {
    pub(super) fn new(args: &RingsArgs, cells: Vec<RingsCell>) -> Self {
        Self {
            origin: Origin::now("lane simulate", SCHEMA),
            machine: args.machine.clone(),
            model: args.model,
            items: args.items.0,
            seed: args.seed,
            comparisons: compare(&cells),
            cells,
        }
    }

    /// The sizes of batches, in order.
    pub(super) fn batches(&self) -> Vec<usize> {
        let mut batches: Vec<_> = self.cells.iter().map(|cell| cell.batch).collect();
        batches.sort_unstable();
        batches.dedup();
        batches
    }

    pub(super) fn circumstances(&self) -> String {
        let Self { machine, model, items, seed, .. } = self;
        format!("{machine}{}; {items} requests; seed {seed}", model.words())
    }
}

/// The gains for each size that the thesis names, if io-uring was simulated.
fn compare(cells: &[RingsCell]) -> Vec<Comparison> {
    let rings = cells.iter().filter(|cell| cell.queue == "io-uring");
    let compare = |rings: &RingsCell| {
        let (batch, entries) = (rings.batch, rings.entries);
        let is_alike = |cell: &&RingsCell| {
            (cell.batch, cell.entries) == (batch, entries) && cell.queue != rings.queue
        };
        let gain = |cell: &RingsCell| (cell.queue.clone(), rings.ns() / cell.ns());
        let gains = cells.iter().filter(is_alike).map(gain).collect();
        Some(Comparison { batch, entries, paper: paper_gain(batch, entries)?, gains })
    };
    rings.filter_map(compare).collect()
}
