//! Work stealing: an owner and its thieves (paper 3 §4.6.2.2), and a pool of threads that have a
//! queue each and steal from each other (§4.6.2.3).

mod bench;
mod of_consumers;
mod policy;
mod pool;
mod queues;
mod schedules;
mod share;

use coherence::{CoreReport, Machine, Time};

pub use policy::Policy;
pub use queues::{StealOrder, StealQueue, find_steal, steal_queues};
pub use schedules::{StealTest, steal_tests};

/// The task of the threads, and their cores.
#[derive(Debug, Clone)]
pub struct Stealing {
    /// The machine.
    pub machine: Machine,
    /// The threads' cores, a core each: the owner's and those of its thieves, or those of a pool.
    pub cores: Vec<usize>,
    /// What the threads do.
    pub task: StealTask,
    /// Most items of a steal.
    pub batch: usize,
    /// Decides the order of threads and store buffers that are due at the same time, and the
    /// threads' own choices.
    pub seed: u64,
    /// Items that a queue must hold.
    pub capacity: usize,
    /// The time that the instructions of a call take besides their accesses.
    pub call: Time,
    /// Items that are got or stolen before counting starts.
    pub warm_up: u64,
    /// Items that are got or stolen while items are counted. An owner ends its round first.
    pub items: u64,
    /// When the run ends if there have been fewer items by then. Half of the time is for the
    /// warm-up.
    pub longest: Time,
}

/// What the threads do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StealTask {
    /// The owner puts until its queue is full and gets until it is empty. Its thieves pause while
    /// they have stolen this share of the items, in percent.
    Share(u8),
    /// Each thread puts until its queue is full, gets until it is empty, and then attempts to steal
    /// this percentage of the capacity from the other threads' queues.
    Pool(u8, Policy),
}

impl Stealing {
    /// An owner alone on the first core of `machine`, with a queue for 8192 items, as in the paper.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            cores: vec![0],
            task: StealTask::Share(0),
            batch: 1,
            seed: 1,
            capacity: 8192,
            call: Time::ZERO,
            warm_up: 2 * 8192,
            items: 16 * 8192,
            longest: Time::ns(1_000_000_000),
        }
    }
}

/// The cost of a task.
#[derive(Debug, Clone)]
pub struct StealingRun {
    /// The threads, in the order of their cores.
    pub threads: Vec<StealingThread>,
    /// Items that were got or stolen while items were counted.
    pub items: u64,
    /// The time in which items were counted.
    pub time: Time,
    /// Simulated accesses, including those that weren't counted.
    pub accesses: u64,
}

impl StealingRun {
    /// Calls of these threads that put, got or stole an item, per second; the items of a steal
    /// count one by one.
    pub fn ops_per_s(&self, threads: &[StealingThread]) -> f64 {
        let ops: u64 = threads.iter().map(StealingThread::ops).sum();
        ops as f64 * 1e9 / self.time.max(Time::ps(1)).as_ns()
    }

    /// The share of the items that were stolen.
    pub fn stolen(&self) -> f64 {
        let stolen: u64 = self.threads.iter().map(|thread| thread.stolen).sum();
        stolen as f64 / self.items as f64
    }
}

/// The cost of a task for one thread.
#[derive(Debug, Clone)]
pub struct StealingThread {
    /// Items that the thread put into its queue.
    pub put: u64,
    /// Items that the thread got from its queue.
    pub got: u64,
    /// Items that the thread stole.
    pub stolen: u64,
    /// Attempts to steal that got nothing.
    pub failed: u64,
    /// The thread's core.
    pub core: CoreReport,
}

impl StealingThread {
    fn ops(&self) -> u64 {
        self.put + self.got + self.stolen
    }
}
