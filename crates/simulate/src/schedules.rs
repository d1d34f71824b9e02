//! Tests of the queues under schedules that look for bugs.
//!
//! A seed makes up a [`Case`]: so many threads in a chain or a ring, with a queue from each to the next,
//! and what they do. The same seed makes the choices of the schedule. So a failure can be had again.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use coherence::{Chance, Machine, Schedule, Simulation, StoreBuffer, Topology};
use corelane_sim::{CapacityError, Config, Consumer, Producer};

use crate::Queue;
use crate::chain::{Link, Plan, Stage};
use crate::ledger::{self, Counted};

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
    /// Items pass through up to 16 threads, singly and in batches, through queues of all small
    /// capacities whose counters wrap on the way. Some threads go before their time. Each thread must
    /// get all items in their order, each item must be dropped once, and nobody may wait for ever.
    ///
    /// # Errors
    ///
    /// The first failure; [`replay`](Self::replay) shows it again.
    pub fn test(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
        let mut tested = Tested::default();
        for seed in seeds {
            let steps = self.replay(seed, Schedule::Random)?;
            let depth = 1 + (seed % 4) as u32;
            let again = self.replay(seed, Schedule::Priorities { depth, steps })?;
            tested.runs += 2;
            tested.steps += steps + again;
        }
        Ok(tested)
    }

    /// Runs the case of a seed under a schedule, and returns the number of steps.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn replay(&self, seed: u64, schedule: Schedule) -> Result<u64, Failed> {
        let failed = |Wrong(what)| Failed { queue: self.id.clone(), seed, schedule, what };
        (self.test)(Case::new(seed), schedule).map_err(failed)
    }
}

/// What was wrong.
#[derive(Debug)]
pub(crate) struct Wrong(String);

impl<E: Error> From<E> for Wrong {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What a seed stands for.
#[derive(Debug)]
pub(crate) struct Case {
    seed: u64,
    chance: Chance,
    /// Number of threads.
    threads: usize,
    /// Number of items that the first thread makes, or lets pass if threads are in a ring.
    items: u64,
    /// Whether the last thread gives the items back to the first.
    is_ring: bool,
}

/// Most threads of a case.
const THREADS: usize = 16;
/// Items that the queues are asked to hold.
const CAPACITIES: [u64; 5] = [1, 2, 3, 8, 64];

/// As many cores as there may be threads. Distances don't matter; few stores make the most of having to
/// wait for room.
fn machine() -> Machine {
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
    fn new(seed: u64) -> Self {
        // Not the numbers that the schedule gets.
        let mut chance = Chance::new(!seed);
        let is_large = chance.below(4) == 0;
        let (threads, items) = match is_large {
            true => (8 + chance.below(9), 150),
            false => (2 + chance.below(3), 5 + chance.below(30)),
        };
        let is_ring = chance.below(3) == 0;
        Self { seed, threads: threads as usize, items, is_ring, chance }
    }

    /// Runs it with queues that `channel` makes, and returns the number of steps.
    pub(crate) fn run<P, C>(
        self,
        schedule: Schedule,
        channel: impl Fn(Config) -> Result<(P, C), CapacityError>,
    ) -> Result<u64, Wrong>
    where
        P: Producer<Item = Counted> + 'static,
        C: Consumer<Item = Counted> + 'static,
    {
        let run = || self.run_to_the_end(schedule, channel);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Wrong(message(&*panic))))
    }

    /// As [`run`](Self::run), but panics if a thread does.
    fn run_to_the_end<P, C>(
        mut self,
        schedule: Schedule,
        channel: impl Fn(Config) -> Result<(P, C), CapacityError>,
    ) -> Result<u64, Wrong>
    where
        P: Producer<Item = Counted> + 'static,
        C: Consumer<Item = Counted> + 'static,
    {
        ledger::open();
        let queues = self.threads - usize::from(!self.is_ring);
        let lap = if self.is_ring { 1 + self.chance.below(8) } else { u64::MAX };
        let (mut outlets, mut inlets, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..queues {
            let (tx, rx) = channel(self.config(lap))?;
            let (outlet, inlet) = Link::between(tx, rx, lap);
            links.push(outlet.link());
            outlets.push(Some(outlet));
            inlets.push(Some(inlet));
        }
        if self.is_ring {
            inlets.rotate_right(1);
            let last = outlets.last_mut().and_then(Option::as_mut).expect("there are queues");
            last.fill((0..lap as u32).map(|number| Counted::new(number.into())));
        } else {
            inlets.insert(0, None);
            outlets.push(None);
        }
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        let plans = self.plans();
        for (core, ((plan, inlet), outlet)) in
            plans.into_iter().zip(inlets).zip(outlets).enumerate()
        {
            let stage = Stage::new(plan, inlet, outlet);
            simulation.spawn(core, move || stage.run());
        }
        let report = simulation.run()?;
        links.iter().for_each(|link| link.settle());
        ledger::settle();
        Ok(report.steps)
    }

    /// What a queue is to be like. In a ring all items must fit into each.
    fn config(&mut self, lap: u64) -> Config {
        let capacity = CAPACITIES[self.chance.below(5) as usize];
        let capacity = if self.is_ring { capacity.max(lap) } else { capacity };
        let first = match self.chance.below(2) {
            0 => 0,
            _ => 0_u64.wrapping_sub(self.chance.below(3 * capacity)),
        };
        let config = Config::new(capacity as usize).first(first);
        match self.chance.below(3) {
            0 => config,
            _ => config.batch(1 + self.chance.below(4) as usize),
        }
    }

    /// What the threads are to do. In a ring the first is the one to end it.
    fn plans(&mut self) -> Vec<Plan> {
        let flushes = self.is_ring || self.chance.below(2) == 0;
        let (quitter, after) = match self.is_ring {
            true => (0, self.items),
            false => (self.chance.below(2 * self.threads as u64), self.chance.below(self.items)),
        };
        let mut plan = |thread| Plan {
            makes: self.items,
            quits_after: if thread == quitter { after } else { u64::MAX },
            flushes,
            chance: Chance::new(u64::from(self.chance.any()) << 32),
        };
        (0..self.threads as u64).map(&mut plan).collect()
    }
}

/// What a thread has panicked with.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").into()
}
