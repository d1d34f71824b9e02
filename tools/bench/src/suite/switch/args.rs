//! The options of `lane bench switch`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::{Args, ValueEnum};
use corelane_report::{Positive, duration};
use serde::Serialize;

use crate::args::RunArgs;
use crate::kinds::Test;
use crate::threads::Wait;

/// A workload of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchTest {
    /// Each client sends packets to all others, as many as it can. The switch drops packets for
    /// which a client has no room.
    Flooding,
    /// Each client sends requests to others, and the next ones when all answers have come.
    RequestResponse,
}

impl From<SwitchTest> for Test {
    fn from(test: SwitchTest) -> Self {
        match test {
            SwitchTest::Flooding => Self::Flooding,
            SwitchTest::RequestResponse => Self::RequestResponse,
        }
    }
}

/// The options of measurements of a switch.
#[derive(Debug, Clone, Args)]
pub struct SwitchArgs {
    /// Queues and peers to measure, by id, module or crate (see `lane list`); if none is named, all
    /// bounded ones between one producer and one consumer.
    #[arg(value_name = "QUEUE")]
    pub queues: Vec<String>,

    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "flooding,request-response")]
    pub test: Vec<SwitchTest>,

    /// Clients of the switch, 2 to 64. A thread runs several clients by turns if there are fewer
    /// cores.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,8",
          value_parser = clap::value_parser!(u8).range(2..=64))]
    pub clients: Vec<u8>,

    /// Packets that a client sends in one go: B_C of the paper.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,8")]
    pub batch: Vec<Positive>,

    /// Most packets that the switch pulls from a client in one go: B_V of the paper.
    #[arg(long, value_name = "N", default_value = "8")]
    pub switch_batch: Positive,

    /// Packets that each queue must hold.
    #[arg(long, value_name = "N", default_value = "256")]
    pub capacity: Positive,

    /// Length of one measurement, such as 30ms or 2s [default: 30ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Packets of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Cores: the first is the switch's, the others are the clients'; all if none is given.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub cores: Vec<usize>,

    /// What a thread does when nothing has moved. If the switch shares its core, threads yield.
    #[arg(long, value_enum, default_value = "spin")]
    pub wait: Wait,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}
