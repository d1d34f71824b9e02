//! Real threads on real queues, round after round, and each round's history through the monitor.

use std::fmt;
use std::time::{Duration, Instant};

use corelane::{Config, SingleProducer, for_each_spsc_queue, for_each_spsc_token_queue};

use super::{History, Plan, Rules, Violation, Witness, record_all};
use crate::{Any, Pair, Queue, Subject, Tokens};

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
        match *plan == Plan::of_round(seed) {
            true => write!(f, "{witness}\nin Plan::of_round({seed}), which is {plan:?}"),
            false => write!(f, "{witness}\nin {plan:?}"),
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
            self.violation.get_or_insert(finding);
        }
    }

    /// Carries out `plan` on queues of the kind `Q` and checks what comes of it.
    fn add_round<Q: Pair>(&mut self, plan: &Plan) {
        let queues: Vec<_> = (0..plan.queues).map(|_| queue_for::<Q>(plan)).collect();
        let rules = queues.first().map(|(tx, _)| rules_of::<Q>(tx)).unwrap_or_default();
        for recording in record_all(plan, queues) {
            self.add(&recording.history);
            if let Err(witness) = recording.check(&rules) {
                self.judge(Finding { plan: *plan, witness });
            }
        }
    }
}

/// Asked after each round whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut(&Summary) -> bool;

/// Records and checks histories of `Q` until `duration` is over, `go_on` says `false`, or a violation is
/// found.
pub fn check_queue<Q: Pair>(duration: Duration, go_on: GoOn) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    for round in 0.. {
        summary.add_round::<Q>(&Plan::of_round(round));
        summary.seconds = start.elapsed().as_secs_f64();
        if summary.violation.is_some() || start.elapsed() >= duration || !go_on(&summary) {
            break;
        }
    }
    summary
}

/// Records and checks the histories of one round, such as one that has found something.
pub fn check_round<Q: Pair>(plan: &Plan) -> Summary {
    let start = Instant::now();
    let mut summary = Summary::default();
    summary.add_round::<Q>(plan);
    summary.seconds = start.elapsed().as_secs_f64();
    summary
}

type Ends<Q> = (<Q as Queue<<Q as Subject>::Number>>::Tx, <Q as Queue<<Q as Subject>::Number>>::Rx);

/// A queue as planned.
fn queue_for<Q: Pair>(plan: &Plan) -> Ends<Q> {
    let config = Config::new(plan.capacity).first(plan.first);
    let config = plan.batch.map_or(config, |batch| config.batch(batch));
    <Q as Queue<Q::Number>>::channel(config).expect("this capacity is possible")
}

/// What a queue must obey.
fn rules_of<Q: Pair>(tx: &impl SingleProducer) -> Rules {
    Rules { capacity: Some(tx.capacity()), slack: tx.slack(), delayed: Q::INFO.delayed, k: 0 }
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
    /// [`check_round`] for it.
    pub round: fn(&Plan) -> Summary,
}

impl HistorySubject {
    fn new<Q: Pair>(packed: bool) -> Self {
        Self { id: Q::INFO.id, packed, run: check_queue::<Q>, round: check_round::<Q> }
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
