//! The options of `lane bench mpmc`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use super::Workload;
use crate::args::RunArgs;
use crate::kinds::{Placement, TeamSize, Test};
use crate::threads::Wait;

/// The tests between several producers and several consumers.
const TESTS: [Test; 5] =
    [Test::Throughput, Test::DataLatency, Test::OpLatency, Test::FullEmpty, Test::Overwrite];

/// The options of measurements between several threads.
#[derive(Debug, Clone, Args)]
pub struct MpmcArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all
    /// bounded ones between several threads, with bbq-spsc and rtrb where there is one thread a
    /// side.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',',
          default_values = ["throughput", "full-empty", "overwrite"])]
    pub test: Vec<Test>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default:
    /// 1x1,2x2,4x4,4x1,1x4].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = TeamSize::measurable)]
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

    /// Length of one measurement, such as 30ms or 2s [default: 40ms; with more than four threads a
    /// core: 10ms for each; profiling: 200ms; full-empty: 5ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items that are popped at least in one measurement, instead of a duration; not for
    /// `overwrite`.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Which threads share a core, unless each has its own. Free threads need all cores.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "apart,mixed,free")]
    pub placement: Vec<Placement>,

    /// What a thread does before it retries at a full or empty queue. With more threads than cores,
    /// those that would never yield yield.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pause-yield")]
    pub wait: Vec<Wait>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
