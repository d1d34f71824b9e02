//! `lane simulate switch`: a switch and its clients on other machines.

mod outcome;
mod page;
mod paper;

use std::process::ExitCode;
use std::time::Duration;

use coherence::{Machine, Time};
use corelane_bench::SwitchTest;
use corelane_report::{Failure, Files, Positive, Progress, announce, interrupt, shared};
use corelane_simulate::{Queue, Switching, all};
use rayon::prelude::*;

use crate::machines::Target;
use crate::options::SwitchArgs;
use crate::streams::PROGRESS;
use outcome::{SwitchCell, SwitchOutcome};

/// How long it takes to simulate a microsecond of a core, roughly.
const MICROSECOND: Duration = Duration::from_micros(6);
/// Numbers of clients that are simulated unless others are given.
const CLIENTS: [usize; 7] = [2, 4, 8, 16, 24, 32, 38];

pub(crate) fn carry_out(args: &SwitchArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let target = Target::find(&args.machine)?;
    let outcome = simulate(args, &target)?;
    files.publish(&outcome, &page::document(&outcome, target.told))?;
    Ok(interrupt::exit_code(0))
}

fn simulate(args: &SwitchArgs, target: &Target) -> Result<SwitchOutcome, Failure> {
    let machine = args.model.of(target.machine.clone());
    let tasks = tasks(args, &machine)?;
    let is_usual = |queue: &&Queue| match args.queues.is_empty() {
        true => queue.info.bounded,
        false => args.queues.iter().any(|id| id == queue.id),
    };
    let queues: Vec<_> = all().iter().filter(is_usual).collect();
    for queue in &queues {
        queue.probe(Switching::config(args.capacity.0)).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", queue.id))
        })?;
    }
    let jobs = queues.iter().flat_map(|queue| tasks.iter().map(move |task| (*queue, task)));
    let jobs: Vec<_> = jobs.collect();
    let cores: usize = jobs.iter().map(|(_, (_, task))| task.clients + 1).sum();
    let each = MICROSECOND.mul_f64(1.5 * args.duration.as_secs_f64() * 1e6);
    announce(&format!("simulates {} switches", jobs.len()), shared(each * cores as u32));
    let progress = Progress::new(cores, PROGRESS);
    let cells: Result<Vec<Option<SwitchCell>>, Failure> = jobs
        .par_iter()
        .map(|(queue, (test, task))| {
            if interrupt::requested() {
                return Ok(None);
            }
            let run = queue.switch(task).map_err(|error| {
                Failure::Run(format!("{} with {} clients: {error}", queue.id, task.clients))
            })?;
            progress.inc(task.clients + 1);
            Ok(Some(SwitchCell::new(queue.id, *test, task, &run)))
        })
        .collect();
    progress.finish();
    Ok(SwitchOutcome::new(args, cells?.into_iter().flatten().collect()))
}

/// What each queue is simulated with.
fn tasks(args: &SwitchArgs, machine: &Machine) -> Result<Vec<(SwitchTest, Switching)>, Failure> {
    let most = Switching::most_clients(machine);
    let usual: Vec<_> = CLIENTS.into_iter().filter(|clients| *clients <= most).collect();
    let clients = if args.clients.is_empty() { &usual } else { &args.clients };
    if let Some(wrong) = clients.iter().find(|clients| !(2..=most).contains(clients)) {
        return Err(Failure::Usage(format!(
            "{} has cores for 2 to {most} clients, and not for {wrong}; choose other --clients, or another \
             --machine",
            args.machine
        )));
    }
    let time = Time::ns(args.duration.as_nanos() as u64);
    let mut tasks = Vec::new();
    for &test in &args.test {
        for &Positive(batch) in &args.batch {
            tasks.extend(clients.iter().map(|&clients| {
                let task = Switching {
                    machine: machine.clone(),
                    clients,
                    exchange: test == SwitchTest::RequestResponse,
                    batch,
                    switch_batch: args.switch_batch.0,
                    capacity: args.capacity.0,
                    seed: args.seed,
                    warm_up: Time::ps(time.as_ps() / 2),
                    time,
                };
                (test, task)
            }));
        }
    }
    Ok(tasks)
}
