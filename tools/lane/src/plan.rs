//! What a command line asks for, checked and spelled out as single cells.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corelane_capture::Packet;

use crate::catalogue::{self, Entry, KernelSet};
use crate::cell::{Length, Params};
use crate::cli::{BenchArgs, PayloadKind, Positive, PositiveReal, RunArgs, Test};
use crate::cores;
use crate::failure::Failure;
use crate::grid;
use crate::pair::{Cores, Wait};
use crate::schedule::{self, Arrival};
use crate::spsc::Spsc;
use crate::suite::{Cell, Plan};

/// Loads of the grid, as in paper 1, Fig. 14.
const GRID_LOADS_NS: [u64; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];
/// Items per second of an open-loop test, unless given.
const RATE: f64 = 1e6;

/// Length of one measurement of the quick run.
const QUICK_CELL: Duration = Duration::from_millis(20);
/// The quick run begins no round after this long, so that it ends within a minute.
const QUICK_RUN: Duration = Duration::from_secs(40);

impl Cell<Spsc> {
    /// Its compiled kernels.
    pub(crate) fn kernels(&self) -> &'static KernelSet {
        let kernels = self.entry.spsc.as_ref().expect("only those with kernels are chosen");
        kernels.of(self.params.payload)
    }
}

impl Plan<Spsc> {
    /// The quick run: what `lane` does without a command.
    pub(crate) fn quick() -> Result<Self, Failure> {
        let usual = BenchArgs::default();
        let args = BenchArgs {
            batch: vec![Positive(1), Positive(32)],
            duration: Some(QUICK_CELL),
            run: RunArgs { html: Some(PathBuf::from("corelane-report.html")), ..usual.run },
            ..usual
        };
        let entries = catalogue::spsc().filter(|entry| entry.is_quick()).collect();
        Ok(Self { budget: Some(QUICK_RUN), ..Self::of(&args, entries)? })
    }

    /// `lane bench`.
    pub(crate) fn bench(args: &BenchArgs) -> Result<Self, Failure> {
        Self::of(args, chosen(args))
    }

    fn of(args: &BenchArgs, entries: Vec<&'static Entry>) -> Result<Self, Failure> {
        check_batches(&args.batch, args.capacity.0)?;
        let cores = cores::pair(args.cores)?;
        let mut notes = Vec::new();
        let timetable = Timetable::of(args)?;
        notes.extend(timetable.as_ref().and_then(|timetable| timetable.note.clone()));
        let (schedule, name) = timetable.map(|t| (t.arrivals, t.name)).unzip();
        let plan = Self {
            cells: cells(args, &entries, &waits(args, cores), name.as_deref()),
            rounds: args.run.rounds.0,
            budget: None,
            cores,
            all_cores: vec![cores.producer, cores.consumer],
            far_above_ns: args.run.far_above_ns(cores),
            context: schedule.unwrap_or_default(),
            notes,
            json: None,
            html: None,
        };
        plan.checked(&args.queues, &args.run)
    }
}

/// Refuses batches that don't fit the queue.
pub(crate) fn check_batches(batches: &[Positive], capacity: usize) -> Result<(), Failure> {
    match batches.iter().find(|batch| batch.0 > capacity) {
        Some(Positive(batch)) => Err(Failure::Usage(format!(
            "--batch {batch} is more than --capacity {capacity}; choose 1 to {capacity}"
        ))),
        None => Ok(()),
    }
}

/// The queues named, or all; and the peers as asked for.
fn chosen(args: &BenchArgs) -> Vec<&'static Entry> {
    let is_chosen = |entry: &&Entry| args.run.chooses(entry, &args.queues, true);
    catalogue::spsc().filter(is_chosen).collect()
}

/// When items of open-loop cells are sent.
struct Timetable {
    arrivals: Vec<Arrival>,
    name: String,
    note: Option<String>,
}

impl Timetable {
    /// The timetable, if an open-loop test was asked for.
    fn of(args: &BenchArgs) -> Result<Option<Self>, Failure> {
        if !args.test.contains(&Test::OpenLoop) {
            return match (&args.trace, args.rate) {
                (None, None) => Ok(None),
                _ => Err(Failure::Usage("--trace and --rate need --test open-loop".into())),
            };
        }
        let table = match &args.trace {
            Some(path) => Self::replay(args, path)?,
            None => Self::poisson(args),
        };
        if table.arrivals.is_empty() {
            let mend = "raise --rate or --duration";
            return Err(Failure::Usage(format!("no item is due in this time; {mend}")));
        }
        Ok(Some(table))
    }

    fn poisson(args: &BenchArgs) -> Self {
        let PositiveReal(rate) = args.rate.unwrap_or(PositiveReal(RATE));
        let length = args.duration.unwrap_or(Duration::from_millis(200));
        let name = format!("poisson {rate}/s");
        Self { arrivals: schedule::poisson(rate, length), name, note: None }
    }

    fn replay(args: &BenchArgs, path: &Path) -> Result<Self, Failure> {
        let packets = packets(path).map_err(|reason| {
            let path = path.display();
            Failure::Usage(format!("can't replay {path}: {reason}; give another --trace"))
        })?;
        let PositiveReal(speedup) = args.speedup;
        let length = args.duration.unwrap_or(Duration::from_secs(1));
        let arrivals = schedule::replay(&packets, speedup, length);
        let (sent, all) = (arrivals.len(), packets.len());
        let note = (sent < all).then(|| {
            let mend = "raise --duration or --speedup to send more";
            format!(
                "open-loop sends {sent} of the {all} packets, those of the first {length:?}; {mend}"
            )
        });
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Ok(Self { arrivals, name: format!("{file} x{speedup}"), note })
    }
}

/// The packets of a capture, or one line that says what is wrong with it.
fn packets(path: &Path) -> Result<Vec<Packet>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    corelane_capture::read(file).map_err(|error| error.to_string())
}

/// All cells in the order of a round: for each set of parameters, all queues.
fn cells(
    args: &BenchArgs,
    entries: &[&'static Entry],
    waits: &[Wait],
    schedule: Option<&str>,
) -> Vec<Cell<Spsc>> {
    let length = length(args);
    let mut cells = Vec::new();
    for &payload in &args.payload {
        for &wait in waits {
            for (test, params) in variations(args, (payload, wait), schedule) {
                let cell =
                    |entry: &&'static Entry| Cell { entry, test, params: params.clone(), length };
                cells.extend(entries.iter().map(cell));
            }
        }
    }
    cells
}

/// The ways to wait; on one core there is only one.
fn waits(args: &BenchArgs, cores: Cores) -> Vec<Wait> {
    let mut waits: Vec<_> = args.wait.iter().map(|wait| cores.wait(*wait)).collect();
    waits.dedup();
    waits
}

fn length(args: &BenchArgs) -> Length {
    let usual = Duration::from_millis(if args.grid { 5 } else { 30 });
    match args.items {
        Some(items) => Length::Items(items.get()),
        None => Length::Time(args.duration.unwrap_or(usual)),
    }
}

/// The tests with their parameters.
fn variations(
    args: &BenchArgs,
    (payload, wait): (PayloadKind, Wait),
    schedule: Option<&str>,
) -> Vec<(Test, Params)> {
    let idle = Params {
        capacity: args.capacity.0,
        batch: 1,
        payload,
        regime: "free",
        load_p_ns: 0,
        load_c_ns: 0,
        memory: args.memory,
        wait,
        schedule: None,
    };
    if args.grid {
        return streams(args, &idle);
    }
    let of_test = |&test: &Test| match test {
        Test::Stream => streams(args, &idle),
        Test::Rtt => vec![(test, idle.clone())],
        Test::OpenLoop => {
            vec![(test, Params { schedule: schedule.map(str::to_owned), ..idle.clone() })]
        }
    };
    args.test.iter().flat_map(of_test).collect()
}

fn streams(args: &BenchArgs, idle: &Params) -> Vec<(Test, Params)> {
    let loads = loads(args);
    let stream = |&Positive(batch): &Positive| {
        let with = move |&(regime, load_p_ns, load_c_ns): &_| Params {
            batch,
            regime,
            load_p_ns,
            load_c_ns,
            ..idle.clone()
        };
        loads.iter().map(with).map(|params| (Test::Stream, params)).collect::<Vec<_>>()
    };
    args.batch.iter().flat_map(stream).collect()
}

/// Name, load of the producer and load of the consumer.
fn loads(args: &BenchArgs) -> Vec<(&'static str, u64, u64)> {
    if args.grid {
        let row = |p| GRID_LOADS_NS.map(|c| (grid::REGIME, p, c));
        return GRID_LOADS_NS.into_iter().flat_map(row).collect();
    }
    if args.load_p.is_some() || args.load_c.is_some() {
        return vec![("custom", args.load_p.unwrap_or(0), args.load_c.unwrap_or(0))];
    }
    let named = |regime: &crate::cli::Regime| {
        let (p, c) = regime.loads();
        (regime.name(), p, c)
    };
    args.regime.iter().map(named).collect()
}
