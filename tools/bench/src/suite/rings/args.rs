//! The options of `lane bench rings`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::duration;

use crate::args::RunArgs;
use crate::threads::Wait;

/// The options of measurements of rings for submissions and completions.
#[derive(Debug, Clone, Args)]
pub struct RingsArgs {
    /// What to measure: io-uring, bbq-spsc, bbq, linering, llq; if nothing is named, all.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// Entries of the submission ring, powers of two up to 32768. The completion ring has twice as
    /// many.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32,64,128,256,512,1024",
          value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub entries: Vec<u32>,

    /// Most entries of a batch, 1 to 32. Each batch of the three threads has a random number from 1.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,32",
          value_parser = clap::value_parser!(u8).range(1..=32))]
    pub batch: Vec<u8>,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Requests of one measurement, instead of a duration. 1000000 in the thesis.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of the thread that takes completions, the kernel, and the thread that submits; all if
    /// none is given. With two cores the first and the last share one.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// What a thread does when nothing has moved. If threads share a core, they yield.
    #[arg(long, value_enum, default_value = "spin")]
    pub wait: Wait,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
