//! The command line.

use std::iter;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use coherence::Machine;
use corelane_bench::{
    CorePair, Entry, PayloadKind, Regime, SwitchTest, TeamSize, Workload, between, ids,
};
use corelane_report::{Failure, FileArgs, Positive, duration, one_of};
use corelane_simulate::{Policy, Queue};
use serde::Serialize;

/// Regimes that are simulated by name.
const REGIMES: [Regime; 5] =
    [Regime::Free, Regime::Fp, Regime::Fc, Regime::Balanced, Regime::Turns];

/// Workloads that are simulated.
pub(crate) const WORKLOADS: [Workload; 2] = [Workload::Simple, Workload::Complex];

/// Simulates queues on other machines, and shows which lines of the source cost cache misses.
///
/// The queues' own sources run on simulated cores, and every access is charged to a model of the
/// caches. The counts of misses are the algorithm's; times are as good as the machine's figures.
/// The same seed gives the same result.
///
/// Ctrl-C ends the run and keeps finished results; the exit code is then 130.
#[derive(Debug, Parser)]
#[command(
    name = "lane-simulate",
    bin_name = "lane simulate",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct SimulateCommand {
    /// Which kind of queue [default: spsc].
    #[command(subcommand)]
    pub(crate) suite: Option<SimulateSuite>,

    /// What to simulate, if the kind of queue is left out.
    #[command(flatten)]
    pub(crate) args: StreamArgs,
}

/// Kinds of queues that can be simulated.
#[derive(Debug, Subcommand)]
pub(crate) enum SimulateSuite {
    /// One producer, one consumer.
    Spsc(Box<StreamArgs>),
    /// Several producers, several consumers.
    Mpmc(Box<TeamArgs>),
    /// A switch between clients, each of which has a queue to it and a queue from it.
    Switch(Box<SwitchArgs>),
    /// The rings of io_uring between three threads, and queues in their place.
    Rings(Box<RingsArgs>),
    /// Work stealing: an owner and its thieves, and pools of threads that steal from each other.
    Steal(Box<StealArgs>),
}

/// How exactly cores are simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Model {
    /// Stores wait in a buffer, and lines are prefetched if the machine prefetches.
    Full,
    /// As the papers count misses: a store keeps its core until it is done, and nothing is
    /// prefetched.
    Counting,
}

impl Model {
    /// `machine` as it is simulated by this model.
    pub(crate) fn of(self, machine: Machine) -> Machine {
        match self {
            Self::Full => machine,
            Self::Counting => machine.counting(),
        }
    }

    /// What the model leaves out, for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Full => "",
            Self::Counting => ", stores wait, no prefetcher",
        }
    }
}

/// What to simulate between one producer and one consumer, and on what.
#[derive(Debug, Args)]
pub(crate) struct StreamArgs {
    /// Queues to simulate, by id or module; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "i7", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// Measure the queues on this machine, simulate the same, and show how far off the simulation
    /// is.
    #[arg(long, conflicts_with_all = ["machine", "pair", "cores", "sweep", "model", "regime", "grid",
          "annotate", "payload", "capacity", "batch", "items", "html"])]
    pub(crate) validate: bool,

    /// How often everything is measured for --validate.
    #[arg(long, value_name = "N", default_value = "15", requires = "validate")]
    pub(crate) rounds: Positive,

    /// Virtual cores of producer and consumer. Cores are numbered socket by socket, with the second
    /// threads after all first threads.
    #[arg(long, value_name = "A,B", default_value = "0,1")]
    pub(crate) pair: CorePair,

    /// Simulate a pipeline on the first N virtual cores: a producer, threads that pop items and
    /// push them into the next queue, and a consumer. A single core pushes and pops.
    #[arg(long, value_name = "N", conflicts_with = "pair")]
    pub(crate) cores: Option<Positive>,

    /// Simulate pipelines on A to B cores: A, B, and powers of two and half as much again between
    /// them.
    #[arg(long, value_name = "cores=A..B", conflicts_with_all = ["pair", "cores", "grid", "annotate"])]
    pub(crate) sweep: Option<Sweep>,

    /// How exactly to simulate cores [default: full; with --annotate counting].
    #[arg(long, value_enum)]
    pub(crate) model: Option<Model>,

    /// Emulated load of both sides per item: free 0/0 ns, fp 0/10, fc 20/10, balanced 50/50
    /// (producer/consumer); or turns: one side fills the queue, then the other empties it [default:
    /// free, fp, fc; with --annotate fc].
    #[arg(long, value_parser = one_of(&REGIMES), value_delimiter = ',')]
    pub(crate) regime: Vec<Regime>,

    /// All pairs of loads from 0 to 90 ns in steps of 10, for heat maps of misses.
    #[arg(long, conflicts_with = "regime")]
    pub(crate) grid: bool,

    /// Show this queue's source with the misses and stalls of each line.
    #[arg(long, value_name = "QUEUE", conflicts_with_all = ["queues", "grid", "cores"])]
    pub(crate) annotate: Option<String>,

    /// The items: a number in the slot, or a pointer to a page that both sides touch.
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

    /// Decides the order of threads and store buffers that are due at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Where the results go.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

impl StreamArgs {
    /// How exactly cores are simulated.
    pub(crate) fn model(&self) -> Model {
        let usual = if self.annotate.is_some() { Model::Counting } else { Model::Full };
        self.model.unwrap_or(usual)
    }
}

/// What to simulate between several threads, and on what.
#[derive(Debug, Args)]
pub(crate) struct TeamArgs {
    /// Queues to simulate, by id or module; if none is named, all between several threads, with
    /// bbq-spsc and lq where there is one thread a side.
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "arm-96t", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// Producers and consumers, each on a core of its own [default: 1x1,2x2,4x4,4x1,1x4, as far as
    /// the machine has cores].
    #[arg(long, value_name = "PxC", value_delimiter = ',')]
    pub(crate) threads: Vec<TeamSize>,

    /// Simulate one consumer with 1, 2, 4, … producers, one producer with as many consumers, and as
    /// many of both, until all cores are in use; and show the results beside the paper's.
    #[arg(long, conflicts_with = "threads")]
    pub(crate) sweep: bool,

    /// Use no more than the first N cores for the sweep.
    #[arg(long, value_name = "N", requires = "sweep")]
    pub(crate) cores: Option<Positive>,

    /// Show a real machine's throughput on the same axes, as measured by `lane bench mpmc --json
    /// FILE`.
    #[arg(long, value_name = "FILE", requires = "sweep")]
    pub(crate) beside: Option<PathBuf>,

    /// Work of the threads besides their calls; complex is a busy loop of up to 30 ns before each
    /// call, as allocation isn't simulated [default: simple; with --sweep simple, complex].
    #[arg(long, value_parser = one_of(&WORKLOADS), hide_possible_values = true, value_delimiter = ',')]
    pub(crate) workload: Vec<Workload>,

    /// How exactly to simulate cores.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) model: Model,

    /// Items a queue must hold. As many items are popped before counting starts.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) capacity: Positive,

    /// The k of relaxed queues: an item leaves among the k oldest. Each such queue is simulated with
    /// each k [default: the queue's own].
    #[arg(long, value_name = "K", value_delimiter = ',')]
    pub(crate) relaxation: Vec<Positive>,

    /// Items that are popped while items are counted [default: 20000; with --sweep 8000].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<Positive>,

    /// Decides the order of threads and store buffers that are due at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Work of a producer before each push, on average, so that the queue is nearly empty.
    #[arg(long, value_name = "NS", default_value = "0")]
    pub(crate) load_p: u64,

    /// Draw throughput against the mean rank error, of the most threads.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Where the results go.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// What to simulate of a switch, and on what.
#[derive(Debug, Args)]
pub(crate) struct SwitchArgs {
    /// Queues to simulate, by id or module; if none is named, all bounded ones between one producer
    /// and one consumer.
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "xeon40", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// What to simulate.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "flooding,request-response")]
    pub(crate) test: Vec<SwitchTest>,

    /// Clients of the switch, each on a core of its own [default: 2,4,8,16,24,32,38, as far as the
    /// machine has cores besides the switch's].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) clients: Vec<usize>,

    /// Packets that a client sends in one go: B_C of the paper.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,8")]
    pub(crate) batch: Vec<Positive>,

    /// Most packets that the switch pulls from a client in one go: B_V of the paper.
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) switch_batch: Positive,

    /// How exactly to simulate cores.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) model: Model,

    /// Packets that each queue must hold.
    #[arg(long, value_name = "N", default_value = "256")]
    pub(crate) capacity: Positive,

    /// Simulated time in which packets are counted, after half of it to warm up.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1ms")]
    pub(crate) duration: Duration,

    /// Decides the order of threads and store buffers that are due at the same time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Where the results go.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// What to simulate of the rings of io_uring, and on what.
#[derive(Debug, Args)]
pub(crate) struct RingsArgs {
    /// What to simulate: bbq-spsc, bbq, linering, llq, io-uring; if nothing is named, all.
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "x86-88t", value_name = "MACHINE")]
    pub(crate) machine: String,

    /// Entries of the submission ring, powers of two up to 32768. The completion ring has twice as
    /// many.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,64,128,256,512,1024",
          value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub(crate) entries: Vec<u32>,

    /// Most entries of a batch, 1 to 32. A batch of the three threads has 1 to so many, at random.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,32",
          value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) batch: Vec<u8>,

    /// How exactly to simulate cores.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) model: Model,

    /// Requests that are counted.
    #[arg(long, value_name = "N", default_value = "20000")]
    pub(crate) items: Positive,

    /// Decides the order of threads and store buffers that are due at the same time, and the
    /// batches.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Where the results go.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// A test of work stealing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StealTest {
    /// An owner puts until its queue is full and gets until it is empty, while thieves take a
    /// share.
    Stolen,
    /// Threads with a queue each put, get, and then attempt to steal from each other.
    Pool,
}

/// How far thieves are from the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThiefDistance {
    /// On cores that share the owner's L3.
    SameL3,
    /// In the same socket with another L3.
    SameSocket,
    /// In another socket.
    OtherSocket,
}

/// What to simulate of work stealing, and on what.
#[derive(Debug, Args)]
pub(crate) struct StealArgs {
    /// Queues to simulate, by id; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub(crate) queues: Vec<String>,

    /// Whose caches and distances to simulate: i7, xeon40, x86-88t, arm-96t (the papers' machines);
    /// calibrated (this one, measured first); or a file that `lane calibrate --json FILE` wrote.
    #[arg(long, default_value = "x86-88t,arm-96t", value_name = "LIST", value_delimiter = ',')]
    pub(crate) machine: Vec<String>,

    /// What to simulate.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "stolen,pool")]
    pub(crate) test: Vec<StealTest>,

    /// Shares of the items that thieves take in `stolen`, in percent, 0 to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,1,2,5,10,20",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) stolen: Vec<u8>,

    /// Number of thieves in `stolen`, each on a core of its own.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) thieves: Positive,

    /// How far thieves are from the owner in `stolen`.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', default_value = "same-l3")]
    pub(crate) distance: Vec<ThiefDistance>,

    /// Threads of the pool: as many on each socket, and on two L3 caches of a socket if it has
    /// several.
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) threads: Positive,

    /// Items that each thread of the pool attempts to steal in a round, in percent of the capacity,
    /// 0 to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,25,50,75,100",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) balancing: Vec<u8>,

    /// Which queue a thread of the pool steals from.
    #[arg(
        long,
        value_enum,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "rand,numa"
    )]
    pub(crate) policy: Vec<Policy>,

    /// How exactly to simulate cores.
    #[arg(long, value_enum, default_value = "full")]
    pub(crate) model: Model,

    /// Items a queue must hold.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub(crate) capacity: Positive,

    /// Most items of a steal.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) batch: Positive,

    /// Items of each queue that are got or stolen while items are counted, after as many that warm
    /// up [default: 16 times the capacity].
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<Positive>,

    /// Runs of each pool, with successive seeds; shown is the one with the median throughput.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) runs: Positive,

    /// Decides the order of threads and store buffers that are due at the same time, and the
    /// threads' choices.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Where the results go.
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// The ids of the `simulated` queues that `names` stand for.
pub(crate) fn named(names: &[String], simulated: &[Queue]) -> Result<Vec<String>, Failure> {
    let is_simulated = |entry: &Entry| simulated.iter().any(|queue| queue.id == entry.info.id);
    ids(names, is_simulated, |entry| match (entry.info.id, entry.is_peer()) {
        (id, true) => format!("{id} isn't ours and can't be simulated"),
        (id, false) => {
            let sides = between(entry.info.sides);
            format!("{id} is between {sides}: use `lane simulate mpmc {id}`")
        }
    })
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
        SimulateCommand::command().debug_assert();
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
}
