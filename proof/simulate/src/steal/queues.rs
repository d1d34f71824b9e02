//! The queues from which thieves steal.

use std::fmt;
use std::sync::LazyLock;

use corelane_sim::block::one_producer::BbqSpmc;
use corelane_sim::steal::Worker;
use corelane_sim::{CapacityError, for_each_steal_queue};

use super::bench::run;
use super::of_consumers::OfConsumers;
use super::{Stealing, StealingRun};
use crate::failure::Failure;

/// All queues, a line each.
fn all() -> Vec<StealQueue> {
    let mut queues = Vec::new();
    macro_rules! add {
        ($order:ident $id:ident: $($module:tt)+) => {
            queues.push(StealQueue::of($($module)+::INFO.id, StealOrder::$order, $($module)+::queue))
        };
    }
    for_each_steal_queue!(add);
    queues.push(StealQueue::of("bbq-spmc", StealOrder::Fifo, OfConsumers::new::<BbqSpmc>));
    queues
}

/// Which item an owner gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StealOrder {
    /// The newest.
    Lifo,
    /// The oldest.
    Fifo,
}

/// A queue from which thieves steal.
pub struct StealQueue {
    /// Name on command lines.
    pub id: &'static str,
    /// Which item the owner gets.
    pub order: StealOrder,
    run: Box<Run>,
    probe: Box<Probe>,
}

type Run = dyn Fn(&Stealing) -> Result<StealingRun, Failure> + Send + Sync;
type Probe = dyn Fn(usize) -> Result<(), CapacityError> + Send + Sync;

impl StealQueue {
    /// The queue that `new` makes for a capacity.
    pub fn of<W: Worker<Item = u64> + 'static>(
        id: &'static str,
        order: StealOrder,
        new: fn(usize) -> Result<W, CapacityError>,
    ) -> Self {
        let probe = Box::new(move |capacity| new(capacity).map(drop));
        Self { id, order, run: Box::new(move |stealing| run(stealing, order, new)), probe }
    }

    /// Simulates `stealing`.
    ///
    /// # Errors
    ///
    /// If the queue can't have this capacity, gets stuck, loses or doubles an item, or its owner
    /// gets items in a wrong order.
    ///
    /// # Panics
    ///
    /// If the machine doesn't have the cores, or if a pool has fewer than two threads.
    pub fn steal(&self, stealing: &Stealing) -> Result<StealingRun, Failure> {
        (self.run)(stealing)
    }

    /// Checks whether the queue can have this capacity.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    pub fn probe(&self, capacity: usize) -> Result<(), CapacityError> {
        (self.probe)(capacity)
    }
}

impl fmt::Debug for StealQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StealQueue").field("id", &self.id).finish_non_exhaustive()
    }
}

/// All queues from which thieves steal.
pub fn steal_queues() -> &'static [StealQueue] {
    static QUEUES: LazyLock<Vec<StealQueue>> = LazyLock::new(all);
    &QUEUES
}

/// The queue from which thieves steal named `id`.
pub fn find_steal(id: &str) -> Option<&'static StealQueue> {
    steal_queues().iter().find(|queue| queue.id == id)
}
