//! Throughput: one side pushes as fast as it can, the other pops (paper 1 §5.1, §5.2); and pipelines, in
//! which every queue's consumer is the next one's producer.

use std::fmt;
use std::rc::Rc;

use coherence::{CoreReport, Deadlock, Machine, Report, Simulation, Time};
use corelane_sim::{CapacityError, Config};

use crate::item::Item;
use crate::pool::Pool;
use crate::queue::New;
use crate::worker::{Aside, Charged, Worker, alone, forward, receive, send};

/// What the threads do, and where.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The machine.
    pub machine: Machine,
    /// Cores of the threads: the producer's, those of threads that pass items on, and the consumer's.
    /// There is a queue between each and the next. A single thread uses one queue from both sides.
    pub cores: Vec<usize>,
    /// Settles who is first of those that are due at the same time.
    pub seed: u64,
    /// Items that the queue must hold.
    pub capacity: usize,
    /// Items that the algorithm handles as a group, if it is told.
    pub group: Option<usize>,
    /// Number that the queue's counters start at: how slots are aligned to bursts.
    pub first: u64,
    /// Most items per call; 1 uses the calls for single items.
    pub burst: usize,
    /// Work of the producer, and of each thread after it, for each item.
    pub loads: [Time; 2],
    /// What the instructions of a push or a pop take besides.
    pub call: Time,
    /// Whether the sides take turns: one fills the queue, then the other one empties it. It is what
    /// costs the fewest misses. Only two threads can.
    pub turns: bool,
    /// What travels.
    pub payload: Payload,
    /// Items that aren't counted, because caches and adaptive queues warm up.
    pub warm_up: u64,
    /// Items that are.
    pub items: u64,
}

/// What travels.
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

    /// What the queue is to be like.
    pub fn config(&self) -> Config {
        let config = Config::new(self.capacity).first(self.first);
        self.group.map_or(config, |group| config.grouped(group))
    }

    /// With those after the counted ones, so that these come and go like all others.
    pub(crate) fn all_items(&self) -> u64 {
        self.warm_up + self.items + 2 * self.capacity as u64
    }
}

/// What a stream has cost.
#[derive(Debug, Clone)]
pub struct StreamRun {
    /// The threads in order: the producer is the first, the consumer the last. A single thread has two:
    /// one for its pushes, one for its pops.
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

/// What a stream has cost one thread.
#[derive(Debug, Clone)]
pub struct Side {
    /// Items that were counted.
    pub items: u64,
    /// How often it found the queue full or empty; runs of that count once.
    pub stalls: u64,
    /// Its core.
    pub core: CoreReport,
}

impl Side {
    /// Cache misses per item.
    pub fn misses_per_item(&self) -> f64 {
        self.core.total.misses() as f64 / self.items as f64
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// There can't be such a queue.
    Capacity(CapacityError),
    /// All threads waited for ever.
    Stuck(Deadlock),
    /// A thread got another item than the next.
    Wrong {
        /// The one that was due.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// A consumer got an item after a later one of the same producer.
    Order {
        /// Whose.
        producer: usize,
        /// Which of its items, from 0.
        item: u64,
        /// What came before.
        after: u64,
    },
    /// Items were overwritten, and consumers told of another number.
    Lost {
        /// Items that nobody popped.
        missing: u64,
        /// Items that consumers found overwritten.
        told: u64,
    },
    /// No thread of a team got an item while everything was counted.
    Starved {
        /// When the run ended.
        time: Time,
    },
    /// An item was lost, doubled, or never pushed.
    Times {
        /// Whose.
        producer: usize,
        /// Which of its items, from 0.
        item: u64,
        /// How often it came.
        times: u8,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(error) => error.fmt(f),
            Self::Stuck(deadlock) => deadlock.fmt(f),
            Self::Wrong { expected, found } => {
                write!(f, "item {found} came where {expected} was due")
            }
            Self::Order { producer, item, after } => {
                write!(f, "item {item} of producer {producer} came after its item {after}")
            }
            Self::Lost { missing, told } => {
                write!(f, "{missing} items were never popped, and {told} were found overwritten")
            }
            Self::Starved { time } => write!(f, "in {time}, no item was popped that counts"),
            Self::Times { producer, item, times } => {
                write!(f, "item {item} of producer {producer} came {times} times")
            }
        }
    }
}

impl std::error::Error for Failure {}

/// Runs `stream` through queues that `new` makes.
pub(crate) fn run<T: Item>(stream: &Stream, new: New<T>) -> Result<StreamRun, Failure> {
    let open = || new(stream.config()).map_err(Failure::Capacity);
    match stream.cores[..] {
        [core] => {
            // A core has one account, so either side is charged in a run of its own.
            let side = |charged| {
                let (tx, rx) = open()?;
                let mut bench = Bench::new(stream)?;
                bench.spawn(core, 0, move |worker| alone(tx, rx, charged, &worker));
                bench.run()
            };
            let (pushes, pops) = (side(Charged::Pushes)?, side(Charged::Pops)?);
            Ok(StreamRun { sides: [pushes.sides, pops.sides].concat(), ..pops })
        }
        [first, ref between @ .., last] => {
            let mut bench = Bench::new(stream)?;
            let (tx, mut rx) = open()?;
            bench.spawn(first, 0, |worker| send(tx, &worker));
            for (number, core) in (1..).zip(between) {
                let (next, following) = open()?;
                let from = std::mem::replace(&mut rx, following);
                bench.spawn(*core, number, |worker| forward(from, next, &worker));
            }
            bench.spawn(last, stream.cores.len() - 1, |worker| receive(rx, &worker));
            bench.run()
        }
        [] => panic!("a stream needs a core"),
    }
}

/// A simulation with what its threads share.
struct Bench {
    stream: Stream,
    aside: Rc<Aside>,
    pool: Rc<Pool>,
    simulation: Simulation,
}

impl Bench {
    fn new(stream: &Stream) -> Result<Self, Failure> {
        let threads = stream.cores.len();
        assert!(!stream.turns || threads <= 2, "only two threads can take turns");
        Ok(Self {
            stream: stream.clone(),
            aside: Rc::new(Aside::new(threads)),
            pool: Rc::new(Pool::new(stream)?),
            simulation: Simulation::new(stream.machine.clone(), stream.seed),
        })
    }

    /// Adds thread `number`.
    fn spawn(&mut self, core: usize, number: usize, thread: impl FnOnce(Worker) + 'static) {
        let worker =
            Worker::new(self.stream.clone(), number, self.aside.clone(), self.pool.clone());
        self.simulation.spawn(core, move || thread(worker));
    }

    fn run(self) -> Result<StreamRun, Failure> {
        let Self { stream, aside, simulation, .. } = self;
        let report = simulation.run().map_err(Failure::Stuck)?;
        if let Some((expected, found)) = aside.wrong.get() {
            return Err(Failure::Wrong { expected, found });
        }
        let side = |(number, core): (usize, &usize)| Side {
            items: stream.items,
            stalls: aside.stalls[number].get(),
            core: Report::core(&report, *core).expect("it ran a thread").clone(),
        };
        Ok(StreamRun {
            sides: stream.cores.iter().enumerate().map(side).collect(),
            time: aside.end.get() - aside.start.get(),
            accesses: report.accesses,
        })
    }
}
