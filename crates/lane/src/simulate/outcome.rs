//! What came out, in the shape of the JSON file.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use coherence::{Counters, Distance};
use corelane_models::source_name;
use corelane_simulate::{Run, Side};
use serde::Serialize;

use super::{Model, Regime};
use crate::cli::{PayloadKind, SimulateArgs};
use crate::interrupt;

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// Everything that was simulated.
#[derive(Debug, Serialize)]
pub(crate) struct Simulation {
    schema: u32,
    pub(super) command: String,
    pub(super) unix_time: u64,
    pub(super) machine: String,
    model: Model,
    pub(super) cores: [usize; 2],
    pub(super) capacity: usize,
    pub(super) batch: usize,
    pub(super) payload: PayloadKind,
    pub(super) seed: u64,
    /// Whether Ctrl-C ended the run early.
    pub(super) interrupted: bool,
    pub(super) cells: Vec<Cell>,
}

/// One queue in one regime.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(super) queue: String,
    pub(super) regime: Regime,
    pub(super) load_p_ns: u64,
    pub(super) load_c_ns: u64,
    pub(super) ns_per_item: f64,
    pub(super) producer: SideCosts,
    pub(super) consumer: SideCosts,
}

/// What one side's items cost.
#[derive(Debug, Serialize)]
pub(crate) struct SideCosts {
    items: u64,
    /// Items from one time that the queue was full, or empty, to the next.
    pub(super) perceived_batch: f64,
    #[serde(flatten)]
    pub(super) costs: PerItem,
    /// The same by line, in the order of the source.
    pub(super) lines: Vec<LineCosts>,
}

/// What a line of the source costs.
#[derive(Debug, Serialize)]
pub(crate) struct LineCosts {
    pub(super) file: String,
    pub(super) line: u32,
    #[serde(flatten)]
    pub(super) costs: PerItem,
}

/// Costs of one item.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct PerItem {
    pub(super) accesses: f64,
    pub(super) misses: f64,
    pub(super) read_misses: f64,
    pub(super) write_misses: f64,
    pub(super) upgrades: f64,
    /// Where lines came from.
    pub(super) transfers: Transfers,
    pub(super) stall_ns: f64,
}

/// Misses by where the line came from, or the farthest copy was that had to go.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Transfers {
    pub(super) l3: f64,
    pub(super) same_l3: f64,
    pub(super) same_socket: f64,
    pub(super) other_socket: f64,
    pub(super) memory: f64,
}

impl PerItem {
    fn new(counters: &Counters, items: u64) -> Self {
        let each = |count: u64| count as f64 / items as f64;
        let from = |distance| each(counters.from(distance));
        Self {
            accesses: each(counters.requests()),
            misses: each(counters.misses()),
            read_misses: each(counters.read_misses),
            write_misses: each(counters.write_misses),
            upgrades: each(counters.upgrades),
            transfers: Transfers {
                l3: from(Distance::L3),
                same_l3: from(Distance::SameL3),
                same_socket: from(Distance::SameSocket),
                other_socket: from(Distance::OtherSocket),
                memory: from(Distance::Memory),
            },
            stall_ns: counters.stall.as_ns() / items as f64,
        }
    }
}

impl SideCosts {
    fn new(side: &Side) -> Self {
        let mut lines: BTreeMap<_, Counters> = BTreeMap::new();
        for site in &side.core.sites {
            let place = (source_name(site.site.file).to_owned(), site.site.line);
            *lines.entry(place).or_default() += site.counters;
        }
        let line = |((file, line), counters)| LineCosts {
            file,
            line,
            costs: PerItem::new(&counters, side.items),
        };
        Self {
            items: side.items,
            perceived_batch: side.perceived_batch(),
            costs: PerItem::new(&side.core.total, side.items),
            lines: lines.into_iter().map(line).collect(),
        }
    }
}

impl Cell {
    pub(super) fn new(queue: &str, regime: Regime, loads: [u64; 2], run: &Run) -> Self {
        Self {
            queue: queue.to_owned(),
            regime,
            load_p_ns: loads[0],
            load_c_ns: loads[1],
            ns_per_item: run.ns_per_item(),
            producer: SideCosts::new(&run.sides[0]),
            consumer: SideCosts::new(&run.sides[1]),
        }
    }
}

impl Simulation {
    pub(super) fn new(args: &SimulateArgs, cells: Vec<Cell>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            schema: SCHEMA,
            command: std::env::args().collect::<Vec<_>>().join(" "),
            unix_time: now.as_secs(),
            machine: args.machine.clone(),
            model: Model::of(args),
            cores: [args.pair.0, args.pair.1],
            capacity: args.capacity.0,
            batch: args.batch.0,
            payload: args.payload,
            seed: args.seed,
            interrupted: interrupt::requested(),
            cells,
        }
    }

    /// Cells of one regime, for each that there is.
    pub(super) fn by_regime(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunk_by(|a, b| {
            (a.regime, a.load_p_ns, a.load_c_ns) == (b.regime, b.load_p_ns, b.load_c_ns)
        })
    }

    /// What was simulated, for people.
    pub(super) fn circumstances(&self) -> String {
        let Self { machine, cores: [a, b], capacity, batch, seed, .. } = self;
        let batch = if *batch > 1 { format!(", {batch} at a time") } else { String::new() };
        let counting = match self.model {
            Model::Full => "",
            Model::Counting => ", stores wait, no prefetcher",
        };
        let payload = self.payload.name();
        format!(
            "{machine}, cores {a} and {b}{counting}; {payload}, capacity {capacity}{batch}; seed {seed}"
        )
    }
}
