//! The options of `lane bench replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, PositiveReal, duration, one_of};

use crate::args::RunArgs;
use crate::kinds::CorePair;
use crate::suite::wait::Strategy;

/// The ways in which a thread waits.
pub(super) const STRATEGIES: [Strategy; 4] =
    [Strategy::Adaptive, Strategy::Spin, Strategy::Yield, Strategy::Sleep];

/// What is replayed.
#[derive(Debug, Clone, Args)]
pub struct WorkloadArgs {
    /// A workload, as corelane::workload::Recorder has saved it, or a capture (pcap or pcapng).
    #[arg(value_name = "FILE")]
    pub workload: PathBuf,

    /// Time that the consumer of a capture works for each packet, such as 200ns [default: none].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub service: Option<Duration>,

    /// How many times as fast as it was captured a capture is replayed.
    #[arg(long, value_name = "X", default_value = "1")]
    pub speedup: PositiveReal,

    /// Cores of a producer and of a consumer; with more threads they run anywhere.
    #[arg(long, value_name = "A,B")]
    pub cores: Option<CorePair>,
}

/// The options of replays.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The workload.
    #[command(flatten)]
    pub of: WorkloadArgs,

    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all
    /// bounded ones that can have the workload's threads.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// Most items that a call moves. Channels move one.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    pub batch: Vec<Positive>,

    /// How threads wait; peers only spin and yield, and channels wait as they do.
    #[arg(long, value_name = "LIST", value_parser = one_of(&STRATEGIES), value_delimiter = ',',
          default_value = "adaptive,yield")]
    pub wait: Vec<Strategy>,

    /// Items that a queue must hold [default: as recorded, or 1024].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub capacity: Vec<Positive>,

    /// Length of one measurement, such as 30ms or 2s [default: as long as 400 calls take, 20ms to
    /// 400ms].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
