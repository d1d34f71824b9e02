//! What the paper found (paper 3, Figs 2.8 and 2.9), and what the simulation says.

use corelane_bench::Workload;
use corelane_report::times;
use serde::Serialize;

use super::outcome::TeamCell;
use crate::options::WORKLOADS;

/// How the ids of all forms of the block-based queue begin.
const OURS: &str = "bbq";

/// The block-based queue beside the best of all other bounded ones, with one kind of threads.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) threads: &'static str,
    pub(super) workload: Workload,
    /// Its throughput for that of the next best, as the paper has it: at most, or at all.
    pub(super) paper: f64,
    /// The same here, by number of threads that the larger side has. Empty if there is no other queue.
    pub(super) points: Vec<ComparedPoint>,
}

/// The best of each with so many threads.
#[derive(Debug, Serialize)]
pub(super) struct ComparedPoint {
    pub(super) threads: usize,
    /// The fastest of the others.
    pub(super) other: String,
    /// Throughput of the fastest block-based queue for that of the other.
    pub(super) throughput: f64,
    /// Misses of the other for those of the block-based queue.
    pub(super) misses: f64,
}

/// Threads by name, and what the paper says of them with either workload.
struct Compared {
    threads: &'static str,
    includes: fn(&TeamCell) -> bool,
    paper: [f64; 2],
}

const SETTINGS: [Compared; 3] = [
    Compared {
        threads: "1x1",
        includes: |cell| cell.producers == 1 && cell.consumers == 1,
        paper: [11.3, 2.0],
    },
    Compared {
        threads: "Px1",
        includes: |cell| cell.producers > 1 && cell.consumers == 1,
        paper: [10.13, 3.65],
    },
    Compared {
        threads: "1xC",
        includes: |cell| cell.producers == 1 && cell.consumers > 1,
        paper: [1.88, 2.39],
    },
];

/// All comparisons of which there are cells.
pub(super) fn compare(cells: &[TeamCell]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for setting in &SETTINGS {
        for (workload, paper) in WORKLOADS.into_iter().zip(setting.paper) {
            let is_one = |cell: &&TeamCell| cell.workload == workload && (setting.includes)(cell);
            let cells: Vec<_> = cells.iter().filter(is_one).collect();
            if !cells.is_empty() {
                let (threads, points) = (setting.threads, points(&cells));
                comparisons.push(Comparison { threads, workload, paper, points });
            }
        }
    }
    comparisons
}

/// A point for each number of threads at which there are both ours and others.
fn points(cells: &[&TeamCell]) -> Vec<ComparedPoint> {
    let shape = |cell: &TeamCell| (cell.producers, cell.consumers);
    cells.chunk_by(|a, b| shape(a) == shape(b)).filter_map(point).collect()
}

fn point(cells: &[&TeamCell]) -> Option<ComparedPoint> {
    let fastest = |is_ours: bool| {
        let is_one = |cell: &&&TeamCell| cell.bounded && cell.queue.starts_with(OURS) == is_ours;
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

impl Comparison {
    /// The least and the most of something, with the numbers of threads.
    fn range(&self, of: fn(&ComparedPoint) -> f64) -> Option<[(f64, usize); 2]> {
        let points = || self.points.iter().map(|point| (of(point), point.threads));
        let by = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0);
        Some([points().min_by(by)?, points().max_by(by)?])
    }

    /// What is said of throughput and misses, for people.
    pub(super) fn here(&self) -> [String; 2] {
        [|point: &ComparedPoint| point.throughput, |point: &ComparedPoint| point.misses].map(|of| {
            match self.range(of) {
                None => "no other queue".into(),
                Some([(least, _), (most, _)]) if self.points.len() == 1 || least == most => {
                    times(most)
                }
                Some([(least, few), (most, many)]) => {
                    format!("{} ({few}) to {} ({many})", times(least), times(most))
                }
            }
        })
    }

    /// Which others were the fastest, for people.
    pub(super) fn others(&self) -> String {
        let mut others: Vec<_> = self.points.iter().map(|point| point.other.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        others.join(", ")
    }

    /// What the paper says, for people.
    pub(super) fn told(&self) -> String {
        let most = if self.threads == "1x1" { "" } else { "up to " };
        format!("{most}{:.2}×", self.paper)
    }
}
