//! The cells of `lane bench spsc`.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use corelane_report::{Failure, Positive, PositiveReal, name};

use super::{Handles, PayloadKind, Regime, SpscArgs, SpscSetting};
use crate::catalogue::{Entry, ids_among};
use crate::cores;
use crate::kinds::{TeamSize, Test, WORD, between};
use crate::params::{Length, Params};
use crate::plan::{Kernel, Plan, check_batches, row};
use crate::queues::{self, Subject};
use crate::sample::Sample;
use crate::schedule::{self, Arrival};

/// Items per second of an open-loop test, unless given.
const RATE: f64 = 1e6;

impl SpscArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let misfit = |entry: &Entry| {
            let (id, sides) = (entry.info.id, between(entry.info.sides));
            format!("{id} is between {sides}: use `lane bench mpmc {id}`")
        };
        let queues = ids_among(queues::all(), &self.queues, Subject::is_spsc, misfit)?;
        let args = Self { queues, ..self.clone() };
        of(&args, &args.run.choose(queues::all(), &args.queues, Subject::is_spsc))
    }
}

pub(super) fn of(args: &SpscArgs, queues: &[&'static Subject]) -> Result<Plan, Failure> {
    let least = args.capacity.iter().map(|capacity| capacity.0).min();
    check_batches(&args.batch, least.unwrap_or_default())?;
    let cores = cores::pair(args.cores)?;
    let Timetable { arrivals, name, mut notes } = Timetable::of(args)?;
    // On one core there is only one way to wait.
    let mut waits: Vec<_> = args.wait.iter().map(|wait| cores.wait(*wait)).collect();
    waits.dedup();
    let bases = args.payload.iter().flat_map(|payload| bases(args, *payload, name.as_deref()));
    let bases: Vec<_> = bases.collect();
    let settings: Vec<_> = bases.iter().flat_map(|base| conditions(args, base)).collect();
    let mut cells = Vec::new();
    // In the order of a round: for each set of parameters, all queues.
    for &Positive(capacity) in &args.capacity {
        for &wait in &waits {
            for (test, setting) in &settings {
                let queues = queues.iter().copied();
                let length = length(args, *test, setting);
                let params = Params { capacity, wait, setting: setting.clone().into() };
                cells.extend(row(queues, *test, params, length, |one| kernel(one, *test, setting)));
            }
        }
    }
    notes.extend(too_small(args, queues, &settings));
    notes.extend(without_condition(args, &bases));
    let cores = vec![cores.producer, cores.consumer];
    let plan = Plan::new(cells, cores, &args.run, &args.queues, notes)?;
    Ok(Plan { schedule: arrivals, ..plan })
}

/// Whether a queue is measured with items of this size.
fn carries(queue: &Subject, setting: &SpscSetting) -> bool {
    setting.bytes() == WORD || (queue.kernel.larger)(setting.bytes()).is_some()
}

/// What measures a queue with items of this size, if it carries them.
fn kernel(queue: &'static Subject, test: Test, setting: &SpscSetting) -> Option<Kernel> {
    let (setting, kernels) = (setting.clone(), &queue.kernel);
    let checked = move |sample: Sample| match sample.wrong {
        0 => Ok(sample),
        wrong => Err(format!("{wrong} items of {} came out of order or lost", name(&test))),
    };
    if setting.bytes() != WORD {
        let larger = (kernels.larger)(setting.bytes())?;
        let kernel = Kernel::of(move |trial| checked((larger.measure)(trial, &setting)));
        return Some(kernel.and_probe(move |params| (larger.probe)(params.config())));
    }
    let measure = kernels.spsc?;
    let kernel = Kernel::of(move |trial| checked(measure(test, trial, &setting)));
    Some(kernel.and_probe(|params| (kernels.probe)(params.config(), TeamSize::ONE)))
}

/// The send times of open-loop cells.
#[derive(Default)]
struct Timetable {
    arrivals: Vec<Arrival>,
    name: Option<String>,
    notes: Vec<String>,
}

impl Timetable {
    /// The timetable; empty unless an open-loop test was asked for.
    fn of(args: &SpscArgs) -> Result<Self, Failure> {
        let is_wanted = args.test.contains(&Test::OpenLoop);
        let table = match (&args.trace, args.rate) {
            (None, None) if !is_wanted => return Ok(Self::default()),
            _ if !is_wanted => {
                return Err(Failure::Usage("--trace and --rate need --test open-loop".into()));
            }
            (Some(path), _) => Self::replay(args, path)?,
            (None, rate) => {
                let PositiveReal(rate) = rate.unwrap_or(PositiveReal(RATE));
                let length = args.duration.unwrap_or(Duration::from_millis(200));
                let name = Some(format!("poisson {rate}/s"));
                Self { arrivals: schedule::poisson(rate, length), name, notes: Vec::new() }
            }
        };
        if table.arrivals.is_empty() {
            let mend = "raise --rate or --duration";
            return Err(Failure::Usage(format!("no item is due in this time; {mend}")));
        }
        Ok(table)
    }

    fn replay(args: &SpscArgs, path: &Path) -> Result<Self, Failure> {
        let refused = |reason: &dyn Display| {
            let path = path.display();
            Failure::Usage(format!("can't replay {path}: {reason}; give another --trace"))
        };
        let file = File::open(path).map_err(|error| refused(&error))?;
        let packets = corelane_capture::read(file).map_err(|error| refused(&error))?;
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
        let name = Some(format!("{file} x{speedup}"));
        Ok(Self { arrivals, name, notes: note.into_iter().collect() })
    }
}

/// A test and its parameters.
type Measurement = (Test, SpscSetting);

/// The tests of each queue with one payload, with items of a word and handles in the loop.
fn bases(args: &SpscArgs, payload: PayloadKind, schedule: Option<&str>) -> Vec<Measurement> {
    let idle = SpscSetting {
        batch: 1,
        payload,
        item_bytes: Some(WORD),
        handles: Some(Handles::Loop),
        regime: Regime::Free,
        load_p_ns: 0,
        load_c_ns: 0,
        memory: args.memory,
        schedule: None,
    };
    let loads = loads(args);
    let mut streams = Vec::new();
    for &Positive(batch) in &args.batch {
        for &(regime, [load_p_ns, load_c_ns]) in &loads {
            let setting = SpscSetting { batch, regime, load_p_ns, load_c_ns, ..idle.clone() };
            streams.push((Test::Stream, setting));
        }
    }
    if args.grid {
        return streams;
    }
    let schedule = schedule.map(str::to_owned);
    let of_test = |&test: &Test| match test {
        Test::Stream => streams.clone(),
        Test::OpenLoop => vec![(test, SpscSetting { schedule: schedule.clone(), ..idle.clone() })],
        _ => vec![(test, idle.clone())],
    };
    args.test.iter().flat_map(of_test).collect()
}

/// A measurement with each size of items and each place of the handles that it can have.
fn conditions(args: &SpscArgs, (test, base): &Measurement) -> Vec<Measurement> {
    let has_all = *test == Test::Stream && base.is_plain();
    let mut all = Vec::new();
    for &bytes in &args.item {
        for &handles in &args.handles {
            let is_base = bytes == WORD && handles == Handles::Loop;
            let (item_bytes, handles) = (Some(bytes), Some(handles));
            let measurement = (*test, SpscSetting { item_bytes, handles, ..base.clone() });
            if (has_all || is_base) && !all.contains(&measurement) {
                all.push(measurement);
            }
        }
    }
    all
}

/// Streams with several items or handles are short, so that a run takes about as long as with one.
fn length(args: &SpscArgs, test: Test, setting: &SpscSetting) -> Length {
    let is_one_of_many =
        test == Test::Stream && setting.is_plain() && args.item.len() * args.handles.len() > 1;
    let usual_ms = match args.grid {
        true => 5,
        false if is_one_of_many => 10,
        false => 30,
    };
    Length::of(args.items, args.duration, usual_ms)
}

/// A note on queues that can't have items of all sizes.
fn too_small(args: &SpscArgs, queues: &[&Subject], all: &[Measurement]) -> Option<String> {
    let is_left_out = |queue: &&&Subject| !all.iter().all(|(_, setting)| carries(queue, setting));
    let ids: Vec<_> = queues.iter().filter(is_left_out).map(|one| one.entry.info.id).collect();
    let is_named = |id: &&&str| args.queues.iter().any(|name| name == **id);
    let named: Vec<_> = ids.iter().filter(is_named).copied().collect();
    let which = match named.is_empty() {
        _ if ids.is_empty() => return None,
        true => {
            "queues of tokens, queues that are only for comparison, and peers that are no rings"
                .into()
        }
        false => named.join(", "),
    };
    Some(format!("left out with items of more than {WORD} bytes: {which}"))
}

/// A note if one of the measurements has none of the items and handles.
fn without_condition(args: &SpscArgs, bases: &[Measurement]) -> Option<String> {
    let is_left_out = bases.iter().any(|base| conditions(args, base).is_empty());
    is_left_out.then(|| {
        format!(
            "only streams with --batch 1, --payload u64 and no load have larger items and handles in fields; other \
             measurements are left out without --item {WORD} and --handles loop"
        )
    })
}

fn loads(args: &SpscArgs) -> Vec<(Regime, [u64; 2])> {
    match (args.load_p, args.load_c) {
        _ if args.grid => Regime::grid().map(|loads| (Regime::Grid, loads)).collect(),
        (None, None) => args.regime.iter().map(|regime| (*regime, regime.loads())).collect(),
        (p, c) => vec![(Regime::Custom, [p, c].map(Option::unwrap_or_default))],
    }
}
