//! Every queue under schedules that look for bugs, and rings with bugs that they must find. With
//! `--nocapture` the number of steps is printed.

mod seeded;

use std::env;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use coherence::Schedule;
use corelane_sim::Info;
use corelane_simulate::{Killed, Queue, Ring, Room, Tested};
use libtest_mimic::{Arguments, Failed, Trial};

/// Seeds for each queue. Each seed makes two runs. The environment variable `CORELANE_STRESS`
/// multiplies the number, if it is more than 1: some cases come late.
fn seeds(usual: f64) -> Range<u64> {
    let scale: f64 =
        env::var("CORELANE_STRESS").map_or(1.0, |scale| scale.parse().expect("a number"));
    0..(usual * scale.max(1.0)) as u64
}

/// Chains and rings of threads take longer than threads around one queue.
const CHAINS: f64 = 300.0;
const SEVERAL: f64 = 4000.0;
const STOPPED: f64 = 2000.0;
const WAITING: f64 = 2000.0;
const STEALING: f64 = 10_000.0;
/// Each seed makes a run for each step.
const KILLED: f64 = 60.0;

/// Its producers wait for each other in the tube, in order. Under a schedule that is unfair for long,
/// they close each capsule before its producer has come to push.
const UNFAIR: &str = "cnq-ring";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.filter = arguments.filter.map(|filter| filter.replace('-', "_"));
    let verbose = arguments.nocapture;
    let queues = corelane_simulate::all().iter().map(|queue| {
        Trial::test(name(queue, "schedules"), move || {
            check(queue.id, || queue.test(seeds(CHAINS)), verbose)
        })
    });
    let shared = corelane_simulate::all_shared().iter().filter(|queue| queue.id != UNFAIR);
    let shared = shared.map(|queue| {
        Trial::test(name(queue, "schedules"), move || {
            check(queue.id, || queue.test(seeds(SEVERAL)), verbose)
        })
    });
    // A thread that is stopped while it has the lock also blocks the threads that end the run.
    let can_be_tested = |queue: &&Queue| {
        queue.info.sides.allow(2, 2) && !queue.info.overwrites && queue.id != "locked"
    };
    let stopped = corelane_simulate::all_shared().iter().filter(can_be_tested);
    let stopped = stopped.map(|queue| {
        Trial::test(name(queue, "schedules_with_one_stopped"), move || check_stopped(queue))
    });
    let waiting = corelane_simulate::team_queues().into_iter();
    let waiting = waiting.filter(|queue| !queue.packed && queue.id != UNFAIR);
    let waiting = waiting.map(|queue| {
        Trial::test(name(&queue, "schedules_of_threads_that_sleep"), move || {
            queue.test_waiting(seeds(WAITING)).map(|_| ()).map_err(Failed::from)
        })
    });
    let stealing = corelane_simulate::steal_tests().into_iter().map(|queue| {
        let name = format!("{}::schedules_of_thieves", queue.id.replace('-', "_"));
        Trial::test(name, move || check(queue.id, || queue.test(seeds(STEALING)), verbose))
    });
    let records = Trial::test("records::schedules_of_threads_that_sleep", || {
        let tested = corelane_simulate::test_waiting_for_records(seeds(5.0 * WAITING));
        tested.map(|_| ()).map_err(Failed::from)
    });
    let sides = |ring| [(ring, Killed::Producer), (ring, Killed::Consumer)];
    let killed = [Ring::Lines, Ring::Records, Ring::Lanes, Ring::Seats].into_iter().flat_map(sides);
    let killed = killed.chain([(Ring::Newest, Killed::Producer)]).map(|(ring, side)| {
        let queue = match ring {
            Ring::Lines => "linering",
            Ring::Records => "recordring",
            Ring::Lanes => "lanes",
            Ring::Seats => "seatring",
            Ring::Newest => "seqring",
        };
        Trial::test(format!("{queue}::killed_{side:?}").to_lowercase(), move || {
            let tested = corelane_simulate::test_killed(ring, side, seeds(KILLED))?;
            if verbose {
                println!("{queue}, killed {side:?}: {} runs, {} steps", tested.runs, tested.steps);
            }
            Ok(())
        })
    });
    let trials = queues
        .chain(shared)
        .chain(stopped)
        .chain(waiting)
        .chain(stealing)
        .chain([records])
        .chain(killed)
        .chain(seeded::trials())
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The name of a test of `queue`. Conformance tests have the same prefix, which has no hyphens.
fn name(queue: &Queue, test: &str) -> String {
    format!("{}::{test}", queue.id.replace('-', "_"))
}

fn check(
    id: &str,
    test: impl FnOnce() -> Result<Tested, corelane_simulate::Failed>,
    verbose: bool,
) -> Result<(), Failed> {
    let start = Instant::now();
    let tested = test()?;
    if verbose {
        println!("{id}: {tested:?}, {:.2?}", start.elapsed());
    }
    Ok(())
}

/// If the queue says *lock-free*, a stopped thread doesn't block others. Otherwise it does.
fn check_stopped(queue: &Queue) -> Result<(), Failed> {
    let Info { bounded, relaxed, guarantee, .. } = queue.info;
    let is_lock_free = guarantee.starts_with("lock-free");
    // A relaxed queue may say full or empty while another thread is in a call, but not for ever. It
    // may have more slots than it is asked for.
    let room = match (relaxed, is_lock_free) {
        (false, _) => Room::ForAll,
        (true, true) => Room::For(64),
        (true, false) => Room::For(1),
    };
    if is_lock_free {
        queue.test_stopped(seeds(STOPPED), room)?;
        return if bounded && !relaxed { check_small(queue) } else { Ok(()) };
    }
    // Only seeds that pass without a stopped thread count: some queues say busy whenever two
    // threads meet.
    let is_held_up = |seed| {
        let failed = queue.test_stopped([seed], room).err()?;
        matches!(failed.schedule, Schedule::Stopped { .. }).then_some(failed)
    };
    match seeds(STOPPED).find_map(is_held_up) {
        Some(_) => Ok(()),
        None => Err("no thread was blocked".into()),
    }
}

/// A stopped thread keeps a slot: with two slots it blocks no other thread, and with one slot it
/// blocks all.
fn check_small(queue: &Queue) -> Result<(), Failed> {
    queue.test_stopped(seeds(STOPPED), Room::For(2))?;
    match seeds(STOPPED).any(|seed| queue.test_stopped([seed], Room::For(1)).is_err()) {
        true => Ok(()),
        false => Err("the thread with the only slot blocked no other".into()),
    }
}
