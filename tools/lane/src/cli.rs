//! The command line.

use std::fmt;
use std::iter;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use corelane::Memory;
use serde::Serialize;

use crate::catalogue::{self, Entry};
use crate::pair::{Cores, Wait};
use crate::simulate;
use crate::stats::Group;
use crate::verify;

/// Measures the queues of corelane on this machine, beside the physical floor and beside the crates
/// one would otherwise use, verifies their memory orderings, and simulates them on other machines.
///
/// Without a command: a quick run of all queues between one and one, a recommendation, and corelane-report.html in the
/// current directory.
#[derive(Debug, Parser)]
#[command(name = "lane", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues with what they guarantee, and the peers with their versions.
    List,
    /// Measure queues.
    ///
    /// Queues are measured interleaved, round by round. Each round also measures what the caches
    /// alone can do, and rounds are grouped by it: near (the cores share a cache) or far.
    /// Ctrl-C ends the run and keeps what was measured; the exit code is then 130.
    Bench(BenchCommand),
    /// Show that each memory ordering in the sources is needed.
    ///
    /// Runs the models of each queue in all executions that the C11 memory model allows (where these
    /// are too many, in those with few preemptions), then again with one ordering weaker at a time. An
    /// ordering is needed if with any weaker one a model fails.
    /// Bugs seeded into copies of the queues show that the models are awake.
    ///
    /// Ctrl-C ends the run and keeps the queues that are finished; the exit code is then 130. It is 1
    /// if a queue is found broken, or a seeded bug is not found. An ordering that isn't needed is told,
    /// but is no fault.
    Verify(VerifyArgs),
    /// Simulate queues on other machines, and show which lines of the source cost cache misses.
    ///
    /// The queues' own sources run on simulated cores, and every access is charged to a model of the
    /// caches. Counts of misses are those of the algorithm; times are as good as the machine's figures.
    /// The same seed gives the same result.
    ///
    /// Ctrl-C ends the run and keeps what is finished; the exit code is then 130.
    Simulate(SimulateCommand),
    /// Measure what the simulator needs to know of this machine.
    Calibrate(CalibrateArgs),
}

/// What to calibrate.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Cores to measure between.
    #[arg(long, value_name = "A,B")]
    pub(crate) cores: Option<CorePair>,

    /// Write a file for `lane simulate --machine FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// `lane simulate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SimulateCommand {
    /// Which kind of queue [default: spsc].
    #[command(subcommand)]
    pub(crate) suite: Option<SimulateSuite>,

    /// What to simulate, if the kind of queue is left out.
    #[command(flatten)]
    pub(crate) args: SimulateArgs,
}

/// Kinds of queues that can be simulated.
#[derive(Debug, Subcommand)]
pub(crate) enum SimulateSuite {
    /// One producer, one consumer.
    Spsc(Box<SimulateArgs>),
    /// Several producers, several consumers.
    Mpmc(Box<SimulateMpmcArgs>),
}

/// What to simulate, and on what.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Queues to simulate, by id; all if none is named.
    #[arg(value_name = "QUEUE", value_parser = PossibleValuesParser::new(simulate::ids()),
          hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "i7", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// Measure the queues on this machine, simulate the same, and show how far off the simulation is.
    #[arg(long, conflicts_with_all = ["machine", "pair", "cores", "sweep", "model", "regime", "grid",
          "annotate", "payload", "capacity", "batch", "items", "html"])]
    pub(crate) validate: bool,

    /// How often everything is measured for --validate.
    #[arg(long, value_name = "N", default_value = "15", requires = "validate")]
    pub(crate) rounds: Positive,

    /// Virtual cores of producer and consumer. Cores are numbered socket by socket, and second
    /// threads after all first ones.
    #[arg(long, value_name = "A,B", default_value = "0,1")]
    pub(crate) pair: CorePair,

    /// Simulate a pipeline on the first N virtual cores: a producer, threads that pop items and push
    /// them into the next queue, and a consumer. A core alone pushes and pops.
    #[arg(long, value_name = "N", conflicts_with = "pair")]
    pub(crate) cores: Option<Positive>,

    /// Simulate pipelines on A to B cores: A, B, and powers of two and half as much again between them.
    #[arg(long, value_name = "cores=A..B", conflicts_with_all = ["pair", "cores", "grid", "annotate"])]
    pub(crate) sweep: Option<Sweep>,

    /// How far to simulate cores [default: full; with --annotate counting].
    #[arg(long, value_enum)]
    pub(crate) model: Option<simulate::Model>,

    /// Emulated load of both sides per item: free 0/0 ns, fp 0/10, fc 20/10, balanced 50/50
    /// (producer/consumer); or turns: one side fills the queue, then the other empties it [default:
    /// free, fp, fc; with --annotate fc].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) regime: Vec<simulate::Regime>,

    /// All pairs of loads from 0 to 90 ns in steps of 10, for heat maps of misses.
    #[arg(long, conflicts_with = "regime")]
    pub(crate) grid: bool,

    /// Show this queue's source with the misses and stalls of each line.
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["queues", "grid", "cores"],
          value_parser = PossibleValuesParser::new(simulate::ids()), hide_possible_values = true)]
    pub(crate) annotate: Option<String>,

    /// What travels: a number in the slot, or a pointer to a page that both sides touch.
    #[arg(long, value_enum, default_value = "u64")]
    pub(crate) payload: PayloadKind,

    /// Items a queue must hold.
    #[arg(long, value_name = "N", default_value = "256")]
    pub(crate) capacity: Positive,

    /// Most items per call; 1 uses the calls for single items.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) batch: Positive,

    /// Items that are counted, after as many that warm up [default: 20000; with --sweep 5000].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<Positive>,

    /// Decides who is first of those that are due at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Write the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a report that opens in any browser, in one file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What to simulate between several threads, and on what.
#[derive(Debug, Args)]
pub(crate) struct SimulateMpmcArgs {
    /// Queues to simulate, by id; if none is named, all between several threads, with bbq-spsc and lq
    /// where there is one thread a side.
    #[arg(value_name = "QUEUE", value_parser = PossibleValuesParser::new(simulate::ids_for_teams()),
          hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "arm-96t", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// Producers and consumers, each on a core of its own [default: 1x1,2x2,4x4,4x1,1x4, as far as the
    /// machine has cores].
    #[arg(long, value_name = "PxC", value_delimiter = ',')]
    pub(crate) threads: Vec<Shape>,

    /// Simulate one consumer with 1, 2, 4, … producers, one producer with as many consumers, and as many of both,
    /// until all cores are in use; and set what comes out beside what the paper found.
    #[arg(long, conflicts_with = "threads")]
    pub(crate) sweep: bool,

    /// Use no more than the first N cores for the sweep.
    #[arg(long, value_name = "N", requires = "sweep")]
    pub(crate) cores: Option<Positive>,

    /// Show what a real machine does on the same axes: throughput that `lane bench mpmc --json FILE` has measured.
    #[arg(long, value_name = "FILE", requires = "sweep")]
    pub(crate) beside: Option<PathBuf>,

    /// What threads do besides their calls [default: simple; with --sweep simple, complex].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) workload: Vec<simulate::TeamWorkload>,

    /// How far to simulate cores.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) model: simulate::Model,

    /// Items a queue must hold. As many are popped before anything is counted.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) capacity: Positive,

    /// Items that are popped while everything is counted [default: 20000; with --sweep 8000].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<Positive>,

    /// Decides who is first of those that are due at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Write the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a report that opens in any browser, in one file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What to verify.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Queues to verify, by id; all if none is named. `canary` is a broken one, to see a failure.
    #[arg(value_name = "QUEUE", value_parser = PossibleValuesParser::new(verify::ids()),
          hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// Also run a bigger model of each queue, with three threads, which takes minutes.
    #[arg(long)]
    pub(crate) big: bool,

    /// Instead of models: let threads use each queue for so long (30s, 10m), two or up to six, and check
    /// that what they saw is what a queue can do. It is not if an item comes twice, never or out of
    /// order, or if empty or full is answered where that can't be.
    #[arg(long, value_name = "TIME", value_parser = length,
          conflicts_with_all = ["big", "kept", "html", "markdown"])]
    pub(crate) histories: Option<Duration>,

    /// Trust a table that --markdown wrote: with each weaker ordering run the model first that failed there, and
    /// none where none did. That takes a third of the time, and doesn't see that a survivor has become needed.
    #[arg(long, value_name = "FILE", conflicts_with = "big")]
    pub(crate) kept: Option<PathBuf>,

    /// Write the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the sources with the verdict beside each line, in one file for any browser.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write the ordering table as Markdown, without what differs from run to run.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Run one model for another process.
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

/// `lane bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchCommand {
    /// Which kind of queue.
    #[command(subcommand)]
    pub(crate) suite: BenchSuite,
}

/// Kinds of queues.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchSuite {
    /// One producer, one consumer.
    Spsc(Box<BenchArgs>),
    /// Several producers, several consumers.
    Mpmc(Box<MpmcArgs>),
    /// Threads in a ring, each of which copies what it gets, frees the original and passes the copy on.
    Ring(Box<RingArgs>),
}

/// What all measurements have in common.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// How often everything is measured.
    #[arg(long, value_name = "N", default_value = "15")]
    pub(crate) rounds: Positive,

    /// Longest `line_rtt` in nanoseconds at which two cores count as near.
    #[arg(long, value_name = "NS", default_value_t = PositiveReal(Group::FAR_ABOVE_NS))]
    pub(crate) far_above: PositiveReal,

    /// Also measure all peers, when queues are named.
    #[arg(long, overrides_with = "no_peers")]
    pub(crate) peers: bool,

    /// Measure no peers.
    #[arg(long, overrides_with = "peers")]
    pub(crate) no_peers: bool,

    /// Write the results as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a report that opens in any browser, in one file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl RunArgs {
    /// Longest `line_rtt` that counts as near. Whatever a round trip takes on one core, it isn't far.
    pub(crate) fn far_above_ns(&self, cores: Cores) -> f64 {
        if cores.same() { f64::INFINITY } else { self.far_above.0 }
    }

    /// Whether `entry` is to be measured when `named` are named; if it is measured `by_default`.
    pub(crate) fn chooses(&self, entry: &Entry, named: &[String], by_default: bool) -> bool {
        let is_named = named.contains(&entry.id);
        match (entry.is_peer(), named.is_empty()) {
            (true, true) => by_default && !self.no_peers,
            (true, false) => is_named || (by_default && self.peers),
            (false, true) => by_default,
            (false, false) => is_named,
        }
    }
}

/// What to measure, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// Queues and peers to measure, by id (see `lane list`); all if none is named.
    #[arg(value_name = "QUEUE", value_parser = ids(), hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["stream", "rtt"])]
    pub(crate) test: Vec<Test>,

    /// Emulated load of both sides, for `stream`: free 0/0 ns, fp 0/10, fc 20/10, balanced 50/50
    /// (producer/consumer).
    #[arg(long, value_enum, value_delimiter = ',', default_value = "free")]
    pub(crate) regime: Vec<Regime>,

    /// Emulated load of the producer per item, instead of a regime.
    #[arg(long, value_name = "NS", conflicts_with = "regime")]
    pub(crate) load_p: Option<u64>,

    /// Emulated load of the consumer per item, instead of a regime.
    #[arg(long, value_name = "NS", conflicts_with = "regime")]
    pub(crate) load_c: Option<u64>,

    /// `stream` under all pairs of loads from 0 to 90 ns in steps of 10, for heat maps.
    #[arg(long, conflicts_with_all = ["regime", "load_p", "load_c", "test"])]
    pub(crate) grid: bool,

    /// What travels: a number in the slot, or a pointer to a page that both sides touch.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "u64")]
    pub(crate) payload: Vec<PayloadKind>,

    /// Items a queue must hold.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) capacity: Positive,

    /// Most items per call, for `stream`; 1 uses the calls for single items.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub(crate) batch: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms; open-loop: 200ms, with a
    /// capture 1s; grid: 5ms].
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with = "items")]
    pub(crate) duration: Option<Duration>,

    /// Items of one `stream` or `rtt` measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<NonZeroU64>,

    /// Cores of producer and consumer; the same core twice is allowed.
    #[arg(long, value_name = "A,B")]
    pub(crate) cores: Option<CorePair>,

    /// Where our queues live.
    #[arg(long, value_enum, default_value = "heap")]
    pub(crate) memory: MemoryKind,

    /// What a side does before it looks again at a queue that was full or empty.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pause")]
    pub(crate) wait: Vec<Wait>,

    /// Items per second of `open-loop`, at random times (Poisson) [default: 1000000].
    #[arg(long, value_name = "ITEMS_PER_S", conflicts_with = "trace")]
    pub(crate) rate: Option<PositiveReal>,

    /// Send the packets of this capture (pcap or pcapng) in `open-loop`, at their times; gaps over
    /// 10 ms are shortened to that. With `--payload indirect` both sides touch as many bytes as the
    /// packet has.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Replay the capture this many times as fast.
    #[arg(long, value_name = "X", default_value = "1", requires = "trace")]
    pub(crate) speedup: PositiveReal,

    /// How often, and what becomes of it.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl Default for BenchArgs {
    /// What `lane bench spsc` means.
    fn default() -> Self {
        /// Gives the arguments a command of their own.
        #[derive(Parser)]
        struct Alone {
            #[command(flatten)]
            args: BenchArgs,
        }
        Alone::parse_from(["lane"]).args
    }
}

/// What to measure between several threads, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct MpmcArgs {
    /// Queues and peers to measure, by id (see `lane list`); if none is named, all between several
    /// threads, with bbq-spsc and rtrb where there is one thread a side.
    #[arg(value_name = "QUEUE", value_parser = all_ids(), hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["throughput", "full-empty", "overwrite"])]
    pub(crate) test: Vec<MpmcTest>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default:
    /// 1x1,2x2,4x4,4x1,1x4].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = measurable)]
    pub(crate) threads: Vec<Shape>,

    /// What threads do besides their calls.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "simple")]
    pub(crate) workload: Vec<Workload>,

    /// Items a queue must hold [default: 4096; data-latency: 128].
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<Positive>,

    /// Most items per call, for `throughput`; 1 uses the calls for single items.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub(crate) batch: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms; with more threads than cores:
    /// 100ms; profiling: 200ms; full-empty: 5ms].
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with = "items")]
    pub(crate) duration: Option<Duration>,

    /// Items that are popped at least in one measurement, instead of a duration; not for `overwrite`.
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) cores: Vec<usize>,

    /// What a thread does before it looks again at a queue that was full or empty. With more threads
    /// than cores it yields.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pause")]
    pub(crate) wait: Vec<Wait>,

    /// How often, and what becomes of it.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What to measure between threads in a ring, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct RingArgs {
    /// Queues and peers to measure, by id (see `lane list`); if none is named, all between one producer and
    /// one consumer.
    #[arg(value_name = "QUEUE", value_parser = all_ids(), hide_possible_values = true)]
    pub(crate) queues: Vec<String>,

    /// Threads of the ring, 2 to 64; may be more than there are cores.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4",
          value_parser = clap::value_parser!(u8).range(2..=64))]
    pub(crate) threads: Vec<u8>,

    /// Most messages under way.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub(crate) in_flight: Positive,

    /// Messages that each queue must hold.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms; where threads yield: 100ms].
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with = "items")]
    pub(crate) duration: Option<Duration>,

    /// Messages of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<NonZeroU64>,

    /// Cores for the threads, in the order of the ring; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) cores: Vec<usize>,

    /// What a thread does before it looks again at a queue that was full or empty. With more threads
    /// than cores it yields.
    #[arg(long, value_enum, default_value = "pause")]
    pub(crate) wait: Wait,

    /// How often, and what becomes of it.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// All ids of queues and peers.
fn all_ids() -> PossibleValuesParser {
    PossibleValuesParser::new(catalogue::entries().iter().map(|entry| entry.id.as_str()))
}

/// What is measured between several threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MpmcTest {
    /// Nanoseconds per item that is popped by anybody, and how evenly threads share in that.
    Throughput,
    /// How long items stay in the queue.
    DataLatency,
    /// How long one push and one pop take.
    OpLatency,
    /// What it costs to be told that a queue is full or empty.
    FullEmpty,
    /// What a push costs that overwrites what was not popped in time, with a consumer and without.
    Overwrite,
}

impl MpmcTest {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::DataLatency => "data-latency",
            Self::OpLatency => "op-latency",
            Self::FullEmpty => "full-empty",
            Self::Overwrite => "overwrite",
        }
    }
}

/// What threads do besides their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Workload {
    /// Nothing but check the items.
    Simple,
    /// Allocate and free a buffer for each item, and spin for up to a hundred turns before each call.
    Complex,
    /// 10,000 pushes a second by each producer, 1,000 pops a second by each consumer, and what finds no
    /// room is lost.
    Profiling,
}

impl Workload {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Complex => "complex",
            Self::Profiling => "profiling",
        }
    }
}

/// How many threads there are on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Those that push.
    pub(crate) producers: usize,
    /// Those that pop.
    pub(crate) consumers: usize,
}

impl Shape {
    /// All of them.
    pub(crate) fn threads(self) -> usize {
        self.producers.saturating_add(self.consumers)
    }
}

/// A shape whose threads can be real ones.
fn measurable(text: &str) -> Result<Shape, String> {
    const MOST: usize = 64;
    let shape = text.parse::<Shape>().ok();
    shape
        .filter(|shape| shape.producers.max(shape.consumers) <= MOST)
        .ok_or_else(|| format!("give producers x consumers, such as 2x4, each from 1 to {MOST}"))
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.producers, self.consumers)
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| text.parse().ok().filter(|side| *side > 0);
        let sides = text.split_once('x').and_then(|(p, c)| Some((side(p)?, side(c)?)));
        let (producers, consumers) =
            sides.ok_or("give producers x consumers, such as 2x4, each from 1 on")?;
        Ok(Self { producers, consumers })
    }
}

/// Lists and suggests ids when one is unknown.
fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(catalogue::spsc().map(|entry| entry.id.as_str()))
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Test {
    /// Nanoseconds per item, one side sending as fast as it can.
    Stream,
    /// Nanoseconds for one item to the other thread and back.
    Rtt,
    /// Latency of items that are sent on a schedule.
    OpenLoop,
}

impl Test {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Rtt => "rtt",
            Self::OpenLoop => "open-loop",
        }
    }

    /// What its values count.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Stream => "ns/item",
            Self::Rtt => "ns/transaction",
            Self::OpenLoop => "ns",
        }
    }
}

/// Pairs of loads with a name, after paper 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Regime {
    /// No load.
    Free,
    /// Fast producer.
    Fp,
    /// Fast consumer.
    Fc,
    /// Both equally slow.
    Balanced,
}

impl Regime {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Fp => "fp",
            Self::Fc => "fc",
            Self::Balanced => "balanced",
        }
    }

    /// Load of the producer and of the consumer, in nanoseconds.
    pub(crate) fn loads(self) -> (u64, u64) {
        match self {
            Self::Free => (0, 0),
            Self::Fp => (0, 10),
            Self::Fc => (20, 10),
            Self::Balanced => (50, 50),
        }
    }
}

/// What travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PayloadKind {
    /// A number.
    U64,
    /// A pointer to a page.
    Indirect,
}

impl PayloadKind {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::Indirect => "indirect",
        }
    }
}

/// Where our queues live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MemoryKind {
    /// The global allocator.
    Heap,
    /// Pages of 2 MiB.
    Huge,
    /// Slots mapped twice in a row.
    Mirrored,
}

impl From<MemoryKind> for Memory {
    fn from(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Heap => Self::Heap,
            MemoryKind::Huge => Self::HugePages,
            MemoryKind::Mirrored => Self::Mirrored,
        }
    }
}

/// A whole number that isn't 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Positive(pub(crate) usize);

impl FromStr for Positive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("choose 1 or more".into()),
            Ok(number) => Ok(Self(number)),
            Err(_) => Err("give a whole number from 1".into()),
        }
    }
}

/// A real number above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PositiveReal(pub(crate) f64);

impl fmt::Display for PositiveReal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PositiveReal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(Self(number)),
            _ => Err("give a number above 0".into()),
        }
    }
}

/// A length of time above 0, with its unit.
fn length(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(length) if !length.is_zero() => Ok(length),
        _ => Err("give a time above 0 with its unit, such as 500us, 30ms or 2s".into()),
    }
}

/// Two cores by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CorePair(pub(crate) usize, pub(crate) usize);

impl FromStr for CorePair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = text
            .split_once(',')
            .and_then(|(a, b)| Some(Self(a.trim().parse().ok()?, b.trim().parse().ok()?)));
        pair.ok_or_else(|| "give two core numbers with a comma, such as 0,1".into())
    }
}

/// Numbers of cores, from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sweep {
    first: usize,
    last: usize,
}

impl Sweep {
    /// The ends, and powers of two and half as much again between them.
    pub(crate) fn cores(self) -> impl Iterator<Item = usize> {
        let steps = (0..usize::BITS - 1).flat_map(|log| [2 << log, 3 << log]);
        let between = steps.filter(move |cores| (self.first + 1..self.last).contains(cores));
        let last = (self.last > self.first).then_some(self.last);
        iter::once(self.first).chain(between).chain(last)
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = text.strip_prefix("cores=").and_then(|range| range.split_once(".."));
        let ends = range.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        match ends {
            Some((first, last)) if 0 < first && first <= last => Ok(Self { first, last }),
            _ => Err("give a range of cores from 1 on, such as cores=1..96".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lengths_have_units() {
        assert_eq!(length("30ms"), Ok(Duration::from_millis(30)));
        for wrong in ["30", "ms", "0s", "-1s", ""] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sweeps_take_steps_of_like_ratio() {
        let cores = |text: &str| text.parse::<Sweep>().unwrap().cores().collect::<Vec<_>>();
        assert_eq!(cores("cores=1..12"), [1, 2, 3, 4, 6, 8, 12]);
        assert_eq!(cores("cores=5..13"), [5, 6, 8, 12, 13]);
        assert_eq!(cores("cores=2..2"), [2]);
        for wrong in ["cores=0..4", "cores=4..2", "cores=4", "capacity=1..2", "cores=1..x", ""] {
            assert!(wrong.parse::<Sweep>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shapes_have_two_sides_of_some_threads() {
        let shape = |text: &str| text.parse::<Shape>().map(|shape| shape.to_string());
        assert_eq!(shape("1x1"), Ok("1x1".into()));
        assert_eq!(shape("95x1"), Ok("95x1".into()));
        for wrong in ["0x1", "1x0", "1x1x1", "2", "x", "axb", "-1x1", ""] {
            assert!(shape(wrong).is_err() && measurable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn real_threads_are_64_a_side_at_most() {
        assert!(measurable("64x2").is_ok());
        assert!(measurable("65x1").is_err() && measurable("2x999").is_err());
    }

    #[test]
    fn a_pair_of_cores_may_be_one_core() {
        assert_eq!("3,3".parse(), Ok(CorePair(3, 3)));
        assert!("3".parse::<CorePair>().is_err());
    }
}
