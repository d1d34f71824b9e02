//! Real threads use real queues, round after round, and the monitor checks each round's history.

use std::fmt;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use corelane::{
    BoxedConsumer, BoxedProducer, Config, Consumer, Info, Producer, Queue, Sides, for_each_queue,
};
use corelane_harness::{Any, Item, Single, clones};

use super::channels::{Broadcast, Latest, pop_or_miss};
use super::plan::{Plan, Way};
use super::recording::{Recording, play, record_all, record_several};
use super::steps::push_slice;
use crate::{History, Rules, Violation, Witness};

/// A violation, and the plan that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The plan of the threads.
    pub plan: Plan,
    /// The violation.
    pub witness: Witness,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { witness, plan } = self;
        let seed = plan.seed;
        if *plan == Plan::of_round(seed) {
            return write!(f, "{witness}\nin Plan::of_round({seed}), which is {plan:?}");
        }
        let all_sides = [Sides::ManyToMany, Sides::ManyToOne, Sides::OneToMany];
        match all_sides.into_iter().find(|&sides| *plan == Plan::of_sides(seed, sides)) {
            Some(sides) => write!(
                f,
                "{witness}\nin Plan::of_sides({seed}, Sides::{sides:?}), which is {plan:?}"
            ),
            None => write!(f, "{witness}\nin {plan:?}"),
        }
    }
}

/// The checks so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Operations in all histories: pushes, pops, and answers of empty and full.
    pub operations: u64,
    /// Answers that the queue is empty; several of one interval count once.
    pub empties: u64,
    /// Answers that the queue is full; several of one interval count once.
    pub fulls: u64,
    /// Items that no consumer popped, in queues that overwrite. In broadcasts those that consumers
    /// missed.
    pub unpopped: u64,
    /// Histories.
    pub histories: u64,
    /// Histories in which a full and an empty answer contradict each other, and nothing else is
    /// wrong.
    pub contradictory: u64,
    /// The first of these histories' contradictions.
    pub contradiction: Option<Finding>,
    /// The time of recording and checking.
    pub seconds: f64,
    /// The violation that ended the search, if any.
    pub violation: Option<Finding>,
}

impl Summary {
    fn add(&mut self, history: &History) {
        let counts = history.counts();
        self.operations += counts.pushes + counts.pops + counts.empties + counts.fulls;
        self.empties += counts.empties;
        self.fulls += counts.fulls;
        // In a broadcast each consumer misses its own.
        self.unpopped += counts.pushes.saturating_sub(counts.pops).max(counts.missed);
        self.histories += 1;
    }

    /// Notes a history's violation. A full and an empty answer that contradict each other are not a
    /// violation (see the [crate](crate)).
    fn judge(&mut self, finding: Finding) {
        if let Violation::FullAndEmpty { .. } = finding.witness.violation {
            self.contradictory += 1;
            self.contradiction.get_or_insert(finding);
        } else {
            self.violation.get_or_insert(finding);
        }
    }

    /// Checks the recordings of `plan`.
    fn add_round(&mut self, plan: &Plan, (rules, recordings): (Rules, Vec<Recording>)) {
        for recording in recordings {
            self.add(&recording.history);
            if let Err(witness) = recording.check(&rules) {
                self.judge(Finding { plan: *plan, witness });
            }
        }
    }
}

/// Called after each round. Returns whether to continue.
pub type GoOn<'a> = &'a mut dyn FnMut(&Summary) -> bool;

/// Carries out a plan on new queues. Returns the queues' rules, and the recordings.
type Record = dyn Fn(&Plan) -> (Rules, Vec<Recording>);

/// A queue whose histories can be recorded and checked.
pub struct HistorySubject {
    /// The queue's name on command lines.
    pub id: &'static str,
    /// The plan of a round.
    plan: Box<dyn Fn(u64) -> Plan>,
    record: Box<Record>,
}

impl HistorySubject {
    /// A queue between two threads.
    pub fn single<T: Item + Into<u64>>(queue: Single<T>) -> Self {
        let id = queue.info.id;
        let record = move |plan: &Plan| {
            let queues: Vec<_> = (0..plan.queues).map(|_| queue.open(config_of(plan))).collect();
            let rules = queues.first().map(|(tx, rx)| rules_of(&queue.info, tx, rx));
            (rules.unwrap_or_default(), record_all(plan, queues))
        };
        Self { id, plan: Box::new(Plan::of_round), record: Box::new(record) }
    }

    /// A queue between up to as many threads as it may have.
    pub fn shared<T: Item + Into<u64> + Copy>(queue: Any<T>) -> Self {
        let Info { id, sides, .. } = queue.info;
        let record = move |plan: &Plan| {
            let shape = (plan.producers, plan.consumers);
            let config = config_of_any(plan, &queue);
            let queues: Vec<_> = (0..plan.queues).map(|_| queue.handles(config, shape)).collect();
            let rules = queues.first().map(|(txs, rxs)| rules_of(&queue.info, &txs[0], &rxs[0]));
            (rules.unwrap_or_default(), record_several(plan, queues))
        };
        let plan = move |round| Plan::of_sides(round, sides);
        Self { id, plan: Box::new(plan), record: Box::new(record) }
    }

    /// The plan of the round with this number.
    pub fn plan(&self, round: u64) -> Plan {
        (self.plan)(round)
    }

    /// Records and checks histories until `duration` is over, `go_on` says `false`, or a violation
    /// is found.
    pub fn run(&self, duration: Duration, go_on: GoOn) -> Summary {
        let start = Instant::now();
        let mut summary = Summary::default();
        for round in 0.. {
            let plan = self.plan(round);
            summary.add_round(&plan, (self.record)(&plan));
            summary.seconds = start.elapsed().as_secs_f64();
            if summary.violation.is_some() || start.elapsed() >= duration || !go_on(&summary) {
                break;
            }
        }
        summary
    }

    /// Records and checks the histories of one round, for example a round that has found a
    /// violation.
    pub fn run_round(&self, plan: &Plan) -> Summary {
        let start = Instant::now();
        let mut summary = Summary::default();
        summary.add_round(plan, (self.record)(plan));
        summary.seconds = start.elapsed().as_secs_f64();
        summary
    }
}

/// A queue that overwrites. `kept` says how many items it keeps, `rules` what else is special.
fn overwriting<Q>(kept: fn(&Q::Producer) -> usize, rules: Rules) -> HistorySubject
where
    Q: Queue<u64, Producer: Clone, Consumer: Clone> + 'static,
{
    let record = move |plan: &Plan| {
        let queue = |_| {
            let queue = Q::with(config_of(plan)).expect("this capacity is possible");
            clones(queue, (plan.producers, plan.consumers))
        };
        let queues: Vec<_> = (0..plan.queues).map(queue).collect();
        let rules = queues.first().map(|(txs, _)| Rules {
            slots: Some(txs[0].slots()),
            capacity: txs[0].capacity(),
            kept: Some(kept(&txs[0])),
            ..rules
        });
        let boxed = queues.into_iter().map(|(txs, rxs)| {
            let rxs = rxs.into_iter().map(BoxedConsumer::new).collect();
            (txs.into_iter().map(BoxedProducer::new).collect(), rxs)
        });
        (rules.unwrap_or_default(), record_several(plan, boxed))
    };
    let plan = move |round| Plan::of_sides(round, Q::INFO.sides);
    HistorySubject { id: Q::INFO.id, plan: Box::new(plan), record: Box::new(record) }
}

/// Broadcasts.
fn broadcasting() -> HistorySubject {
    let record = |plan: &Plan| {
        let queue = |_| {
            let queue = Broadcast::with(config_of(plan)).expect("any capacity is possible");
            clones(queue, (plan.producers, plan.consumers))
        };
        let queues: Vec<_> = (0..plan.queues).map(queue).collect();
        let rules = queues.first().map(|(txs, rxs)| {
            let rules = rules_of(&Broadcast::INFO, &txs[0], &rxs[0]);
            Rules { broadcasts: true, ..rules }
        });
        (rules.unwrap_or_default(), play(plan, queues, (push_slice, pop_or_miss)))
    };
    // By the only calls that tell what was missed.
    let plan = |round| Plan { way: Way::Slices, ..Plan::of_sides(round, Broadcast::INFO.sides) };
    HistorySubject { id: Broadcast::INFO.id, plan: Box::new(plan), record: Box::new(record) }
}

impl fmt::Debug for HistorySubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistorySubject").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A queue as planned.
fn config_of(plan: &Plan) -> Config {
    let config = Config::new(plan.capacity).first(plan.first);
    plan.batch.map_or(config, |batch| config.grouped(batch))
}

/// A queue as planned. A relaxed queue that refuses the planned relaxation has its own.
fn config_of_any<T: Send + 'static>(plan: &Plan, queue: &Any<T>) -> Config {
    let config = config_of(plan);
    let Some(k) = plan.relaxation.filter(|_| queue.info.relaxed) else { return config };
    let relaxed = config.relaxation(k).lenient();
    if queue.try_open(relaxed).is_ok() { relaxed } else { config }
}

/// The rules of a queue.
fn rules_of(info: &Info, tx: &impl Producer, rx: &impl Consumer) -> Rules {
    let (slots, capacity, delayed) = (Some(tx.slots()), tx.capacity(), info.delayed);
    let (k, relaxed) = (rx.relaxation() - 1, info.relaxed);
    Rules { slots, capacity, delayed, k, relaxed, ..Rules::default() }
}

/// Every registered queue, and channels that are more than a queue that waits.
pub fn all_subjects() -> Vec<HistorySubject> {
    let voids = Rules { voids: true, ..Rules::default() };
    let drops_first = Rules { drops_first: true, ..Rules::default() };
    let mut subjects = Vec::new();
    macro_rules! subject {
        (single any $name:ident: $queue:ty) => {
            subjects.push(HistorySubject::single(Single::<u64>::of::<$queue>()));
        };
        (single token $name:ident: $queue:ty) => {
            subjects.push(HistorySubject::single(Single::<NonZeroU64>::of::<$queue>()));
        };
        (shared any $name:ident: $queue:ty) => {
            subjects.push(HistorySubject::shared(Any::<u64>::of::<$queue>()));
        };
        (shared token $name:ident: $queue:ty) => {
            subjects.push(HistorySubject::shared(Any::<NonZeroU64>::of::<$queue>()));
        };
        (relaxed any $name:ident: $queue:ty) => {
            subjects.push(HistorySubject::shared(Any::<u64>::of::<$queue>()));
        };
        (shared plain bbq_drop_old: $queue:ty) => {
            subjects.push(overwriting::<$queue>(
                corelane::block::overwriting::Producer::kept,
                Rules::default(),
            ));
        };
        (shared plain $name:ident: $queue:ty) => {
            subjects.push(overwriting::<$queue>(Producer::capacity, voids));
        };
    }
    for_each_queue!(subject);
    subjects.extend([overwriting::<Latest>(Producer::capacity, drops_first), broadcasting()]);
    subjects
}
