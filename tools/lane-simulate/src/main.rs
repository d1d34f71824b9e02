//! `lane simulate`: cache misses and their places in the source, on machines that aren't here.

mod annotate;
mod growth;
mod machines;
mod options;
mod outcome;
mod page;
mod streams;
mod team;
mod validate;

use std::process::ExitCode;

use clap::Parser;
use corelane_report::Failure;

use options::{SimulateCommand, SimulateSuite};

fn main() -> ExitCode {
    let SimulateCommand { suite, args } = SimulateCommand::parse();
    let done = match suite {
        Some(SimulateSuite::Mpmc(args)) => team::carry_out(&args),
        Some(SimulateSuite::Spsc(args)) if args.validate => validate::carry_out(&args),
        Some(SimulateSuite::Spsc(args)) => streams::carry_out(&args),
        None if args.validate => validate::carry_out(&args),
        None => streams::carry_out(&args),
    };
    done.unwrap_or_else(Failure::report)
}
