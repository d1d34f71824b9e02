//! Everything a run needs.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use core_affinity::CoreId;
use corelane_report::{Failure, Files, Positive, interrupt};

use crate::args::RunArgs;
use crate::catalogue::{Entry, Measured};
use crate::kinds::Test;
use crate::params::{Length, Params, Trial};
use crate::sample::Sample;
use crate::schedule::Arrival;
use crate::threads::Cores;

/// Number of rounds, unless given.
const ROUNDS: usize = 15;
/// Longest time of all rounds, unless their number is given.
const LIMIT: Duration = Duration::from_secs(140);
/// How much the last round may exceed the limit.
const GRACE: f64 = 1.2;

/// The measurements of a run, checked and expanded.
#[derive(Debug)]
pub struct Plan {
    /// The cells. Cells that differ only in the queue are next to each other.
    pub(crate) cells: Vec<Cell>,
    pub(crate) rounds: usize,
    /// No round begins that would end after this time.
    pub(crate) limit: Option<Duration>,
    /// Most time beyond the limit, until near and far have enough rounds to be ranked.
    pub(crate) extra: Duration,
    pub(crate) begin: Instant,
    /// The cores, in the order in which threads get them. Floors are measured between the first
    /// two.
    pub(crate) cores: Vec<CoreId>,
    pub(crate) far_above_ns: f64,
    /// Whether no progress is shown.
    pub(crate) is_silent: bool,
    pub(crate) schedule: Vec<Arrival>,
    /// Notes for the user about choices in the plan.
    pub notes: Vec<String>,
    /// The files for the results.
    pub files: Files,
}

/// One queue, one test, one set of parameters.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) entry: &'static Entry,
    pub(crate) test: Test,
    pub(crate) params: Params,
    pub(crate) length: Length,
    pub(crate) kernel: Kernel,
}

/// What measures a cell.
pub(crate) struct Kernel {
    probe: Box<Probe>,
    measure: Box<Measure>,
}

type Probe = dyn Fn(&Params) -> Result<(), String> + Send + Sync;
type Measure = dyn Fn(&Trial<'_>) -> Result<Sample, String> + Send + Sync;

impl Kernel {
    /// `measure` runs the test once. Its error says what the queue did wrong.
    pub(crate) fn of(
        measure: impl Fn(&Trial<'_>) -> Result<Sample, String> + Send + Sync + 'static,
    ) -> Self {
        Self { probe: Box::new(|_| Ok(())), measure: Box::new(measure) }
    }

    /// The same; `probe` makes the queue and drops it, and its error says what is wrong with the
    /// parameters.
    pub(crate) fn and_probe(
        self,
        probe: impl Fn(&Params) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { probe: Box::new(probe), ..self }
    }

    pub(crate) fn measure(&self, trial: &Trial<'_>) -> Result<Sample, String> {
        (self.measure)(trial)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// The time of a kill: a process starts, and dies soon.
const KILL: Duration = Duration::from_millis(5);
/// The time of an item whose rank error is computed: it is sorted by several stamps.
const SORTED: Duration = Duration::from_micros(2);

impl Cell {
    /// Makes the queue and drops it. The error says what is wrong with the parameters.
    pub(crate) fn probe(&self) -> Result<(), String> {
        (self.kernel.probe)(&self.params)
    }

    /// The approximate time of a measurement, including the warm-up.
    pub(crate) fn time(&self) -> Duration {
        match (self.test, self.length) {
            (Test::Kill, Length::Items(kills)) => KILL.saturating_mul(kills as u32),
            (Test::RankError, Length::Items(items)) => SORTED.mul_f64(items as f64),
            _ => self.length.time(),
        }
    }

    /// Whether both cells are the same measurement of different queues.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.test == other.test && self.params.is_alike(&other.params)
    }
}

impl Plan {
    /// A plan for `cells`. Cells whose queues can't have the parameters are left out, with a note;
    /// the plan is refused if one of `named` can't. Files are opened last, so that a refusal leaves
    /// no file behind.
    pub(crate) fn new(
        cells: Vec<Cell>,
        cores: Vec<CoreId>,
        run: &RunArgs,
        named: &[String],
        mut notes: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut possible = Vec::with_capacity(cells.len());
        for cell in cells {
            let id = cell.entry.info.id;
            match cell.probe() {
                Ok(()) => possible.push(cell),
                Err(reason) if named.iter().any(|name| name == id) => {
                    return Err(Failure::Usage(format!("{id} can't be measured: {reason}")));
                }
                Err(reason) => {
                    let note = format!("{id} left out: {reason}");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        if possible.iter().all(|cell| cell.entry.is_floor) {
            let reason = match notes.is_empty() {
                true => "choose other queues, another --test, or with calls that wait another --strategy or --mode".into(),
                false => notes.join("; "),
            };
            return Err(Failure::Usage(format!("nothing to measure: {reason}")));
        }
        let files = Files::open(&run.files)?;
        let rounds = run.rounds.map(|rounds| rounds.0);
        let mut plan = Self { notes, files, ..Self::of(possible, cores, rounds) };
        // A single core is never far, whatever the round trip takes.
        if !plan.pair().same() {
            plan.far_above_ns = run.far_above.0;
        }
        Ok(plan)
    }

    /// A plan for cells that can be measured, with this number of rounds, or as many as there is
    /// time for.
    pub(crate) fn of(cells: Vec<Cell>, cores: Vec<CoreId>, rounds: Option<usize>) -> Self {
        let round = cells.iter().map(Cell::time).sum();
        Self {
            cells,
            rounds: rounds.unwrap_or(ROUNDS),
            limit: rounds.is_none().then_some(LIMIT.max(round)),
            extra: Duration::ZERO,
            begin: Instant::now(),
            cores,
            far_above_ns: f64::INFINITY,
            is_silent: false,
            schedule: Vec::new(),
            notes: Vec::new(),
            files: Files::default(),
        }
    }

    /// Whether the run is over: also if a round takes far longer than expected.
    pub(crate) fn is_over(&self) -> bool {
        interrupt::requested()
            || self
                .limit
                .is_some_and(|limit| self.begin.elapsed() > limit.mul_f64(GRACE) + self.extra)
    }

    /// The number of queues.
    pub fn queues(&self) -> usize {
        let entries = self.cells.iter().map(|cell| cell.entry).filter(|entry| !entry.is_floor);
        entries.map(|entry| entry.info.id).collect::<BTreeSet<_>>().len()
    }

    /// The numbers of queues and tests.
    pub fn summary(&self) -> String {
        let queues = self.queues();
        let tests = self.cells.chunk_by(Cell::is_alike).count();
        let ending = |count| if count == 1 { "" } else { "s" };
        format!("{queues} queue{}, {tests} test{}", ending(queues), ending(tests))
    }

    /// The approximate time of a round.
    pub fn round_time(&self) -> Duration {
        self.cells.iter().map(Cell::time).sum()
    }

    /// The approximate time of the run.
    pub fn time(&self) -> Duration {
        let all = self.round_time().saturating_mul(self.rounds as u32);
        self.limit.map_or(all, |limit| all.min(limit))
    }

    /// The rounds that fit into this time, about.
    pub(crate) fn likely_rounds(&self) -> usize {
        let fitting = self.time().as_secs_f64() / self.round_time().as_secs_f64().max(1e-9);
        (fitting as usize).clamp(1, self.rounds)
    }

    /// The cores of a pair's two sides, between which floors are measured.
    pub fn pair(&self) -> Cores {
        Cores::of(&self.cores)
    }
}

pub(crate) fn check_batches(batches: &[Positive], capacity: usize) -> Result<(), Failure> {
    match batches.iter().find(|batch| batch.0 > capacity) {
        Some(Positive(batch)) => Err(Failure::Usage(format!(
            "--batch {batch} is more than --capacity {capacity}; choose 1 to {capacity}"
        ))),
        None => Ok(()),
    }
}

/// The cells of one set of parameters: one for each of `all` for which `kernel` makes a kernel.
pub(crate) fn row<K: 'static, T: Into<Option<Kernel>>>(
    all: impl IntoIterator<Item = &'static Measured<K>>,
    test: Test,
    params: Params,
    length: Length,
    kernel: impl Fn(&'static Measured<K>) -> T,
) -> impl Iterator<Item = Cell> {
    let cell = move |one: &'static Measured<K>| {
        let (entry, kernel) = (&one.entry, kernel(one).into()?);
        Some(Cell { entry, test, params: params.clone(), length, kernel })
    };
    all.into_iter().filter_map(cell)
}
