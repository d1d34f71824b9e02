//! `lane simulate rings`: the rings of io_uring on other machines, and queues in their place.

mod outcome;
mod page;

use std::process::ExitCode;
use std::time::Duration;

use coherence::Machine;
use corelane_bench::check_entries;
use corelane_report::{Failure, Files, Progress, announce, interrupt, shared, unknown};
use corelane_simulate::{Rings, RingsQueue, rings_queues};
use rayon::prelude::*;

use crate::machines::Target;
use crate::options::RingsArgs;
use crate::streams::PROGRESS;
use outcome::{RingsCell, RingsOutcome};

/// How long it takes to simulate a request, roughly.
const REQUEST: Duration = Duration::from_micros(4);

pub(crate) fn carry_out(args: &RingsArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let queues = queues(&args.queues)?;
    let target = Target::find(&args.machine)?;
    let outcome = simulate(args, &target, &queues)?;
    files.publish(&outcome, &page::document(&outcome, target.told))?;
    Ok(interrupt::exit_code(0))
}

/// The queues that `names` stand for; all if there are none.
fn queues(names: &[String]) -> Result<Vec<RingsQueue>, Failure> {
    let all = rings_queues();
    if names.is_empty() {
        return Ok(all.into());
    }
    let find = |name: &String| {
        let id = name.replace('_', "-");
        let found = all.iter().find(|queue| queue.id == id).copied();
        found.ok_or_else(|| unknown(name, all.iter().map(|queue| queue.id)))
    };
    names.iter().map(find).collect()
}

fn simulate(
    args: &RingsArgs,
    target: &Target,
    queues: &[RingsQueue],
) -> Result<RingsOutcome, Failure> {
    let tasks = tasks(args, &args.model.of(target.machine.clone()))?;
    let jobs = queues.iter().flat_map(|queue| tasks.iter().map(move |task| (queue, task)));
    let jobs: Vec<_> = jobs.collect();
    for (queue, task) in &jobs {
        queue.probe(task.entries).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose other --entries", queue.id))
        })?;
    }
    let requests: u64 = jobs.iter().map(|(_, task)| task.warm_up + task.items).sum();
    let each = REQUEST.mul_f64(requests as f64);
    announce(&format!("simulates {} pairs of rings", jobs.len()), shared(each));
    let progress = Progress::new(jobs.len(), PROGRESS);
    let cells: Result<Vec<Option<RingsCell>>, Failure> = jobs
        .par_iter()
        .map(|(queue, task)| {
            if interrupt::requested() {
                return Ok(None);
            }
            let run = queue.run(task).map_err(|error| {
                Failure::Run(format!("{} with {} entries: {error}", queue.id, task.entries))
            })?;
            progress.inc(1);
            Ok(Some(RingsCell::new(queue.id, task, &run)))
        })
        .collect();
    progress.finish();
    Ok(RingsOutcome::new(args, cells?.into_iter().flatten().collect()))
}

/// What each queue is simulated with.
fn tasks(args: &RingsArgs, machine: &Machine) -> Result<Vec<Rings>, Failure> {
    let cores = machine.topology.cores();
    if cores < Rings::CORES {
        return Err(Failure::Usage(format!(
            "{} has {cores} cores, and the three threads need one each: choose another --machine",
            args.machine
        )));
    }
    check_entries(&args.entries)?;
    let mut tasks = Vec::new();
    for batch in args.batch.iter().map(|batch| usize::from(*batch)) {
        for entries in args.entries.iter().map(|entries| *entries as usize) {
            tasks.push(Rings {
                machine: machine.clone(),
                entries,
                batch,
                seed: args.seed,
                warm_up: 4 * entries as u64 + args.items.0 as u64 / 4,
                items: args.items.0 as u64,
            });
        }
    }
    Ok(tasks)
}
