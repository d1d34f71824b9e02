//! What a command line asks for, checked and spelled out as single cells.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use core_affinity::CoreId;
use corelane_capture::Packet;

use crate::catalogue::{self, Entry, KernelSet};
use crate::cell::{Length, Params};
use crate::cli::{BenchArgs, CorePair, PayloadKind, Positive, PositiveReal, Test};
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
        let args = BenchArgs {
            batch: vec![Positive(1), Positive(32)],
            duration: Some(QUICK_CELL),
            html: Some(PathBuf::from("corelane-report.html")),
            ..BenchArgs::default()
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
        let cores = cores(args.cores)?;
        let mut notes = Vec::new();
        let timetable = Timetable::of(args)?;
        notes.extend(timetable.as_ref().and_then(|timetable| timetable.note.clone()));
        let (schedule, name) = timetable.map(|t| (t.arrivals, t.name)).unzip();
        let plan = Self {
            cells: cells(args, &entries, &waits(args, cores), name.as_deref()),
            rounds: args.rounds.0,
            budget: None,
            cores,
            all_cores: vec![cores.producer, cores.consumer],
            far_above_ns: far_above_ns(args.far_above, cores),
            context: schedule.unwrap_or_default(),
            notes,
            json: None,
            html: None,
        };
        plan.checked(&args.queues, args.json.as_deref(), args.html.as_deref())
    }
}

/// Longest `line_rtt` that counts as near. Whatever a round trip takes on one core, it isn't far.
pub(crate) fn far_above_ns(wanted: f64, cores: Cores) -> f64 {
    if cores.same() { f64::INFINITY } else { wanted }
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

/// The cores asked for, or the first two, or the only one twice.
pub(crate) fn cores(wanted: Option<CorePair>) -> Result<Cores, Failure> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let Some(CorePair(producer, consumer)) = wanted else {
        let first = *cores.first().unwrap_or(&CoreId { id: 0 });
        return Ok(Cores { producer: first, consumer: *cores.get(1).unwrap_or(&first) });
    };
    Ok(Cores { producer: core(&cores, producer)?, consumer: core(&cores, consumer)? })
}

/// The core with the number `id` among `cores`.
pub(crate) fn core(cores: &[CoreId], id: usize) -> Result<CoreId, Failure> {
    cores.iter().copied().find(|core| core.id == id).ok_or_else(|| {
        let have: Vec<_> = cores.iter().map(|core| core.id.to_string()).collect();
        Failure::Usage(format!("there is no core {id} here; choose from {}", have.join(", ")))
    })
}

/// The queues named, or all; and the peers as asked for.
fn chosen(args: &BenchArgs) -> Vec<&'static Entry> {
    let peers = Peers { wanted: args.peers, unwanted: args.no_peers };
    catalogue::spsc().filter(|entry| peers.choose(entry, &args.queues, true)).collect()
}

/// What was said of peers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peers {
    /// `--peers`
    pub(crate) wanted: bool,
    /// `--no-peers`
    pub(crate) unwanted: bool,
}

impl Peers {
    /// Whether `entry` is to be measured when `named` are named; if it is measured `by_default`.
    pub(crate) fn choose(self, entry: &Entry, named: &[String], by_default: bool) -> bool {
        let is_named = named.contains(&entry.id);
        match (entry.is_peer(), named.is_empty()) {
            (true, true) => by_default && !self.unwanted,
            (true, false) => is_named || (by_default && self.wanted),
            (false, true) => by_default,
            (false, false) => is_named,
        }
    }
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
