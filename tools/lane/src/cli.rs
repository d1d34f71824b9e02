//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use corelane_bench::{BenchArgs, COMPUTE, CorePair, NET_END, PEER, QuickArgs, TuneArgs};
use corelane_report::FileArgs;

/// Measures the queues of corelane on this machine, beside the physical floor and beside other
/// crates, verifies their memory orderings, and simulates them on other machines.
///
/// Without a command: a quick run of queues between one producer and one consumer, a picture, three
/// recommendations, and corelane-report.html in the current directory.
#[derive(Debug, Parser)]
#[command(name = "lane", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    /// The options of the quick run.
    #[command(flatten)]
    pub(crate) quick: QuickArgs,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the queues and when to use them, and the peers with their versions.
    List {
        /// Only these: ids, modules or crates; all if none is named.
        #[arg(value_name = "QUEUE")]
        queues: Vec<String>,

        /// Also list guarantees, and when not to use the queues.
        #[arg(long, conflicts_with = "json")]
        long: bool,

        /// Everything as JSON.
        #[arg(long)]
        json: bool,

        /// The queues of corelane as a table in Markdown, with their modules.
        #[arg(long, conflicts_with_all = ["long", "json", "queues"])]
        markdown: bool,
    },
    /// Measure queues.
    ///
    /// Queues are measured interleaved, round by round. Each round also measures the caches alone,
    /// and rounds are grouped by the result: near (the cores share a cache) or far. Ctrl-C ends the
    /// run and keeps the measured results; the exit code is then 130.
    Bench {
        /// Which kind of queue.
        #[command(subcommand)]
        suite: BenchArgs,
    },
    /// Find the queue, capacity, batch and way to wait that a recorded workload needs.
    ///
    /// corelane::workload::Recorder writes down how a program uses its queue, and a capture says
    /// when packets come. All queues and peers move this workload. The best ones are measured with
    /// other batches, ways to wait and capacities. The answer has the reason, the margin, and the
    /// line of Rust to write.
    Tune(Box<TuneArgs>),
    /// Show that each memory ordering in the sources is needed (starts the program lane-verify).
    #[command(disable_help_flag = true)]
    Verify {
        /// The arguments of lane-verify.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Simulate queues on other machines, and show which lines of the source cost cache misses
    /// (starts the program lane-simulate).
    #[command(disable_help_flag = true)]
    Simulate {
        /// The arguments of lane-simulate.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Count the instructions of the calls of queues and channels, with Valgrind (starts the program
    /// lane-count).
    #[command(disable_help_flag = true)]
    Count {
        /// The arguments of lane-count.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Show saved results again, as tables and as a picture.
    Report(ReportArgs),
    /// Measure the costs of this machine that the simulator needs.
    Calibrate(CalibrateArgs),
    /// The second process of a measurement between processes.
    #[command(name = PEER, hide = true)]
    Peer {
        /// What it does.
        what: String,
    },
    /// An end of a measurement between machines.
    #[command(name = NET_END, hide = true)]
    NetEnd {
        /// What it is.
        what: String,
    },
    /// A process that computes beside a measurement.
    #[command(name = COMPUTE, hide = true)]
    Compute {
        /// Where it computes.
        core: usize,

        /// Its nice value.
        #[arg(long, allow_hyphen_values = true)]
        nice: i32,
    },
}

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Files that `lane bench --json FILE` has written.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) results: Vec<PathBuf>,

    /// Write the tables as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Draw the fastest streams of the first file that has streams, or throughput against rank
    /// errors.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// What to calibrate.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Cores to measure between.
    #[arg(long, value_name = "A,B")]
    pub(crate) cores: Option<CorePair>,

    /// Write a file for `lane simulate --machine FILE`.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl CalibrateArgs {
    /// Where the results go.
    pub(crate) fn files(&self) -> FileArgs {
        FileArgs { json: self.json.clone(), html: None }
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
}
