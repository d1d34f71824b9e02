//! Tests of the queues under schedules that look for bugs.
//!
//! A seed makes up a case, and the choices of the schedule. So a failure can be had again.

use coherence::Schedule;
use corelane_sim::Sides;

use crate::case::Case;
use crate::queue::Queue;
use crate::several::SharedCase;
use crate::trial::{Failed, Tested, by_priorities, named, test_each};

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
