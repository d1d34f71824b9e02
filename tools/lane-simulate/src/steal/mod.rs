//! `lane simulate steal`: an owner and its thieves, and pools of threads that steal from each
//! other, on other machines.

mod cell;
mod outcome;
mod page;
mod paper;
mod seats;

use std::process::ExitCode;
use std::time::Duration;

use corelane_report::{Failure, Files, Progress, announce, interrupt, shared};
use corelane_simulate::{StealQueue, StealTask, Stealing, steal_queues};
use rayon::prelude::*;

use crate::machines::Target;
use crate::options::{StealArgs, StealTest};
use crate::streams::PROGRESS;
use cell::{Setting, StealCell};
use outcome::StealOutcome;

/// How long it takes to simulate an item, roughly.
const ITEM: Duration = Duration::from_nanos(600);

pub(crate) fn carry_out(args: &StealArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let queues = queues(&args.queues)?;
    let targets = args.machine.iter().map(|name| Ok((name.as_str(), Target::find(name)?)));
    let targets = targets.collect::<Result<Vec<_>, Failure>>()?;
    let outcome = simulate(args, &targets, &queues)?;
    let told = targets.into_iter().filter_map(|(_, target)| target.told).collect();
    files.publish(&outcome, &page::document(&outcome, told))?;
    Ok(interrupt::exit_code(0))
}

/// The queues that `names` stand for; all if there are none.
fn queues(names: &[String]) -> Result<Vec<&'static StealQueue>, Failure> {
    let all = steal_queues();
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let find = |name: &String| {
        let id = name.replace('_', "-");
        all.iter().find(|queue| queue.id == id).ok_or_else(|| {
            let ids: Vec<_> = all.iter().map(|queue| queue.id).collect();
            let ids = ids.join(", ");
            Failure::Usage(format!("{name} is no queue from which thieves steal; choose {ids}"))
        })
    };
    names.iter().map(find).collect()
}

/// A queue in a setting on a machine.
struct StealJob<'a> {
    machine: &'a str,
    queue: &'static StealQueue,
    setting: Setting,
    stealing: Stealing,
    runs: u64,
}

fn simulate(
    args: &StealArgs,
    targets: &[(&str, Target)],
    queues: &[&'static StealQueue],
) -> Result<StealOutcome, Failure> {
    let mut jobs = Vec::new();
    for (machine, target) in targets {
        for (setting, stealing) in tasks(args, machine, target)? {
            let job = |queue: &&'static StealQueue| StealJob {
                machine,
                queue,
                setting,
                stealing: stealing.clone(),
                // Nothing is left to chance between an owner and its thieves.
                runs: if setting.test() == StealTest::Pool { args.runs.0 as u64 } else { 1 },
            };
            jobs.extend(queues.iter().map(job));
        }
    }
    for queue in queues {
        queue.probe(args.capacity.0).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", queue.id))
        })?;
    }
    let items = |job: &StealJob<'_>| job.runs * (job.stealing.warm_up + job.stealing.items);
    let items: u64 = jobs.iter().map(items).sum();
    announce(&format!("simulates {} tasks", jobs.len()), shared(ITEM * items as u32));
    let progress = Progress::new(jobs.len(), PROGRESS);
    let cells: Result<Vec<Option<StealCell>>, Failure> = jobs
        .par_iter()
        .map(|job| {
            if interrupt::requested() {
                return Ok(None);
            }
            let cell = job.run()?;
            progress.inc(1);
            Ok(Some(cell))
        })
        .collect();
    progress.finish();
    Ok(StealOutcome::new(args, cells?.into_iter().flatten().collect()))
}

impl StealJob<'_> {
    /// The run with the median throughput.
    fn run(&self) -> Result<StealCell, Failure> {
        let Self { machine, queue, setting, stealing, runs } = self;
        let failed =
            |error| Failure::Run(format!("{}, {machine}, {}: {error}", queue.id, setting.words()));
        let one = |number| {
            let seed = stealing.seed.wrapping_add(number);
            let run = queue.steal(&Stealing { seed, ..stealing.clone() }).map_err(failed)?;
            Ok(StealCell::new(machine, queue.id, *setting, stealing.cores.clone(), &run))
        };
        let mut cells = (0..*runs).map(one).collect::<Result<Vec<_>, _>>()?;
        cells.sort_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
        let all = cells.iter().map(|cell| cell.ops_per_s).collect();
        let mut median = cells.swap_remove(cells.len() / 2);
        median.all_runs_ops_per_s = all;
        Ok(median)
    }
}

/// All settings on a machine, with their tasks.
fn tasks(
    args: &StealArgs,
    name: &str,
    target: &Target,
) -> Result<Vec<(Setting, Stealing)>, Failure> {
    let settings: Vec<_> = args.test.iter().flat_map(|test| settings(args, *test)).collect();
    let machine = args.model.of(target.machine.clone());
    let usual = Stealing {
        batch: args.batch.0,
        seed: args.seed,
        capacity: args.capacity.0,
        call: target.call,
        ..Stealing::new(machine)
    };
    let task = |setting: Setting| {
        let cores = setting.cores(name, &usual.machine.topology)?;
        let queues = if setting.test() == StealTest::Pool { cores.len() as u64 } else { 1 };
        let items = args.items.map_or(args.capacity.0.saturating_mul(16), |items| items.0);
        let items = queues.saturating_mul(items as u64);
        let task = setting.task();
        Ok((setting, Stealing { task, cores, warm_up: items, items, ..usual.clone() }))
    };
    settings.into_iter().map(task).collect()
}

fn settings(args: &StealArgs, test: StealTest) -> Vec<Setting> {
    match test {
        StealTest::Stolen => {
            let of = |distance| {
                args.stolen.iter().map(move |&stolen_percent| Setting::Stolen {
                    stolen_percent,
                    distance,
                    // Without a share there is no thief.
                    thieves: if stolen_percent > 0 { args.thieves.0 } else { 0 },
                })
            };
            args.distance.iter().flat_map(|distance| of(*distance)).collect()
        }
        StealTest::Pool => {
            let threads = args.threads.0;
            let of = |policy| {
                args.balancing.iter().map(move |&balancing_percent| Setting::Pool {
                    balancing_percent,
                    policy,
                    threads,
                })
            };
            args.policy.iter().flat_map(|policy| of(*policy)).collect()
        }
    }
}

impl Setting {
    fn task(self) -> StealTask {
        match self {
            Self::Stolen { stolen_percent, .. } => StealTask::Share(stolen_percent),
            Self::Pool { balancing_percent, policy, .. } => {
                StealTask::Pool(balancing_percent, policy)
            }
        }
    }
}
