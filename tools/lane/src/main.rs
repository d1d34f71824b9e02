//! `lane` measures corelane's queues on the machine it runs on. `lane verify`, `lane simulate` and
//! `lane count` are programs beside it.

mod cli;
mod listing;
mod subprogram;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use corelane_bench::{Calibration, Plan, Results, be_peer, compute, cores, numbers, picture, run};
use corelane_report::{Block, Failure, Files, Sink, announce, interrupt, parse, print};

use cli::{CalibrateArgs, Cli, Command, ReportArgs};

/// The program's task without a command.
const QUICK: &str = "measures queues between one producer and one consumer, recommends one and writes corelane-report.html";
/// The task of the suites.
const BENCH: &str = "measures queues side by side";

fn main() -> ExitCode {
    parse().and_then(carry_out).unwrap_or_else(Failure::report)
}

fn carry_out(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => measure(Plan::quick()?, QUICK),
        Some(Command::List { long, json, markdown }) => {
            let list = match (long, json) {
                _ if markdown => listing::markdown(),
                (true, _) => listing::long(),
                (_, true) => listing::json(),
                _ => listing::table(),
            };
            print(&list).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Bench { suite }) => measure(suite.plan()?, BENCH),
        Some(Command::Peer { what }) => be_peer(&what).map(|()| ExitCode::SUCCESS),
        Some(Command::Compute { core, nice }) => compute(core, nice).map(|()| ExitCode::SUCCESS),
        Some(Command::Report(args)) => report(&args),
        Some(Command::Calibrate(args)) => calibrate(&args),
        Some(Command::Verify { args }) => subprogram::start("lane-verify", &args),
        Some(Command::Count { args }) => subprogram::start("lane-count", &args),
        Some(Command::Simulate { args }) => subprogram::start("lane-simulate", &args),
    }
}

/// Announces the task and its time, then measures.
fn measure(mut plan: Plan, what: &str) -> Result<ExitCode, Failure> {
    interrupt::listen();
    announce(&format!("{what}, {}", plan.summary()), plan.time());
    plan.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let mut files = std::mem::take(&mut plan.files);
    let results = run(&Arc::new(plan))?;
    match results.rounds() {
        0 => eprintln!("nothing was measured"),
        _ => files.publish(&results, &results.document())?,
    }
    Ok(interrupt::exit_code(0))
}

fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let kept = args.results.iter().map(|path| Results::read(path));
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.svg {
        Sink::open(path)?.replace(&picture(&kept)?)?;
    }
    Files::default().and_markdown(args.markdown.as_deref())?.publish(&(), &numbers(&kept))?;
    Ok(ExitCode::SUCCESS)
}

fn calibrate(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let mut files = Files::open(&args.files())?;
    let cores = cores(args.cores)?;
    announce("measures the caches and instructions of this machine", Duration::from_secs(1));
    let calibration = Calibration::measure(cores);
    let mut document = calibration.document();
    if let Some(path) = &args.json {
        let command = format!("Simulate it with: lane simulate --machine {}", path.display());
        document.add(Block::Paragraph(command));
    }
    files.publish(&calibration, &document)?;
    Ok(ExitCode::SUCCESS)
}
