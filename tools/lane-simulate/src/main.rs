//! `lane simulate`: cache misses and their places in the source, on other machines.

mod annotate;
mod growth;
mod machines;
mod options;
mod outcome;
mod page;
mod rings;
mod steal;
mod streams;
mod switch;
mod team;
mod validate;

use std::process::ExitCode;

use corelane_report::{Failure, parse};
use corelane_simulate::{all, team_queues};

use options::{SimulateCommand, SimulateSuite, named};

fn main() -> ExitCode {
    parse().and_then(carry_out).unwrap_or_else(Failure::report)
}

fn carry_out(SimulateCommand { suite, args }: SimulateCommand) -> Result<ExitCode, Failure> {
    match suite.unwrap_or_else(|| SimulateSuite::Spsc(Box::new(args))) {
        SimulateSuite::Mpmc(mut args) => {
            args.queues = named(&args.queues, &team_queues())?;
            team::carry_out(&args)
        }
        SimulateSuite::Switch(mut args) => {
            args.queues = named(&args.queues, all())?;
            switch::carry_out(&args)
        }
        SimulateSuite::Rings(args) => rings::carry_out(&args),
        SimulateSuite::Steal(args) => steal::carry_out(&args),
        SimulateSuite::Spsc(mut args) => {
            args.queues = named(&args.queues, all())?;
            let annotated: Vec<_> = args.annotate.take().into_iter().collect();
            args.annotate = named(&annotated, all())?.into_iter().next();
            if args.validate { validate::carry_out(&args) } else { streams::carry_out(&args) }
        }
    }
}
