//! Throughput: one side pushes as fast as it can, the other pops (paper 1 §5.1, §5.2); and
//! pipelines, in which every queue's consumer is the next one's producer.

use coherence::{CoreReport, Machine, Time};
use corelane_sim::Config;

/// The task of the threads, and their cores.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The machine.
    pub machine: Machine,
    /// Cores of the threads: the producer, threads that pass items on, and the consumer. There is a
    /// queue between each thread and the next. A single thread uses both sides of one queue.
    pub cores: Vec<usize>,
    /// Decides the order of threads and store buffers that are due at the same time.
    pub seed: u64,
    /// Items that the queue must hold.
    pub capacity: usize,
    /// Items that the algorithm handles as a group, if it is told.
    pub group: Option<usize>,
    /// First value of the queue's counters, which determines how slots are aligned to bursts.
    pub first: u64,
    /// Most items per call; 1 uses the calls for single items.
    pub burst: usize,
    /// Work of the producer, and of each thread after it, for each item.
    pub loads: [Time; 2],
    /// The time that the instructions of a push or a pop take besides their accesses.
    pub call: Time,
    /// Whether the sides take turns: one side fills the queue, then the other empties it. This
    /// costs the fewest misses. Only two threads can take turns.
    pub turns: bool,
    /// The items.
    pub payload: Payload,
    /// Items before counting starts, in which caches and adaptive queues warm up.
    pub warm_up: u64,
    /// Items that are counted.
    pub items: u64,
}

/// The items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// A number in the slot.
    Embedded,
    /// A number for a page, which both sides touch (paper 1 §5.1).
    Indirect,
}

impl Stream {
    /// Numbers one by one, as fast as they go, between the first two cores of `machine`; 4096 fit.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            cores: vec![0, 1],
            seed: 1,
            capacity: 4096,
            group: None,
            first: 0,
            burst: 1,
            loads: [Time::ZERO; 2],
            call: Time::ZERO,
            turns: false,
            payload: Payload::Embedded,
            warm_up: 20_000,
            items: 20_000,
        }
    }

    /// The queue's options.
    pub fn config(&self) -> Config {
        let config = Config::new(self.capacity).first(self.first);
        self.group.map_or(config, |group| config.grouped(group))
    }

    /// All items, with some after the counted ones, so that the last counted items are moved like
    /// all others.
    pub(crate) fn all_items(&self) -> u64 {
        self.warm_up + self.items + 2 * self.capacity as u64
    }
}

/// The cost of a stream.
#[derive(Debug, Clone)]
pub struct StreamRun {
    /// The threads in order: the producer is the first, the consumer the last. A single thread has
    /// two entries: one for its pushes, one for its pops.
    pub sides: Vec<Side>,
    /// From the first pop that was counted to the last: a producer may be a full queue ahead.
    pub time: Time,
    /// Simulated accesses, with those of the warm-up.
    pub accesses: u64,
}

impl StreamRun {
    /// Time per item.
    pub fn ns_per_item(&self) -> f64 {
        self.time.as_ns() / self.sides[0].items as f64
    }
}

/// The cost of a stream for one thread.
#[derive(Debug, Clone)]
pub struct Side {
    /// Items that were counted.
    pub items: u64,
    /// How often the thread found the queue full or empty. Successive times count once.
    pub stalls: u64,
    /// The thread's core.
    pub core: CoreReport,
}

impl Side {
    /// Cache misses per item.
    pub fn misses_per_item(&self) -> f64 {
        self.core.total.misses() as f64 / self.items as f64
    }
}
