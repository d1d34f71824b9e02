//! Runs a plan: round by round, all queues interleaved, floors before and after.

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::floor::Floors;
use crate::interrupt;
use crate::machine::Machine;

use crate::results::{CellResult, Results, Round};
use crate::stats::Group;
use crate::suite::{Cell, Plan, Suite};

/// What a run has gathered so far.
struct Gathered<S: Suite> {
    /// What each cell gave, by group of the round.
    samples: Vec<BTreeMap<Group, Vec<S::Sample>>>,
    rounds: Vec<Round>,
    mixed: usize,
}

/// Measures all that `plan` asks for, or as much of it as there is time for.
///
/// A round measures one thing of all queues. It is short, so that the cores rarely move within it,
/// and the rounds of different tests alternate.
pub(crate) fn run<S: Suite>(plan: &Plan<S>) -> Result<Results<S>, Failure> {
    let progress = progress(plan);
    let begin = Instant::now();
    let samples = vec![BTreeMap::new(); plan.cells.len()];
    let mut gathered = Gathered::<S> { samples, rounds: Vec::new(), mixed: 0 };
    let mut before = Floors::measure(plan.cores);
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
            let after = Floors::measure(plan.cores);
            gathered.add(Round::between(before, after, plan.far_above_ns), first, measured);
            (before, first) = (after, first + cells.len());
        }
    }
    progress.finish_and_clear();
    Ok(gathered.results(plan))
}

impl<S: Suite> Gathered<S> {
    /// Adds what the cells from number `first` on gave in `round`; if that is one.
    fn add(&mut self, round: Option<Round>, first: usize, measured: Vec<S::Sample>) {
        let Some(round) = round else {
            self.mixed += 1;
            return;
        };
        self.rounds.push(round);
        for (all, sample) in self.samples[first..].iter_mut().zip(measured) {
            all.entry(round.group).or_default().push(sample);
        }
    }

    fn results(self, plan: &Plan<S>) -> Results<S> {
        let result = |(cell, samples): (&Cell<S>, &_)| {
            let (id, peer) = (cell.entry.id.clone(), cell.entry.is_peer());
            CellResult::new(cell.test, id, peer, cell.params.clone(), samples)
        };
        let results = plan.cells.iter().zip(&self.samples).map(result).collect();
        let machine = Machine::describe(&plan.all_cores);
        Results::new(machine, interrupt::requested(), self.mixed, self.rounds, results)
    }
}

/// Measures each cell once. Ends early, with those measured so far, when interrupted.
fn round<S: Suite>(
    plan: &Plan<S>,
    cells: &[Cell<S>],
    progress: &ProgressBar,
) -> Result<Vec<S::Sample>, Failure> {
    let mut samples = Vec::with_capacity(cells.len());
    for cell in cells {
        progress.set_message(format!("{} {}", S::name(cell.test), cell.entry.id));
        let broken = |what| Failure::Run(format!("{} is broken: {what}", cell.entry.id));
        let sample = S::measure(plan, cell).map_err(broken)?;
        // The producer of an interrupted schedule stops in the middle.
        if interrupt::requested() {
            break;
        }
        samples.push(sample);
        progress.inc(1);
    }
    Ok(samples)
}

/// On stderr, and only on a terminal. It has no thread of its own, which would disturb.
fn progress<S: Suite>(plan: &Plan<S>) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg:<28} {eta} left")
        .expect("valid template");
    ProgressBar::new((plan.rounds * plan.cells.len()) as u64).with_style(style)
}
