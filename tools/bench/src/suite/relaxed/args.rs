//! The options of `lane bench relaxed`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use crate::args::RunArgs;
use crate::kinds::{Placement, TeamSize, Test};
use crate::threads::Wait;

/// The tests of relaxed queues.
const TESTS: [Test; 4] = [Test::Throughput, Test::DataLatency, Test::RankError, Test::Memory];

/// The options of measurements of queues whose items may leave out of turn.
#[derive(Debug, Clone, Args)]
pub struct RelaxedArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, the
    /// relaxed ones, and leased, faaq and the best peers, which are first in, first out.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',',
          default_values = ["throughput", "rank-error"])]
    pub test: Vec<Test>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default:
    /// 1x1,2x2,4x4,4x1,1x4].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = TeamSize::measurable)]
    pub threads: Vec<TeamSize>,

    /// The k of relaxed queues: an item leaves among the k oldest. Queues that can't be told a k are
    /// measured once.
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "16,256,4096")]
    pub relaxation: Vec<Positive>,

    /// Items a queue must hold.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 40ms; with more than four threads a
    /// core: 10ms for each].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items that are popped at least in one measurement, instead of a duration. For `rank-error`
    /// exactly this number, in runs of a million.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Which threads share a core, unless each has its own. Free threads need all cores.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "mixed")]
    pub placement: Vec<Placement>,

    /// What a thread does before it retries at a full or empty queue. With more threads than cores,
    /// those that would never yield yield.
    #[arg(long, value_enum, default_value = "pause-yield")]
    pub wait: Wait,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
