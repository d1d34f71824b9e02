//! The paper's results (paper 3, §4.2.1 and §4.6.2), and the simulation's.

use std::collections::BTreeMap;

use corelane_report::{Block, Table, short, times};
use corelane_simulate::Policy;
use serde::Serialize;

use super::cell::{Setting, StealCell};
use crate::options::{StealTest, ThiefDistance};

const NOTE: &str = "Measured in J. Wang (2024), §4.6.2 and §4.2.1, on x86-88T and arm-96T, beside other implementations: its \
    bbq and tokioq are here bbq-spmc and tokio-ring. Ratios are of throughputs, of puts, gets and steals together. Losses \
    are of the same, against 0 % stolen; those beside one socket or two are the owner's.";

/// What the paper says of a queue.
#[derive(Debug, Clone, Copy)]
enum Claim {
    /// Throughput for that of another queue, at this share of stolen items.
    Ratio(&'static str, &'static str, usize),
    /// Throughput that is lost at this share, in percent.
    Loss(&'static str, usize),
    /// The owner's throughput that is lost at this share, in percent, with a thief at a distance.
    OwnersLoss(&'static str, usize, ThiefDistance),
    /// Throughput of a pool for that of a pool with another queue: alone, or at most.
    Pool(&'static str, &'static str, Balancing),
    /// Throughput of a pool with the policy `numa` for that with another policy, at most.
    Numa(&'static str),
    /// Throughput of a pool with the policy `numa-prob` for that with `numa`, where all attempt to
    /// steal as much as they hold.
    NumaProb(&'static str),
}

/// At which balancing factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Balancing {
    Zero,
    /// The largest ratio at any other.
    AtMost,
}

const CLAIMS: [(Claim, f64); 20] = {
    use Balancing::{AtMost, Zero};
    use Claim::{Loss, Numa, NumaProb, OwnersLoss, Pool, Ratio};
    [
        (Ratio("bwos-lifo", "abp", 0), 4.55),
        (Ratio("bwos-lifo", "abp", 10), 12.59),
        (Ratio("bwos-fifo", "bbq-spmc", 0), 8.9),
        (Ratio("bwos-fifo", "bbq-spmc", 10), 11.2),
        (Ratio("bwos-fifo", "tokio-ring", 0), 3.55),
        (Ratio("bwos-fifo", "tokio-ring", 10), 9.41),
        (Loss("bwos-lifo", 20), 0.53),
        (Loss("bwos-fifo", 20), 9.35),
        (Loss("abp", 20), 71.9),
        (Loss("tokio-ring", 20), 80.2),
        (OwnersLoss("abp", 1, ThiefDistance::SameL3), 17.8),
        (OwnersLoss("abp", 1, ThiefDistance::OtherSocket), 25.2),
        (Pool("bwos-lifo", "abp", Zero), 4.69),
        (Pool("bwos-lifo", "abp", AtMost), 7.90),
        (Pool("bwos-fifo", "tokio-ring", Zero), 2.68),
        (Pool("bwos-fifo", "tokio-ring", AtMost), 6.45),
        (Numa("bwos-lifo"), 2.21),
        (Numa("bwos-fifo"), 1.73),
        (NumaProb("bwos-lifo"), 1.34),
        (NumaProb("bwos-fifo"), 1.53),
    ]
};

/// A result of the paper beside those of the simulation.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    what: String,
    /// `×` for a ratio, `%` for a loss.
    unit: &'static str,
    paper: f64,
    /// By machine.
    simulated: BTreeMap<String, f64>,
}

/// All results of the paper for which there are cells.
pub(super) fn compare(cells: &[StealCell]) -> Vec<Comparison> {
    let mut machines: BTreeMap<&str, Vec<&StealCell>> = BTreeMap::new();
    for cell in cells {
        machines.entry(&cell.machine).or_default().push(cell);
    }
    let compared = |(claim, paper): (Claim, f64)| {
        let here = |(machine, cells): (&&str, &Vec<&StealCell>)| {
            Some(((*machine).to_owned(), claim.simulated(cells)?))
        };
        let simulated: BTreeMap<_, _> = machines.iter().filter_map(here).collect();
        let (what, unit) = claim.words();
        (!simulated.is_empty()).then_some(Comparison { what, unit, paper, simulated })
    };
    CLAIMS.into_iter().filter_map(compared).collect()
}

impl Claim {
    fn words(self) -> (String, &'static str) {
        match self {
            Self::Ratio(queue, other, percent) => {
                (format!("{queue} for {other}, {percent} % stolen"), "×")
            }
            Self::Loss(queue, percent) => (format!("{queue} loses, {percent} % stolen"), "%"),
            Self::OwnersLoss(queue, percent, distance) => {
                let far = if distance == ThiefDistance::OtherSocket {
                    "two sockets"
                } else {
                    "one socket"
                };
                (format!("{queue}'s owner loses, {percent} % stolen, {far}"), "%")
            }
            Self::Pool(queue, other, Balancing::Zero) => {
                (format!("{queue} for {other}, pool, 0 %"), "×")
            }
            Self::Pool(queue, other, Balancing::AtMost) => {
                (format!("{queue} for {other}, pool, at most"), "×")
            }
            Self::Numa(queue) => (format!("{queue}, pool, numa for another policy, at most"), "×"),
            Self::NumaProb(queue) => (format!("{queue}, pool, 100 %, numa-prob for numa"), "×"),
        }
    }

    /// What the cells of a machine say.
    fn simulated(self, cells: &[&StealCell]) -> Option<f64> {
        let of = |queue: &str, test: StealTest| {
            let is_one =
                move |cell: &&&StealCell| cell.queue == queue && cell.setting.test() == test;
            cells.iter().filter(is_one).copied().collect::<Vec<_>>()
        };
        let stolen = |queue: &str, percent: usize| {
            of(queue, StealTest::Stolen).into_iter().find(|cell| cell.setting.percent() == percent)
        };
        match self {
            Self::Ratio(queue, other, percent) => {
                Some(stolen(queue, percent)?.ops_per_s / stolen(other, percent)?.ops_per_s)
            }
            Self::Loss(queue, percent) => {
                Some(loss(stolen(queue, 0)?.ops_per_s, stolen(queue, percent)?.ops_per_s))
            }
            Self::OwnersLoss(queue, percent, distance) => {
                let is_far = |cell: &&StealCell| {
                    matches!(cell.setting, Setting::Stolen { distance: far, .. } if far == distance)
                        && cell.setting.percent() == percent
                };
                let beside = of(queue, StealTest::Stolen).into_iter().find(is_far)?;
                Some(loss(stolen(queue, 0)?.sides[0].ops_per_s, beside.sides[0].ops_per_s))
            }
            Self::Pool(queue, other, balancing) => {
                let is_meant = |cell: &StealCell| {
                    (cell.setting.percent() == 0) == (balancing == Balancing::Zero)
                };
                let [ours, others] = [queue, other].map(|queue| of(queue, StealTest::Pool));
                largest(&ours, &others, |a, b| a.setting == b.setting && is_meant(a))
            }
            Self::Numa(queue) => {
                let cells = of(queue, StealTest::Pool);
                let is_numa = |cell: &StealCell| has(cell, Policy::Numa);
                largest(&cells, &cells, |a, b| {
                    is_numa(a) && !is_numa(b) && a.setting.percent() == b.setting.percent()
                })
            }
            Self::NumaProb(queue) => {
                let mut cells = of(queue, StealTest::Pool);
                cells.retain(|cell| cell.setting.percent() == 100);
                largest(&cells, &cells, |a, b| has(a, Policy::NumaProb) && has(b, Policy::Numa))
            }
        }
    }
}

/// Whether it is a pool with this policy.
fn has(cell: &StealCell, wanted: Policy) -> bool {
    matches!(cell.setting, Setting::Pool { policy, .. } if policy == wanted)
}

/// What is lost, in percent.
fn loss(before: f64, after: f64) -> f64 {
    100.0 * (1.0 - after / before)
}

/// The largest ratio of throughputs of the pairs that are compared.
fn largest(
    ours: &[&StealCell],
    others: &[&StealCell],
    is_pair: impl Fn(&StealCell, &StealCell) -> bool,
) -> Option<f64> {
    let pairs = ours.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
    let ratios = pairs.filter(|(a, b)| is_pair(a, b)).map(|(a, b)| a.ops_per_s / b.ops_per_s);
    ratios.max_by(f64::total_cmp)
}

impl Comparison {
    fn value(&self, value: f64) -> String {
        if self.unit == "%" { format!("{} %", short(value)) } else { times(value) }
    }
}

/// The paper's results, and the simulation's.
pub(super) fn blocks(comparisons: &[Comparison], machines: &[String]) -> Vec<Block> {
    if comparisons.is_empty() {
        return Vec::new();
    }
    let simulated = machines.iter().map(|machine| format!("simulated {machine}"));
    let names = ["throughput of".into(), "the paper's".into()].into_iter().chain(simulated);
    let row = |comparison: &Comparison| {
        let here = machines.iter().map(|machine| {
            let value = comparison.simulated.get(machine);
            value.map_or_else(String::new, |value| comparison.value(*value))
        });
        let first = [comparison.what.clone(), comparison.value(comparison.paper)];
        first.into_iter().chain(here).collect::<Vec<_>>()
    };
    let table = Table::new(names).with(comparisons.iter().map(row));
    vec![Block::heading(2, "Beside the paper"), Block::Note(NOTE.into()), Block::Table(table)]
}
