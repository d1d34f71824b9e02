//! `lane tune`: which queue, capacity, batch and way to wait a recorded workload needs.
//!
//! Three parts, each measured in rounds with all of its settings interleaved: all queues as the
//! program uses its queue now; the best of them with other batches and ways to wait; the best
//! setting with other capacities. Each part compares only what it has measured itself.

mod code;
mod goal;
mod page;
mod search;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use corelane_report::{Choice, Failure, FileArgs, Files, Origin, Positive, Sink};
use serde::Serialize;

pub use self::goal::Goal;
use self::search::Search;
use crate::cores;
use crate::results::{Results, SCHEMA};
use crate::suite::replay::{Workload, WorkloadArgs};

/// Rounds of each part, unless given.
const ROUNDS: usize = 5;

/// The options of `lane tune`.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The workload.
    #[command(flatten)]
    of: WorkloadArgs,

    /// What counts among the settings that keep up with the workload.
    #[arg(long = "for", value_name = "GOAL", value_enum, default_value = "throughput")]
    goal: Goal,

    /// Consider no other crates.
    #[arg(long)]
    no_peers: bool,

    /// How often each setting is measured [default: 5].
    #[arg(long, value_name = "N")]
    rounds: Option<Positive>,

    /// Write the choice alone, for programs that read it: pipeline --tuned FILE, vswitch --tuned
    /// FILE.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Where the results go.
    #[command(flatten)]
    files: FileArgs,
}

/// A search that can begin.
#[derive(Debug)]
pub struct Tuning {
    goal: Goal,
    workload: Arc<Workload>,
    search: Search,
    save: Option<Sink>,
    files: Files,
}

/// What `lane tune` has found, in the shape of its JSON file.
#[derive(Debug, Serialize)]
struct Tuned {
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    advice: Advice,
    /// What was measured: all queues; batches and ways to wait; capacities.
    parts: Vec<Results>,
}

/// The advice alone.
#[derive(Debug, Clone, Serialize)]
struct Advice {
    workload: String,
    goal: Goal,
    /// What is recommended.
    choice: Choice,
    /// The best queue of corelane, for programs that have no channels and no other crates.
    ours: Choice,
    /// Why.
    reason: String,
    /// The line of Rust to write.
    code: String,
}

impl TuneArgs {
    /// Reads the workload.
    ///
    /// # Errors
    ///
    /// If the file holds no workload, or no queue can have its threads.
    pub fn prepare(&self) -> Result<Tuning, Failure> {
        let workload = Arc::new(Workload::read(&self.of).map_err(Failure::Usage)?);
        let cores = cores::pair(self.of.cores)?;
        let rounds = self.rounds.map_or(ROUNDS, |rounds| rounds.0);
        let cores = vec![cores.producer, cores.consumer];
        let search = Search::new(Arc::clone(&workload), cores, rounds, !self.no_peers)?;
        let save = self.save.as_deref().map(Sink::open).transpose()?;
        let files = Files::open(&self.files)?;
        Ok(Tuning { goal: self.goal, workload, search, save, files })
    }
}

impl Tuning {
    /// One line about the workload.
    pub fn summary(&self) -> String {
        format!("{}: {}", self.workload.name, self.workload.summary())
    }

    /// About how long it takes.
    pub fn time(&self) -> Duration {
        self.search.time()
    }

    /// Measures, chooses and tells. Returns whether anything was compared before an interrupt.
    ///
    /// # Errors
    ///
    /// If a queue of corelane is broken, or a file can't be written.
    pub fn run(self) -> Result<bool, Failure> {
        let workload = self.summary();
        let Self { goal, search, save, mut files, .. } = self;
        let Some(outcome) = search.run(goal)? else { return Ok(false) };
        let document = page::document(&outcome, &workload, goal);
        let advice = Advice {
            workload,
            goal,
            choice: outcome.best().choice(),
            ours: outcome.ours.choice(),
            reason: page::reason(&outcome, goal),
            code: code::of(outcome.best()),
        };
        if let Some(mut sink) = save {
            let text = serde_json::to_string_pretty(&advice).expect("it is plain data");
            sink.replace(&(text + "\n"))?;
        }
        let origin = Origin::now("lane", SCHEMA);
        files.publish(&Tuned { origin, advice, parts: outcome.parts }, &document)?;
        Ok(true)
    }
}
