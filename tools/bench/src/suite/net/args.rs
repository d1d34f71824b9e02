//! The options of `lane bench net`.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use corelane_report::{Positive, PositiveReal, duration, one_of};

use super::setting::{Between, RECORD_BYTES};
use crate::args::RunArgs;
use crate::kinds::Test;

/// The tests between machines.
const TESTS: [Test; 3] = [Test::Stream, Test::Latency, Test::Faults];

/// The options of measurements between machines.
#[derive(Debug, Clone, Args)]
pub struct NetArgs {
    /// Lanes and peers to measure, by id; all if none is named.
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,

    /// What to measure.
    #[arg(long, value_parser = one_of(&TESTS), value_delimiter = ',', default_value = "stream,latency,faults")]
    pub test: Vec<Test>,

    /// Sizes of items, in bytes: 8, 64, 256, 1024, 4096, 16384, 65536.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = record_bytes, default_value = "64,4096")]
    pub record_bytes: Vec<usize>,

    /// Items per second of `latency` [default: half of what plain TCP carries in this run].
    #[arg(long, value_name = "N")]
    pub load: Option<PositiveReal>,

    /// Runs with faults in each measurement of `faults`.
    #[arg(long, value_name = "N", default_value = "3")]
    pub runs: Positive,

    /// What the faults of the first run are; the next run has the next number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Where both ends are: `namespaces` needs root, and has a network namespace for each.
    #[arg(long, value_enum, default_value = "loopback")]
    pub(crate) between: Between,

    /// How much the link between namespaces carries in each direction, as `tc` writes it.
    #[arg(long, value_name = "RATE", value_parser = rate, default_value = "1gbit")]
    pub rate: String,

    /// Length of one measurement, such as 30ms or 2s [default: 300ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one `stream`, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// Rounds and results.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Parses the size of an item.
fn record_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| RECORD_BYTES.contains(bytes));
    bytes.ok_or_else(|| {
        format!("choose from {}", RECORD_BYTES.map(|bytes| bytes.to_string()).join(", "))
    })
}

/// Parses a rate: a number and a unit.
fn rate(text: &str) -> Result<String, String> {
    let unit = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_rate = unit.len() < text.len() && ["kbit", "mbit", "gbit"].contains(&unit);
    is_rate.then(|| text.to_owned()).ok_or_else(|| "give a rate such as 100mbit or 1gbit".into())
}
