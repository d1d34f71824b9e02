//! Runs a plan: round by round, all queues interleaved, floors before and after.

use std::collections::BTreeMap;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cell::{Run, Sample};
use crate::failure::Failure;
use crate::floor::Floors;
use crate::interrupt;
use crate::machine::Machine;
use crate::plan::{Cell, Plan};
use crate::results::{CellResult, Results, Round};
use crate::stats::Group;

/// What each cell gave, by group of the round.
type Samples = BTreeMap<Group, Vec<Sample>>;

/// Measures all that `plan` asks for, or as much of it as there is time for.
pub(crate) fn run(plan: &Plan) -> Result<Results, Failure> {
    let progress = progress(plan);
    let begin = Instant::now();
    let mut samples = vec![Samples::new(); plan.cells.len()];
    let (mut rounds, mut mixed) = (Vec::new(), 0);
    for _ in 0..plan.rounds {
        if interrupt::requested() || plan.budget.is_some_and(|budget| begin.elapsed() > budget) {
            break;
        }
        let floors = Floors::measure(plan.cores);
        let measured = round(plan, &progress)?;
        match Round::between(floors, Floors::measure(plan.cores), plan.far_above_ns) {
            Some(round) => {
                rounds.push(round);
                for (all, sample) in samples.iter_mut().zip(measured) {
                    all.entry(round.group).or_default().push(sample);
                }
            }
            None => mixed += 1,
        }
    }
    progress.finish_and_clear();
    let results = plan.cells.iter().zip(&samples).map(|(cell, samples)| result(cell, samples));
    let machine = Machine::describe(plan.cores);
    Ok(Results::new(machine, interrupt::requested(), mixed, rounds, results.collect()))
}

/// Measures each cell once. Ends early, with those measured so far, when interrupted.
fn round(plan: &Plan, progress: &ProgressBar) -> Result<Vec<Sample>, Failure> {
    let mut samples = Vec::with_capacity(plan.cells.len());
    for cell in &plan.cells {
        progress.set_message(format!("{} {}", cell.test.name(), cell.entry.id));
        let sample = measure(plan, cell)?;
        // The producer of an interrupted schedule stops in the middle.
        if interrupt::requested() {
            break;
        }
        samples.push(sample);
        progress.inc(1);
    }
    Ok(samples)
}

fn measure(plan: &Plan, cell: &Cell) -> Result<Sample, Failure> {
    let run = Run {
        params: &cell.params,
        length: cell.length,
        cores: plan.cores,
        schedule: &plan.schedule,
    };
    cell.kernels().measure(cell.test, &run).map_err(|wrong| {
        let (id, test) = (&cell.entry.id, cell.test.name());
        let items = wrong.items;
        Failure::Run(format!("{id} is broken: {items} items of {test} came out of order or lost"))
    })
}

fn result(cell: &Cell, samples: &Samples) -> CellResult {
    let (id, peer) = (cell.entry.id.clone(), cell.entry.is_peer());
    CellResult::new(cell.test, id, peer, cell.params.clone(), samples)
}

/// On stderr, and only on a terminal. It has no thread of its own, which would disturb.
fn progress(plan: &Plan) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg:<28} {eta} left")
        .expect("valid template");
    ProgressBar::new((plan.rounds * plan.cells.len()) as u64).with_style(style)
}
