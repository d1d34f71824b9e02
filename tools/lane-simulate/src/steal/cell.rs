//! The results of a queue in a setting, in the shape of the JSON file.

use corelane_report::name;
use corelane_simulate::{Policy, StealingRun, StealingThread};
use serde::Serialize;

use crate::options::{StealTest, ThiefDistance};
use crate::outcome::{LineCosts, PerItem, by_line};

/// What the threads did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "test", rename_all = "lowercase")]
pub(super) enum Setting {
    /// An owner, and thieves that take a share.
    Stolen { stolen_percent: u8, distance: ThiefDistance, thieves: usize },
    /// Threads that steal from each other.
    Pool { balancing_percent: u8, policy: Policy, threads: usize },
}

impl Setting {
    pub(super) fn test(self) -> StealTest {
        match self {
            Self::Stolen { .. } => StealTest::Stolen,
            Self::Pool { .. } => StealTest::Pool,
        }
    }

    /// The place on the horizontal axis.
    pub(super) fn percent(self) -> usize {
        match self {
            Self::Stolen { stolen_percent: percent, .. }
            | Self::Pool { balancing_percent: percent, .. } => percent.into(),
        }
    }

    /// What else there is to choose.
    pub(super) fn variant(self) -> String {
        match self {
            Self::Stolen { distance, .. } => name(&distance),
            Self::Pool { policy, .. } => name(&policy),
        }
    }

    /// The setting for people.
    pub(super) fn words(self) -> String {
        let (percent, variant) = (self.percent(), self.variant());
        match self {
            Self::Stolen { .. } => format!("{percent} % stolen, {variant}"),
            Self::Pool { .. } => format!("a pool, {percent} %, {variant}"),
        }
    }
}

/// One queue in one setting.
#[derive(Debug, Serialize)]
pub(super) struct StealCell {
    pub(super) machine: String,
    pub(super) queue: String,
    #[serde(flatten)]
    pub(super) setting: Setting,
    cores: Vec<usize>,
    /// Calls of all threads that put, got or stole an item, per second of simulated time.
    pub(super) ops_per_s: f64,
    /// Those of all runs, in ascending order.
    pub(super) all_runs_ops_per_s: Vec<f64>,
    /// The share of the items that were stolen.
    pub(super) stolen: f64,
    /// Attempts to steal that got nothing, per item.
    pub(super) failed_per_item: f64,
    /// Number of counted items: got or stolen.
    items: u64,
    pub(super) sides: Vec<StealSide>,
}

/// The results of threads with the same role.
#[derive(Debug, Serialize)]
pub(super) struct StealSide {
    pub(super) role: &'static str,
    pub(super) ops_per_s: f64,
    put: u64,
    got: u64,
    pub(super) stolen: u64,
    failed: u64,
    /// Per counted item of the whole run.
    #[serde(flatten)]
    pub(super) costs: PerItem,
    pub(super) lines: Vec<LineCosts>,
}

impl StealSide {
    fn new(role: &'static str, threads: &[StealingThread], run: &StealingRun) -> Self {
        let sum = |of: fn(&StealingThread) -> u64| threads.iter().map(of).sum();
        let (costs, lines) = by_line(threads.iter().map(|thread| &thread.core), run.items);
        Self {
            role,
            ops_per_s: run.ops_per_s(threads),
            put: sum(|thread| thread.put),
            got: sum(|thread| thread.got),
            stolen: sum(|thread| thread.stolen),
            failed: sum(|thread| thread.failed),
            costs,
            lines,
        }
    }
}

impl StealCell {
    pub(super) fn new(
        machine: &str,
        queue: &str,
        setting: Setting,
        cores: Vec<usize>,
        run: &StealingRun,
    ) -> Self {
        let (first, others) = run.threads.split_at(1);
        let sides = match setting.test() {
            StealTest::Pool => vec![StealSide::new("threads", &run.threads, run)],
            StealTest::Stolen if others.is_empty() => vec![StealSide::new("owner", first, run)],
            StealTest::Stolen => [("owner", first), ("thieves", others)]
                .map(|(role, t)| StealSide::new(role, t, run))
                .into(),
        };
        let failed: u64 = run.threads.iter().map(|thread| thread.failed).sum();
        Self {
            machine: machine.into(),
            queue: queue.into(),
            setting,
            cores,
            ops_per_s: run.ops_per_s(&run.threads),
            all_runs_ops_per_s: Vec::new(),
            stolen: run.stolen(),
            failed_per_item: failed as f64 / run.items as f64,
            items: run.items,
            sides,
        }
    }

    pub(super) fn millions_per_s(&self) -> f64 {
        self.ops_per_s / 1e6
    }

    /// The least and the largest throughput of all runs, in millions per second.
    pub(super) fn range(&self) -> Option<[f64; 2]> {
        let (least, most) = (self.all_runs_ops_per_s.first()?, self.all_runs_ops_per_s.last()?);
        Some([least / 1e6, most / 1e6])
    }

    /// Misses of all threads per item.
    pub(super) fn misses_per_item(&self) -> f64 {
        self.sides.iter().map(|side| side.costs.misses).sum()
    }

    /// Misses of the owner, or of the threads of a pool, per item.
    pub(super) fn owner_misses(&self) -> f64 {
        self.sides[0].costs.misses
    }

    /// Misses of thieves for each item that they steal.
    pub(super) fn misses_per_steal(&self) -> Option<f64> {
        let thieves = self.sides.get(1)?;
        Some(thieves.costs.misses * self.items as f64 / thieves.stolen.max(1) as f64)
    }
}
