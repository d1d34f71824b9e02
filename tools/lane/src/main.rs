//! `lane` measures corelane's queues on the machine it runs on, verifies them, and simulates them on
//! others.

mod advice;
mod calibrate;
mod catalogue;
mod cell;
mod circle;
mod cli;
mod clock;
mod cores;
mod failure;
mod floor;
mod grid;
mod interrupt;
mod link;
mod listing;
mod machine;
mod mpmc;
mod number;
mod open_loop;
mod ours;
mod pair;
mod payload;
mod peers;
mod plan;
mod report;
mod results;
mod rtt;
mod runner;
mod schedule;
mod shapes;
mod simulate;
mod sink;
mod spsc;
mod stats;
mod stream;
mod suite;
mod table;
mod takeover;
mod verify;
mod work;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use circle::Circle;
use cli::{BenchCommand, BenchSuite, Cli, Command, SimulateCommand, SimulateSuite};
use failure::Failure;
use mpmc::Mpmc;
use results::Results;
use spsc::Spsc;
use suite::{Plan, Suite};

fn main() -> ExitCode {
    carry_out(Cli::parse()).unwrap_or_else(Failure::report)
}

fn carry_out(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        None => measure(Plan::<Spsc>::quick()?),
        Some(Command::List) => {
            print(&listing::render())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Bench(BenchCommand { suite })) => match suite {
            BenchSuite::Spsc(args) => measure(Plan::<Spsc>::bench(&args)?),
            BenchSuite::Mpmc(args) => measure(Plan::<Mpmc>::bench(&args)?),
            BenchSuite::Ring(args) => measure(Plan::<Circle>::bench(&args)?),
        },
        Some(Command::Verify(args)) => verify::carry_out(&args),
        Some(Command::Calibrate(args)) => calibrate::carry_out(&args),
        Some(Command::Simulate(SimulateCommand { suite, args })) => match suite {
            Some(SimulateSuite::Spsc(args)) => simulate::carry_out(&args),
            Some(SimulateSuite::Mpmc(args)) => simulate::carry_out_mpmc(&args),
            None => simulate::carry_out(&args),
        },
    }
}

/// Runs `plan` and hands its results to whoever wants them.
fn measure<S: Suite>(mut plan: Plan<S>) -> Result<ExitCode, Failure> {
    interrupt::listen();
    plan.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let results = runner::run(&plan)?;
    // Files first: they must be there even if nobody reads what is printed.
    let written = write_files(&mut plan, &results)?;
    print(&summary(&results, &written))?;
    Ok(ExitCode::from(if results.interrupted { interrupt::EXIT_CODE } else { 0 }))
}

fn write_files<S: Suite>(plan: &mut Plan<S>, results: &Results<S>) -> Result<Vec<String>, Failure> {
    let mut written = Vec::new();
    if let Some(sink) = &mut plan.json {
        let json = serde_json::to_string_pretty(results).expect("results are plain data");
        written.push(sink.replace(&json)?);
    }
    if let Some(sink) = &mut plan.html {
        written.push(sink.replace(&report::render(results))?);
    }
    Ok(written)
}

fn summary<S: Suite>(results: &Results<S>, written: &[String]) -> String {
    let mut text = table::render(results);
    match advice::Advice::of(results) {
        Some(advice) => text.push_str(&format!("\n{}", advice.text())),
        None if results.rounds.len() < advice::LEAST_ROUNDS => {
            text.push_str("\nToo few rounds to recommend a queue.\n");
        }
        None => {}
    }
    for path in written {
        text.push_str(&format!("\nWritten: {path}\n"));
    }
    text
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(io::stdout().lock().write_all(text.as_bytes())?)
}
