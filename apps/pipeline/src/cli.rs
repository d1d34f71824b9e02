//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use corelane::wait::Strategy;
use corelane_report::{Choice, Failure, Positive};
use pipeline::{MOST_THREADS, Settings, is_stream};

/// Finds flows and the applications they belong to in captured packets: a thread for each stage,
/// and queues of corelane between the stages.
#[derive(Debug, Parser)]
#[command(name = "pipeline", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Captures, pcap or pcapng, one after the other; `-` is standard input.
    #[arg(value_name = "FILE", required_unless_present = "interface")]
    pub(crate) files: Vec<PathBuf>,

    /// Packets of a network interface instead of files, until Ctrl-C; needs CAP_NET_RAW (Linux).
    #[arg(long, value_name = "NAME", conflicts_with_all = ["files", "speed"])]
    pub(crate) interface: Option<String>,

    /// Write everything as JSON; `-` is standard output.
    #[arg(long, value_name = "OUT")]
    pub(crate) json: Option<PathBuf>,

    /// Write the flows as CSV; `-` is standard output.
    #[arg(long, value_name = "OUT")]
    pub(crate) csv: Option<PathBuf>,

    /// Show once a second what has been seen so far, on stderr.
    #[arg(long)]
    pub(crate) live: bool,

    /// The queue, capacity, batch and wait that `lane tune --save FILE` has chosen; options that are
    /// given win [default: queue and capacity that it has chosen for this program's own workload].
    #[arg(long, value_name = "FILE")]
    pub(crate) tuned: Option<PathBuf>,

    /// Save how the queue from the input to the parser is used, for `lane tune`.
    #[arg(long, value_name = "FILE")]
    pub(crate) workload: Option<PathBuf>,

    /// The queue between stages, by its id (see `lane list`) [default: as tuned].
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,

    /// Packets that a stage takes at once, at most [default: 32 or as in --tuned, or the capacity if
    /// that is less].
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<Positive>,

    /// How a stage waits for packets, or for room [default: yield, or as in --tuned, for files that are
    /// read at full speed; adaptive where packets come at times of their own].
    #[arg(long, value_enum)]
    pub(crate) wait: Option<Wait>,

    /// Threads that classify flows.
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub(crate) threads: usize,

    /// Packets that a queue must hold [default: as tuned].
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<Positive>,

    /// Lose packets where a queue is full, instead of waiting.
    #[arg(long)]
    pub(crate) drop: bool,

    /// As fast as possible (max), at the capture's times (real), or N times as fast (Nx, such as 2x). If
    /// not max, latencies from the packets' times on are measured; gaps of more than a second are
    /// shortened to a second.
    #[arg(long, value_name = "max|real|Nx", default_value = "max", value_parser = speed)]
    pub(crate) speed: Speed,
}

/// The batch with which `lane bench pipeline` is fastest.
const BATCH: usize = 32;
/// What `lane tune` has chosen for the workload of this program.
const TUNED: &str = include_str!("../tuned.json");

/// How a stage waits.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Wait {
    /// Looks and yields for some microseconds, then sleeps.
    Adaptive,
    /// Looks all the time.
    Spin,
    /// Looks for a while, then yields before each look.
    Yield,
    /// Sleeps at once.
    Sleep,
}

/// How fast a capture is replayed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Speed {
    /// As fast as the stages can.
    Max,
    /// The capture's times, divided by this factor.
    Times(f64),
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=MOST_THREADS).contains(&number) => Ok(number),
        _ => Err(format!("choose 1 to {MOST_THREADS}")),
    }
}

fn speed(text: &str) -> Result<Speed, String> {
    let times = match text {
        "max" => return Ok(Speed::Max),
        "real" => Some(1.0),
        other => other.strip_suffix('x').and_then(|times| times.parse().ok()),
    };
    let is_useful = |times: &f64| (1e-6..=1e6).contains(times);
    times
        .filter(is_useful)
        .map(Speed::Times)
        .ok_or_else(|| "choose max, real, or such as 10x".into())
}

impl Cli {
    /// What `lane tune` has chosen.
    pub(crate) fn choice(&self) -> Result<Choice, Failure> {
        match &self.tuned {
            Some(path) => Choice::read(path),
            // The batch and the wait depend on all stages together.
            None => Choice::parse(TUNED)
                .map(|choice| Choice { batch: BATCH, wait: Some("yield".into()), ..choice })
                .map_err(Failure::Run),
        }
    }

    /// How the stages work together.
    pub(crate) fn settings(&self, choice: &Choice) -> Result<Settings, Failure> {
        let wait = match (self.wait, &choice.wait) {
            (Some(wait), _) => wait,
            (None, Some(tuned)) if !self.has_pauses() => {
                Wait::from_str(tuned, true).map_err(Failure::Usage)?
            }
            _ => Wait::Adaptive,
        };
        let wait = match wait {
            Wait::Adaptive => Strategy::Adaptive,
            Wait::Spin => Strategy::Spin,
            Wait::Yield => Strategy::Yield,
            Wait::Sleep => Strategy::Sleep,
        };
        let capacity = self.capacity.map_or(choice.capacity, |capacity| capacity.0);
        let batch = self.batch.map_or(choice.batch.min(capacity), |batch| batch.0);
        if batch > capacity {
            let text = format!("--batch {batch} is more than --capacity {capacity}");
            return Err(Failure::Usage(format!("{text}; choose 1 to {capacity}")));
        }
        let (threads, drops) = (self.threads, self.drop);
        Ok(Settings { batch, capacity, threads, wait, drops, ..Settings::default() })
    }

    /// Whether the stages may have to wait long for packets. Then a stage that never sleeps would
    /// take a core for nothing.
    fn has_pauses(&self) -> bool {
        let is_timed = matches!(self.speed, Speed::Times(_));
        self.interface.is_some() || is_timed || self.files.iter().any(|path| is_stream(path))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn stages_sleep_only_where_packets_may_be_late() {
        let wait_of = |args: &str| {
            let cli = Cli::parse_from(["pipeline"].into_iter().chain(args.split(' ')));
            let choice = Choice { wait: Some("yield".into()), ..cli.choice().ok()? };
            cli.settings(&choice).map(|settings| settings.wait).ok()
        };
        assert_eq!(wait_of("Cargo.toml"), Some(Strategy::Yield));
        for late in ["-", "Cargo.toml -", "Cargo.toml --speed real", "--interface lo"] {
            assert_eq!(wait_of(late), Some(Strategy::Adaptive), "{late}");
        }
        assert_eq!(wait_of("- --wait sleep"), Some(Strategy::Sleep));
    }
}
