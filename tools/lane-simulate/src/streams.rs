//! Streams and pipelines on simulated cores.

use std::process::ExitCode;
use std::time::Duration;

use coherence::{Machine, Time};
use corelane_bench::{PayloadKind, Regime};
use corelane_report::{Failure, Files, Progress, announce, interrupt, shared};
use corelane_simulate::{Payload, Queue, Stream, all, find};
use rayon::prelude::*;

use crate::machines::Target;
use crate::options::StreamArgs;
use crate::outcome::{Simulation, StreamCell};
use crate::page;

/// How long it takes to simulate an item on a core, roughly.
const ITEM: Duration = Duration::from_nanos(700);
/// The progress bar of simulations.
pub(crate) const PROGRESS: &str = "simulating {bar:30} {percent:>3}% {eta} left";

pub(crate) fn carry_out(args: &StreamArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let mut files = Files::open(&args.files)?;
    let target = Target::find(&args.machine)?;
    let simulation = simulate(args, &target)?;
    let document = page::document(&simulation, args.annotate.is_some(), target.told);
    files.publish(&simulation, &document)?;
    Ok(interrupt::exit_code(0))
}

/// A queue in a regime.
struct StreamJob {
    queue: &'static Queue,
    regime: Regime,
    loads: [u64; 2],
    cores: Vec<usize>,
}

fn simulate(args: &StreamArgs, target: &Target) -> Result<Simulation, Failure> {
    let stream = stream(args, target);
    let jobs = jobs(args, &rows(args, &stream.machine)?);
    for job in &jobs {
        job.queue.probe(stream.config()).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", job.queue.id))
        })?;
    }
    let threads: usize = jobs.iter().map(|job| job.cores.len()).sum();
    let items = (stream.warm_up + stream.items) * threads as u64;
    announce(&format!("simulates {} streams", jobs.len()), shared(ITEM * items as u32));
    let progress = Progress::new(threads, PROGRESS);
    let cells: Result<Vec<Option<StreamCell>>, Failure> = jobs
        .par_iter()
        .map(|job| {
            if interrupt::requested() {
                return Ok(None);
            }
            let cell = run(job, &stream)?;
            progress.inc(job.cores.len());
            Ok(Some(cell))
        })
        .collect();
    progress.finish();
    Ok(Simulation::new(args, cells?.into_iter().flatten().collect()))
}

fn stream(args: &StreamArgs, target: &Target) -> Stream {
    let items =
        args.items.map_or(if args.sweep.is_some() { 5000 } else { 20_000 }, |items| items.0);
    Stream {
        seed: args.seed,
        capacity: args.capacity.0,
        burst: args.batch.0,
        payload: match args.payload {
            PayloadKind::U64 => Payload::Embedded,
            PayloadKind::Indirect => Payload::Indirect,
        },
        call: target.call,
        warm_up: items as u64,
        items: items as u64,
        ..Stream::new(args.model().of(target.machine.clone()))
    }
}

fn rows(args: &StreamArgs, machine: &Machine) -> Result<Vec<Vec<usize>>, Failure> {
    let (name, cores, pair) = (&args.machine, machine.topology.cores(), args.pair);
    let numbers: Vec<usize> = match (args.sweep, args.cores) {
        (Some(sweep), _) => sweep.cores().collect(),
        (None, Some(cores)) => vec![cores.0],
        (None, None) if pair.0.max(pair.1) < cores && pair.0 != pair.1 => {
            return Ok(vec![vec![pair.0, pair.1]]);
        }
        (None, None) => {
            return Err(Failure::Usage(format!(
                "{name} has cores 0 to {}; choose two different ones with --pair A,B",
                cores - 1
            )));
        }
    };
    if numbers.iter().any(|number| *number > cores) {
        return Err(Failure::Usage(format!(
            "{name} has {cores} cores; choose no more, or another --machine"
        )));
    }
    if args.regime.contains(&Regime::Turns) && numbers.iter().any(|number| *number > 2) {
        return Err(Failure::Usage("only two threads take turns; choose another --regime".into()));
    }
    Ok(numbers.into_iter().map(|number| (0..number).collect()).collect())
}

fn jobs(args: &StreamArgs, rows: &[Vec<usize>]) -> Vec<StreamJob> {
    let named = args.annotate.iter().chain(&args.queues);
    let mut queues: Vec<_> = named.filter_map(|id| find(id)).collect();
    if queues.is_empty() {
        queues = all().iter().collect();
    }
    let regimes: Vec<_> = if args.grid {
        Regime::grid().map(|loads| (Regime::Grid, loads)).collect()
    } else {
        let default: &[_] = match args.annotate {
            None if args.sweep.is_some() => &[Regime::Free],
            None => &[Regime::Free, Regime::Fp, Regime::Fc],
            Some(_) => &[Regime::Fc],
        };
        let asked = if args.regime.is_empty() { default } else { &args.regime };
        asked.iter().map(|regime| (*regime, regime.loads())).collect()
    };
    let mut jobs = Vec::new();
    for (regime, loads) in regimes {
        for cores in rows {
            let job =
                |queue: &&'static Queue| StreamJob { queue, regime, loads, cores: cores.clone() };
            jobs.extend(queues.iter().map(job));
        }
    }
    jobs
}

fn run(job: &StreamJob, stream: &Stream) -> Result<StreamCell, Failure> {
    let stream = Stream {
        loads: job.loads.map(Time::ns),
        turns: job.regime == Regime::Turns,
        cores: job.cores.clone(),
        ..stream.clone()
    };
    match job.queue.stream(&stream) {
        Ok(run) => {
            let (queue, cores) = (job.queue.id.to_owned(), job.cores.clone());
            Ok(StreamCell::new(queue, (job.regime, job.loads), cores, &run))
        }
        Err(error) => Err(Failure::Run(format!("{}: {error}", job.queue.id))),
    }
}
