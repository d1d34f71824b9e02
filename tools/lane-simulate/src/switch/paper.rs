//! What the paper says of its curves (paper 1, Figs 23 and 24), and the simulation's.

use corelane_bench::SwitchTest;
use corelane_report::{Block, Table, short};
use serde::Serialize;

use super::outcome::SwitchCell;

const NOTE: &str = "The text of Maffione, Lettieri, Rizzo (2019), §6.2 and §6.3, on Figs 23 and 24, measured on XEON40; \
    and here, with the most clients simulated. M/s: million packets a second that the switch forwards.";

/// A statement of the paper on the switch in saturation.
struct Statement {
    test: SwitchTest,
    batch: usize,
    paper: &'static str,
    /// The queues that are faster than the others.
    faster: &'static [&'static str],
    slower: &'static [&'static str],
}

const FF: &[&str] = &["ffq", "iffq", "biffq"];
const LAMPORT: &[&str] = &["lq", "llq", "blq"];

const STATEMENTS: [Statement; 7] = {
    use SwitchTest::{Flooding, RequestResponse};
    [
        Statement {
            test: Flooding,
            batch: 1,
            paper: "iffq and biffq are consistently faster than the others",
            faster: &["iffq", "biffq"],
            slower: &["ffq", "lq", "llq", "blq"],
        },
        Statement {
            test: Flooding,
            batch: 1,
            paper: "blq is consistently faster than lq and llq",
            faster: &["blq"],
            slower: &["lq", "llq"],
        },
        Statement {
            test: Flooding,
            batch: 8,
            paper: "iffq and biffq are the fastest",
            faster: &["iffq", "biffq"],
            slower: &["ffq", "lq", "llq", "blq"],
        },
        Statement {
            test: RequestResponse,
            batch: 1,
            paper: "queues of FastForward: about 6 M/s, those of Lamport about 4",
            faster: FF,
            slower: LAMPORT,
        },
        Statement {
            test: RequestResponse,
            batch: 1,
            paper: "blq is slower than llq and lq",
            faster: &["lq", "llq"],
            slower: &["blq"],
        },
        Statement {
            test: RequestResponse,
            batch: 8,
            paper: "all from 8 to 12 M/s; queues of FastForward are faster than those of Lamport",
            faster: FF,
            slower: LAMPORT,
        },
        Statement {
            test: RequestResponse,
            batch: 8,
            paper: "with many clients blq is faster than llq and lq",
            faster: &["blq"],
            slower: &["lq", "llq"],
        },
    ]
};

/// A statement of the paper beside the simulation.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    test: SwitchTest,
    batch: usize,
    paper: &'static str,
    /// Millions of packets per second of the slowest and the fastest queue that the paper calls
    /// faster, and the same of those that it calls slower.
    faster: [f64; 2],
    slower: [f64; 2],
    /// Whether each of the former is faster than each of the latter.
    agrees: bool,
}

/// All statements for which there are cells.
pub(super) fn compare(cells: &[SwitchCell]) -> Vec<Comparison> {
    STATEMENTS.iter().filter_map(|statement| statement.compare(cells)).collect()
}

impl Statement {
    fn compare(&self, cells: &[SwitchCell]) -> Option<Comparison> {
        let &Self { test, batch, paper, faster, slower } = self;
        let is_meant = |cell: &&SwitchCell| cell.workload() == (test, batch);
        let most = cells.iter().filter(is_meant).map(|cell| cell.clients).max()?;
        let of = |queue: &&str| {
            let mut of = cells.iter().filter(is_meant).filter(|cell| cell.clients == most);
            of.find(|cell| cell.queue == **queue).map(SwitchCell::millions_per_s)
        };
        let range = |queues: &[&str]| {
            let all = queues.iter().map(of).collect::<Option<Vec<_>>>()?;
            Some([all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?])
        };
        let (faster, slower) = (range(faster)?, range(slower)?);
        Some(Comparison { test, batch, paper, faster, slower, agrees: faster[0] > slower[1] })
    }
}

pub(super) fn blocks(comparisons: &[Comparison]) -> Vec<Block> {
    if comparisons.is_empty() {
        return Vec::new();
    }
    let names = ["figure", "the paper", "faster, M/s", "others, M/s", "here"];
    let row = |comparison: &Comparison| {
        let figure = if comparison.test == SwitchTest::Flooding { 23 } else { 24 };
        let range = |range: [f64; 2]| match range.map(short) {
            [least, most] if least == most => least,
            [least, most] => format!("{least} to {most}"),
        };
        [
            format!("{figure}, B_C = {}", comparison.batch),
            comparison.paper.to_owned(),
            range(comparison.faster),
            range(comparison.slower),
            if comparison.agrees { "the same" } else { "not so" }.to_owned(),
        ]
    };
    let table = Table::new(names.map(str::to_owned)).with(comparisons.iter().map(row));
    vec![Block::heading(2, "Beside the paper"), Block::Note(NOTE.into()), Block::Table(table)]
}
