//! `lane simulate`: cache misses and their places in the source, on machines that aren't here.

mod annotate;
mod html;
mod outcome;
mod sweep;
mod team;
mod text;
mod validate;

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use coherence::{Machine, Time};
use corelane_simulate::{Payload, Queue, Stream, all, find};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;

use crate::calibrate::Calibration;
use crate::cli::{PayloadKind, SimulateArgs};
use crate::cores;
use crate::failure::Failure;
use crate::interrupt;
use crate::print;
use crate::sink::Sink;
use outcome::{Cell, Simulation};
pub(crate) use team::{TeamWorkload, carry_out as carry_out_mpmc, ids as ids_for_teams};

/// Loads of the grid: 0 to 90 ns, as in paper 1, Figs 14 and 17.
const GRID_NS: [u64; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];

/// Name of the machine that this is.
const CALIBRATED: &str = "calibrated";

/// What drives the sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Regime {
    /// No load.
    Free,
    /// Fast producer.
    Fp,
    /// Fast consumer.
    Fc,
    /// Both equally slow.
    Balanced,
    /// One side fills the queue, then the other empties it.
    Turns,
    /// A pair of loads of the grid.
    #[value(skip)]
    Grid,
}

impl Regime {
    /// Its name.
    fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Fp => "fp",
            Self::Fc => "fc",
            Self::Balanced => "balanced",
            Self::Turns => "turns",
            Self::Grid => "grid",
        }
    }

    /// Loads of the producer and the consumer, in nanoseconds.
    fn loads(self) -> [u64; 2] {
        match self {
            Self::Free | Self::Turns | Self::Grid => [0, 0],
            Self::Fp => [0, 10],
            Self::Fc => [20, 10],
            Self::Balanced => [50, 50],
        }
    }
}

/// How far cores are simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Model {
    /// Stores wait in a buffer, and lines are prefetched if the machine does that.
    Full,
    /// As the papers count misses: a store keeps its core until it is done, and nothing is prefetched.
    Counting,
}

impl Model {
    fn of(args: &SimulateArgs) -> Self {
        let counts = args.annotate.is_some();
        args.model.unwrap_or(if counts { Self::Counting } else { Self::Full })
    }
}

/// Ids of all queues that can be simulated.
pub(crate) fn ids() -> Vec<&'static str> {
    all().iter().map(|queue| queue.id.as_str()).collect()
}

/// Does what the command line asks for.
pub(crate) fn carry_out(args: &SimulateArgs) -> Result<ExitCode, Failure> {
    interrupt::listen();
    let open = |path: &Option<_>| path.as_deref().map(Sink::open).transpose();
    let (mut json, mut html) = (open(&args.json)?, open(&args.html)?);
    if args.validate {
        return validate(args, json);
    }
    let simulation = simulate(args)?;
    let mut text = match simulation.is_sweep() {
        true => sweep::render(&simulation),
        false => text::render(&simulation),
    };
    if args.annotate.is_some() {
        text.push_str(&annotate::render(&simulation));
    }
    let mut write = |sink: &mut Option<Sink>, contents: &dyn Fn() -> String| {
        if let Some(sink) = sink {
            let path = sink.replace(&contents())?;
            text.push_str(&format!("\nWritten: {path}\n"));
        }
        Ok::<_, Failure>(())
    };
    let as_json = || serde_json::to_string_pretty(&simulation).expect("results are plain data");
    let written =
        write(&mut json, &as_json).and_then(|()| write(&mut html, &|| html::render(&simulation)));
    print(&text)?;
    written?;
    Ok(ExitCode::from(if simulation.interrupted { interrupt::EXIT_CODE } else { 0 }))
}

/// Measures, predicts, and shows both.
fn validate(args: &SimulateArgs, mut json: Option<Sink>) -> Result<ExitCode, Failure> {
    let validation = validate::validate(args)?;
    let mut text = validation.render();
    let contents = serde_json::to_string_pretty(&validation).expect("results are plain data");
    let written = json.as_mut().map(|sink| sink.replace(&contents)).transpose();
    if let Ok(Some(path)) = &written {
        text.push_str(&format!("\nWritten: {path}\n"));
    }
    print(&text)?;
    written?;
    Ok(ExitCode::from(if validation.interrupted { interrupt::EXIT_CODE } else { 0 }))
}

/// A queue in a regime.
struct Job {
    queue: &'static Queue,
    regime: Regime,
    loads: [u64; 2],
    cores: Vec<usize>,
}

fn simulate(args: &SimulateArgs) -> Result<Simulation, Failure> {
    let stream = stream(args)?;
    let jobs = jobs(args, &rows(args, &stream.machine)?);
    for job in &jobs {
        job.queue.probe(stream.config()).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", job.queue.id))
        })?;
    }
    let progress = progress(jobs.iter().map(|job| job.cores.len()).sum());
    let cells: Result<Vec<Option<Cell>>, Failure> = jobs
        .par_iter()
        .map(|job| {
            if interrupt::requested() {
                return Ok(None);
            }
            let cell = run(job, &stream)?;
            progress.inc(job.cores.len() as u64);
            Ok(Some(cell))
        })
        .collect();
    progress.finish_and_clear();
    Ok(Simulation::new(args, cells?.into_iter().flatten().collect()))
}

/// For jobs on so many cores altogether.
fn progress(cores: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("simulating {bar:30} {percent:>3}% {eta} left")
        .expect("valid template");
    ProgressBar::new(cores as u64).with_style(style)
}

/// The machine that is meant.
///
/// And what a push or a pop takes there besides its accesses.
fn machine(name: &str) -> Result<(Machine, Time), Failure> {
    let presets = Machine::presets();
    if let Some((_, machine)) = presets.iter().find(|(preset, _)| *preset == name) {
        return Ok((machine.clone(), Time::ZERO));
    }
    if name == CALIBRATED {
        let calibration = Calibration::measure(cores::pair(None)?);
        return Ok((calibration.machine(), calibration.call()));
    }
    let path = Path::new(name);
    if !path.exists() {
        let presets = presets.map(|(name, _)| name).join(", ");
        return Err(Failure::Usage(format!(
            "there is no machine {name}; choose {presets}, {CALIBRATED}, or a file of lane calibrate"
        )));
    }
    let calibration = Calibration::read(path)?;
    Ok((calibration.machine(), calibration.call()))
}

/// What all jobs have in common.
fn stream(args: &SimulateArgs) -> Result<Stream, Failure> {
    let (machine, call) = machine(&args.machine)?;
    let machine = match Model::of(args) {
        Model::Full => machine,
        Model::Counting => machine.counting(),
    };
    let items =
        args.items.map_or(if args.sweep.is_some() { 5000 } else { 20_000 }, |items| items.0);
    Ok(Stream {
        seed: args.seed,
        capacity: args.capacity.0,
        burst: args.batch.0,
        payload: match args.payload {
            PayloadKind::U64 => Payload::Embedded,
            PayloadKind::Indirect => Payload::Indirect,
        },
        call,
        warm_up: items as u64,
        items: items as u64,
        ..Stream::new(machine)
    })
}

/// The cores of each pipeline that is asked for.
fn rows(args: &SimulateArgs, machine: &Machine) -> Result<Vec<Vec<usize>>, Failure> {
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

fn jobs(args: &SimulateArgs, rows: &[Vec<usize>]) -> Vec<Job> {
    let named = args.annotate.iter().chain(&args.queues);
    let mut queues: Vec<_> = named.filter_map(|id| find(id)).collect();
    if queues.is_empty() {
        queues = all().iter().collect();
    }
    let regimes: Vec<_> = if args.grid {
        let pairs = GRID_NS.into_iter().flat_map(|p| GRID_NS.map(|c| [p, c]));
        pairs.map(|loads| (Regime::Grid, loads)).collect()
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
            let job = |queue: &&'static Queue| Job { queue, regime, loads, cores: cores.clone() };
            jobs.extend(queues.iter().map(job));
        }
    }
    jobs
}

fn run(job: &Job, stream: &Stream) -> Result<Cell, Failure> {
    let stream = Stream {
        loads: job.loads.map(Time::ns),
        turns: job.regime == Regime::Turns,
        cores: job.cores.clone(),
        ..stream.clone()
    };
    match job.queue.stream(&stream) {
        Ok(run) => Ok(Cell::new(job, &run)),
        Err(error) => Err(Failure::Run(format!("{}: {error}", job.queue.id))),
    }
}
