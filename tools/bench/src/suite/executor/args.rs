//! The options of `lane bench executor`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

#[cfg(all(feature = "http", target_os = "linux"))]
use super::HttpLoad;
use crate::args::RunArgs;
use crate::kinds::Test;

/// The tests of executors.
const TESTS: &[Test] = &[
    Test::SpawnJoin,
    Test::PingPong,
    Test::Yield,
    Test::FanOut,
    Test::Chain,
    Test::ForkJoin,
    Test::Grain,
    #[cfg(all(feature = "http", target_os = "linux"))]
    Test::Http,
];

/// The options of measurements of executors.
#[derive(Debug, Clone, Args)]
pub struct ExecutorArgs {
    /// Executors to measure, by id; all if none is named.
    #[arg(value_name = "EXECUTOR")]
    pub executors: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(TESTS), value_delimiter = ',',
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
    pub load: HttpLoad,

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
