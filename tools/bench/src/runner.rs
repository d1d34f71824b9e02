//! Runs a plan: round by round, all queues interleaved, floors before and after.

use std::collections::BTreeMap;
use std::time::Instant;

use corelane_report::{Failure, ProgressBar, interrupt, name, progress};

use crate::floor::Floors;
use crate::host::Host;
use crate::params::Trial;
use crate::plan::{Cell, Plan};
use crate::results::{CellResult, Results, Round};
use crate::sample::Sample;
use crate::stats::Group;

/// What a run has gathered so far.
struct Gathered {
    samples: Vec<BTreeMap<Group, Vec<Sample>>>,
    rounds: Vec<Round>,
    mixed: usize,
}

/// Measures all that `plan` asks for, or as much of it as there is time for.
///
/// A round measures one thing of all queues. It is short, so that the cores rarely move within it,
/// and the rounds of different tests alternate.
///
/// # Errors
///
/// If a queue is broken.
pub fn run(plan: &Plan) -> Result<Results, Failure> {
    let length = plan.rounds * plan.cells.len();
    let progress = progress(length, "{bar:30} {percent:>3}% {msg:<28} {eta} left");
    let begin = Instant::now();
    let samples = vec![BTreeMap::new(); plan.cells.len()];
    let mut gathered = Gathered { samples, rounds: Vec::new(), mixed: 0 };
    let mut before = Floors::measure(plan.pair());
    for _ in 0..plan.rounds {
        if plan.budget.is_some_and(|budget| begin.elapsed() > budget) {
            break;
        }
        let mut first = 0;
        for cells in plan.cells.chunk_by(Cell::is_alike) {
            if interrupt::requested() {
                break;
            }
            let measured = round(plan, cells, &progress)?;
            let after = Floors::measure(plan.pair());
            gathered.add(Round::between(before, after, plan.far_above_ns), first, measured);
            (before, first) = (after, first + cells.len());
        }
    }
    progress.finish_and_clear();
    Ok(gathered.results(plan))
}

impl Gathered {
    /// Adds what the cells from number `first` on gave in `round`; if that is one.
    fn add(&mut self, round: Option<Round>, first: usize, measured: Vec<Sample>) {
        let Some(round) = round else {
            self.mixed += 1;
            return;
        };
        self.rounds.push(round);
        for (all, sample) in self.samples[first..].iter_mut().zip(measured) {
            all.entry(round.group).or_default().push(sample);
        }
    }

    fn results(self, plan: &Plan) -> Results {
        let result = |(cell, samples): (&Cell, &_)| {
            let (id, peer) = (cell.entry.info.id.to_owned(), cell.entry.is_peer());
            CellResult::new(cell.test, id, peer, cell.params.clone(), samples)
        };
        let results = plan.cells.iter().zip(&self.samples).map(result).collect();
        Results::new(Host::describe(&plan.cores), self.mixed, self.rounds, results)
    }
}

/// Measures each cell once. Ends early, with those measured so far, when interrupted.
fn round(plan: &Plan, cells: &[Cell], progress: &ProgressBar) -> Result<Vec<Sample>, Failure> {
    let mut samples = Vec::with_capacity(cells.len());
    for cell in cells {
        progress.set_message(format!("{} {}", name(&cell.test), cell.entry.info.id));
        let (params, length) = (&cell.params, cell.length);
        let trial = Trial { params, length, cores: &plan.cores, schedule: &plan.schedule };
        let broken = |what| Failure::Run(format!("{} is broken: {what}", cell.entry.info.id));
        let sample = cell.entry.measure(cell.test, &trial).map_err(broken)?;
        // The producer of an interrupted schedule stops in the middle.
        if interrupt::requested() {
            break;
        }
        samples.push(sample);
        progress.inc(1);
    }
    Ok(samples)
}
