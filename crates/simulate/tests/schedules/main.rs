//! Every queue under schedules that look for bugs, and rings with bugs that they must find. With `--nocapture` it tells how many steps there were.

mod seeded;

use std::env;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use corelane_simulate::Queue;
use libtest_mimic::{Arguments, Failed, Trial};

/// So many seeds for each queue, each for two runs. The environment variable `CORELANE_STRESS` scales
/// them.
fn seeds(usual: f64) -> Range<u64> {
    let scale = env::var("CORELANE_STRESS").map_or(1.0, |scale| scale.parse().expect("a number"));
    0..(usual * scale) as u64
}

/// Chains and rings of threads take longer than threads around one queue.
const CHAINS: f64 = 300.0;
const SEVERAL: f64 = 4000.0;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let verbose = arguments.nocapture;
    let trial = |queue: &'static Queue| Trial::test(&queue.id, move || check(queue, verbose));
    let queues = corelane_simulate::all().iter().map(trial);
    let shared = corelane_simulate::all_shared().iter().map(|queue| {
        let id = format!("{}_of_several", queue.info.id);
        Trial::test(id, move || Ok(queue.test(seeds(SEVERAL)).map(drop)?))
    });
    let trials = queues.chain(shared).chain(seeded::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(queue: &Queue, verbose: bool) -> Result<(), Failed> {
    let start = Instant::now();
    let tested = queue.test(seeds(CHAINS))?;
    if verbose {
        println!("{}: {tested:?}, {:.2?}", queue.id, start.elapsed());
    }
    Ok(())
}
