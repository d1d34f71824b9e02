//! The options of `lane bench ipc`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use super::RECORD_BYTES;
use super::pause::Pause;
use crate::args::RunArgs;
use crate::kinds::{CorePair, TeamSize, Test};
use crate::suite::wait::Strategy;

/// The tests between processes.
const TESTS: [Test; 5] = [Test::Rtt, Test::Stream, Test::Cpu, Test::PingPong, Test::Kill];

/// The options of measurements between processes.
#[derive(Debug, Clone, Args)]
pub struct IpcArgs {
    /// Queues and peers to measure, by id; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',', default_value = "rtt,stream,cpu,ping-pong,kill")]
    pub test: Vec<Test>,

    /// Sizes of records, in bytes: 8, 64, 1024, 16384, 65536.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = record_bytes,
          default_value = "8,64,1024,65536")]
    pub record: Vec<usize>,

    /// How corelane's queues wait; peers have only `adaptive`. On one core they never spin.
    #[arg(long, value_parser = one_of(&Strategy::OF_IPC), value_delimiter = ',', default_value = "adaptive,sleep,spin")]
    pub strategy: Vec<Strategy>,

    /// Records per second of `cpu`, at random times (Poisson).
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10000")]
    pub rate: Vec<Positive>,

    /// Threads of each process that send, and as many that receive, in `ping-pong`, such as 4 or
    /// 4x4.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = threads, default_value = "1,4")]
    pub threads: Vec<usize>,

    /// How long a thread computes after each message that it sends or receives in `ping-pong`: a
    /// random time between two bounds, such as 1us..20us.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0")]
    pub(crate) pause: Vec<Pause>,

    /// Records a queue must hold, but at most 4 MiB of them.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 40ms; cpu 100ms; kill 500ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Records of one `rtt` or `stream` measurement, and kills of one `kill`, instead of a
    /// duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of the process that measures and of the other one.
    #[arg(long, value_name = "A,B")]
    pub cores: Option<CorePair>,

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

/// Parses a number of threads that send, and receive.
fn threads(text: &str) -> Result<usize, String> {
    let size = match text.contains('x') {
        true => TeamSize::measurable(text),
        false => TeamSize::measurable(&format!("{text}x{text}")),
    };
    let is_even = |size: &TeamSize| size.producers == size.consumers;
    size.ok().filter(is_even).map(|size| size.producers).ok_or_else(|| {
        format!(
            "each process has as many senders as receivers: give 4 or 4x4, from 1 to {}",
            TeamSize::MOST
        )
    })
}
