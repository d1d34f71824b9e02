//! `lane verify`: which orderings the queues need, and whether their histories are linearizable.

mod explored;
mod histories;
mod kept_table;
mod orderings;
mod outcome;
mod page;
mod unreached;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use corelane_report::{
    Failure, FileArgs, Files, announce, duration, interrupt, parse, shared, unknown,
};

use kept_table::Kept;

/// The exit code if a queue's models fail, or a seeded bug is not found.
const UNSOUND: u8 = 1;

/// A broken queue that has only models.
const CANARY: &str = "canary";

/// Shows that each memory ordering in the sources is needed.
///
/// Runs the models of each queue in all executions that the C11 memory model allows (if these are
/// too many, in the executions with few preemptions), then again with one ordering weaker at a
/// time. An ordering is needed if with each weaker ordering a model fails. Bugs seeded into copies
/// of the queues show that the models find bugs.
///
/// Ctrl-C ends the run and keeps the queues that are finished; the exit code is then 130. The exit
/// code is 1 if a queue is found broken, or a seeded bug is not found. An ordering that isn't
/// needed is reported, but is no failure.
#[derive(Debug, Parser)]
#[command(name = "lane-verify", bin_name = "lane verify", version, max_term_width = 100)]
struct VerifyArgs {
    /// Queues to verify, by id; all if none is named. `canary` is a broken queue, to see a failure.
    #[arg(value_name = "QUEUE")]
    queues: Vec<String>,

    /// Also run a bigger model of each queue, with three threads, which takes minutes.
    #[arg(long)]
    big: bool,

    /// Instead of models: let two to six threads use each queue for this time (30s, 10m), and check
    /// that a queue can give their answers. It can't if an item comes twice, never or out of order,
    /// or if a call says empty or full although the queue wasn't.
    #[arg(long, value_name = "TIME", value_parser = duration,
          conflicts_with_all = ["big", "kept", "html", "markdown"])]
    histories: Option<Duration>,

    /// Trust a table that --markdown wrote: for each weaker ordering, first run the model that
    /// failed before, and none if none failed. That takes a third of the time, and doesn't detect
    /// that a surviving ordering has become needed.
    #[arg(long, value_name = "FILE", conflicts_with = "big")]
    kept: Option<PathBuf>,

    /// Trust what the tests of corelane-models of the same sources wrote to the file that
    /// `CORELANE_EXPLORED` named: a model that passed there isn't run again without a weaker
    /// ordering.
    #[arg(long, value_name = "FILE", conflicts_with = "histories")]
    explored: Option<PathBuf>,

    /// Where the results go. The page shows the sources with the verdict beside each line.
    #[command(flatten)]
    files: FileArgs,

    /// Write the ordering table as Markdown, without values that differ from run to run.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Run one model for another process.
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> ExitCode {
    parse().and_then(|args| carry_out(&args)).unwrap_or_else(Failure::report)
}

fn ids() -> Vec<&'static str> {
    let mut ids = orderings::queue_ids();
    ids.extend(
        histories::queue_ids().into_iter().filter(|id| !orderings::queue_ids().contains(id)),
    );
    ids.push(CANARY);
    ids
}

fn carry_out(args: &VerifyArgs) -> Result<ExitCode, Failure> {
    if args.worker {
        return Ok(worker::serve());
    }
    interrupt::listen();
    let known = ids();
    if let Some(name) = args.queues.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(unknown(name, known.into_iter()));
    }
    let queues: Vec<_> = match (args.queues.as_slice(), args.histories) {
        ([], None) => orderings::queue_ids(),
        ([], Some(_)) => histories::queue_ids(),
        (named, _) => named.iter().map(String::as_str).collect(),
    };
    let is_sound = match args.histories {
        Some(time) => check_histories(args, &queues, time)?,
        None => check_orderings(args, &queues)?,
    };
    Ok(interrupt::exit_code(if is_sound { 0 } else { UNSOUND }))
}

/// Whether all queues pass their models and all seeded bugs are found.
fn check_orderings(args: &VerifyArgs, queues: &[&str]) -> Result<bool, Failure> {
    let modelled = orderings::queue_ids();
    if let Some(id) = queues.iter().find(|id| **id != CANARY && !modelled.contains(*id)) {
        let text = format!("{id} has histories, but no models of its own; ask for --histories 10s");
        return Err(Failure::Usage(text));
    }
    let kept = args.kept.as_deref().map(Kept::read).transpose()?.unwrap_or_default();
    let explored = args.explored.as_deref().map(explored::read).transpose()?.unwrap_or_default();
    let mut files = Files::open(&args.files)?.and_markdown(args.markdown.as_deref())?;
    let of_a_queue = Duration::from_secs(match (&args.kept, &args.explored) {
        _ if args.big => 300,
        (Some(_), Some(_)) => 1,
        (Some(_), None) => 7,
        (None, _) => 20,
    });
    let of = match queues.len() {
        1 => "1 queue".into(),
        n => format!("{n} queues"),
    };
    let what = format!("runs the models of {of}, and again with each ordering weaker");
    announce(&what, shared(of_a_queue * queues.len() as u32));
    let verification = orderings::verify(queues, args.big, &kept, &explored)?;
    files.publish(&verification, &page::document(&verification, !args.queues.is_empty()))?;
    Ok(verification.is_sound())
}

fn check_histories(args: &VerifyArgs, queues: &[&str], time: Duration) -> Result<bool, Failure> {
    let mut files = Files::open(&args.files)?;
    let histories = histories::check(queues, time)?;
    files.publish(&histories, &histories.document())?;
    Ok(histories.are_sound())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        VerifyArgs::command().debug_assert();
    }
}
