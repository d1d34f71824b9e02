//! The quick run: `lane` without a command.

use std::io::{self, IsTerminal};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use corelane_report::{Failure, FileArgs, Positive, PositiveReal, duration};

use super::SpscArgs;
use super::plan::of;
use crate::args::RunArgs;
use crate::plan::Plan;
use crate::queues::{self, Subject};
use crate::stats::Group;

/// The report.
const REPORT: &str = "corelane-report.html";
/// Length of one measurement.
const CELL: Duration = Duration::from_millis(10);
/// Items of a group, where items move in groups.
pub(crate) const GROUP: usize = 32;
/// Beginning of the ids of lists of other rings than the default.
const LIST_OF: &str = "uspsc-";
/// The any-type queue that represents all of these, if it exists.
const ANY: &str = "bqueue-any";
/// The time of the run, so that it ends within a minute.
const RUN: Duration = Duration::from_secs(25);
/// Most time beyond that, until near and far have enough rounds.
const EXTRA: Duration = Duration::from_secs(15);
/// More rounds than fit into that time.
const MANY: usize = 10_000;

/// The options of the quick run.
#[derive(Debug, Clone, Args)]
pub struct QuickArgs {
    /// Also print all tables.
    #[arg(long)]
    pub all: bool,

    /// Length of one measurement, such as 500us or 10ms [default: 10ms].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "items")]
    pub duration: Option<Duration>,

    /// Items of one measurement, instead of a duration.
    #[arg(long, value_name = "N")]
    pub items: Option<NonZeroU64>,

    /// How often everything is measured [default: as often as 25 seconds allow].
    #[arg(long, value_name = "N")]
    pub rounds: Option<Positive>,

    /// Longest `line_rtt` in nanoseconds at which two cores count as near.
    #[arg(long, value_name = "NS", default_value_t = PositiveReal(Group::FAR_ABOVE_NS))]
    pub far_above: PositiveReal,

    /// Measure no other crates.
    #[arg(long)]
    pub no_peers: bool,

    /// Write the results as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Where the report goes.
    #[arg(long, value_name = "FILE", default_value = REPORT)]
    pub html: PathBuf,
}

impl QuickArgs {
    /// The measurements of the quick run.
    ///
    /// # Errors
    ///
    /// If the report can't be written.
    pub fn plan(&self) -> Result<Plan, Failure> {
        let files = FileArgs { json: self.json.clone(), html: Some(self.html.clone()) };
        let &Self { rounds, far_above, no_peers, .. } = self;
        let args = SpscArgs {
            batch: vec![Positive(1), Positive(GROUP)],
            duration: self.duration.or(Some(CELL)).filter(|_| self.items.is_none()),
            items: self.items,
            run: RunArgs { rounds, far_above, peers: false, no_peers, files },
            ..SpscArgs::default()
        };
        let queues = args.run.choose(queues::all(), &[], is_quick);
        let mut plan = of(&args, &queues)?;
        // Which queues can't have larger items is seen in the tables.
        plan.notes.clear();
        // Nor a pipe's reader nor a log needs it.
        plan.is_silent = !io::stdout().is_terminal();
        if args.run.rounds.is_none() {
            plan = Plan { rounds: MANY, limit: Some(RUN), extra: EXTRA, ..plan };
        }
        Ok(plan)
    }
}

/// Whether a queue is measured: those that are only there to compare or to learn are not.
fn is_quick(queue: &Subject) -> bool {
    let info = &queue.entry.info;
    let is_usual = info.variant_of.is_none() || info.id == ANY;
    let is_list = info.id.starts_with(LIST_OF);
    let is_choice = queue.entry.is_peer() || !queue.entry.is_literature();
    let has_end = info.bounded || !queue.entry.is_peer();
    queue.is_spsc() && is_usual && is_choice && !is_list && has_end
}
