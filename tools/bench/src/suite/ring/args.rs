//! The options of `lane bench ring`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration};

use crate::args::RunArgs;
use crate::threads::Wait;

/// The options of measurements between threads in a ring.
#[derive(Debug, Clone, Args)]
pub struct RingArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all
    /// between one producer and one consumer.
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

    /// What a thread does before it retries at a full or empty queue. With more threads than cores
    /// it yields.
    #[arg(long, value_enum, default_value = "spin")]
    pub wait: Wait,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
