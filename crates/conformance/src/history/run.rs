//! Real threads on real queues, round after round, and each round's history through the monitor.

use std::fmt;
use std::time::{Duration, Instant};

use corelane::{Config, Consumer, Producer, TryPopError, TryPushError};
use corelane::{for_each_spsc_queue, for_each_spsc_token_queue};

use super::{Clock, History, Recorder, Rules, Violation, Witness, check};
use crate::rng::Rng;
use crate::threads::{Cores, Patience, both};
use crate::{Any, Item, Queue, Subject, Tokens};

/// How items go in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One by one.
    Single,
    /// By the iterators, which go over chunks where the queue has some.
    Iterators,
    /// By lent slots.
    Chunks,
}

/// Who is slow, so that the queue runs empty or full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Nobody on purpose.
    Even,
    /// The producer.
    SlowProducer,
    /// The consumer.
    SlowConsumer,
    /// One or the other, for a while.
    Bursts,
}

/// What one round does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Capacity asked for.
    pub capacity: usize,
    /// Items that the algorithm handles as a group, if it is told.
    pub batch: Option<usize>,
    /// Number that the counters start at.
    pub first: u64,
    /// Items to be pushed.
    pub pushes: usize,
    /// Operations from one stamp to the next.
    pub period: u32,
    /// How items go in and out.
    pub way: Way,
    /// Who is slow.
    pub pace: Pace,
    /// Whether both threads share a core.
    pub one_core: bool,
    /// Start of the random numbers.
    pub seed: u64,
}

impl Plan {
    /// Most items in one step of a side.
    const STEP: usize = 40;

    /// The plan of the round with this number. Neighbours differ in everything.
    pub fn of_round(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut one_of = |choices: &[usize]| choices[rng.below(choices.len())];
        let capacity = one_of(&[1, 2, 3, 8, 30, 64, 500, 4096]);
        let one_core = one_of(&[0, 0, 0, 1]) == 1;
        Self {
            capacity,
            batch: [None, None, Some(1), Some(4), Some(16)][one_of(&[0, 1, 2, 3, 4])],
            first: [0, 0, u64::MAX - 5000][one_of(&[0, 1, 2])],
            pushes: if one_core { 4_000 } else { 10_000 + 20_000 * capacity.min(64) / 64 },
            period: one_of(&[1, 1, 3, 16, 256]) as u32,
            way: [Way::Single, Way::Iterators, Way::Chunks][one_of(&[0, 0, 1, 2])],
            pace: [Pace::Even, Pace::SlowProducer, Pace::SlowConsumer, Pace::Bursts]
                [one_of(&[0, 1, 2, 3])],
            one_core,
            seed,
        }
    }

    /// How long a side rests before its next step, in spins.
    fn rest(&self, rng: &mut Rng, slow: bool) -> usize {
        match self.pace {
            Pace::Bursts if rng.below(16) == 0 => rng.below(2_000 + 20 * self.capacity),
            _ if slow => rng.below(400),
            _ => 0,
        }
    }
}

/// A side between two steps.
#[derive(Debug)]
struct Side<'a> {
    plan: &'a Plan,
    recorder: Recorder,
    rng: Rng,
    /// The pace that slows this side down.
    slow: Pace,
    patience: Patience,
    failures: u32,
}

impl<'a> Side<'a> {
    /// Failures in a row after which a side believes that nothing will change.
    const HOPELESS: u32 = 1 << 18;

    fn new(plan: &'a Plan, clock: Clock, slow: Pace, seed: u64) -> Self {
        let recorder = Recorder::new(clock, plan.pushes, plan.period);
        let (rng, patience) = (Rng::new(plan.seed << 1 | seed), Patience::default());
        Self { plan, recorder, rng, slow, patience, failures: 0 }
    }

    /// Rests as planned, and says for how many items the next step is.
    fn next_step(&mut self) -> usize {
        let spins = self.plan.rest(&mut self.rng, self.slow == self.plan.pace);
        if spins > 0 {
            (0..spins).for_each(|_| std::hint::spin_loop());
            self.recorder.resume();
        }
        1 + self.rng.below(Plan::STEP)
    }

    /// After a step that moved `moved` items: waits if that was none. `false` if it's no use.
    fn goes_on(&mut self, moved: usize) -> bool {
        if moved > 0 {
            self.failures = 0;
            self.patience = Patience::default();
            return true;
        }
        self.failures += 1;
        self.patience.wait();
        if self.plan.period == 1 {
            self.recorder.resume();
        }
        self.failures < Self::HOPELESS
    }
}

/// Pushes the planned items.
fn send<T: Item>(mut tx: impl Producer<Item = T>, mut side: Side) -> super::Log {
    let mut next = 0;
    while next < side.plan.pushes {
        let n = side.next_step().min(side.plan.pushes - next);
        let moved = match side.plan.way {
            Way::Single => push_singly(&mut tx, &mut side.recorder, next, n),
            way => push_batch(&mut tx, &mut side.recorder, way, next, n),
        };
        next += moved;
        if tx.is_closed() || !side.goes_on(moved) {
            break;
        }
        if side.rng.below(16) == 0 {
            tx.flush();
            side.recorder.flushed();
        }
    }
    drop(tx);
    side.recorder.flushed();
    side.recorder.finish()
}

fn push_singly<T: Item>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    next: usize,
    n: usize,
) -> usize {
    for moved in 0..n {
        match tx.try_push(T::of((next + moved) as u64)) {
            Ok(()) => recorder.pushed(1),
            Err(TryPushError::Busy(_)) => return moved,
            Err(_) => {
                recorder.full();
                recorder.done();
                return moved;
            }
        }
        recorder.done();
    }
    n
}

fn push_batch<T: Item>(
    tx: &mut impl Producer<Item = T>,
    recorder: &mut Recorder,
    way: Way,
    next: usize,
    n: usize,
) -> usize {
    let items = (next..next + n).map(|number| T::of(number as u64));
    let (moved, full) = if way == Way::Iterators {
        let moved = tx.push_iter(items);
        (moved, moved < n)
    } else {
        match tx.write_chunk_uninit(n) {
            Ok(chunk) => (chunk.fill_from_iter(items), false),
            Err(error) => (0, !matches!(error, TryPushError::Busy(()))),
        }
    };
    if moved > 0 {
        recorder.pushed(moved);
    }
    if full {
        recorder.full();
    }
    recorder.done();
    moved
}

/// Pops until the queue is closed. Also says whether it was.
fn receive<T: Item + Into<u64>>(
    mut rx: impl Consumer<Item = T>,
    mut side: Side,
) -> (super::Log, bool) {
    let mut drained = false;
    while !drained && side.recorder.has_room(2 * Plan::STEP) {
        let n = side.next_step();
        let (moved, end) = match side.plan.way {
            Way::Single => pop_singly(&mut rx, &mut side.recorder, n),
            way => pop_batch(&mut rx, &mut side.recorder, way, n),
        };
        drained = end == Some(TryPopError::Closed);
        if !side.goes_on(moved) {
            break;
        }
    }
    (side.recorder.finish(), drained)
}

/// The number that an item was made from.
fn number<T: Item + Into<u64>>(item: T) -> u64 {
    item.into().wrapping_sub(T::of(0).into())
}

/// Notes why a pop failed.
fn note_end(recorder: &mut Recorder, end: TryPopError) {
    if end != TryPopError::Busy {
        recorder.empty();
    }
    recorder.done();
}

fn pop_singly<T: Item + Into<u64>>(
    rx: &mut impl Consumer<Item = T>,
    recorder: &mut Recorder,
    n: usize,
) -> (usize, Option<TryPopError>) {
    for moved in 0..n {
        match rx.try_pop() {
            Ok(item) => recorder.popped(number(item)),
            Err(end) => {
                note_end(recorder, end);
                return (moved, Some(end));
            }
        }
        recorder.done();
    }
    (n, None)
}

fn pop_batch<T: Item + Into<u64>>(
    rx: &mut impl Consumer<Item = T>,
    recorder: &mut Recorder,
    way: Way,
    n: usize,
) -> (usize, Option<TryPopError>) {
    let mut moved = 0;
    let mut note = |item: T| {
        recorder.popped(number(item));
        moved += 1;
    };
    let end = if way == Way::Iterators {
        rx.pop_iter().take(n).for_each(&mut note);
        // The iterator does not say why it ended.
        (moved < n).then_some(TryPopError::Empty)
    } else {
        rx.read_chunk(n).map(|chunk| chunk.into_iter().for_each(&mut note)).err()
    };
    match end {
        Some(end) => note_end(recorder, end),
        None => recorder.done(),
    }
    let closed = moved == 0 && way == Way::Iterators && rx.is_closed() && rx.is_empty();
    (moved, if closed { Some(TryPopError::Closed) } else { end })
}

/// Lets two threads carry out `plan`, and returns what they noted.
///
/// A side that fails again and again gives up, so there is a history of a queue that is stuck, too.
pub fn record<T: Item + Into<u64>>(
    plan: &Plan,
    tx: impl Producer<Item = T> + Send,
    rx: impl Consumer<Item = T> + Send,
) -> History {
    let clock = Clock::start();
    let sender = Side::new(plan, clock, Pace::SlowProducer, 0);
    let receiver = Side::new(plan, clock, Pace::SlowConsumer, 1);
    let cores = if plan.one_core { Cores::One } else { Cores::Two };
    let (sent, (received, drained)) =
        both(cores, move || send(tx, sender), move || receive(rx, receiver));
    History { logs: vec![sent, received], drained }
}

/// A violation, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What the threads did.
    pub plan: Plan,
    /// What came of it.
    pub witness: Witness,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nin {:?}", self.witness, self.plan)
    }
}

/// What has been checked so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Operations in all histories: pushes, pops, and answers of empty and full.
    pub operations: u64,
    /// Answers that the queue is empty; several of one interval count once.
    pub empties: u64,
    /// Answers that the queue is full; several of one interval count once.
    pub fulls: u64,
    /// Histories.
    pub histories: u64,
    /// Histories in which a full and an empty answer contradict each other, and nothing else is wrong.
    pub contradictory: u64,
    /// The first of those.
    pub contradiction: Option<Finding>,
    /// Time that recording and checking took.
    pub seconds: f64,
    /// What was found, and ended the search.
    pub violation: Option<Finding>,
}

impl Summary {
    fn add(&mut self, history: &History) {
        let counts = history.counts();
        self.operations += counts.pushes + counts.pops + counts.empties + counts.fulls;
        self.empties += counts.empties;
        self.fulls += counts.fulls;
        self.histories += 1;
    }

    /// Notes what is wrong with a history. Whether full and empty agree is up to the queue, so that
    /// they don't is no violation (see the [module](super)).
    fn judge(&mut self, finding: Finding) {
        if let Violation::FullAndEmpty { .. } = finding.witness.violation {
            self.contradictory += 1;
            self.contradiction.get_or_insert(finding);
        } else {
            self.violation = Some(finding);
        }
    }
}

/// Asked after each history whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut(&Summary) -> bool;

/// Records and checks histories of `Q` until `duration` is over, `go_on` says `false`, or a violation is
/// found.
pub fn check_queue<Q: Subject>(duration: Duration, go_on: GoOn) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    for round in 0.. {
        let plan = Plan::of_round(round);
        let (history, rules) = round_of::<Q>(&plan);
        summary.add(&history);
        if let Err(witness) = check(&history, &rules) {
            summary.judge(Finding { plan, witness });
        }
        summary.seconds = start.elapsed().as_secs_f64();
        if summary.violation.is_some() || start.elapsed() >= duration || !go_on(&summary) {
            break;
        }
    }
    summary
}

/// One history, and what it must obey.
fn round_of<Q: Subject>(plan: &Plan) -> (History, Rules) {
    let mut config = Config::new(plan.capacity).first(plan.first);
    config = plan.batch.map_or(config, |batch| config.batch(batch));
    let (tx, rx) = <Q as Queue<Q::Number>>::channel(config).expect("this capacity is possible");
    let rules =
        Rules { capacity: Some(tx.capacity()), slack: tx.slack(), delayed: Q::INFO.delayed, k: 0 };
    (record(plan, tx, rx), rules)
}

/// A queue whose histories can be checked.
#[derive(Debug, Clone, Copy)]
pub struct HistorySubject {
    /// Its name on command lines.
    pub id: &'static str,
    /// Whether its slots are one word, for tokens.
    pub packed: bool,
    /// [`check_queue`] for it.
    pub run: fn(Duration, GoOn) -> Summary,
}

impl HistorySubject {
    fn new<Q: Subject>(packed: bool) -> Self {
        Self { id: Q::INFO.id, packed, run: check_queue::<Q> }
    }
}

/// Every registered queue, for items of any type and for tokens.
pub fn all_subjects() -> Vec<HistorySubject> {
    let mut subjects = Vec::new();
    macro_rules! any {
        ($name:ident, $queue:ty) => {
            subjects.push(HistorySubject::new::<Any<$queue>>(false));
        };
    }
    macro_rules! packed {
        ($name:ident, $queue:ty) => {
            subjects.push(HistorySubject::new::<Tokens<$queue>>(true));
        };
    }
    for_each_spsc_queue!(any);
    for_each_spsc_token_queue!(packed);
    subjects
}
