//! `lane count`: the instructions and memory accesses of the queues' calls, by Valgrind. They are
//! the same on every machine with the same compiler.

mod cachegrind;
mod kernels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use corelane_report::{
    Block, Document, Failure, FileArgs, Files, Media, Origin, Progress, Table, announce, interrupt,
    name, parse, unknown,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use cachegrind::Counts;
use kernels::{Call, Kernel};

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;
/// Time of a count, about.
const ONE: Duration = Duration::from_millis(1200);
const PROGRESS: &str = "{bar:30} {pos}/{len} {msg}";
/// A count that has grown by more is a change: tasks look at the clock now and then.
const SAME: f64 = 0.02;
/// The least difference that is told.
const ROUNDING: f64 = 0.1;
const READING: &str = "Of a send and a receive that succeed: instructions, reads and writes of \
    memory. Then instructions of a receive that finds nothing and of a send that finds no room; \
    of a send and a receive in a task, ready at once; and of a receive in a task that waits and is \
    woken, with the send.";

/// Counts the instructions, reads and writes of a send and a receive, with Valgrind's cachegrind.
///
/// One thread sends 64 items, and then receives them, or makes the calls that find no item, or no
/// room. The counts hold for this compiler, on any machine with these instructions. They include
/// the loop's own, two to five for each call. Ctrl-C ends the run and keeps what was counted; the
/// exit code is then 130.
#[derive(Debug, Parser)]
#[command(name = "lane-count", bin_name = "lane count", version, max_term_width = 100)]
struct CountArgs {
    /// Queues and channels to count, by their names in the table; all if none is named.
    #[arg(value_name = "QUEUE")]
    queues: Vec<String>,

    /// Tell the counts of each source file too: what each layer adds.
    #[arg(long)]
    files: bool,

    /// Compare with a file that --json wrote with the same compiler. The exit code is 1 if a count
    /// is another one.
    #[arg(long, value_name = "FILE")]
    kept: Option<PathBuf>,

    /// Write the table as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    written: FileArgs,

    /// Only run a loop.
    #[arg(long = "loop", hide = true, requires_all = ["call", "rounds"])]
    only: Option<String>,
    #[arg(long, hide = true)]
    call: Option<Call>,
    #[arg(long, hide = true)]
    rounds: Option<u64>,
}

/// The counts of a loop.
#[derive(Debug, Serialize, Deserialize)]
struct Counted {
    queue: String,
    call: Call,
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip)]
    files: cachegrind::Files,
}

/// All counts.
#[derive(Debug, Serialize, Deserialize)]
struct Results {
    #[serde(flatten)]
    origin: Origin,
    compiler: String,
    counted: Vec<Counted>,
}

fn main() -> ExitCode {
    parse().and_then(carry_out).unwrap_or_else(Failure::report)
}

fn carry_out(args: CountArgs) -> Result<ExitCode, Failure> {
    let all = kernels::all();
    if let (Some(queue), Some(call), Some(rounds)) = (&args.only, args.call, args.rounds) {
        let chosen = all.iter().find(|kernel| kernel.queue == queue && kernel.call == call);
        let kernel = chosen.ok_or_else(|| Failure::Usage("there is no such loop".into()))?;
        (kernel.run)(rounds);
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = chosen(&all, &args.queues)?;
    let kept = args.kept.as_deref().map(read).transpose()?;
    let mut files = Files::open(&args.written)?.and_markdown(args.markdown.as_deref())?;
    interrupt::listen();
    let time = ONE * chosen.len() as u32 / rayon::current_num_threads() as u32;
    announce("counts instructions under valgrind", time);
    let results = Results {
        origin: Origin::now("lane count", SCHEMA),
        compiler: compiler(),
        counted: count(&chosen)?,
    };
    let changes = kept.map(|kept| changes(&kept, &results));
    files.publish(&results, &document(&results, args.files, changes.as_deref()))?;
    Ok(interrupt::exit_code(u8::from(changes.is_some_and(|changes| !changes.is_empty()))))
}

/// The loops over the queues with these names.
fn chosen<'a>(all: &'a [Kernel], names: &[String]) -> Result<Vec<&'a Kernel>, Failure> {
    if let Some(name) = names.iter().find(|name| all.iter().all(|kernel| kernel.queue != **name)) {
        return Err(unknown(name, all.iter().map(|kernel| kernel.queue)));
    }
    let is_chosen = |kernel: &&Kernel| names.is_empty() || names.iter().any(|n| n == kernel.queue);
    Ok(all.iter().filter(is_chosen).collect())
}

fn count(kernels: &[&Kernel]) -> Result<Vec<Counted>, Failure> {
    let progress = Progress::new(kernels.len(), PROGRESS);
    let counted = kernels.par_iter().filter(|_| !interrupt::requested()).map(|kernel| {
        let files = cachegrind::count(kernel)?;
        progress.inc(1);
        let counts = files.iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(counts));
        Ok(Counted { queue: kernel.queue.into(), call: kernel.call, counts, files })
    });
    let counted = counted.collect();
    progress.finish();
    counted
}

/// The compiler that has built this program.
fn compiler() -> String {
    format!("{}, {}", env!("COMPILER"), std::env::consts::ARCH)
}

fn read(path: &Path) -> Result<Results, Failure> {
    let failure = |what: String| {
        let path = path.display();
        Failure::Usage(format!("can't read {path} ({what}); give a file that --json wrote"))
    };
    let text = fs::read_to_string(path).map_err(|error| failure(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failure(error.to_string()))
}

/// What has changed since the kept counts, a sentence each.
fn changes(kept: &Results, now: &Results) -> Vec<String> {
    if kept.compiler != now.compiler {
        eprintln!("note: the kept counts are those of {}: not compared", kept.compiler);
        return Vec::new();
    }
    let change = |now: &Counted| {
        let name = format!("{}, {}", now.queue, name(&now.call));
        let same = |kept: &&Counted| (&kept.queue, kept.call) == (&now.queue, now.call);
        let Some(kept) = kept.counted.iter().find(same) else {
            return Some(format!("{name}: not kept"));
        };
        let changed = kept.counts.each().into_iter().zip(now.counts.each());
        let changed: Vec<_> = changed
            .filter(|((_, before), (_, now))| (now - before).abs() > before * SAME + ROUNDING)
            .map(|((what, before), (_, now))| format!("{before:.1} {what} → {now:.1}"))
            .collect();
        (!changed.is_empty()).then(|| format!("{name}: {}", changed.join(", ")))
    };
    now.counted.iter().filter_map(change).collect()
}

/// A column: its name, and the value of a loop in it.
type Column = (&'static str, Call, fn(&Counts) -> f64);

const COLUMNS: [Column; 7] = [
    ("instructions", Call::Turns, |counts| counts.instructions),
    ("reads", Call::Turns, |counts| counts.reads),
    ("writes", Call::Turns, |counts| counts.writes),
    ("from empty", Call::Empty, |counts| counts.instructions),
    ("to full", Call::Full, |counts| counts.instructions),
    ("in a task", Call::Polls, |counts| counts.instructions),
    ("with a wake-up", Call::Wakes, |counts| counts.instructions),
];

fn document(results: &Results, with_files: bool, changes: Option<&[String]>) -> Document {
    let mut document = Document::new("Counts", "Instructions of a send and a receive");
    results.origin.tell(&mut document);
    document.fact(Media::SCREENS, "Compiler", results.compiler.clone());
    let origin = format!("Generated by `{}`, with {}.", results.origin.command(), results.compiler);
    let title = Block::heading(1, "Instructions of a call");
    document.add(Block::On(Media::MARKDOWN, vec![title, Block::Paragraph(origin)]));
    document.add(Block::Paragraph(READING.into()));
    let mut queues: Vec<&str> = results.counted.iter().map(|one| one.queue.as_str()).collect();
    queues.dedup();
    queues.sort_by_key(|queue| results.counted.iter().position(|one| one.queue == **queue));
    queues.dedup();
    let row = |queue: &&str| {
        let value = |(_, call, value): &Column| {
            let found =
                results.counted.iter().find(|one| one.queue == **queue && one.call == *call);
            found.map_or_else(String::new, |one| format!("{:.0}", value(&one.counts)))
        };
        [(*queue).to_owned()].into_iter().chain(COLUMNS.iter().map(value)).collect::<Vec<_>>()
    };
    let names = ["queue"].into_iter().chain(COLUMNS.iter().map(|(name, ..)| *name));
    document.add(Block::Table(Table::new(names).with(queues.iter().map(row))));
    if with_files {
        results.counted.iter().for_each(|one| add_files(&mut document, one));
    }
    match changes {
        Some([]) => document.add(Block::Paragraph("No kept count has changed.".into())),
        Some(changes) => {
            document.section("Other counts than those that are kept");
            document.add(Block::List(changes.to_vec()));
        }
        None => {}
    }
    document
}

/// The counts of each source file.
fn add_files(document: &mut Document, counted: &Counted) {
    document.section(format!("{}, {}", counted.queue, name(&counted.call)));
    let rows = counted.files.iter().filter(|(_, counts)| counts.instructions >= ROUNDING).map(
        |(file, counts)| {
            let number = |(_, n): (_, f64)| format!("{n:.1}");
            [file.clone()].into_iter().chain(counts.each().map(number)).collect::<Vec<_>>()
        },
    );
    let names = ["source", "instructions", "reads", "writes"];
    document.add(Block::Table(Table::new(names).with(rows)));
}
