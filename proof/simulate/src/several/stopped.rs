//! One thread of several is stopped, perhaps in the middle of a call, until all others have ended.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::rc::Rc;

use coherence::{Chance, Schedule, Simulation};
use corelane_sim::{BoxedConsumer, BoxedProducer, Config, Consumer, Info, Producer, TryPopError};

use super::{BATCH, CAPACITIES, Freight, Receipts, Rerun, Taken, handles, number};
use crate::handles::New;
use crate::ledger;
use crate::queue::Queue;
use crate::trial::{Failed, Tested, Wrong, caught, machine, named, test_each};

/// The case of a seed: some threads, each of which pushes an item and pops one, again and again.
#[derive(Debug)]
struct StoppedCase {
    seed: u64,
    chance: Chance,
    threads: u64,
    rounds: u64,
    is_bounded: bool,
    room: Room,
    /// Whether items are counted when they are dropped.
    counts_drops: bool,
}

/// How many items a bounded queue has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// At least one item of each thread. Then each call must succeed at once.
    ForAll,
    /// So many items, perhaps fewer than threads. Then a call is retried, for as long as others may
    /// need to make room.
    For(u64),
}

/// How often a call is tried in a queue that is too small for all threads.
const TRIES: usize = 10_000;

/// How often each case is run with a thread stopped.
const STOPS: usize = 3;

impl Queue {
    /// Runs the case of each seed at random, and then again with one of its threads stopped, at one
    /// step or another.
    ///
    /// Two to five threads push an item each and pop one, again and again. A call holds at most one
    /// slot or position. So in a queue with [room for all](Room::ForAll) there is always a slot for
    /// a push and an item for a pop, wherever other threads are: no call may say full, empty or
    /// busy, or wait. In a smaller queue calls are retried, and all threads but the stopped one
    /// must end. If a stopped thread blocks others, the queue isn't lock-free.
    ///
    /// # Errors
    ///
    /// The first failure. Its seed alone repeats it.
    ///
    /// # Panics
    ///
    /// If the queue doesn't allow several producers and several consumers, or overwrites items.
    pub fn test_stopped(
        &self,
        seeds: impl IntoIterator<Item = u64>,
        room: Room,
    ) -> Result<Tested, Failed> {
        assert!(self.info.sides.allow(2, 2), "each thread has a handle of either side");
        assert!(!self.info.overwrites, "what is pushed stays");
        let stopped = |seed, steps| {
            let threads = StoppedCase::new(seed, room, &self.info).threads;
            // Other random numbers than the schedule's and the case's.
            let mut chance = Chance::new(seed | 1 << 63);
            let mut below = move |limit| chance.below(limit);
            [(); STOPS].map(|()| Schedule::Stopped {
                core: below(threads) as usize,
                step: 1 + below(steps),
            })
        };
        test_each(seeds, stopped, |seed, schedule| {
            let case = || self.several(StoppedCase::new(seed, room, &self.info), schedule);
            named(self.id, seed, schedule, case)
        })
    }
}

impl StoppedCase {
    fn new(seed: u64, room: Room, info: &Info) -> Self {
        // Other random numbers than the schedule's.
        let mut chance = Chance::new(!seed);
        Self {
            seed,
            threads: 2 + chance.below(4),
            rounds: 1 + chance.below(8),
            is_bounded: info.bounded,
            room,
            counts_drops: chance.below(2) == 0,
            chance,
        }
    }

    /// As [`run`](Rerun::run), but panics if a thread does.
    fn run_to_the_end<T: Freight>(mut self, schedule: Schedule, new: New<T>) -> Result<u64, Wrong> {
        ledger::open();
        let (tx, rx) = new(self.config())?;
        let (k, account) = (rx.relaxation(), Rc::new(Receipts::of(self.threads)));
        let refused = Rc::new(Cell::new(None));
        // Handles are dropped after all threads have ended: a drop is not a tested call, and may
        // take a lock.
        let used = Rc::new(RefCell::new(Vec::new()));
        let txs = handles(tx, self.threads, Producer::try_clone);
        let rxs = handles(rx, self.threads, Consumer::try_clone);
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for (thread, (mut tx, mut rx)) in txs.into_iter().zip(rxs).enumerate() {
            let worker = Worker {
                number: thread as u64,
                rounds: self.rounds,
                tries: if self.room == Room::ForAll { 1 } else { TRIES },
                taken: Taken::from(self.threads, k, &account),
            };
            let (refused, used) = (refused.clone(), used.clone());
            simulation.spawn(thread, move || {
                if let Err(error) = worker.run(&mut tx, &mut rx) {
                    refused.set(Some(error));
                }
                used.borrow_mut().push((tx, rx));
            });
        }
        let report = simulation.run()?;
        used.take();
        refused.take().map_or(Ok(()), Err)?;
        account.settle(self.threads, self.rounds);
        ledger::settle();
        Ok(report.steps)
    }

    fn config(&mut self) -> Config {
        let capacity = CAPACITIES[self.chance.below(4) as usize];
        let capacity = match self.room {
            Room::ForAll if self.is_bounded => capacity.max(self.threads),
            Room::ForAll => capacity,
            Room::For(items) => items,
        };
        let first = 0_u64.wrapping_sub(self.chance.below(3 * capacity));
        Config::new(capacity as usize).first(first).grouped(1 + self.chance.below(BATCH) as usize)
    }
}

impl Rerun for StoppedCase {
    fn counts_drops(&self) -> bool {
        self.counts_drops
    }

    fn run<T: Freight>(self, schedule: Schedule, new: New<T>) -> Result<u64, Wrong> {
        caught(|| self.run_to_the_end(schedule, new))
    }
}

/// One thread.
struct Worker {
    number: u64,
    rounds: u64,
    /// How often a call may be tried.
    tries: usize,
    taken: Taken,
}

impl Worker {
    fn run<T: Freight>(
        self,
        tx: &mut BoxedProducer<T>,
        rx: &mut BoxedConsumer<T>,
    ) -> Result<(), Refused> {
        let Self { number: thread, rounds, tries, mut taken } = self;
        for round in 0..rounds {
            let mut pushed = tx.try_push(T::of(number(thread, round)));
            for _ in 1..tries {
                let Err(error) = pushed else { break };
                pushed = tx.try_push(error.into_inner());
            }
            pushed.map_err(|error| Refused::Push(format!("{error:?}")))?;
            let mut popped = rx.try_pop();
            for _ in 1..tries {
                let Err(_) = popped else { break };
                popped = rx.try_pop();
            }
            taken.add(popped.map_err(Refused::Pop)?.number());
        }
        let finished = &taken.account.finished;
        finished.set(finished.get() + 1);
        Ok(())
    }
}

/// The wrong answer of a call.
#[derive(Debug)]
enum Refused {
    Push(String),
    Pop(TryPopError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Push(error) => {
                write!(f, "a push was told {error}, with room for its item")
            }
            Self::Pop(error) => write!(f, "a pop was told {error:?}, behind a push of its thread"),
        }
    }
}

impl Error for Refused {}
