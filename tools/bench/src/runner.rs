//! Runs a plan: round by round, all queues interleaved, floors before and after.

use std::collections::BTreeMap;
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use corelane_report::{Failure, Origin, Progress, about, interrupt, name};

use crate::advice::LEAST_ROUNDS;
use crate::floor::Floors;
use crate::host::Host;
use crate::params::{Length, Trial};
use crate::plan::{Cell, Plan};
use crate::results::{CellResult, Results, Round, SCHEMA};
use crate::sample::Sample;
use crate::stats::Group;

/// How long the current measurement may still take when the run is to end.
const PATIENCE: Duration = Duration::from_millis(500);
/// A measurement that takes so much longer than it should never ends: a wake-up was lost.
const STUCK: Duration = Duration::from_secs(30);
/// An item that takes longer than this doesn't come: a sleep may cost some time slices.
const SLOWEST_ITEM: Duration = Duration::from_millis(20);
/// How often the runner checks whether the run is to end.
const TICK: Duration = Duration::from_millis(50);

/// Makes the measurements of `plan`, or as many as there is time for.
///
/// A round makes one measurement of all queues. A round is short, so that the cores rarely move
/// within it, and the rounds of different tests alternate.
/// If the threads of a peer wait for ever, the run ends with what was measured so far.
///
/// # Errors
///
/// If a queue of corelane is broken, or a peer loses items.
pub fn run(plan: &Arc<Plan>) -> Result<Results, Failure> {
    let mut machine = Host::describe(&plan.cores);
    machine.look_for_others();
    let tally = Arc::new(Mutex::new(Tally::of(plan)));
    // In a thread of its own, which is abandoned if it doesn't end in time.
    let worker = thread::spawn({
        let (plan, tally) = (Arc::clone(plan), Arc::clone(&tally));
        move || measure(&plan, &tally)
    });
    let mut patience = PATIENCE;
    while !worker.is_finished() && !patience.is_zero() {
        let begin = Instant::now();
        thread::sleep(TICK);
        lock(&tally).forgive(begin.elapsed().saturating_sub(TICK));
        if let Some((cell, told)) = lock(&tally).stuck(plan) {
            if !cell.entry.is_peer() {
                return Err(Failure::Run(format!("{} is broken: {told}", cell.entry.info.id)));
            }
            // Its threads can't be stopped, and would take the cores from all that follows.
            eprintln!("note: {}: {told}; here is what was measured so far", cell.entry.info.id);
            break;
        }
        if plan.is_over() {
            patience = patience.saturating_sub(TICK);
        }
    }
    if worker.is_finished() {
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))?;
    }
    let mut tally = lock(&tally);
    tally.end(None);
    let all = plan.cells.len();
    let missing = all - tally.reached;
    if missing > 0 && !interrupt::requested() {
        eprintln!(
            "note: the time was up before {missing} of {all} measurements were made; name fewer queues, or --rounds"
        );
    }
    let results = plan.cells.iter().zip(&tally.samples);
    let results = results.map(|(cell, samples)| CellResult::new(cell, samples)).collect();
    let (rounds, mixed_rounds) = (tally.rounds.clone(), tally.mixed_rounds);
    Ok(Results { origin: Origin::now("lane", SCHEMA), machine, mixed_rounds, rounds, results })
}

/// The measurements so far.
struct Tally {
    far_above_ns: f64,
    /// The samples of each cell.
    samples: Vec<BTreeMap<Group, Vec<Sample>>>,
    rounds: Vec<Round>,
    mixed_rounds: usize,
    /// Cells that were measured at least once, in their order.
    reached: usize,
    /// The current cell, and when its measurement began.
    current: Option<(usize, Instant)>,
    /// The floors before the current round, and the samples of its cells.
    open: Option<(Floors, Vec<(usize, Sample)>)>,
}

impl Tally {
    fn of(plan: &Plan) -> Self {
        Self {
            far_above_ns: plan.far_above_ns,
            samples: vec![BTreeMap::new(); plan.cells.len()],
            rounds: Vec::new(),
            mixed_rounds: 0,
            reached: 0,
            current: None,
            open: None,
        }
    }

    /// Time that the current measurement doesn't count. The process was stopped, or got no core.
    fn forgive(&mut self, time: Duration) {
        if let Some((_, begin)) = &mut self.current {
            *begin += time;
        }
    }

    /// The measurement that never ends, if there is one, and how this is told.
    fn stuck<'p>(&self, plan: &'p Plan) -> Option<(&'p Cell, String)> {
        let (cell, begin) = self.current?;
        let (passed, cell) = (begin.elapsed(), &plan.cells[cell]);
        let items = match cell.length {
            Length::Time(_) => 0,
            Length::Items(items) => items.try_into().unwrap_or(u32::MAX),
        };
        let most = cell.time().saturating_mul(100).max(SLOWEST_ITEM.saturating_mul(items));
        let is_stuck = passed >= STUCK.saturating_add(most);
        let (test, seconds) = (name(&cell.test), passed.as_secs());
        is_stuck.then(|| (cell, format!("threads still wait in {test} after {seconds} seconds")))
    }

    /// Whether a group has rounds, but too few to be ranked.
    fn lacks_rounds(&self) -> bool {
        let mut counts = self.samples.iter().flat_map(BTreeMap::values).map(Vec::len);
        counts.any(|count| count < LEAST_ROUNDS)
    }

    fn note(&mut self, before: Floors, cell: usize, sample: Sample) {
        self.reached = self.reached.max(cell + 1);
        self.open.get_or_insert((before, Vec::new())).1.push((cell, sample));
    }

    /// Ends a round with a measurement of the floors; `None` if the run ends in the middle of the
    /// round.
    fn end(&mut self, after: Option<Floors>) {
        let Some((before, samples)) = self.open.take() else { return };
        match Round::between(before, after.unwrap_or(before), self.far_above_ns) {
            Some(round) => {
                self.rounds.push(round);
                for (cell, sample) in samples {
                    self.samples[cell].entry(round.group).or_default().push(sample);
                }
            }
            None => self.mixed_rounds += 1,
        }
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

fn measure(plan: &Plan, tally: &Mutex<Tally>) -> Result<(), Failure> {
    let template = "{bar:30} {percent:>3}% {msg:<28} {eta} left";
    let steps = plan.likely_rounds() * plan.cells.len();
    let progress = match plan.is_silent {
        true => Progress::hidden(),
        false => Progress::new(steps, template),
    };
    let begin = Instant::now();
    let (mut before, mut is_longer) = (floors(plan), false);
    for round in 1..=plan.rounds {
        let mut first = 0;
        for cells in plan.cells.chunk_by(Cell::is_alike) {
            for (number, cell) in (first..).zip(cells) {
                progress.set_message(format!("{} {}", name(&cell.test), cell.entry.info.id));
                lock(tally).current = Some((number, Instant::now()));
                let sample = sample(plan, cell)?;
                lock(tally).current = None;
                // After an interrupt, a producer with a schedule stops in the middle.
                if interrupt::requested() {
                    return Ok(());
                }
                lock(tally).note(before, number, sample);
                progress.inc(1);
                if plan.is_over() {
                    return Ok(());
                }
            }
            before = floors(plan);
            lock(tally).end(Some(before));
            first += cells.len();
        }
        let Some(limit) = plan.limit else { continue };
        // Assumes that the next round takes as long as the rounds before.
        let fitting = |limit: Duration| {
            (limit.as_secs_f64() / begin.elapsed().as_secs_f64() * round as f64) as usize
        };
        let mut most = fitting(limit);
        if most <= round && lock(tally).lacks_rounds() {
            most = fitting(limit + plan.extra).min(round + 1);
            if most > round && !mem::replace(&mut is_longer, true) {
                let extra = about(plan.extra);
                eprintln!("note: near or far has too few rounds; goes on for at most {extra}");
            }
        }
        progress.set_length(plan.rounds.min(most.max(round)) * plan.cells.len());
        if most <= round {
            break;
        }
    }
    progress.finish();
    Ok(())
}

fn floors(plan: &Plan) -> Floors {
    let sleeps = plan.cells.iter().any(|cell| cell.params.setting.suite().about().sleeps);
    Floors::measure(plan.pair(), sleeps)
}

fn sample(plan: &Plan, cell: &Cell) -> Result<Sample, Failure> {
    let (params, length) = (&cell.params, cell.length);
    let trial = Trial { params, length, cores: &plan.cores, schedule: &plan.schedule };
    let broken = |what| Failure::Run(format!("{} is broken: {what}", cell.entry.info.id));
    let beside =
        params.setting.suite().beside().map(|beside| beside.start(&plan.cores)).transpose();
    let _until_the_end = beside.map_err(Failure::Run)?;
    cell.kernel.measure(&trial).map_err(broken)
}

#[cfg(test)]
mod tests {
    use core_affinity::CoreId;
    use corelane::Info;

    use super::*;
    use crate::catalogue::Entry;
    use crate::kinds::Test;
    use crate::params::Params;
    use crate::plan::Kernel;
    use crate::suite::ring::RingSetting;
    use crate::threads::Wait;

    /// A plan of one measurement.
    fn plan(length: Length) -> Plan {
        let entry: &'static Entry = Box::leak(Box::new(Entry::ours(Info::RING, "")));
        let setting = RingSetting { threads: 2, in_flight: 1 }.into();
        let cell = Cell {
            entry,
            test: Test::Round,
            params: Params { capacity: 1, wait: Wait::Yield, setting },
            length,
            kernel: Kernel::of(|_| Err("it is never started".into())),
        };
        Plan::of(vec![cell], vec![CoreId { id: 0 }], None)
    }

    /// The tally of a measurement that began this number of seconds ago.
    fn since(seconds: u64, plan: &Plan) -> Tally {
        let begin = Instant::now().checked_sub(Duration::from_secs(seconds));
        Tally { current: begin.map(|begin| (0, begin)), ..Tally::of(plan) }
    }

    #[test]
    fn a_measurement_that_never_ends_is_noticed() {
        let plan = plan(Length::Time(Duration::from_millis(30)));
        let is_stuck = |seconds| since(seconds, &plan).stuck(&plan).is_some();
        assert_eq!([is_stuck(0), is_stuck(30), is_stuck(40)], [false, false, true]);
        assert!(Tally::of(&plan).stuck(&plan).is_none());
    }

    #[test]
    fn a_slow_measurement_is_not_stuck() {
        // A round trip between threads that sleep takes some 80 µs.
        let of_items = plan(Length::Items(600_000));
        assert!(since(60, &of_items).stuck(&of_items).is_none());
        let plan = plan(Length::Time(Duration::from_millis(30)));
        let mut stopped = since(60, &plan);
        stopped.forgive(Duration::from_secs(55));
        assert!(stopped.stuck(&plan).is_none());
    }
}
