//! Real threads on real queues, round after round, and each round's history through the monitor.

use std::fmt;
use std::time::{Duration, Instant};

use corelane::block::overwriting;
use corelane::{
    Config, Info, MpmcQueue, Producer, Sides, for_each_mpmc_queue, for_each_spsc_queue,
    for_each_spsc_token_queue, for_each_unbounded_mpmc_queue, for_each_unbounded_spsc_queue,
};

use super::{History, Plan, Recording, Rules, Violation, Witness, record_all, record_several};
use crate::several::handles;
use crate::{Any, Limited, Pair, Queue, Several, Subject, Tokens};

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

/// What has been checked so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Operations in all histories: pushes, pops, and answers of empty and full.
    pub operations: u64,
    /// Answers that the queue is empty; several of one interval count once.
    pub empties: u64,
    /// Answers that the queue is full; several of one interval count once.
    pub fulls: u64,
    /// Items that nobody popped: those of a queue that overwrites.
    pub unpopped: u64,
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
        self.unpopped += counts.pushes.saturating_sub(counts.pops);
        self.histories += 1;
    }

    /// Notes what is wrong with a history. Whether full and empty agree is up to the queue, so that
    /// they don't is no violation (see the [module](super)).
    fn judge(&mut self, finding: Finding) {
        if let Violation::FullAndEmpty { .. } = finding.witness.violation {
            self.contradictory += 1;
            self.contradiction.get_or_insert(finding);
        } else {
            self.violation.get_or_insert(finding);
        }
    }

    /// Checks what came of `plan`.
    fn add_round(&mut self, plan: &Plan, (rules, recordings): (Rules, Vec<Recording>)) {
        for recording in recordings {
            self.add(&recording.history);
            if let Err(witness) = recording.check(&rules) {
                self.judge(Finding { plan: *plan, witness });
            }
        }
    }
}

/// Asked after each round whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut(&Summary) -> bool;

/// The queue that overwrites.
struct Overwriting;

/// A kind of queue whose histories can be recorded.
pub trait Recordable {
    /// What it promises.
    const INFO: Info;

    /// What is done in the round with this number.
    fn plan(round: u64) -> Plan;

    /// Carries out a plan on new queues. Says what these must obey, and what came of it.
    fn record(plan: &Plan) -> (Rules, Vec<Recording>);
}

impl<Q: Pair> Recordable for Q {
    const INFO: Info = <Q as Subject>::INFO;

    fn plan(round: u64) -> Plan {
        Plan::of_round(round)
    }

    fn record(plan: &Plan) -> (Rules, Vec<Recording>) {
        let queues: Vec<_> = (0..plan.queues)
            .map(|_| <Q as Queue<Q::Number>>::channel(config_of(plan)).expect(POSSIBLE))
            .collect();
        let rules = queues.first().map(|(tx, _)| rules_of(&<Q as Subject>::INFO, tx));
        (rules.unwrap_or_default(), record_all(plan, queues))
    }
}

impl<Q: MpmcQueue> Recordable for Several<Q> {
    const INFO: Info = Q::INFO;

    fn plan(round: u64) -> Plan {
        Plan::of_sides(round, Q::INFO.sides)
    }

    fn record(plan: &Plan) -> (Rules, Vec<Recording>) {
        let shape = (plan.producers, plan.consumers);
        let queues: Vec<_> =
            (0..plan.queues).map(|_| handles::<Q, u64>(config_of(plan), shape)).collect();
        let rules = queues.first().map(|(txs, _)| rules_of(&Q::INFO, &txs[0]));
        (rules.unwrap_or_default(), record_several(plan, queues))
    }
}

impl Recordable for Overwriting {
    const INFO: Info = block::INFO;

    fn plan(round: u64) -> Plan {
        Plan::of_sides(round, Self::INFO.sides)
    }

    fn record(plan: &Plan) -> (Rules, Vec<Recording>) {
        let queue = |_| {
            let (tx, rx) = block::channel_with::<u64>(config_of(plan)).expect(POSSIBLE);
            (vec![tx; plan.producers], vec![rx; plan.consumers])
        };
        let queues: Vec<_> = (0..plan.queues).map(queue).collect();
        let rules = queues
            .first()
            .map(|(txs, _)| Rules { kept: Some(txs[0].kept()), ..rules_of(&Self::INFO, &txs[0]) });
        (rules.unwrap_or_default(), record_several(plan, queues))
    }
}

const POSSIBLE: &str = "this capacity is possible";

/// A queue as planned.
fn config_of(plan: &Plan) -> Config {
    let config = Config::new(plan.capacity).first(plan.first);
    plan.batch.map_or(config, |batch| config.batch(batch))
}

/// What a queue must obey.
fn rules_of(info: &Info, tx: &impl Producer) -> Rules {
    let (capacity, slack, delayed) = (Some(tx.capacity()), tx.slack(), info.delayed);
    Rules { capacity, slack, delayed, ..Rules::default() }
}

/// Records and checks histories of `Q` until `duration` is over, `go_on` says `false`, or a violation is
/// found.
pub fn check_queue<Q: Recordable>(duration: Duration, go_on: GoOn) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    for round in 0.. {
        let plan = Q::plan(round);
        summary.add_round(&plan, Q::record(&plan));
        summary.seconds = start.elapsed().as_secs_f64();
        if summary.violation.is_some() || start.elapsed() >= duration || !go_on(&summary) {
            break;
        }
    }
    summary
}

/// Records and checks the histories of one round, such as one that has found something.
pub fn check_round<Q: Recordable>(plan: &Plan) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    summary.add_round(plan, Q::record(plan));
    summary.seconds = start.elapsed().as_secs_f64();
    summary
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
    /// The plan of the round with this number.
    pub plan: fn(u64) -> Plan,
    /// [`check_round`] for it.
    pub round: fn(&Plan) -> Summary,
}

impl HistorySubject {
    fn new<Q: Recordable>(packed: bool) -> Self {
        let (run, round) = (check_queue::<Q>, check_round::<Q>);
        Self { id: Q::INFO.id, packed, run, plan: Q::plan, round }
    }
}

/// Every registered queue: between two threads, for items of any type and for tokens, between several, and the
/// one that overwrites.
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
    macro_rules! several {
        ($name:ident, $queue:ty) => {
            subjects.push(HistorySubject::new::<Several<$queue>>(false));
        };
    }
    macro_rules! unbounded {
        ($name:ident, $queue:ty) => {
            subjects.push(HistorySubject::new::<Any<Limited<$queue>>>(false));
        };
    }
    macro_rules! unbounded_several {
        ($name:ident, $queue:ty) => {
            subjects.push(HistorySubject::new::<Several<Limited<$queue>>>(false));
        };
    }
    for_each_spsc_queue!(any);
    for_each_unbounded_spsc_queue!(unbounded);
    for_each_spsc_token_queue!(packed);
    for_each_mpmc_queue!(several);
    for_each_unbounded_mpmc_queue!(unbounded_several);
    subjects.push(HistorySubject::new::<Overwriting>(false));
    subjects
}
