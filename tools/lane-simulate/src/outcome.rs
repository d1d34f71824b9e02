//! The results, in the shape of the JSON file.

use std::collections::BTreeMap;
use std::slice;

use coherence::{CoreReport, Counters, Distance};
use corelane_bench::{PayloadKind, Regime};
use corelane_report::{Origin, name};
use corelane_simulate::{Side, StreamRun};
use serde::Serialize;

use crate::annotate::source_name;
use crate::options::{Model, StreamArgs};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Simulation {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) machine: String,
    model: Model,
    pub(crate) capacity: usize,
    pub(crate) batch: usize,
    pub(crate) payload: PayloadKind,
    pub(crate) seed: u64,
    pub(crate) cells: Vec<StreamCell>,
}

/// One queue in one regime.
#[derive(Debug, Serialize)]
pub(crate) struct StreamCell {
    pub(crate) queue: String,
    pub(crate) regime: Regime,
    pub(crate) load_p_ns: u64,
    pub(crate) load_c_ns: u64,
    /// The cores of the producer, of threads that pass items on, and of the consumer.
    pub(crate) cores: Vec<usize>,
    pub(crate) ns_per_item: f64,
    pub(crate) producer: SideCosts,
    /// The average costs of threads that pass items on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) forwarders: Option<SideCosts>,
    pub(crate) consumer: SideCosts,
}

/// The costs of the items of a thread, or of several equal threads.
#[derive(Debug, Serialize)]
pub(crate) struct SideCosts {
    items: u64,
    /// Items between two times that the queue was full or empty.
    pub(crate) perceived_batch: f64,
    #[serde(flatten)]
    pub(crate) costs: PerItem,
    pub(crate) lines: Vec<LineCosts>,
}

/// The costs of a line of the source.
#[derive(Debug, Serialize)]
pub(crate) struct LineCosts {
    pub(crate) file: String,
    pub(crate) line: u32,
    #[serde(flatten)]
    pub(crate) costs: PerItem,
}

/// Costs of one item.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PerItem {
    pub(crate) accesses: f64,
    pub(crate) misses: f64,
    pub(crate) read_misses: f64,
    pub(crate) write_misses: f64,
    pub(crate) upgrades: f64,
    pub(crate) transfers: BTreeMap<&'static str, f64>,
    pub(crate) stall_ns: f64,
}

impl PerItem {
    fn new(counters: &Counters, items: u64) -> Self {
        let each = |count: u64| count as f64 / items as f64;
        Self {
            accesses: each(counters.requests()),
            misses: each(counters.misses()),
            read_misses: each(counters.read_misses),
            write_misses: each(counters.write_misses),
            upgrades: each(counters.upgrades),
            transfers: [
                ("l3", Distance::L3),
                ("same_l3", Distance::SameL3),
                ("same_socket", Distance::SameSocket),
                ("other_socket", Distance::OtherSocket),
                ("memory", Distance::Memory),
            ]
            .map(|(name, distance)| (name, each(counters.from(distance))))
            .into(),
            stall_ns: counters.stall.as_ns() / items as f64,
        }
    }
}

impl SideCosts {
    fn new(sides: &[Side]) -> Option<Self> {
        let items = sides.iter().map(|side| side.items).sum::<u64>();
        let stalls = sides.iter().map(|side| side.stalls).sum::<u64>();
        let (costs, lines) = by_line(sides.iter().map(|side| &side.core), items);
        let perceived_batch = items as f64 / stalls.max(1) as f64;
        (!sides.is_empty()).then_some(Self { items, perceived_batch, costs, lines })
    }
}

/// The costs of an item on these cores together, in total and by line.
pub(crate) fn by_line<'a>(
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

impl StreamCell {
    pub(crate) fn new(
        queue: String,
        (regime, [load_p_ns, load_c_ns]): (Regime, [u64; 2]),
        cores: Vec<usize>,
        run: &StreamRun,
    ) -> Self {
        let [producer, between @ .., consumer] = &run.sides[..] else {
            unreachable!("a run has two sides");
        };
        let one = |side: &Side| SideCosts::new(slice::from_ref(side)).expect("it is one");
        Self {
            queue,
            regime,
            load_p_ns,
            load_c_ns,
            cores,
            ns_per_item: run.ns_per_item(),
            producer: one(producer),
            forwarders: SideCosts::new(between),
            consumer: one(consumer),
        }
    }

    pub(crate) fn sides(&self) -> impl Iterator<Item = (&'static str, &SideCosts)> {
        let sides = [Some(&self.producer), self.forwarders.as_ref(), Some(&self.consumer)];
        ["P", "F", "C"].into_iter().zip(sides).filter_map(|(name, side)| Some((name, side?)))
    }

    /// Misses of an item for each queue that it passes.
    pub(crate) fn misses_per_queue(&self) -> f64 {
        let between = self.forwarders.as_ref().map_or(0.0, |side| side.costs.misses);
        let threads = self.cores.len();
        let forwarders = threads.saturating_sub(2) as f64;
        let all = self.producer.costs.misses + forwarders * between + self.consumer.costs.misses;
        all / threads.saturating_sub(1).max(1) as f64
    }
}

impl Simulation {
    pub(crate) fn new(args: &StreamArgs, cells: Vec<StreamCell>) -> Self {
        Self {
            origin: Origin::now("lane simulate", SCHEMA),
            machine: args.machine.clone(),
            model: args.model(),
            capacity: args.capacity.0,
            batch: args.batch.0,
            payload: args.payload,
            seed: args.seed,
            cells,
        }
    }

    pub(crate) fn by_regime(&self) -> impl Iterator<Item = &[StreamCell]> {
        self.cells.chunk_by(|a, b| {
            (a.regime, a.load_p_ns, a.load_c_ns) == (b.regime, b.load_p_ns, b.load_c_ns)
        })
    }

    /// Whether there are pipelines on several numbers of cores.
    pub(crate) fn is_sweep(&self) -> bool {
        let mut numbers = self.cells.iter().map(|cell| cell.cores.len());
        let first = numbers.next();
        numbers.any(|number| Some(number) != first)
    }

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

    pub(crate) fn circumstances(&self) -> String {
        let Self { machine, capacity, batch, seed, .. } = self;
        let cores = self.cores();
        let batch = if *batch > 1 { format!(", {batch} at a time") } else { String::new() };
        let (counting, payload) = (self.model.words(), name(&self.payload));
        format!("{machine}, {cores}{counting}; {payload}, capacity {capacity}{batch}; seed {seed}")
    }
}
