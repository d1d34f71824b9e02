//! Tests of the queues under schedules that look for bugs.
//!
//! A seed determines a case, and the choices of the schedule. So a failure can be repeated.

use coherence::Schedule;
use corelane_sim::Sides;

use crate::case::Case;
use crate::queue::Queue;
use crate::several::SharedCase;
use crate::trial::{Failed, Tested, by_priorities, named, test_each};

impl Queue {
    /// Runs the case of each seed twice: at random, and by priorities with the same number of
    /// steps.
    ///
    /// Queues between one producer and one consumer: up to 16 threads pass items on, singly and in
    /// batches, through queues of all small capacities whose counters wrap meanwhile. Some threads
    /// quit early. Each thread must get all items in order, each item must be dropped once, and no
    /// thread may wait for ever.
    ///
    /// Queues that may have several handles: up to four producers and four consumers use one queue
    /// of a small capacity whose counters wrap meanwhile. Handles are cloned and dropped. No item
    /// may be doubled, or lost unless it is overwritten and counted. Items must leave in order: none
    /// may surely overtake another, or at most as many as a relaxed queue's k allows. Each item must
    /// be dropped once, and no thread may wait for ever.
    ///
    /// # Errors
    ///
    /// The first failure; [`replay`](Self::replay) repeats it.
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
