//! The options of `lane bench steal`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, duration, one_of};

use super::{Order, StealPolicy};
use crate::args::RunArgs;
use crate::kinds::Test;

/// The tests of work stealing.
const TESTS: [Test; 4] = [Test::Owner, Test::HungryThief, Test::Stolen, Test::Pool];

/// The options of measurements of work stealing.
#[derive(Debug, Clone, Args)]
pub struct StealArgs {
    /// Queues and peers to measure, by id; all if none is named.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',', default_value = "owner,hungry-thief,stolen")]
    pub test: Vec<Test>,

    /// Which item the owner gets.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lifo,fifo")]
    pub order: Vec<Order>,

    /// Shares of the items that a thief takes in `stolen`, in percent, 0 to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,1,10,20",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub stolen: Vec<u8>,

    /// Items that each thread of `pool` attempts to steal in a round, in percent of the capacity, 0
    /// to 100.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,25,50,100",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub balancing: Vec<u8>,

    /// Threads of `pool`, 2 to 64; may be more than there are cores.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2",
          value_parser = clap::value_parser!(u8).range(2..=64))]
    pub threads: Vec<u8>,

    /// How a thread of `pool` chooses the queue from which it tries to steal first. Two threads
    /// have no choice.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "rand")]
    pub policy: Vec<StealPolicy>,

    /// Items that each queue must hold.
    #[arg(long, value_name = "N", default_value = "8192")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores of the owner and of the thief, or of the threads of a pool, which share them if there
    /// are more threads [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
