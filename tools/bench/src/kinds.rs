//! The kinds of measurements: the words of command lines and of results.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use corelane::{Memory, Sides};
use corelane_report::Failure;
use serde::{Deserialize, Serialize};

/// A kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Nanoseconds per item, with one side sending as fast as it can.
    Stream,
    /// Nanoseconds for one item to the other thread and back.
    Rtt,
    /// Latency of items that are sent on a schedule.
    OpenLoop,
    /// Nanoseconds per item that any consumer pops, and how evenly items are distributed over threads.
    Throughput,
    /// The time that items stay in the queue.
    DataLatency,
    /// The time of one push and one pop.
    OpLatency,
    /// The cost of a call that says full or empty.
    FullEmpty,
    /// The cost of a push that overwrites items that were not popped in time, with a consumer and without.
    Overwrite,
    /// Messages that go round a ring of threads.
    Round,
    /// Nanoseconds for one item to the other thread and back, with calls that wait.
    PingPong,
    /// Processor time of an item that is sent on a schedule.
    Cpu,
    /// Processor time of a thread that waits for an item.
    Idle,
    /// Latency of items from many senders that are mostly idle.
    FanIn,
    /// Processes that are killed at random moments, and others that go on.
    Kill,
    /// Nanoseconds of the owner of a work-stealing queue for each item that it puts and gets.
    Owner,
    /// The same of few items, alone and beside a thief that tries all the time.
    HungryThief,
    /// The same while a thief takes a share of the items.
    Stolen,
    /// Threads with a queue each, which steal from each other.
    Pool,
    /// Empty tasks that are spawned and awaited.
    SpawnJoin,
    /// Tasks that do nothing but let each other run.
    Yield,
    /// Tasks that nobody awaits, of which the last wakes the one that has spawned them.
    FanOut,
    /// Tasks of which each spawns the next.
    Chain,
    /// Computations that fork and join.
    ForkJoin,
    /// Tasks that take a while, all spawned by one of them.
    Grain,
    /// Requests to a server, over the loopback.
    Http,
}

impl Test {
    /// The tests between one producer and one consumer.
    pub const SPSC: [Self; 3] = [Self::Stream, Self::Rtt, Self::OpenLoop];
    /// The tests between several producers and several consumers.
    pub const MPMC: [Self; 5] =
        [Self::Throughput, Self::DataLatency, Self::OpLatency, Self::FullEmpty, Self::Overwrite];
    /// The tests of calls that wait.
    pub const WAIT: [Self; 6] =
        [Self::Stream, Self::PingPong, Self::OpenLoop, Self::Cpu, Self::Idle, Self::FanIn];

    /// The tests between processes.
    pub const IPC: [Self; 5] = [Self::Rtt, Self::Stream, Self::Cpu, Self::PingPong, Self::Kill];

    /// The tests of work stealing.
    pub const STEAL: [Self; 4] = [Self::Owner, Self::HungryThief, Self::Stolen, Self::Pool];

    /// The tests of executors.
    pub const EXECUTOR: &[Self] = &[
        Self::SpawnJoin,
        Self::PingPong,
        Self::Yield,
        Self::FanOut,
        Self::Chain,
        Self::ForkJoin,
        Self::Grain,
        #[cfg(all(feature = "http", target_os = "linux"))]
        Self::Http,
    ];

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Stream | Self::Throughput => "ns/item",
            Self::Rtt => "ns/transaction",
            Self::OpenLoop | Self::FanIn => "ns",
            Self::DataLatency => "ns in the queue",
            Self::OpLatency => "ns for a push and a pop",
            Self::FullEmpty => "ns/call",
            Self::Overwrite => "ns/push",
            Self::Round => "ns/message",
            Self::PingPong => "ns/round trip",
            Self::Cpu => "cpu ns/item",
            Self::Idle => "cpu ns/s",
            Self::Kill => "ms to open",
            Self::Owner | Self::HungryThief | Self::Stolen => "ns/item of the owner",
            Self::Pool => "ns/item of a thread",
            Self::SpawnJoin | Self::FanOut | Self::Chain | Self::Grain => "ns/task",
            Self::Yield => "ns/yield",
            Self::ForkJoin => "ns/join",
            Self::Http => "ns/request",
        }
    }
}

/// Which item the owner of a work-stealing queue gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The newest.
    Lifo,
    /// The oldest.
    Fifo,
}

/// How a thread of a pool chooses the queue from which it tries to steal first; then it goes round the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StealPolicy {
    /// At random.
    Rand,
    /// That of the next thread.
    Seq,
    /// That from which it has stolen last.
    Last,
    /// The longer one of two at random.
    BestOfTwo,
    /// The longest one of half of them.
    BestOfMany,
    /// At random, those of cores that share the last cache first.
    Numa,
    /// As rand, and from a block that is chosen at random, if it has items; queues without blocks as rand.
    RandProb,
    /// As numa, and as rand-prob.
    NumaProb,
}

/// What loads an HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum HttpLoad {
    /// A thread of this program.
    Own,
    /// The program wrk.
    Wrk,
}

/// What forks and joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computation {
    /// A Fibonacci number: calls that do nothing else.
    Fibonacci,
    /// The sum of a slice, of 1024 numbers at a time.
    Sum,
}

/// Whether a call that waits blocks its thread or its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Blocks the thread.
    Blocking,
    /// Returns a future.
    Async,
}

/// How a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// As the handles themselves do: they look again for a while, and then sleep.
    Adaptive,
    /// They sleep at once.
    Sleep,
    /// They look 1000 times with a pause before each, and then sleep.
    SpinThenSleep,
    /// The plain handles of the queue, and a pause after each failed try.
    Spin,
    /// The plain handles of the queue, and a yield after each failed try.
    Yield,
}

impl Strategy {
    /// How calls between processes wait.
    pub const OF_IPC: [Self; 3] = [Self::Adaptive, Self::Sleep, Self::Spin];
}

/// What runs tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// Nothing: calls block threads.
    None,
    /// Tokio, with two threads.
    Tokio,
    /// Tokio, with one thread.
    TokioCurrent,
}

impl Runtime {
    /// The runtimes that run tasks.
    pub const OF_TASKS: [Self; 2] = [Self::Tokio, Self::TokioCurrent];
}

/// How a call takes its handle. Handles of both sides may differ; then it is the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sharing {
    /// Exclusively (`&mut self`).
    Exclusive,
    /// By a shared reference.
    Shared,
}

/// Work of the threads besides their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// Only check the items.
    Simple,
    /// Allocate and free a buffer for each item, and spin for up to a hundred turns before each call.
    Complex,
    /// 10,000 pushes a second by each producer, 1,000 pops a second by each consumer; items that find no room are lost.
    Profiling,
}

/// The loads of the two sides, after paper 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// No load.
    Free,
    /// Fast producer.
    Fp,
    /// Fast consumer.
    Fc,
    /// Both equally slow.
    Balanced,
    /// One side fills the queue, then the other empties it.
    Turns,
    /// Loads that have no name.
    Custom,
    /// A pair of loads of the grid.
    Grid,
}

impl Regime {
    /// The regimes that are measured by name.
    pub const MEASURED: [Self; 4] = [Self::Free, Self::Fp, Self::Fc, Self::Balanced];

    /// Load of the producer and of the consumer, in nanoseconds.
    pub fn loads(self) -> [u64; 2] {
        match self {
            Self::Free | Self::Turns | Self::Custom | Self::Grid => [0, 0],
            Self::Fp => [0, 10],
            Self::Fc => [20, 10],
            Self::Balanced => [50, 50],
        }
    }

    /// All pairs of loads of the grid: 0 to 90 ns, as in paper 1, Figs 14 and 17.
    pub fn grid() -> impl Iterator<Item = [u64; 2]> {
        let loads = || (0..10).map(|tens| 10 * tens);
        loads().flat_map(move |p| loads().map(move |c| [p, c]))
    }
}

/// The items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// A number.
    U64,
    /// A pointer to a page.
    Indirect,
}

/// Sizes of items, in bytes.
pub(crate) const ITEM_BYTES: [usize; 6] = [WORD, 16, 24, 64, 256, 1024];
/// The size of an item of one word.
pub const WORD: usize = 8;

/// Parses a size of items.
pub(crate) fn item_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| ITEM_BYTES.contains(bytes));
    bytes.ok_or_else(|| {
        format!("choose from {}", ITEM_BYTES.map(|bytes| bytes.to_string()).join(", "))
    })
}

/// Where both sides keep their handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Handles {
    /// In a local variable of the loop, which the compiler can keep in registers.
    Loop,
    /// In a field of a struct, behind a method that isn't inlined.
    Field,
}

/// Memory of corelane's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
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

/// A call that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    /// Into a full queue.
    Push,
    /// From an empty one.
    Pop,
}

/// Numbers of threads on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamSize {
    /// Threads that push.
    pub producers: usize,
    /// Threads that pop.
    pub consumers: usize,
}

impl TeamSize {
    /// Threads of one side.
    pub(crate) const MOST: usize = 64;

    /// All threads.
    pub fn threads(self) -> usize {
        self.producers.saturating_add(self.consumers)
    }
}

impl fmt::Display for TeamSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.producers, self.consumers)
    }
}

impl FromStr for TeamSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |text: &str| text.parse().ok().filter(|side| *side > 0);
        let sides = text.split_once('x').and_then(|(p, c)| Some((side(p)?, side(c)?)));
        let (producers, consumers) =
            sides.ok_or("give producers x consumers, such as 2x4, each from 1 on")?;
        Ok(Self { producers, consumers })
    }
}

/// Which threads share a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// No core has both sides.
    Apart,
    /// Each core has both sides, if there are enough threads.
    Mixed,
    /// Threads are not pinned.
    Free,
}

/// A queue's id, and its sides.
pub type Between<'a> = (&'a str, Sides);

/// Numbers of threads that are measured or simulated unless others are given.
pub fn usual_sizes() -> Vec<TeamSize> {
    let usual = [(1, 1), (2, 2), (4, 4), (4, 1), (1, 4)];
    usual.map(|(producers, consumers)| TeamSize { producers, consumers }).into()
}

/// Whether a queue can have these numbers of threads.
pub fn allows(sides: Sides, size: TeamSize) -> bool {
    sides.allow(size.producers, size.consumers)
}

/// The `sizes` that at least one of the queues can have.
pub fn possible_sizes(mut sizes: Vec<TeamSize>, queues: &[Between<'_>]) -> Vec<TeamSize> {
    sizes.retain(|size| queues.iter().any(|queue| allows(queue.1, *size)));
    sizes
}

/// Refuses a size that none of the queues can have. Returns notes on `named` queues that can have none of the sizes.
///
/// # Errors
///
/// If there is such a size.
pub fn check_sizes(
    sizes: &[TeamSize],
    named: &[String],
    queues: &[Between<'_>],
) -> Result<Vec<String>, Failure> {
    let reason = |(id, sides): &Between<'_>| format!("{id} is between {}", between(*sides));
    let is_possible = |size: &TeamSize| queues.iter().any(|queue| allows(queue.1, *size));
    if let Some(size) = sizes.iter().find(|size| !is_possible(size)) {
        let reasons = queues.iter().map(reason).collect::<Vec<_>>().join("; ");
        return Err(Failure::Usage(format!(
            "no chosen queue can have {size} threads: {reasons}; choose other --threads or queues"
        )));
    }
    let is_idle = |(id, sides): &&Between<'_>| {
        named.iter().any(|name| name == id) && !sizes.iter().any(|size| allows(*sides, *size))
    };
    let idle = queues.iter().filter(is_idle);
    Ok(idle.map(|queue| format!("not with these threads: {}", reason(queue))).collect())
}

/// The sides of a queue, in words.
pub fn between(sides: Sides) -> &'static str {
    match sides {
        Sides::OneToOne => "one producer, one consumer",
        Sides::ManyToOne => "several producers, one consumer",
        Sides::OneToMany => "one producer, several consumers",
        Sides::ManyToMany => "several producers, several consumers",
    }
}

/// Two cores by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorePair(pub usize, pub usize);

impl FromStr for CorePair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let core = |text: &str| text.trim().parse().ok();
        let pair = text.split_once(',').and_then(|(a, b)| Some(Self(core(a)?, core(b)?)));
        pair.ok_or_else(|| "give two core numbers with a comma, such as 0,1".into())
    }
}
