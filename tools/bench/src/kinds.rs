//! The kinds of measurements: the words of command lines and of results.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use corelane::Sides;
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
    /// The same between machines.
    Latency,
    /// Connections that break, and processes that are killed.
    Faults,
    /// Nanoseconds per item that any consumer pops, and how evenly items are distributed over
    /// threads.
    Throughput,
    /// The time that items stay in the queue.
    DataLatency,
    /// The time of one push and one pop.
    OpLatency,
    /// The cost of a call that says full or empty.
    FullEmpty,
    /// The cost of a push that overwrites items that were not popped in time, with a consumer and
    /// without.
    Overwrite,
    /// How far items leave out of turn.
    RankError,
    /// The most bytes that a queue takes.
    Memory,
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
    /// A switch whose clients send as many packets as they can.
    Flooding,
    /// A switch whose clients send requests, and answer them.
    RequestResponse,
    /// Requests through a ring to a second thread, and their completions through a ring to a third.
    Submission,
    /// Packets through the stages of a pipeline.
    Packets,
    /// The items of a recorded workload.
    Replay,
}

impl Test {
    /// Whether its values are times.
    pub(crate) fn is_time(self) -> bool {
        !matches!(self, Self::RankError | Self::Memory)
    }

    /// Whether an item is a message that several threads pass on.
    pub(crate) fn counts_messages(self) -> bool {
        matches!(
            self,
            Self::Round | Self::Flooding | Self::RequestResponse | Self::Submission | Self::Packets
        )
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Stream | Self::Throughput | Self::Replay => "ns/item",
            Self::Rtt => "ns/transaction",
            Self::OpenLoop | Self::FanIn | Self::Latency => "ns",
            Self::Faults => "ms without an item",
            Self::DataLatency => "ns in the queue",
            Self::OpLatency => "ns for a push and a pop",
            Self::FullEmpty => "ns/call",
            Self::Overwrite => "ns/push",
            Self::RankError => "older items inside",
            Self::Memory => "bytes",
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
            Self::Http | Self::Submission => "ns/request",
            Self::Flooding | Self::RequestResponse | Self::Packets => "ns/packet",
        }
    }
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
    /// One producer, one consumer.
    pub(crate) const ONE: Self = Self { producers: 1, consumers: 1 };

    /// Most threads of one side.
    pub(crate) const MOST: usize = 64;

    /// Parses numbers of threads that can be measured.
    pub(crate) fn measurable(text: &str) -> Result<Self, String> {
        let size = text.parse::<Self>().ok();
        size.filter(|size| size.producers.max(size.consumers) <= Self::MOST).ok_or_else(|| {
            format!("give producers x consumers, such as 2x4, each from 1 to {}", Self::MOST)
        })
    }

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

/// Refuses a size that none of the queues can have. Returns notes on `named` queues that can have
/// none of the sizes.
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

/// The size of an item of one word, in bytes.
pub const WORD: usize = 8;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_threads_are_1_to_64_a_side() {
        assert!(["1x1", "64x2", "2x64"].iter().all(|size| TeamSize::measurable(size).is_ok()));
        for wrong in ["65x1", "2x999", "0x1", "1x0", "1x1x1", "2", "x", "axb", "-1x1", ""] {
            assert!(TeamSize::measurable(wrong).is_err(), "{wrong}");
        }
    }
}
