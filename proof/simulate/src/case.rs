//! The case of a seed: a chain or ring of threads, with a queue from each to the next, and the
//! threads' actions.

use coherence::{Chance, Schedule, Simulation};
use corelane_sim::Config;

use crate::chain::{Link, Parcel, Plan, Stage};
use crate::handles::NewLending;
use crate::ledger;
use crate::trial::{Wrong, caught, machine};

/// Items that the queues are asked to hold.
const CAPACITIES: [u64; 5] = [1, 2, 3, 8, 64];

/// The case of a seed, in a test of queues between one producer and one consumer.
#[derive(Debug)]
pub struct Case {
    seed: u64,
    chance: Chance,
    /// Number of threads.
    pub threads: usize,
    /// Whether the last thread sends the items to the first one. Otherwise it drops them.
    pub is_ring: bool,
    /// Number of items, in a chain.
    items: u64,
    /// Items are numbered from 0 up to this, again and again. In a ring this is the number of its
    /// items.
    lap: u64,
    /// The thread that quits early, and after how many items. No thread quits if none has this
    /// number.
    pub quitter: u64,
    quits_after: u64,
    /// Whether threads flush before they wait. In a ring they must.
    pub flushes: bool,
    /// Whether items are counted when they are dropped. If not, they are numbers, which can be
    /// copied.
    pub counts_drops: bool,
}

impl Case {
    /// The case of this seed.
    pub fn new(seed: u64) -> Self {
        // Other random numbers than the schedule's.
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

    /// Runs the case with queues that `new` makes, and returns the number of steps.
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

    /// The options of a queue. In a ring all items must fit into each queue.
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
