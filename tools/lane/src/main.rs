//! `lane` measures corelane's queues on the machine it runs on. `lane verify` and `lane simulate` are programs beside it.

mod cli;
mod listing;
mod subprogram;

use std::process::ExitCode;

use clap::Parser;
use corelane_bench::{Calibration, Plan, cores, run};
use corelane_report::{Block, Failure, Files, interrupt, print};

use cli::{BenchSuite, CalibrateArgs, Cli, Command};

fn main() -> ExitCode {
    carry_out(Cli::parse()).unwrap_or_else(Failure::report)
}

fn carry_out(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => measure(Plan::quick()?),
        Some(Command::List) => print(&listing::render()).map(|()| ExitCode::SUCCESS),
        Some(Command::Bench { suite: BenchSuite::Spsc(args) }) => measure(Plan::spsc(&args)?),
        Some(Command::Bench { suite: BenchSuite::Mpmc(args) }) => measure(Plan::mpmc(&args)?),
        Some(Command::Bench { suite: BenchSuite::Ring(args) }) => measure(Plan::ring(&args)?),
        Some(Command::Calibrate(args)) => calibrate(&args),
        Some(Command::Verify { args }) => subprogram::start("lane-verify", &args),
        Some(Command::Simulate { args }) => subprogram::start("lane-simulate", &args),
    }
}

fn measure(mut plan: Plan) -> Result<ExitCode, Failure> {
    interrupt::listen();
    plan.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let results = run(&plan)?;
    plan.files.publish(&results, &results.document())?;
    Ok(interrupt::exit_code(0))
}

fn calibrate(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let mut files = Files::open(&args.files())?;
    let calibration = Calibration::measure(cores(args.cores)?);
    let mut document = calibration.document();
    if let Some(path) = &args.json {
        let command = format!("Simulate it with: lane simulate --machine {}", path.display());
        document.add(Block::Paragraph(command));
    }
    files.publish(&calibration, &document)?;
    Ok(ExitCode::SUCCESS)
}
