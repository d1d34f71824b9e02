//! The rings of io_uring between three threads, each on a core, and queues in their place (J. Wang
//! 2024, §2.6.3): the sources of `lane bench rings`.

#[path = "../../../../tools/bench/src/suite/rings/roles.rs"]
mod roles;
#[path = "../../../../tools/bench/src/suite/rings/uring.rs"]
mod uring;

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Machine, Report, Simulation, Time, compute, count, now, pause};
use corelane_sim as world;
use corelane_sim::block::shared::Bbq;
use corelane_sim::block::single::BbqSpsc;
use corelane_sim::lamport::lazy::Llq;
use corelane_sim::line_ring::LineRing;
use corelane_sim::{CapacityError, Config};

use crate::failure::Failure;
use crate::handles::New;
use roles::{Batches, finish, reap, serve, submit};
use uring::{Cqe, Sqe, Uring};

/// The time of the instructions of a call.
const CALL: Time = Time::ns(3);
/// The time of the instructions for an entry that a call has moved.
const ENTRY: Time = Time::ns(2);

/// Three threads around two rings: on the first core of `machine` the one that submits, on the
/// second the kernel, on the third the one that takes completions.
#[derive(Debug, Clone)]
pub struct Rings {
    /// The machine.
    pub machine: Machine,
    /// Entries of the submission ring; the completion ring has twice as many.
    pub entries: usize,
    /// Most entries of a batch.
    pub batch: usize,
    /// Decides the order of threads and store buffers that are due at the same time.
    pub seed: u64,
    /// Requests before counting starts.
    pub warm_up: u64,
    /// Requests that are counted.
    pub items: u64,
}

impl Rings {
    /// Cores that the threads need.
    pub const CORES: usize = 3;

    /// All requests: with some after the counted ones, so that the last counted ones are moved like
    /// all others.
    fn all(&self) -> u64 {
        self.warm_up + self.items + 4 * self.entries as u64
    }
}

/// The cost of requests.
#[derive(Debug, Clone)]
pub struct RingsRun {
    /// Time per request.
    pub ns_per_request: f64,
    /// Cache misses per request: of the thread that submits, of the kernel, and of the thread that
    /// takes completions.
    pub misses: [f64; Rings::CORES],
}

/// What can be simulated as both rings.
#[derive(Debug, Clone, Copy)]
pub struct RingsQueue {
    /// Name on command lines.
    pub id: &'static str,
    requests: New<Sqe>,
    completions: New<Cqe>,
}

/// The rings of io_uring, and the queues that take their place, as in `lane bench rings`.
pub fn rings_queues() -> [RingsQueue; 5] {
    [
        RingsQueue::of::<BbqSpsc>(),
        RingsQueue::of::<Bbq>(),
        RingsQueue::of::<LineRing>(),
        RingsQueue::of::<Llq>(),
        RingsQueue::of::<Uring>(),
    ]
}

impl RingsQueue {
    fn of<Q: world::Queue<Sqe> + world::Queue<Cqe> + 'static>() -> Self {
        Self {
            id: <Q as world::Queue<Sqe>>::INFO.id,
            requests: <Q as world::Queue<Sqe>>::boxed,
            completions: <Q as world::Queue<Cqe>>::boxed,
        }
    }

    /// Checks whether the queue can have so many entries.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn probe(&self, entries: usize) -> Result<(), CapacityError> {
        (self.requests)(Config::new(entries)).map(drop)?;
        (self.completions)(Config::new(2 * entries)).map(drop)
    }

    /// Simulates the three threads.
    ///
    /// # Errors
    ///
    /// If the queue can't have the capacity, gets stuck, or returns other completions.
    ///
    /// # Panics
    ///
    /// If the machine has fewer cores.
    pub fn run(&self, task: &Rings) -> Result<RingsRun, Failure> {
        let (to_kernel, from_application) =
            (self.requests)(Config::new(task.entries)).map_err(Failure::Capacity)?;
        let (to_application, from_kernel) =
            (self.completions)(Config::new(2 * task.entries)).map_err(Failure::Capacity)?;
        let clocks: [Rc<Clock>; Rings::CORES] = Default::default();
        // The kernel moves each request twice: it pops one entry and pushes another.
        let pace = |thread: usize| pace(task, &clocks[thread], if thread == 1 { 2 } else { 1 });
        let batches = |seed| Batches::new(task.batch, task.seed ^ seed);
        let mut simulation = Simulation::new(task.machine.clone(), task.seed);
        simulation.spawn(0, {
            let (all, batches, paces) = (task.all(), batches(0), [pace(0), pace(0)]);
            move || {
                let [first, last] = paces;
                let (tx, _) = submit(to_kernel, 0..all, batches, first);
                finish(tx, last);
            }
        });
        simulation.spawn(1, {
            let (batches, pace) = (batches(1), pace(1));
            move || serve(from_application, to_application, batches, pace)
        });
        let counts = Rc::<Cell<[u64; 2]>>::default();
        simulation.spawn(2, {
            let (counts, batches, pace) = (counts.clone(), batches(2), pace(2));
            move || counts.set(reap(from_kernel, batches, pace))
        });
        let report = simulation.run().map_err(Failure::Stuck)?;
        settle(task, counts.get())?;
        let misses = |core: usize| {
            let misses = Report::core(&report, core).map_or(0, |core| core.total.misses());
            misses as f64 / task.items as f64
        };
        let [start, end] = clocks[2].ends.get();
        Ok(RingsRun {
            ns_per_request: (end - start).as_ns() / task.items as f64,
            misses: [0, 1, 2].map(misses),
        })
    }
}

/// Checks that all requests were completed in order.
fn settle(task: &Rings, [completed, wrong]: [u64; 2]) -> Result<(), Failure> {
    match completed == task.all() && wrong == 0 {
        true => Ok(()),
        false => Err(Failure::Completions { requests: task.all(), completed, wrong }),
    }
}

/// What a thread has moved, and when it moved the first and the last counted entry.
#[derive(Debug, Default)]
struct Clock {
    moved: Cell<u64>,
    ends: Cell<[Time; 2]>,
}

/// Called after each call of a thread: its instructions, or a pause. Counts misses while counted
/// entries move; `turns` is how often the thread moves each request.
fn pace(task: &Rings, clock: &Rc<Clock>, turns: u64) -> impl FnMut(usize) + use<> {
    let (first, behind) = (turns * task.warm_up, turns * (task.warm_up + task.items));
    let clock = clock.clone();
    move |moved| {
        compute(CALL + ENTRY * moved as u64);
        if moved == 0 {
            pause(1);
        }
        let before = clock.moved.get();
        let after = before + moved as u64;
        clock.moved.set(after);
        let [mut start, mut end] = clock.ends.get();
        if before < first && first <= after {
            start = now();
        }
        if before < behind && behind <= after {
            end = now();
        }
        clock.ends.set([start, end]);
        count((first..behind).contains(&after));
    }
}
