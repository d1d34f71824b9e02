//! The options of `lane bench pipeline`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use crate::args::RunArgs;
use crate::kinds::Test;
use crate::suite::wait::Strategy;

/// The tests of a pipeline.
const TESTS: &[Test] = &[Test::Packets, Test::OpenLoop];

/// The ways in which a stage waits.
const STRATEGIES: &[Strategy] =
    &[Strategy::Adaptive, Strategy::Spin, Strategy::Yield, Strategy::Sleep];

/// The options of measurements of a pipeline.
#[derive(Debug, Clone, Args)]
pub struct PipelineArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all
    /// bounded ones between one producer and one consumer, and `locked`.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure: packets as fast as the stages can, or their latency on a schedule.
    #[arg(long, value_parser = one_of(TESTS), value_delimiter = ',', default_value = "packets")]
    pub test: Vec<Test>,

    /// Most packets that a stage takes in one go.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,32")]
    pub batch: Vec<Positive>,

    /// Threads that classify flows, 1 to 64.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u8).range(1..=64))]
    pub threads: Vec<u8>,

    /// How a stage waits for packets, or for room.
    #[arg(long, value_name = "LIST", value_parser = one_of(STRATEGIES), value_delimiter = ',',
          default_value = "yield")]
    pub wait: Vec<Strategy>,

    /// Only parse packets: no flows, no applications.
    #[arg(long)]
    pub parse_only: bool,

    /// The packets of a capture, again and again, instead of those that are built in memory.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Packets a second of `open-loop`.
    #[arg(long, value_name = "N", default_value = "100000")]
    pub rate: NonZeroU64,

    /// Packets that each queue must hold.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub capacity: Positive,

    /// Least length of one measurement, such as 30ms or 2s: it ends with the capture [default:
    /// 50ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Least packets of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
