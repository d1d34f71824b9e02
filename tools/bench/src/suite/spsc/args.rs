//! The options of `lane bench spsc`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use corelane_report::{Positive, PositiveReal, duration, one_of};

use super::{Handles, MemoryKind, PayloadKind, Regime, item_bytes};
use crate::args::RunArgs;
use crate::kinds::{CorePair, Test};
use crate::threads::Wait;

/// The tests between one producer and one consumer.
const TESTS: [Test; 3] = [Test::Stream, Test::Rtt, Test::OpenLoop];

/// The options of measurements between one producer and one consumer.
#[derive(Debug, Clone, Parser)]
pub struct SpscArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',', default_values = ["stream", "rtt"])]
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

    /// Bytes of an item: 8, 16, 24, 64, 256, 1024. Other sizes than 8 only for `stream`, with one
    /// item per call, without load and with `--payload u64`; all words are written and read.
    #[arg(long, value_name = "LIST", value_parser = item_bytes, value_delimiter = ',', default_values = ["8", "64"])]
    pub item: Vec<usize>,

    /// Where both sides keep their handles: in a local variable of their loop, or in a field of a
    /// struct, behind a method that isn't inlined. Fields only where there are other sizes of
    /// items.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "loop,field")]
    pub handles: Vec<Handles>,

    /// Items a queue must hold.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4096")]
    pub capacity: Vec<Positive>,

    /// Most items per call, for `stream`; 1 uses the calls for single items.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub batch: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms, with several items or handles
    /// 10ms; open-loop: 200ms, with a capture 1s; grid: 5ms].
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

    /// Send the packets of this capture (pcap or pcapng) in `open-loop`, at their times; longer
    /// gaps are shortened to 10 ms. With `--payload indirect` both sides touch as many bytes as the
    /// packet has.
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
