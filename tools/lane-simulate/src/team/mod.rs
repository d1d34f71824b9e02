//! `lane simulate mpmc`: throughput and misses between several threads, on other machines.

mod beside;
mod cell;
mod frontier;
mod outcome;
mod page;
mod paper;
mod series;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use coherence::{Machine, Time};
use corelane_bench::{
    Between, Sides, TeamSize, Workload, allows, check_sizes, possible_sizes, usual_sizes,
};
use corelane_report::{Failure, Files, Progress, announce, interrupt, name, shared};
use corelane_simulate::{
    Failure as Error, Queue, Team, Workload as SimulatedWorkload, team_queues,
};
use rayon::prelude::*;

use crate::machines::Target;
use crate::options::{TeamArgs, WORKLOADS};
use crate::streams::PROGRESS;
use beside::Beside;
use cell::TeamCell;
use outcome::{Missing, TeamOutcome};

/// How long it takes to simulate an item, roughly.
const ITEM: Duration = Duration::from_micros(5);

/// Queues between one producer and one consumer that are simulated without being named: the
/// block-based queue of this kind, and the simplest queue.
const ALSO: [&str; 2] = ["bbq-spsc", "lq"];

pub(crate) fn carry_out(args: &TeamArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let target = Target::find(&args.machine)?;
    let outcome = simulate(args, &target)?;
    files.publish(&outcome, &page::document(&outcome, target.told))?;
    if let Some(path) = &args.svg {
        write_picture(path, &outcome)?;
    }
    match outcome.missing.iter().find(|missing| missing.is_fault) {
        Some(Missing { why, .. }) => Err(Failure::Run(why.clone())),
        None => Ok(interrupt::exit_code(0)),
    }
}

fn write_picture(path: &Path, outcome: &TeamOutcome) -> Result<(), Failure> {
    let picture = frontier::picture(&outcome.cells).ok_or_else(|| {
        Failure::Usage("no relaxed queue to draw: name one, such as cnq".to_owned())
    })?;
    fs::write(path, picture)
        .map_err(|error| Failure::Run(format!("can't write {}: {error}", path.display())))
}

/// A queue with some numbers of threads.
struct TeamJob<'a> {
    queue: &'a Queue,
    size: TeamSize,
    workload: Workload,
    relaxation: Option<usize>,
}

fn simulate(args: &TeamArgs, target: &Target) -> Result<TeamOutcome, Failure> {
    let team = team(args, target);
    let beside = args.beside.as_deref().map(Beside::read).transpose()?;
    let queues = queues(args);
    let between: Vec<_> = queues.iter().map(|queue| (queue.id, sides(queue))).collect();
    let sizes = choose(args, &between, &team.machine)?;
    let notes = check_sizes(&sizes, &args.queues, &between)?;
    notes.iter().for_each(|note| eprintln!("note: {note}"));
    let jobs = jobs(args, &queues, &sizes);
    for queue in &queues {
        queue.probe(team.config()).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", queue.id))
        })?;
    }
    let items = (team.warm_up + team.items) * jobs.len() as u64;
    announce(&format!("simulates {} teams of threads", jobs.len()), shared(ITEM * items as u32));
    let progress = Progress::new(jobs.iter().map(|job| job.size.threads()).sum(), PROGRESS);
    let results: Vec<Option<Result<TeamCell, Missing>>> = jobs
        .par_iter()
        .map(|job| {
            if interrupt::requested() {
                return None;
            }
            let result = job.run(&team);
            progress.inc(job.size.threads());
            Some(result)
        })
        .collect();
    progress.finish();
    let (mut cells, mut missing) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(cell) => cells.push(cell),
            Err(why) => missing.push(why),
        }
    }
    Ok(TeamOutcome::new(args, &team, beside, cells, missing))
}

fn team(args: &TeamArgs, target: &Target) -> Team {
    let usual = if args.sweep { 8000 } else { 20_000 };
    Team {
        seed: args.seed,
        capacity: args.capacity.0,
        call: target.call,
        load: Time::ns(args.load_p),
        warm_up: args.capacity.0 as u64,
        items: args.items.map_or(usual, |items| items.0 as u64),
        ..Team::new(args.model.of(target.machine.clone()))
    }
}

fn queues(args: &TeamArgs) -> Vec<Queue> {
    let is_usual = |queue: &Queue| {
        let sides = queue.info.sides;
        // Pushed items and popped items can't be compared.
        !queue.info.overwrites
            && (sides.allow(2, 1) || sides.allow(1, 2) || ALSO.contains(&queue.id))
    };
    let is_wanted = |queue: &Queue| match args.queues.is_empty() {
        true => is_usual(queue),
        false => args.queues.iter().any(|id| id == queue.id),
    };
    team_queues().into_iter().filter(is_wanted).collect()
}

/// The sides of a queue. The simulated library has its own type for them.
fn sides(queue: &Queue) -> Sides {
    let sides = queue.info.sides;
    match (sides.allow(2, 1), sides.allow(1, 2)) {
        (false, false) => Sides::OneToOne,
        (true, false) => Sides::ManyToOne,
        (false, true) => Sides::OneToMany,
        (true, true) => Sides::ManyToMany,
    }
}

/// The numbers of threads to simulate, all of which fit on the machine.
fn choose(
    args: &TeamArgs,
    queues: &[Between<'_>],
    machine: &Machine,
) -> Result<Vec<TeamSize>, Failure> {
    let (name, cores) = (&args.machine, machine.topology.cores());
    let fits = |size: &TeamSize| size.threads() <= cores;
    if let Some(size) = args.threads.iter().find(|size| !fits(size)) {
        return Err(Failure::Usage(format!(
            "{name} has {cores} cores, and {size} threads need {}; choose fewer --threads, or another \
             --machine",
            size.threads()
        )));
    }
    if !args.sweep && args.threads.is_empty() {
        return Ok(possible_sizes(usual_sizes().into_iter().filter(fits).collect(), queues));
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
    Ok(possible_sizes(series::sweep(most), queues))
}

fn jobs<'a>(args: &TeamArgs, queues: &'a [Queue], sizes: &[TeamSize]) -> Vec<TeamJob<'a>> {
    let usual = if args.sweep { &WORKLOADS[..] } else { &[Workload::Simple] };
    let workloads = if args.workload.is_empty() { usual } else { &args.workload };
    let mut jobs = Vec::new();
    for &workload in workloads {
        for &size in sizes {
            for queue in queues.iter().filter(|queue| allows(sides(queue), size)) {
                let of = |relaxation| TeamJob { queue, size, workload, relaxation };
                match queue.has_relaxation() && !args.relaxation.is_empty() {
                    true => jobs.extend(args.relaxation.iter().map(|k| of(Some(k.0)))),
                    false => jobs.push(of(None)),
                }
            }
        }
    }
    jobs
}

impl TeamJob<'_> {
    fn run(&self, team: &Team) -> Result<TeamCell, Missing> {
        let Self { queue, size, workload, relaxation } = *self;
        let team = Team {
            producers: size.producers,
            consumers: size.consumers,
            workload: match workload {
                Workload::Complex => SimulatedWorkload::Complex,
                Workload::Simple | Workload::Profiling => SimulatedWorkload::Simple,
            },
            relaxation,
            ..team.clone()
        };
        let missing = |error| Missing {
            // A thread that never gets a lock is slow, but not wrong.
            is_fault: !matches!(error, Error::Starved { .. }),
            why: format!("{}, {size} threads, {}: {error}", queue.id, name(&workload)),
        };
        let run = queue.team(&team).map_err(missing)?;
        Ok(TeamCell::new(queue, self, &run))
    }
}
