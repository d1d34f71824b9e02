//! Runs of a queue under schedules, one seed after another: the first that fails can be run again.

use std::any::Any;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use coherence::{Machine, Schedule, StoreBuffer, Topology};

/// Most threads of a run.
pub const THREADS: usize = 16;

/// As many cores as there may be threads. Distances don't matter. The store buffers are small, so
/// that threads often wait for room.
pub fn machine() -> Machine {
    Machine {
        topology: Topology {
            sockets: 1,
            l3_per_socket: 1,
            cores_per_l3: THREADS,
            threads_per_core: 1,
        },
        store_buffer: StoreBuffer { entries: 4, early_ownership: false },
        pair_prefetcher: false,
        ..Machine::i7()
    }
}

/// A run in which a queue failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Id of the queue.
    pub queue: String,
    /// The seed of the run.
    pub seed: u64,
    /// The schedule.
    pub schedule: Schedule,
    /// The failure.
    pub what: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, seed, schedule, what } = self;
        write!(f, "{queue} fails with seed {seed}, schedule {schedule:?}: {what}")
    }
}

impl Error for Failed {}

/// The amount of testing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tested {
    /// Number of runs.
    pub runs: u64,
    /// Steps of all runs.
    pub steps: u64,
}

/// Runs each seed at random, and then by the schedules that `then` returns for the seed and its
/// number of steps.
pub(crate) fn test_each<S: IntoIterator<Item = Schedule>>(
    seeds: impl IntoIterator<Item = u64>,
    then: impl Fn(u64, u64) -> S,
    replay: impl Fn(u64, Schedule) -> Result<u64, Failed>,
) -> Result<Tested, Failed> {
    let mut tested = Tested::default();
    let mut test = |seed, schedule| {
        let steps = replay(seed, schedule)?;
        tested.runs += 1;
        tested.steps += steps;
        Ok(steps)
    };
    for seed in seeds {
        let steps = test(seed, Schedule::Random)?;
        for schedule in then(seed, steps) {
            test(seed, schedule)?;
        }
    }
    Ok(tested)
}

/// By priorities, once.
pub(crate) fn by_priorities(seed: u64, steps: u64) -> [Schedule; 1] {
    [Schedule::Priorities { depth: 1 + (seed % 4) as u32, steps }]
}

/// Runs a case of a queue. A failure names the queue, the seed and the schedule.
pub(crate) fn named(
    queue: &str,
    seed: u64,
    schedule: Schedule,
    run: impl FnOnce() -> Result<u64, Wrong>,
) -> Result<u64, Failed> {
    let failed = |Wrong(what)| Failed { queue: queue.to_owned(), seed, schedule, what };
    let _running = Running::new(format!("{queue} with seed {seed}, schedule {schedule:?}"));
    run().map_err(failed)
}

/// The result of `run`. If one of its threads panics, the panic is the failure.
pub(crate) fn caught(run: impl FnOnce() -> Result<u64, Wrong>) -> Result<u64, Wrong> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Wrong(message(&*panic))))
}

thread_local! {
    /// The current run on this host thread.
    static RUNNING: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Names the run in the message of a panic: some bugs end in a panic that can't be caught.
struct Running;

impl Running {
    fn new(what: String) -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                RUNNING.with_borrow(|what| {
                    what.iter().for_each(|what| eprintln!("\nwhile testing {what}:"));
                });
                usual(info);
            }));
        });
        RUNNING.set(Some(what));
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

/// The failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong(String);

impl<E: Error> From<E> for Wrong {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The message of a thread's panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").into()
}
