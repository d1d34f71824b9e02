//! The paper's results (paper 3, Figs 2.8, 2.9 and 3.7), and the simulation's.

use corelane_bench::Workload;
use corelane_report::{Block, Table, name, times};
use serde::Serialize;

use super::cell::TeamCell;
use crate::options::WORKLOADS;

/// The beginning of the ids of all forms of the block-based queue.
const OURS: &str = "bbq";

/// The block-based queue with additions on both sides, which Figs 2.8 and 2.9 don't have.
const ADDING: &str = "faaq";

/// A queue that no paper has.
const LEASED: &str = "leased";

/// The block-based queues, the scalable circular queue, and DPDK's ring.
const RANKED: [&str; 4] = [ADDING, "bbq", "scq", "ring"];

const OF_COMPARISONS: &str = "Throughput of the fastest form of bbq for that of the next best queue: in J. Wang \
    (2024), Figs 2.8 and 2.9, measured on x86-88T beside other libraries' queues; and simulated here, beside \
    those in the tables of all queues, with the number of threads of the larger side. Misses saved: those of \
    the other queue for those of bbq.";

const OF_RANKINGS: &str = "From the fastest to the slowest: in J. Wang (2024), Fig. 3.7, measured on 88 \
    hyperthreads; and simulated here, workload simple, with the number of threads of the larger side.";

/// The block-based queue beside the best other bounded queue, with one kind of threads.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    threads: &'static str,
    workload: Workload,
    /// The ratio of its throughput to the next best queue's in the paper, or the largest ratio.
    paper: f64,
    /// The simulated ratios. Empty if there is no other queue.
    points: Vec<ComparedPoint>,
}

/// The best queue of each kind, with one number of threads on the larger side.
#[derive(Debug, Serialize)]
struct ComparedPoint {
    threads: usize,
    /// The fastest other queue.
    other: String,
    /// Ratio of the throughputs: the fastest block-based queue's to the other's.
    throughput: f64,
    /// Ratio of the misses: the other queue's to the block-based queue's.
    misses: f64,
}

/// Four queues from the fastest to the slowest, with one kind of threads.
#[derive(Debug, Serialize)]
pub(super) struct Ranking {
    threads: &'static str,
    paper: [&'static str; 4],
    points: Vec<Ranks>,
}

/// The simulated order, with one number of threads on the larger side.
#[derive(Debug, Serialize)]
struct Ranks {
    threads: usize,
    queues: Vec<String>,
}

/// Whether a cell has one kind of threads.
type Includes = fn(&TeamCell) -> bool;

const ONE_EACH: Includes = |cell| cell.producers == 1 && cell.consumers == 1;
const PRODUCERS: Includes = |cell| cell.producers > 1 && cell.consumers == 1;
const CONSUMERS: Includes = |cell| cell.producers == 1 && cell.consumers > 1;
const AS_MANY: Includes = |cell| cell.producers > 1 && cell.producers == cell.consumers;

/// Throughput with either workload.
const THROUGHPUT: [(&str, Includes, [f64; 2]); 3] = [
    ("1x1", ONE_EACH, [11.3, 2.0]),
    ("Px1", PRODUCERS, [10.13, 3.65]),
    ("1xC", CONSUMERS, [1.88, 2.39]),
];

const ORDERS: [(&str, Includes, [&str; 4]); 3] = [
    ("Px1", PRODUCERS, ["faaq", "bbq", "scq", "ring"]),
    ("1xC", CONSUMERS, ["faaq", "bbq", "scq", "ring"]),
    ("PxP", AS_MANY, ["faaq", "scq", "bbq", "ring"]),
];

/// All comparisons that have cells.
pub(super) fn compare(cells: &[TeamCell]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (threads, includes, papers) in THROUGHPUT {
        for (workload, paper) in WORKLOADS.into_iter().zip(papers) {
            let points =
                points(cells, |cell| cell.workload == workload && includes(cell), compared);
            comparisons.extend(points.map(|points| Comparison {
                threads,
                workload,
                paper,
                points,
            }));
        }
    }
    comparisons
}

/// All rankings that have cells of the four queues.
pub(super) fn rank(cells: &[TeamCell]) -> Vec<Ranking> {
    let ranking = |(threads, includes, paper): (_, Includes, _)| {
        let is_one = |cell: &TeamCell| {
            let is_simple = cell.workload == Workload::Simple;
            is_simple && includes(cell) && RANKED.contains(&cell.queue.as_str())
        };
        let points = points(cells, is_one, ranks)?;
        (!points.is_empty()).then_some(Ranking { threads, paper, points })
    };
    ORDERS.into_iter().filter_map(ranking).collect()
}

/// A point for each number of threads that has cells. `None` if there are no cells.
fn points<P>(
    cells: &[TeamCell],
    is_one: impl Fn(&TeamCell) -> bool,
    point: fn(&[&TeamCell]) -> Option<P>,
) -> Option<Vec<P>> {
    let cells: Vec<_> = cells.iter().filter(|cell| is_one(cell)).collect();
    let size = |cell: &TeamCell| (cell.producers, cell.consumers);
    let points = cells.chunk_by(|a, b| size(a) == size(b)).filter_map(point);
    (!cells.is_empty()).then(|| points.collect())
}

fn compared(cells: &[&TeamCell]) -> Option<ComparedPoint> {
    let fastest = |is_ours: bool| {
        let is_one = |cell: &&&TeamCell| {
            let is_compared = ![ADDING, LEASED].contains(&cell.queue.as_str());
            cell.bounded && is_compared && cell.queue.starts_with(OURS) == is_ours
        };
        let cells = cells.iter().filter(is_one);
        cells.max_by(|a, b| a.items_per_s.total_cmp(&b.items_per_s))
    };
    let (ours, other) = (fastest(true)?, fastest(false)?);
    Some(ComparedPoint {
        threads: ours.producers.max(ours.consumers),
        other: other.queue.clone(),
        throughput: ours.items_per_s / other.items_per_s,
        misses: other.misses_per_item / ours.misses_per_item,
    })
}

fn ranks(cells: &[&TeamCell]) -> Option<Ranks> {
    let mut cells = cells.to_vec();
    cells.sort_by(|a, b| b.items_per_s.total_cmp(&a.items_per_s));
    let threads = cells[0].producers.max(cells[0].consumers);
    let queues = cells.iter().map(|cell| cell.queue.clone()).collect();
    (cells.len() == RANKED.len()).then_some(Ranks { threads, queues })
}

impl Comparison {
    fn row(&self) -> [String; 6] {
        let most = if self.threads == "1x1" { "" } else { "up to " };
        let mut others: Vec<_> = self.points.iter().map(|point| point.other.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        [
            self.threads.into(),
            name(&self.workload),
            format!("{most}{:.2}×", self.paper),
            self.range(|point| point.throughput),
            self.range(|point| point.misses),
            others.join(", "),
        ]
    }

    /// The least and the largest value of `of`, with the numbers of threads.
    fn range(&self, of: fn(&ComparedPoint) -> f64) -> String {
        let points = || self.points.iter().map(|point| (of(point), point.threads));
        let by = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0);
        match (points().min_by(by), points().max_by(by)) {
            (Some((least, few)), Some((most, many))) if least < most => {
                format!("{} ({few}) to {} ({many})", times(least), times(most))
            }
            (_, Some((most, _))) => times(most),
            _ => "no other queue".into(),
        }
    }
}

impl Ranking {
    fn row(&self) -> [String; 3] {
        // Successive numbers of threads with the same order form one run.
        let runs = self.points.chunk_by(|a, b| a.queues == b.queues).map(|run| {
            let threads = match (run[0].threads, run[run.len() - 1].threads) {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first} to {last}"),
            };
            format!("{} ({threads})", run[0].queues.join(" > "))
        });
        let here = runs.collect::<Vec<_>>().join(", ");
        [self.threads.into(), self.paper.join(" > "), here]
    }
}

/// The paper's results, and the simulation's.
pub(super) fn blocks(comparisons: &[Comparison], rankings: &[Ranking]) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !comparisons.is_empty() {
        let names =
            ["threads", "workload", "the paper's", "simulated", "misses saved", "next best here"];
        let table = Table::new(names).with(comparisons.iter().map(Comparison::row));
        blocks.push(Block::heading(2, "Beside the paper"));
        blocks.extend([Block::Note(OF_COMPARISONS.into()), Block::Table(table)]);
    }
    if !rankings.is_empty() {
        let names = ["threads", "the paper's", "simulated"];
        let table = Table::new(names).with(rankings.iter().map(Ranking::row));
        blocks.extend([Block::Note(OF_RANKINGS.into()), Block::Table(table)]);
    }
    blocks
}
