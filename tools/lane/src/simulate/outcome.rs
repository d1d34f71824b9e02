//! What came out, in the shape of the JSON file.

use std::collections::BTreeMap;
use std::slice;
use std::time::{SystemTime, UNIX_EPOCH};

use coherence::{CoreReport, Counters, Distance};
use corelane_models::source_name;
use corelane_simulate::{Run, Side};
use serde::Serialize;

use super::{Job, Model, Regime};
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
    /// Those of the producer, of threads that pass items on, and of the consumer.
    pub(super) cores: Vec<usize>,
    pub(super) ns_per_item: f64,
    pub(super) producer: SideCosts,
    /// What threads that pass items on pay, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forwarders: Option<SideCosts>,
    pub(super) consumer: SideCosts,
}

/// What the items of a thread, or of several like ones, cost.
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
    /// Of threads that do the same.
    fn new(sides: &[Side]) -> Option<Self> {
        let items = sides.iter().map(|side| side.items).sum::<u64>();
        let stalls = sides.iter().map(|side| side.stalls).sum::<u64>();
        let (costs, lines) = by_line(sides.iter().map(|side| &side.core), items);
        let perceived_batch = items as f64 / stalls.max(1) as f64;
        (!sides.is_empty()).then_some(Self { items, perceived_batch, costs, lines })
    }
}

/// What so many items cost these cores together, and the same by line.
pub(super) fn by_line<'a>(
    cores: impl Iterator<Item = &'a CoreReport>,
    items: u64,
) -> (PerItem, Vec<LineCosts>) {
    let mut total = Counters::default();
    let mut lines: BTreeMap<_, Counters> = BTreeMap::new();
    for core in cores {
        total += core.total;
        for site in &core.sites {
            let place = (source_name(site.site.file).to_owned(), site.site.line);
            *lines.entry(place).or_default() += site.counters;
        }
    }
    let line =
        |((file, line), counters)| LineCosts { file, line, costs: PerItem::new(&counters, items) };
    (PerItem::new(&total, items), lines.into_iter().map(line).collect())
}

impl Cell {
    pub(super) fn new(job: &Job, run: &Run) -> Self {
        let [producer, between @ .., consumer] = &run.sides[..] else {
            unreachable!("a run has two sides");
        };
        let one = |side: &Side| SideCosts::new(slice::from_ref(side)).expect("it is one");
        Self {
            queue: job.queue.id.clone(),
            regime: job.regime,
            load_p_ns: job.loads[0],
            load_c_ns: job.loads[1],
            cores: job.cores.clone(),
            ns_per_item: run.ns_per_item(),
            producer: one(producer),
            forwarders: SideCosts::new(between),
            consumer: one(consumer),
        }
    }

    /// The kinds of threads, with a letter for each.
    pub(super) fn sides(&self) -> impl Iterator<Item = (&'static str, &SideCosts)> {
        let sides = [Some(&self.producer), self.forwarders.as_ref(), Some(&self.consumer)];
        ["P", "F", "C"].into_iter().zip(sides).filter_map(|(name, side)| Some((name, side?)))
    }

    /// Misses that an item costs for each queue that it goes through.
    pub(super) fn misses_per_queue(&self) -> f64 {
        let between = self.forwarders.as_ref().map_or(0.0, |side| side.costs.misses);
        let threads = self.cores.len();
        let forwarders = threads.saturating_sub(2) as f64;
        let all = self.producer.costs.misses + forwarders * between + self.consumer.costs.misses;
        all / threads.saturating_sub(1).max(1) as f64
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

    /// Whether there are pipelines on several numbers of cores.
    pub(super) fn is_sweep(&self) -> bool {
        let mut numbers = self.cells.iter().map(|cell| cell.cores.len());
        let first = numbers.next();
        numbers.any(|number| Some(number) != first)
    }

    /// Which cores there were, for people.
    fn cores(&self) -> String {
        let all = || self.cells.iter().map(|cell| &cell.cores);
        let (Some(fewest), Some(most)) =
            (all().min_by_key(|cores| cores.len()), all().max_by_key(|cores| cores.len()))
        else {
            return "no cores".into();
        };
        match (fewest.len(), &most[..]) {
            (fewest, most) if fewest < most.len() => format!("{fewest} to {} cores", most.len()),
            (_, [a, b]) => format!("cores {a} and {b}"),
            (1, _) => "1 core".into(),
            (_, most) => format!("{} cores in a row", most.len()),
        }
    }

    /// What was simulated, for people.
    pub(super) fn circumstances(&self) -> String {
        let Self { machine, capacity, batch, seed, .. } = self;
        let cores = self.cores();
        let batch = if *batch > 1 { format!(", {batch} at a time") } else { String::new() };
        let counting = match self.model {
            Model::Full => "",
            Model::Counting => ", stores wait, no prefetcher",
        };
        let payload = self.payload.name();
        format!("{machine}, {cores}{counting}; {payload}, capacity {capacity}{batch}; seed {seed}")
    }
}
