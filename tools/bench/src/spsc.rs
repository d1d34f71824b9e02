//! `lane bench spsc`: what the options ask for, checked and spelled out as single cells.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corelane_capture::Packet;
use corelane_report::{Failure, Positive, PositiveReal};

use crate::catalogue::Entry;
use crate::cores;
use crate::kinds::{Regime, Test};
use crate::options::SpscArgs;
use crate::pair::Wait;
use crate::params::{Length, PairSetting, Params, Setting};
use crate::plan::{Cell, Plan, check_batches};
use crate::schedule::{self, Arrival};

/// Items per second of an open-loop test, unless given.
const RATE: f64 = 1e6;

/// Length of one measurement of the quick run.
const QUICK_CELL: Duration = Duration::from_millis(20);
/// The quick run begins no round after this long, so that it ends within a minute.
const QUICK_RUN: Duration = Duration::from_secs(40);

impl Plan {
    /// The quick run: what `lane` does without a command.
    ///
    /// # Errors
    ///
    /// If there is no place for the report.
    pub fn quick() -> Result<Self, Failure> {
        let mut args = SpscArgs {
            batch: vec![Positive(1), Positive(32)],
            duration: Some(QUICK_CELL),
            ..SpscArgs::default()
        };
        args.run.files.html = Some(PathBuf::from("corelane-report.html"));
        let entries = args.run.choose(&[], |entry| entry.is_spsc() && entry.is_quick());
        Ok(Self { budget: Some(QUICK_RUN), ..of(&args, &entries)? })
    }

    /// `lane bench spsc`.
    ///
    /// # Errors
    ///
    /// If it can't be done so.
    pub fn spsc(args: &SpscArgs) -> Result<Self, Failure> {
        of(args, &args.run.choose(&args.queues, Entry::is_spsc))
    }
}

fn of(args: &SpscArgs, entries: &[&'static Entry]) -> Result<Plan, Failure> {
    check_batches(&args.batch, args.capacity.0)?;
    let cores = cores::pair(args.cores)?;
    let mut notes = Vec::new();
    let timetable = Timetable::of(args)?;
    notes.extend(timetable.as_ref().and_then(|timetable| timetable.note.clone()));
    let (schedule, name) = timetable.map(|t| (t.arrivals, t.name)).unzip();
    // On one core there is only one way to wait.
    let mut waits: Vec<_> = args.wait.iter().map(|wait| cores.wait(*wait)).collect();
    waits.dedup();
    let cells = cells(args, entries, &waits, name.as_deref());
    let cores = vec![cores.producer, cores.consumer];
    let plan = Plan::new(cells, cores, &args.run, &args.queues, notes)?;
    Ok(Plan { schedule: schedule.unwrap_or_default(), ..plan })
}

/// When items of open-loop cells are sent.
struct Timetable {
    arrivals: Vec<Arrival>,
    name: String,
    note: Option<String>,
}

impl Timetable {
    /// The timetable, if an open-loop test was asked for.
    fn of(args: &SpscArgs) -> Result<Option<Self>, Failure> {
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

    fn poisson(args: &SpscArgs) -> Self {
        let PositiveReal(rate) = args.rate.unwrap_or(PositiveReal(RATE));
        let length = args.duration.unwrap_or(Duration::from_millis(200));
        let name = format!("poisson {rate}/s");
        Self { arrivals: schedule::poisson(rate, length), name, note: None }
    }

    fn replay(args: &SpscArgs, path: &Path) -> Result<Self, Failure> {
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
    args: &SpscArgs,
    entries: &[&'static Entry],
    waits: &[Wait],
    schedule: Option<&str>,
) -> Vec<Cell> {
    let length = length(args);
    let mut cells = Vec::new();
    for &payload in &args.payload {
        for &wait in waits {
            let idle = PairSetting {
                batch: 1,
                payload,
                regime: Regime::Free,
                load_p_ns: 0,
                load_c_ns: 0,
                memory: args.memory,
                schedule: None,
            };
            for (test, setting) in variations(args, &idle, schedule) {
                let (capacity, setting) = (args.capacity.0, Setting::Pair(setting));
                let params = Params { capacity, wait, setting };
                let cell =
                    |entry: &&'static Entry| Cell { entry, test, params: params.clone(), length };
                cells.extend(entries.iter().map(cell));
            }
        }
    }
    cells
}

fn length(args: &SpscArgs) -> Length {
    let usual = Duration::from_millis(if args.grid { 5 } else { 30 });
    match args.items {
        Some(items) => Length::Items(items.get()),
        None => Length::Time(args.duration.unwrap_or(usual)),
    }
}

fn variations(
    args: &SpscArgs,
    idle: &PairSetting,
    schedule: Option<&str>,
) -> Vec<(Test, PairSetting)> {
    if args.grid {
        return streams(args, idle);
    }
    let of_test = |&test: &Test| match test {
        Test::Stream => streams(args, idle),
        Test::OpenLoop => {
            vec![(test, PairSetting { schedule: schedule.map(str::to_owned), ..idle.clone() })]
        }
        _ => vec![(test, idle.clone())],
    };
    args.test.iter().flat_map(of_test).collect()
}

fn streams(args: &SpscArgs, idle: &PairSetting) -> Vec<(Test, PairSetting)> {
    let loads = loads(args);
    let mut streams = Vec::new();
    for &Positive(batch) in &args.batch {
        for &(regime, [load_p_ns, load_c_ns]) in &loads {
            let setting = PairSetting { batch, regime, load_p_ns, load_c_ns, ..idle.clone() };
            streams.push((Test::Stream, setting));
        }
    }
    streams
}

fn loads(args: &SpscArgs) -> Vec<(Regime, [u64; 2])> {
    match (args.load_p, args.load_c) {
        _ if args.grid => Regime::grid().map(|loads| (Regime::Grid, loads)).collect(),
        (None, None) => args.regime.iter().map(|regime| (*regime, regime.loads())).collect(),
        (p, c) => vec![(Regime::Custom, [p, c].map(Option::unwrap_or_default))],
    }
}
