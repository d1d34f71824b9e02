//! The options of each suite.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use corelane_report::{FileArgs, Positive, PositiveReal, duration, one_of};

use crate::catalogue::{self, Entry};
use crate::ipc::RECORD_BYTES;
use crate::kinds::{
    CorePair, Handles, MemoryKind, Mode, Order, PayloadKind, Placement, Regime, Runtime,
    StealPolicy, Strategy, TeamSize, Test, Workload, item_bytes,
};
use crate::pair::Wait;
use crate::stats::Group;

/// The common options of all measurements.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// How often everything is measured [default: 15, or as often as 2.5 minutes allow].
    #[arg(long, value_name = "N")]
    pub rounds: Option<Positive>,

    /// Longest `line_rtt` in nanoseconds at which two cores count as near.
    #[arg(long, value_name = "NS", default_value_t = PositiveReal(Group::FAR_ABOVE_NS))]
    pub far_above: PositiveReal,

    /// Also measure all peers, when queues are named.
    #[arg(long, overrides_with = "no_peers")]
    pub peers: bool,

    /// Measure no peers.
    #[arg(long, overrides_with = "peers")]
    pub no_peers: bool,

    /// Where the results go.
    #[command(flatten)]
    pub files: FileArgs,
}

impl RunArgs {
    /// The entries to be measured: the `named` ones; without names those that are measured `by_default`.
    pub(crate) fn choose(
        &self,
        named: &[String],
        by_default: impl Fn(&Entry) -> bool,
    ) -> Vec<&'static Entry> {
        self.choose_among(catalogue::entries(), named, by_default)
    }

    /// The same with other entries.
    pub(crate) fn choose_among(
        &self,
        entries: &'static [Entry],
        named: &[String],
        by_default: impl Fn(&Entry) -> bool,
    ) -> Vec<&'static Entry> {
        let is_wanted = |entry: &Entry| match entry.is_peer() {
            true => !self.no_peers && (named.is_empty() || self.peers),
            false => named.is_empty(),
        };
        let is_chosen = |entry: &&Entry| {
            let is_named = named.iter().any(|id| id == entry.info.id);
            is_named || (is_wanted(entry) && by_default(entry))
        };
        entries.iter().filter(is_chosen).collect()
    }
}

/// The options of measurements between one producer and one consumer.
#[derive(Debug, Clone, Parser)]
pub struct SpscArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&Test::SPSC), value_delimiter = ',', default_values = ["stream", "rtt"])]
    pub test: Vec<Test>,

    /// Emulated load of both sides, for `stream`: free 0/0 ns, fp 0/10, fc 20/10, balanced 50/50
    /// (producer/consumer).
    #[arg(long, value_parser = one_of(&Regime::MEASURED), value_delimiter = ',', default_value = "free")]
    pub regime: Vec<Regime>,

    /// Emulated load of the producer per item, instead of a regime.
    #[arg(long, value_name = "NS", conflicts_with = "regime")]
    pub load_p: Option<u64>,

    /// Emulated load of the consumer per item, instead of a regime.
    #[arg(long, value_name = "NS", conflicts_with = "regime")]
    pub load_c: Option<u64>,

    /// `stream` under all pairs of loads from 0 to 90 ns in steps of 10, for heat maps.
    #[arg(long, conflicts_with_all = ["regime", "load_p", "load_c", "test"])]
    pub grid: bool,

    /// The items: a number in the slot, or a pointer to a page that both sides touch.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "u64")]
    pub payload: Vec<PayloadKind>,

    /// Bytes of an item: 8, 16, 24, 64, 256, 1024. Other sizes than 8 only for `stream`, with one item per call,
    /// without load and with `--payload u64`; all words are written and read.
    #[arg(long, value_name = "LIST", value_parser = item_bytes, value_delimiter = ',', default_values = ["8", "64"])]
    pub item: Vec<usize>,

    /// Where both sides keep their handles: in a local variable of their loop, or in a field of a struct, behind a method
    /// that isn't inlined. Fields only where there are other sizes of items.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "loop,field")]
    pub handles: Vec<Handles>,

    /// Items a queue must hold.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4096")]
    pub capacity: Vec<Positive>,

    /// Most items per call, for `stream`; 1 uses the calls for single items.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub batch: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms, with several items or handles 10ms; open-loop: 200ms, with a
    /// capture 1s; grid: 5ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one `stream` or `rtt` measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of producer and consumer; the same core twice is allowed.
    #[arg(long, value_name = "A,B")]
    pub cores: Option<CorePair>,

    /// Memory of corelane's queues.
    #[arg(long, value_enum, default_value = "heap")]
    pub memory: MemoryKind,

    /// What a side does before it retries at a full or empty queue.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "spin")]
    pub wait: Vec<Wait>,

    /// Items per second of `open-loop`, at random times (Poisson) [default: 1000000].
    #[arg(long, value_name = "ITEMS_PER_S", conflicts_with = "trace")]
    pub rate: Option<PositiveReal>,

    /// Send the packets of this capture (pcap or pcapng) in `open-loop`, at their times; longer gaps are shortened to
    /// 10 ms. With `--payload indirect` both sides touch as many bytes as the packet has.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Replay the capture this many times as fast.
    #[arg(long, value_name = "X", default_value = "1", requires = "trace")]
    pub speedup: PositiveReal,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

impl Default for SpscArgs {
    /// The options of `lane bench spsc` without arguments.
    fn default() -> Self {
        Self::parse_from(["lane"])
    }
}

/// The options of measurements between several threads.
#[derive(Debug, Clone, Args)]
pub struct MpmcArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all bounded ones
    /// between several threads, with bbq-spsc and rtrb where there is one thread a side.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&Test::MPMC), value_delimiter = ',',
          default_values = ["throughput", "full-empty", "overwrite"])]
    pub test: Vec<Test>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default:
    /// 1x1,2x2,4x4,4x1,1x4].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = measurable)]
    pub threads: Vec<TeamSize>,

    /// Work of the threads besides their calls.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "simple")]
    pub workload: Vec<Workload>,

    /// Items a queue must hold [default: 4096; data-latency: 128].
    #[arg(long, value_name = "N")]
    pub capacity: Option<Positive>,

    /// Most items per call, for `throughput`; 1 uses the calls for single items.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub batch: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: 40ms; with more than four threads a core: 10ms for each;
    /// profiling: 200ms; full-empty: 5ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items that are popped at least in one measurement, instead of a duration; not for `overwrite`.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Which threads share a core, unless each has its own. Free threads need all cores.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "apart,mixed,free")]
    pub placement: Vec<Placement>,

    /// What a thread does before it retries at a full or empty queue. With more threads than cores, those that would
    /// never yield yield.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pause-yield")]
    pub wait: Vec<Wait>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of measurements between threads in a ring.
#[derive(Debug, Clone, Args)]
pub struct RingArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all between one producer and
    /// one consumer.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// Threads of the ring, 2 to 64; may be more than there are cores.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4",
          value_parser = clap::value_parser!(u8).range(2..=64))]
    pub threads: Vec<u8>,

    /// Most messages in the ring at a time.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub in_flight: Positive,

    /// Messages that each queue must hold.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms; where threads yield: 100ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Messages of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order of the ring; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// What a thread does before it retries at a full or empty queue. With more threads than cores it yields.
    #[arg(long, value_enum, default_value = "spin")]
    pub wait: Wait,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of measurements of calls that wait.
#[derive(Debug, Clone, Args)]
pub struct WaitArgs {
    /// Queues and peers to measure, by id, module or crate; if none is named, all bounded ones whose calls wait.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&Test::WAIT), value_delimiter = ',',
          default_value = "stream,ping-pong,open-loop,cpu,idle,fan-in")]
    pub test: Vec<Test>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default: stream
    /// 1x1,2x2,4x4,4x1,1x4; ping-pong 1x1].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = measurable)]
    pub threads: Vec<TeamSize>,

    /// How corelane's queues wait; peers have only `adaptive`. Threads that share cores never spin.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "adaptive")]
    pub strategy: Vec<Strategy>,

    /// Whether calls block threads, or return futures, for `stream` and `ping-pong` in tasks.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "blocking")]
    pub mode: Vec<Mode>,

    /// What runs the tasks: two threads, or one.
    #[arg(long, value_parser = one_of(&Runtime::OF_TASKS), value_delimiter = ',',
          default_value = "tokio,tokio-current")]
    pub runtime: Vec<Runtime>,

    /// Items per second, at random times (Poisson) [default: open-loop 1000,10000,100000,1000000; cpu without the last;
    /// fan-in 10000].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub rate: Vec<Positive>,

    /// Items a queue must hold; 0 is a rendezvous, which some channels have.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4096")]
    pub capacity: Vec<usize>,

    /// Processes that compute beside the measurement and share its cores, up to 64.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u8).range(..=64))]
    pub busy: Vec<u8>,

    /// Nice values of these processes, -20 to 19; the measured threads have 0. Values below 0 need the rights of root.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0", allow_hyphen_values = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Vec<i32>,

    /// Length of one measurement, such as 30ms or 2s [default: stream 40ms, with more than four threads a core 10ms for
    /// each; ping-pong 40ms; others 100ms; beside processes that compute 300ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one `stream` or `ping-pong` measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Which threads share a core, unless each has its own. Free threads need all cores. Tests with a schedule take the
    /// first.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "apart,mixed,free")]
    pub placement: Vec<Placement>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of measurements between processes.
#[derive(Debug, Clone, Args)]
pub struct IpcArgs {
    /// Queues and peers to measure, by id; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&Test::IPC), value_delimiter = ',', default_value = "rtt,stream,cpu,ping-pong,kill")]
    pub test: Vec<Test>,

    /// Sizes of records, in bytes: 8, 64, 1024, 16384, 65536.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = record_bytes, default_value = "8,64,1024,65536")]
    pub record: Vec<usize>,

    /// How corelane's queues wait; peers have only `adaptive`. On one core they never spin.
    #[arg(long, value_parser = one_of(&Strategy::OF_IPC), value_delimiter = ',', default_value = "adaptive,sleep,spin")]
    pub strategy: Vec<Strategy>,

    /// Records per second of `cpu`, at random times (Poisson).
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10000")]
    pub rate: Vec<Positive>,

    /// Threads of each process that send and receive in `ping-pong`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,4")]
    pub threads: Vec<Positive>,

    /// Records a queue must hold, but at most 4 MiB of them.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 40ms; cpu 100ms; kill 500ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Records of one `rtt` or `stream` measurement, and kills of one `kill`, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of the process that measures and of the other one.
    #[arg(long, value_name = "A,B")]
    pub cores: Option<CorePair>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of measurements of work stealing.
#[derive(Debug, Clone, Args)]
pub struct StealArgs {
    /// Queues and peers to measure, by id; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&Test::STEAL), value_delimiter = ',', default_value = "owner,hungry-thief,stolen")]
    pub test: Vec<Test>,

    /// Which item the owner gets.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lifo,fifo")]
    pub order: Vec<Order>,

    /// Shares of the items that a thief takes in `stolen`, in percent, 0 to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,1,10,20",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub stolen: Vec<u8>,

    /// Items that each thread of `pool` attempts to steal in a round, in percent of the capacity, 0 to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,25,50,100",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub balancing: Vec<u8>,

    /// Threads of `pool`, 2 to 64; may be more than there are cores.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2",
          value_parser = clap::value_parser!(u8).range(2..=64))]
    pub threads: Vec<u8>,

    /// How a thread of `pool` chooses the queue from which it tries to steal first. Two threads have no choice.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "rand")]
    pub policy: Vec<StealPolicy>,

    /// Items that each queue must hold.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of the owner and of the thief, or of the threads of a pool, which share them if there are more threads [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// The options of measurements of executors.
#[derive(Debug, Clone, Args)]
pub struct ExecutorArgs {
    /// Executors to measure, by id; all if none is named.
    #[arg(value_name = "EXECUTOR")]
    pub executors: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(Test::EXECUTOR), value_delimiter = ',',
          default_value = "spawn-join,ping-pong,yield,fan-out,chain,fork-join,grain")]
    pub test: Vec<Test>,

    /// Numbers of worker threads.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,8")]
    pub workers: Vec<Positive>,

    /// How long a task of `grain` takes.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1us,10us,100us,1ms",
          value_parser = duration)]
    pub task: Vec<Duration>,

    /// Connections of `http`.
    #[cfg(all(feature = "http", target_os = "linux"))]
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "100,1000")]
    pub connections: Vec<Positive>,

    /// What loads the server of `http`: a thread of this program, or wrk, which must be installed.
    #[cfg(all(feature = "http", target_os = "linux"))]
    #[arg(long, value_enum, default_value = "own")]
    pub load: crate::kinds::HttpLoad,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms; of `http` 300ms, by wrk 2s].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Tasks, round trips or yields of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Parses the size of a record.
fn record_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| RECORD_BYTES.contains(bytes));
    bytes.ok_or_else(|| {
        format!("choose from {}", RECORD_BYTES.map(|bytes| bytes.to_string()).join(", "))
    })
}

/// Parses numbers of threads, within the limits.
fn measurable(text: &str) -> Result<TeamSize, String> {
    let (size, most) = (text.parse::<TeamSize>().ok(), TeamSize::MOST);
    size.filter(|size| size.producers.max(size.consumers) <= most)
        .ok_or_else(|| format!("give producers x consumers, such as 2x4, each from 1 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_threads_are_1_to_64_a_side() {
        assert!(["1x1", "64x2", "2x64"].iter().all(|size| measurable(size).is_ok()));
        for wrong in ["65x1", "2x999", "0x1", "1x0", "1x1x1", "2", "x", "axb", "-1x1", ""] {
            assert!(measurable(wrong).is_err(), "{wrong}");
        }
    }
}
