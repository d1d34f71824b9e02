//! The options of `lane bench wait`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use super::{Mode, Runtime, Strategy};
use crate::args::RunArgs;
use crate::kinds::{Placement, TeamSize, Test};

/// The tests of calls that wait.
const TESTS: [Test; 6] =
    [Test::Stream, Test::PingPong, Test::OpenLoop, Test::Cpu, Test::Idle, Test::FanIn];

/// The options of measurements of calls that wait.
#[derive(Debug, Clone, Args)]
pub struct WaitArgs {
    /// Queues and peers to measure, by id, module or crate; if none is named, all bounded ones
    /// whose calls wait.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',',
          default_value = "stream,ping-pong,open-loop,cpu,idle,fan-in")]
    pub test: Vec<Test>,

    /// Producers and consumers, up to 64 of each; may be more than there are cores [default: stream
    /// 1x1,2x2,4x4,4x1,1x4; ping-pong 1x1].
    #[arg(long, value_name = "PxC", value_delimiter = ',', value_parser = TeamSize::measurable)]
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

    /// Items per second, at random times (Poisson) [default: open-loop 1000,10000,100000,1000000;
    /// cpu without the last; fan-in 10000].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub rate: Vec<Positive>,

    /// Items a queue must hold; 0 is a rendezvous, which some channels have.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4096")]
    pub capacity: Vec<usize>,

    /// Processes that compute beside the measurement and share its cores, up to 64.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u8).range(..=64))]
    pub busy: Vec<u8>,

    /// Nice values of these processes, -20 to 19; the measured threads have 0. Values below 0 need
    /// the rights of root.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0", allow_hyphen_values = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Vec<i32>,

    /// Length of one measurement, such as 30ms or 2s [default: stream 40ms, with more than four
    /// threads a core 10ms for each; ping-pong 40ms; others 100ms; beside processes that compute
    /// 300ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one `stream` or `ping-pong` measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores for the threads, in the order in which they are used; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Which threads share a core, unless each has its own. Free threads need all cores. Tests with
    /// a schedule take the first.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "apart,mixed,free")]
    pub placement: Vec<Placement>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
