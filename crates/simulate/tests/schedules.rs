//! Every queue under schedules that look for bugs. With `--nocapture` it tells how many steps there were.

use std::process::ExitCode;
use std::time::Instant;

use corelane_simulate::Queue;
use libtest_mimic::{Arguments, Failed, Trial};

/// Seeds for each queue. There are two runs of each.
const SEEDS: u64 = 100;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let verbose = arguments.nocapture;
    let trial = |queue: Queue| Trial::test(queue.id.clone(), move || check(&queue, verbose));
    let trials = corelane_simulate::all().into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(queue: &Queue, verbose: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let tested = queue.test(0..SEEDS)?;
    if verbose {
        println!("{}: {tested:?}, {:.2?}", queue.id, start.elapsed());
    }
    Ok(())
}
