//! Everything a run needs.

use std::time::Duration;

use core_affinity::CoreId;
use corelane_report::{Failure, Files, Positive};

use crate::catalogue::Entry;
use crate::cores;
use crate::kinds::Test;
use crate::options::RunArgs;
use crate::pair::{Cores, Wait};
use crate::params::{Length, Params};
use crate::schedule::Arrival;

/// What to measure, checked and spelled out.
#[derive(Debug)]
pub struct Plan {
    /// What is measured, with those next to each other that differ only in the queue.
    pub(crate) cells: Vec<Cell>,
    pub(crate) rounds: usize,
    pub(crate) budget: Option<Duration>,
    /// Where threads run, in the order they are given cores. Floors are measured between the first two.
    pub(crate) cores: Vec<CoreId>,
    pub(crate) far_above_ns: f64,
    pub(crate) schedule: Vec<Arrival>,
    /// What the user should know about the choices made here.
    pub notes: Vec<String>,
    /// Where the results go.
    pub files: Files,
}

/// One queue, one test, one set of parameters.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) entry: &'static Entry,
    pub(crate) test: Test,
    pub(crate) params: Params,
    pub(crate) length: Length,
}

impl Cell {
    /// Whether both measure the same of different queues.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.test == other.test && self.params == other.params
    }
}

impl Plan {
    /// A plan for `cells`, without those whose queues can't have their set-up, with a note; refused if one of `named` can't.
    /// Files are opened last, so that a refusal leaves none behind.
    pub(crate) fn new(
        cells: Vec<Cell>,
        cores: Vec<CoreId>,
        run: &RunArgs,
        named: &[String],
        mut notes: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut possible = Vec::with_capacity(cells.len());
        for cell in cells {
            let id = cell.entry.info.id;
            match cell.entry.probe(&cell.params) {
                Ok(()) => possible.push(cell),
                Err(reason) if named.iter().any(|name| name == id) => {
                    return Err(Failure::Usage(format!("{id} can't be measured: {reason}")));
                }
                Err(reason) => {
                    let note = format!("{id} left out: {reason}");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        if possible.is_empty() {
            let reason = match notes.is_empty() {
                true => "choose other queues, or another --test".into(),
                false => notes.join("; "),
            };
            return Err(Failure::Usage(format!("nothing to measure: {reason}")));
        }
        // Whatever a round trip takes on one core, it isn't far.
        let is_same = Cores::of(&cores).same();
        Ok(Self {
            cells: possible,
            rounds: run.rounds.0,
            budget: None,
            far_above_ns: if is_same { f64::INFINITY } else { run.far_above.0 },
            cores,
            schedule: Vec::new(),
            notes,
            files: Files::open(&run.files)?,
        })
    }

    /// Where both sides of a pair run, and floors are measured.
    pub fn pair(&self) -> Cores {
        Cores::of(&self.cores)
    }
}

pub(crate) fn check_batches(batches: &[Positive], capacity: usize) -> Result<(), Failure> {
    match batches.iter().find(|batch| batch.0 > capacity) {
        Some(Positive(batch)) => Err(Failure::Usage(format!(
            "--batch {batch} is more than --capacity {capacity}; choose 1 to {capacity}"
        ))),
        None => Ok(()),
    }
}

/// The cells of one set of parameters: one for each queue.
pub(crate) fn row(
    entries: impl IntoIterator<Item = &'static Entry>,
    test: Test,
    params: Params,
    length: Length,
) -> impl Iterator<Item = Cell> {
    let cell = move |entry| Cell { entry, test, params: params.clone(), length };
    entries.into_iter().map(cell)
}

/// What so many threads do while they wait. Those that share a core must let the others run.
pub(crate) fn wait(wanted: Wait, threads: usize, cores: &[CoreId]) -> Wait {
    if cores::are_shared(threads, cores) { Wait::Yield } else { wanted }
}
