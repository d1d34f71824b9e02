//! `lane simulate mpmc`: throughput and misses between several threads, on machines that aren't here.

mod beside;
mod comparison;
mod html;
mod outcome;
mod ranking;
mod series;
mod text;

use std::process::ExitCode;

use clap::ValueEnum;
use coherence::Machine;
use corelane_simulate::{Failure as Error, Team, TeamQueue, Workload, team_queues};
use rayon::prelude::*;
use serde::Serialize;

use super::{Model, machine, progress};
use crate::catalogue::{self, Entry};
use crate::cli::{Shape, SimulateMpmcArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::print;
use crate::shapes;
use crate::sink::Sink;
use beside::Beside;
use outcome::{Cell, Missing, Outcome};

/// Queues between one producer and one consumer that are simulated without being named: the one whose
/// relatives are simulated, and the plainest.
const ALSO: [&str; 2] = ["bbq-spsc", "lq"];

/// What threads do besides their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TeamWorkload {
    /// Nothing but check the items.
    Simple,
    /// A busy loop of up to 30 ns before each call. Allocation isn't simulated.
    Complex,
}

impl TeamWorkload {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Complex => "complex",
        }
    }
}

impl From<TeamWorkload> for Workload {
    fn from(workload: TeamWorkload) -> Self {
        match workload {
            TeamWorkload::Simple => Self::Simple,
            TeamWorkload::Complex => Self::Complex,
        }
    }
}

/// Ids of all queues that can be simulated.
pub(crate) fn ids() -> Vec<&'static str> {
    team_queues().into_iter().map(|queue| queue.id).collect()
}

/// Does what the command line asks for.
pub(crate) fn carry_out(args: &SimulateMpmcArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let open = |path: &Option<_>| path.as_deref().map(Sink::open).transpose();
    let (mut json, mut html) = (open(&args.json)?, open(&args.html)?);
    let outcome = simulate(args)?;
    // Files first: they must be there even if nobody reads what is printed.
    let mut written = Vec::new();
    if let Some(sink) = &mut json {
        let contents = serde_json::to_string_pretty(&outcome).expect("results are plain data");
        written.push(sink.replace(&contents)?);
    }
    if let Some(sink) = &mut html {
        written.push(sink.replace(&html::render(&outcome))?);
    }
    let mut text = text::render(&outcome);
    for path in written {
        text.push_str(&format!("\nWritten: {path}\n"));
    }
    print(&text)?;
    Ok(match outcome.missing.iter().find(|missing| missing.is_fault) {
        Some(Missing { why, .. }) => return Err(Failure::Run(why.clone())),
        None if outcome.interrupted => ExitCode::from(interrupt::EXIT_CODE),
        None => ExitCode::SUCCESS,
    })
}

/// A queue that may be simulated.
struct Candidate {
    queue: TeamQueue,
    entry: &'static Entry,
}

/// A queue with so many threads.
struct Job<'a> {
    candidate: &'a Candidate,
    shape: Shape,
    workload: TeamWorkload,
}

fn simulate(args: &SimulateMpmcArgs) -> Result<Outcome, Failure> {
    let team = team(args)?;
    let beside = args.beside.as_deref().map(Beside::read).transpose()?;
    let candidates = candidates(args);
    let entries: Vec<_> = candidates.iter().map(|candidate| candidate.entry).collect();
    let shapes = choose(args, &entries, &team.machine)?;
    shapes::check(&shapes, &args.queues, &entries)?
        .iter()
        .for_each(|note| eprintln!("note: {note}"));
    let jobs = jobs(args, &candidates, &shapes);
    for Candidate { queue, .. } in &candidates {
        queue.probe(&team).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", queue.id))
        })?;
    }
    let progress = progress(jobs.iter().map(|job| job.shape.threads()).sum());
    let results: Vec<Option<Result<Cell, Missing>>> = jobs
        .par_iter()
        .map(|job| {
            if interrupt::requested() {
                return None;
            }
            let result = run(job, &team);
            progress.inc(job.shape.threads() as u64);
            Some(result)
        })
        .collect();
    progress.finish_and_clear();
    let (mut cells, mut missing) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(cell) => cells.push(cell),
            Err(why) => missing.push(why),
        }
    }
    Ok(Outcome::new(args, &team, beside, cells, missing))
}

/// What all jobs have in common.
fn team(args: &SimulateMpmcArgs) -> Result<Team, Failure> {
    let (machine, call) = machine(&args.machine)?;
    let machine = match args.model {
        Model::Full => machine,
        Model::Counting => machine.counting(),
    };
    let usual = if args.sweep { 8000 } else { 20_000 };
    Ok(Team {
        seed: args.seed,
        capacity: args.capacity.0,
        call,
        warm_up: args.capacity.0 as u64,
        items: args.items.map_or(usual, |items| items.0 as u64),
        ..Team::new(machine)
    })
}

fn candidates(args: &SimulateMpmcArgs) -> Vec<Candidate> {
    let is_wanted = |queue: &TeamQueue| match args.queues.is_empty() {
        true => {
            let sides = queue.info.sides;
            // What is pushed and what is popped don't compare.
            !queue.overwrites
                && (sides.allow(2, 1) || sides.allow(1, 2) || ALSO.contains(&queue.id))
        }
        false => args.queues.iter().any(|id| id == queue.id),
    };
    let with_entry = |queue: TeamQueue| {
        let entry = catalogue::find(queue.id).expect("what is simulated can be measured");
        Candidate { queue, entry }
    };
    team_queues().into_iter().filter(is_wanted).map(with_entry).collect()
}

/// The shapes to simulate, all of which fit on the machine.
fn choose(
    args: &SimulateMpmcArgs,
    entries: &[&'static Entry],
    machine: &Machine,
) -> Result<Vec<Shape>, Failure> {
    let (name, cores) = (&args.machine, machine.topology.cores());
    let fits = |shape: &Shape| shape.threads() <= cores;
    if let Some(shape) = args.threads.iter().find(|shape| !fits(shape)) {
        return Err(Failure::Usage(format!(
            "{name} has {cores} cores, and {shape} threads need {}; choose fewer --threads, or another \
             --machine",
            shape.threads()
        )));
    }
    if !args.sweep && args.threads.is_empty() {
        let usual = shapes::usual().into_iter().filter(fits).collect();
        return Ok(shapes::possible(usual, entries));
    }
    if !args.sweep {
        return Ok(args.threads.clone());
    }
    let most = args.cores.map_or(cores, |most| most.0);
    if !(2..=cores).contains(&most) {
        return Err(Failure::Usage(format!(
            "{name} has {cores} cores; choose --cores from 2 to {cores}, or another --machine"
        )));
    }
    Ok(shapes::possible(series::sweep(most), entries))
}

fn jobs<'a>(
    args: &SimulateMpmcArgs,
    candidates: &'a [Candidate],
    shapes: &[Shape],
) -> Vec<Job<'a>> {
    let usual: &[_] = match args.sweep {
        true => &[TeamWorkload::Simple, TeamWorkload::Complex],
        false => &[TeamWorkload::Simple],
    };
    let workloads = if args.workload.is_empty() { usual } else { &args.workload };
    let mut jobs = Vec::new();
    for &workload in workloads {
        for &shape in shapes {
            let able = candidates.iter().filter(|candidate| shapes::allows(candidate.entry, shape));
            jobs.extend(able.map(|candidate| Job { candidate, shape, workload }));
        }
    }
    jobs
}

fn run(job: &Job<'_>, team: &Team) -> Result<Cell, Missing> {
    let team = Team {
        producers: job.shape.producers,
        consumers: job.shape.consumers,
        workload: job.workload.into(),
        ..team.clone()
    };
    let queue = &job.candidate.queue;
    let (workload, shape) = (job.workload.name(), job.shape);
    let missing = |error| Missing {
        // A lock that never comes to a thread is slow, but not wrong.
        is_fault: !matches!(error, Error::Starved { .. }),
        why: format!("{}, {shape} threads, {workload}: {error}", queue.id),
    };
    queue.run(&team).map(|run| Cell::new(job, &run)).map_err(missing)
}
