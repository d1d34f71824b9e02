//! Runs a plan: round by round, all queues interleaved, floors before and after.

use std::collections::BTreeMap;
use std::time::Instant;

use corelane_report::{Failure, Origin, ProgressBar, interrupt, name, progress};

use crate::floor::Floors;
use crate::host::Host;
use crate::params::Trial;
use crate::plan::{Cell, Plan};
use crate::results::{CellResult, Results, Round, SCHEMA};
use crate::sample::Sample;

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
    let mut samples: Vec<BTreeMap<_, Vec<_>>> = vec![BTreeMap::new(); plan.cells.len()];
    let (mut rounds, mut mixed_rounds) = (Vec::new(), 0);
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
            match Round::between(before, after, plan.far_above_ns) {
                Some(round) => {
                    rounds.push(round);
                    for (all, sample) in samples[first..].iter_mut().zip(measured) {
                        all.entry(round.group).or_default().push(sample);
                    }
                }
                None => mixed_rounds += 1,
            }
            (before, first) = (after, first + cells.len());
        }
    }
    progress.finish_and_clear();
    let results = plan.cells.iter().zip(&samples);
    let results = results.map(|(cell, samples)| CellResult::new(cell, samples)).collect();
    let machine = Host::describe(&plan.cores);
    Ok(Results { origin: Origin::now("lane", SCHEMA), machine, mixed_rounds, rounds, results })
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
