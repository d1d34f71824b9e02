//! Tests of the queues under schedules that look for bugs.
//!
//! A seed makes up a [`Case`]: so many threads in a chain or a ring, with a queue from each to the next,
//! and what they do. The same seed makes the choices of the schedule. So a failure can be had again.

use std::any::Any;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use coherence::{Chance, Machine, Schedule, Simulation, StoreBuffer, Topology};
use corelane_sim::{Config, Sides};

use crate::Queue;
use crate::chain::{Link, Parcel, Plan, Stage};
use crate::ledger;
use crate::queue::NewLending;
use crate::several::SharedCase;

/// A run in which a queue did what it must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Id of the queue.
    pub queue: String,
    /// The seed of the run.
    pub seed: u64,
    /// The schedule.
    pub schedule: Schedule,
    /// What was wrong.
    pub what: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, seed, schedule, what } = self;
        write!(f, "{queue} fails with seed {seed}, schedule {schedule:?}: {what}")
    }
}

impl Error for Failed {}

/// How much was tested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tested {
    /// Number of runs.
    pub runs: u64,
    /// Steps of all runs.
    pub steps: u64,
}

impl Queue {
    /// Runs the case of each seed twice: at random, and by priorities with as many steps.
    ///
    /// Between one producer and one consumer, items pass through up to 16 threads, singly and in batches, through
    /// queues of all small capacities whose counters wrap on the way. Some threads go before their time. Each thread
    /// must get all items in their order, each item must be dropped once, and nobody may wait for ever.
    ///
    /// Where there may be several, up to four producers and four consumers use one queue of a small capacity whose
    /// counters wrap on the way; handles are cloned and dropped meanwhile. Nothing may be lost, unless it is overwritten
    /// and counted, or doubled; each consumer must see each producer's items in order, each item must be dropped once,
    /// and nobody may wait for ever.
    ///
    /// # Errors
    ///
    /// The first failure; [`replay`](Self::replay) shows it again.
    pub fn test(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
        test_each(seeds, by_priorities, |seed, schedule| self.replay(seed, schedule))
    }

    /// Runs the case of a seed under a schedule, and returns the number of steps.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn replay(&self, seed: u64, schedule: Schedule) -> Result<u64, Failed> {
        named(self.id, seed, schedule, || match self.info.sides {
            Sides::OneToOne => self.chain(Case::new(seed), schedule),
            _ => self.several(SharedCase::new(seed, &self.info), schedule),
        })
    }
}

/// Runs each seed at random, and then by the schedules that `then` makes up for it and for as many steps.
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

/// Runs a case of a queue, which is named if it fails.
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

/// What `run` returns; a panic of one of its threads is what was wrong.
pub(crate) fn caught(run: impl FnOnce() -> Result<u64, Wrong>) -> Result<u64, Wrong> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Wrong(message(&*panic))))
}

thread_local! {
    /// What runs on this host thread.
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

/// What was wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong(String);

impl<E: Error> From<E> for Wrong {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What a seed stands for, in a test of queues between one producer and one consumer.
#[derive(Debug)]
pub struct Case {
    seed: u64,
    chance: Chance,
    /// Number of threads.
    pub threads: usize,
    /// Whether the last thread gives the items back to the first. If not, it drops them.
    pub is_ring: bool,
    /// Number of items, if they don't go round for ever.
    items: u64,
    /// Items are numbered from 0 to this, again and again: all that are in a ring.
    lap: u64,
    /// Who quits before its time, perhaps nobody, and after how many items.
    pub quitter: u64,
    quits_after: u64,
    /// Whether threads flush before they wait. In a ring they must.
    pub flushes: bool,
    /// Whether items are counted when they are dropped. If not, they are numbers, which can be copied.
    pub counts_drops: bool,
}

/// Most threads of a case.
pub const THREADS: usize = 16;
/// Items that the queues are asked to hold.
const CAPACITIES: [u64; 5] = [1, 2, 3, 8, 64];

/// As many cores as there may be threads. Distances don't matter; few stores make the most of having to
/// wait for room.
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

impl Case {
    /// The case of this seed.
    pub fn new(seed: u64) -> Self {
        // Not the numbers that the schedule gets.
        let mut chance = Chance::new(!seed);
        let is_large = chance.below(4) == 0;
        let (threads, items) = match is_large {
            true => (8 + chance.below(9), 150),
            false => (2 + chance.below(3), 5 + chance.below(30)),
        };
        let is_ring = chance.below(3) == 0;
        Self {
            seed,
            threads: threads as usize,
            is_ring,
            items,
            lap: if is_ring { 1 + chance.below(8) } else { u64::MAX },
            quitter: if is_ring { 0 } else { chance.below(2 * threads) },
            quits_after: if is_ring { items } else { chance.below(items) },
            flushes: is_ring || chance.below(2) == 0,
            counts_drops: chance.below(2) == 0,
            chance,
        }
    }

    /// Runs it with queues that `new` makes, and returns the number of steps.
    pub(crate) fn run<T: Parcel>(
        self,
        schedule: Schedule,
        new: NewLending<T>,
    ) -> Result<u64, Wrong> {
        caught(|| self.run_to_the_end(schedule, new))
    }

    /// As [`run`](Self::run), but panics if a thread does.
    fn run_to_the_end<T: Parcel>(
        mut self,
        schedule: Schedule,
        new: NewLending<T>,
    ) -> Result<u64, Wrong> {
        ledger::open();
        let (mut outlets, mut inlets, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.queues() {
            let (tx, rx) = new(self.config())?;
            let (outlet, inlet) = Link::between(tx, rx, self.lap);
            links.push(outlet.link());
            outlets.push(Some(outlet));
            inlets.push(Some(inlet));
        }
        if self.is_ring {
            inlets.rotate_right(1);
            let last = outlets.last_mut().and_then(Option::as_mut);
            last.expect("there are queues").fill((0..self.lap).map(T::of).collect());
        } else {
            inlets.insert(0, None);
            outlets.push(None);
        }
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for (thread, (inlet, outlet)) in inlets.into_iter().zip(outlets).enumerate() {
            let stage = Stage::new(self.plan(thread as u64), inlet, outlet);
            simulation.spawn(thread, move || stage.run());
        }
        let report = simulation.run()?;
        links.iter().for_each(|link| link.settle());
        ledger::settle();
        Ok(report.steps)
    }

    fn queues(&self) -> usize {
        if self.is_ring { self.threads } else { self.threads - 1 }
    }

    /// What a queue is to be like. In a ring all items must fit into each.
    fn config(&mut self) -> Config {
        let capacity = CAPACITIES[self.chance.below(5) as usize];
        let capacity = if self.is_ring { capacity.max(self.lap) } else { capacity };
        let first = match self.chance.below(2) {
            0 => 0,
            _ => 0_u64.wrapping_sub(self.chance.below(3 * capacity)),
        };
        let config = Config::new(capacity as usize).first(first);
        match self.chance.below(3) {
            0 => config,
            _ => config.grouped(1 + self.chance.below(4) as usize),
        }
    }

    fn plan(&mut self, thread: u64) -> Plan {
        Plan {
            makes: self.items,
            quits_after: if thread == self.quitter { self.quits_after } else { u64::MAX },
            flushes: self.flushes,
            chance: Chance::new(u64::from(self.chance.any()) << 32),
        }
    }
}

/// What a thread has panicked with.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").into()
}
