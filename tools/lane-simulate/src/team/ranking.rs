//! Which of three queues the paper found faster (paper 3, Fig. 3.7), and what the simulation says.

use corelane_bench::Workload;
use serde::Serialize;

use super::outcome::TeamCell;

/// The block-based queue, the scalable circular queue, and DPDK's ring.
const QUEUES: [&str; 3] = ["bbq", "scq", "ring"];

/// Three queues from the fastest to the slowest, with one kind of threads.
#[derive(Debug, Serialize)]
pub(super) struct Ranking {
    pub(super) threads: &'static str,
    /// The paper's order.
    pub(super) paper: [&'static str; 3],
    /// The order here, by number of threads of the larger side.
    pub(super) points: Vec<Ranks>,
}

/// The order with so many threads.
#[derive(Debug, Serialize)]
pub(super) struct Ranks {
    pub(super) threads: usize,
    pub(super) queues: Vec<String>,
}

/// Kinds of threads by name.
type Ranked = (&'static str, fn(&TeamCell) -> bool, [&'static str; 3]);

const SETTINGS: [Ranked; 3] = [
    ("Px1", |cell| cell.producers > 1 && cell.consumers == 1, ["bbq", "scq", "ring"]),
    ("1xC", |cell| cell.producers == 1 && cell.consumers > 1, ["bbq", "scq", "ring"]),
    ("PxP", |cell| cell.producers > 1 && cell.producers == cell.consumers, ["scq", "bbq", "ring"]),
];

/// All rankings of which there are cells of the three queues.
pub(super) fn rank(cells: &[TeamCell]) -> Vec<Ranking> {
    let ranking = |&(threads, includes, paper): &Ranked| {
        let is_one = |cell: &&TeamCell| {
            let is_simple = cell.workload == Workload::Simple;
            is_simple && includes(cell) && QUEUES.contains(&cell.queue.as_str())
        };
        let cells: Vec<_> = cells.iter().filter(is_one).collect();
        let points: Vec<_> =
            cells.chunk_by(|a, b| shape(a) == shape(b)).filter_map(ranks).collect();
        (!points.is_empty()).then_some(Ranking { threads, paper, points })
    };
    SETTINGS.iter().filter_map(ranking).collect()
}

fn shape(cell: &TeamCell) -> (usize, usize) {
    (cell.producers, cell.consumers)
}

fn ranks(cells: &[&TeamCell]) -> Option<Ranks> {
    let mut cells = cells.to_vec();
    cells.sort_by(|a, b| b.items_per_s.total_cmp(&a.items_per_s));
    let threads = cells[0].producers.max(cells[0].consumers);
    let queues = cells.iter().map(|cell| cell.queue.clone()).collect();
    (cells.len() == QUEUES.len()).then_some(Ranks { threads, queues })
}

impl Ranking {
    /// What the paper says, for people.
    pub(super) fn told(&self) -> String {
        self.paper.join(" > ")
    }

    /// What is said of each number of threads, for people: those in a row with one order together.
    pub(super) fn here(&self) -> String {
        let runs = self.points.chunk_by(|a, b| a.queues == b.queues).map(|run| {
            let (first, last) = (run[0].threads, run[run.len() - 1].threads);
            let threads =
                if first == last { first.to_string() } else { format!("{first} to {last}") };
            format!("{} ({threads})", run[0].queues.join(" > "))
        });
        runs.collect::<Vec<_>>().join(", ")
    }
}
