//! Every queue under schedules that look for bugs, and rings with bugs that they must find. With `--nocapture` it tells how many steps there were.

mod seeded;

use std::env;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use coherence::Schedule;
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
const STOPPED: f64 = 2000.0;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let verbose = arguments.nocapture;
    let trial = |queue: &'static Queue| Trial::test(queue.id, move || check(queue, verbose));
    let queues = corelane_simulate::all().iter().map(trial);
    let shared = corelane_simulate::all_shared().iter().map(|queue| {
        let id = format!("{}_of_several", queue.id);
        Trial::test(id, move || Ok(queue.test(seeds(SEVERAL)).map(drop)?))
    });
    // Who is stopped with the lock in its hands holds up even those who clear the run away.
    let can_be_tested = |queue: &&Queue| {
        queue.info.sides.allow(2, 2) && !queue.info.overwrites && queue.id != "locked"
    };
    let stopped = corelane_simulate::all_shared().iter().filter(can_be_tested);
    let stopped = stopped.map(|queue| {
        let id = format!("{}_while_one_is_stopped", queue.id);
        Trial::test(id, move || check_stopped(queue))
    });
    let trials = queues.chain(shared).chain(stopped).chain(seeded::trials()).collect();
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

/// A stopped thread holds up nobody where the queue says *lock-free*, and others where it doesn't.
fn check_stopped(queue: &Queue) -> Result<(), Failed> {
    if queue.info.guarantee.starts_with("lock-free") {
        return Ok(queue.test_stopped(seeds(STOPPED)).map(drop)?);
    }
    // Those that say busy whenever two threads meet fail without anybody being stopped: not these are meant.
    let is_held_up = |seed| {
        let failed = queue.test_stopped([seed]).err()?;
        matches!(failed.schedule, Schedule::Stopped { .. }).then_some(failed)
    };
    match seeds(STOPPED).find_map(is_held_up) {
        Some(_) => Ok(()),
        None => Err("nobody was held up".into()),
    }
}
