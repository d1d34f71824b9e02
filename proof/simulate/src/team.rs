//! Throughput between several threads: each producer pushes and each consumer pops, over and over
//! (paper 3 §2.6.2).

mod seats;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use coherence::{
    Chance, CoreReport, Machine, Report, Simulation, Time, compute, count, now, pause,
};
use corelane_history::Span;
use corelane_sim::{BoxedConsumer, BoxedProducer, Built, Config, Consumer, Info, Producer};

use crate::account::{Phase, TeamAccount, number};
use crate::failure::Failure;
use crate::item::Item;
use crate::passages::Journey;
pub use seats::seats;

/// The task of the threads, and their cores.
#[derive(Debug, Clone)]
pub struct Team {
    /// The machine. Each thread has a core of its own; [`seats`] says which.
    pub machine: Machine,
    /// Threads that push.
    pub producers: usize,
    /// Threads that pop.
    pub consumers: usize,
    /// The threads' work besides their calls.
    pub workload: Workload,
    /// The work of a producer before each push, on average, besides the workload.
    pub load: Time,
    /// Decides the order of threads and store buffers that are due at the same time.
    pub seed: u64,
    /// Items that the queue must hold.
    pub capacity: usize,
    /// The k of the queue, if it is relaxed. `None` is its default.
    pub relaxation: Option<usize>,
    /// The time that the instructions of a push or a pop take besides their accesses.
    pub call: Time,
    /// Items that are popped before counting starts: at least one, better so many that the queue's
    /// fill level is steady.
    pub warm_up: u64,
    /// Items that are popped while items are counted.
    pub items: u64,
    /// When the run ends if fewer items have been popped by then. Half of the time is for the
    /// warm-up.
    pub longest: Time,
}

/// The threads' work besides their calls. Items are checked in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// No work.
    Simple,
    /// A busy loop of up to a hundred turns before each call, random but the same in each run. The
    /// paper's threads allocate and free as well, which isn't simulated.
    Complex,
}

/// Most turns of a spin loop between two attempts of a thread.
const LONGEST_PAUSE: u64 = 16;
/// When items are popped after the simulation.
const AFTERWARDS: Span = Span::NEVER;
/// Most turns of the busy loop.
const MOST_TURNS: u64 = 100;
/// The time of a turn: about a cycle.
const TURN: Time = Time::ps(300);

impl Team {
    /// One producer and one consumer of a queue for 4096 items, as in the paper.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            producers: 1,
            consumers: 1,
            workload: Workload::Simple,
            load: Time::ZERO,
            seed: 1,
            capacity: 4096,
            relaxation: None,
            call: Time::ZERO,
            warm_up: 8192,
            items: 8192,
            longest: Time::ns(100_000_000),
        }
    }

    /// The queue's options.
    pub fn config(&self) -> Config {
        let config = Config::new(self.capacity).lenient();
        self.relaxation.map_or(config, |k| config.relaxation(k))
    }
}

/// The cost of a team.
#[derive(Debug, Clone)]
pub struct TeamRun {
    /// The producers, then the consumers.
    pub members: [Vec<Member>; 2],
    /// Items that were popped while items were counted; pushed, if the queue overwrites.
    pub items: u64,
    /// The time in which items were counted.
    pub time: Time,
    /// Simulated accesses, including those that weren't counted.
    pub accesses: u64,
    /// How these items travelled.
    pub journey: Journey,
}

impl TeamRun {
    /// Items that were popped, or pushed, per second.
    pub fn items_per_s(&self) -> f64 {
        self.items as f64 * 1e9 / self.time.max(Time::ps(1)).as_ns()
    }

    /// Cache misses of all threads for each of these items.
    pub fn misses_per_item(&self) -> f64 {
        let misses = self.members.iter().flatten().map(|member| member.core.total.misses());
        misses.sum::<u64>() as f64 / self.items as f64
    }
}

/// The cost of a team for one thread.
#[derive(Debug, Clone)]
pub struct Member {
    /// Items that the thread pushed or popped.
    pub items: u64,
    /// How often the thread found no room, or no item.
    pub failed: u64,
    /// The thread's core.
    pub core: CoreReport,
}

/// Runs `team` with these handles, of a queue with these properties.
pub(crate) fn run<T: Item>(
    team: &Team,
    handles: Built<Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>>,
    info: &Info,
) -> Result<TeamRun, Failure> {
    let (txs, rxs) = handles.map_err(Failure::Capacity)?;
    assert_eq!([txs.len(), rxs.len()], [team.producers, team.consumers], "threads of the queue");
    let k = rxs[0].relaxation();
    let mut bench = Bench::new(team, info.overwrites);
    let [producers, consumers] = seats(team.producers, team.consumers);
    for ((producer, tx), core) in txs.into_iter().enumerate().zip(producers) {
        bench.spawn(core, move |mut thread| send(tx, producer, &mut thread));
    }
    let handed_in = Rc::new(RefCell::new(Vec::new()));
    for (rx, core) in rxs.into_iter().zip(consumers) {
        let ordered = if info.relaxed { 0 } else { team.producers };
        let (last, handed_in) = (vec![None; ordered], handed_in.clone());
        bench.spawn(core, move |mut thread| {
            let consumer = receive(rx, last, &mut thread);
            handed_in.borrow_mut().push(consumer);
        });
    }
    let account = bench.account.clone();
    // The items that are left are popped after the simulation, and cost nothing.
    let drain = || {
        let mut consumers = handed_in.borrow_mut();
        if let Some((rx, last)) = consumers.last_mut() {
            while let Ok(item) = rx.try_pop() {
                account.popped(item.number(), AFTERWARDS, last);
            }
        }
        account.lost(consumers.iter().map(|(rx, _)| rx.lost()).sum());
    };
    let run = bench.run(drain)?;
    if info.relaxed {
        account.check_order(k)?;
    }
    Ok(run)
}

/// A simulation, and the shared state of its threads.
struct Bench {
    team: Team,
    account: Rc<TeamAccount>,
    /// In the order of `spawn`.
    tallies: Vec<(usize, Rc<Tally>)>,
    simulation: Simulation,
}

impl Bench {
    fn new(team: &Team, overwrites: bool) -> Self {
        Self {
            account: Rc::new(TeamAccount::new(team, overwrites)),
            tallies: Vec::new(),
            simulation: Simulation::new(team.machine.clone(), team.seed),
            team: team.clone(),
        }
    }

    fn spawn(&mut self, core: usize, run: impl FnOnce(Thread) + 'static) {
        let tally = Rc::new(Tally::default());
        self.tallies.push((core, tally.clone()));
        let thread = Thread {
            workload: self.team.workload,
            load: self.team.load,
            call: self.team.call,
            chance: Chance::new(core as u64),
            phase: Phase::WarmUp,
            next_pause: 1,
            tally,
            account: self.account.clone(),
        };
        self.simulation.spawn(core, move || {
            count(false);
            run(thread);
        });
    }

    fn run(self, drain: impl FnOnce()) -> Result<TeamRun, Failure> {
        let Self { team, account, tallies, simulation } = self;
        let report = simulation.run().map_err(Failure::Stuck)?;
        drain();
        let journey = account.journey();
        let (items, time) = account.settle()?;
        let journey = journey.expect("the run was counted");
        let member = |(core, tally): &(usize, Rc<Tally>)| Member {
            items: tally.items.get(),
            failed: tally.failed.get(),
            core: Report::core(&report, *core).expect("it ran a thread").clone(),
        };
        let mut producers: Vec<_> = tallies.iter().map(member).collect();
        let consumers = producers.split_off(team.producers);
        let accesses = report.accesses;
        Ok(TeamRun { members: [producers, consumers], items, time, accesses, journey })
    }
}

/// A thread's calls while items were counted.
#[derive(Debug, Default)]
struct Tally {
    items: Cell<u64>,
    failed: Cell<u64>,
}

/// A thread of a team.
#[derive(Debug)]
struct Thread {
    workload: Workload,
    /// Of a producer.
    load: Time,
    call: Time,
    chance: Chance,
    phase: Phase,
    /// Most turns of a spin loop after the next failure.
    next_pause: u64,
    tally: Rc<Tally>,
    account: Rc<TeamAccount>,
}

impl Thread {
    /// Starts or ends the thread's counting when the phase changes. Returns the phase of the run.
    fn look(&mut self) -> Phase {
        let phase = self.account.phase(now());
        if phase != self.phase {
            count(phase == Phase::Counted);
            self.phase = phase;
        }
        phase
    }

    /// The work before each push or pop, but not before a retry.
    fn work(&mut self) {
        if self.workload == Workload::Complex {
            compute(TURN * self.chance.below(MOST_TURNS + 1));
        }
        if self.load != Time::ZERO {
            compute(Time::ps(self.chance.below(2 * self.load.as_ps() + 1)));
        }
    }

    /// Called after an attempt.
    fn tried(&mut self, succeeded: bool) {
        compute(self.call);
        let counter = if succeeded { &self.tally.items } else { &self.tally.failed };
        if self.phase == Phase::Counted {
            counter.set(counter.get() + 1);
        }
        if succeeded {
            self.next_pause = 1;
        } else {
            // The length is random: otherwise threads could stay in step for ever.
            pause(1 + self.chance.below(self.next_pause) as u32);
            self.next_pause = LONGEST_PAUSE.min(2 * self.next_pause);
        }
    }
}

/// The interval of a call that began at this time.
fn since(called: Time) -> Span {
    Span { invoked: called.as_ps(), answered: now().as_ps() }
}

/// A producer.
fn send<T: Item>(mut tx: impl Producer<Item = T>, producer: usize, thread: &mut Thread) {
    let mut pushed = 0;
    thread.work();
    while thread.look() != Phase::Over {
        let (item, called) = (number(producer, pushed), now());
        let succeeded = tx.try_push(T::of(item)).is_ok();
        thread.tried(succeeded);
        if succeeded {
            pushed += 1;
            thread.account.pushes_one(item, since(called));
            thread.work();
        }
    }
    tx.flush();
    thread.account.pushed(producer, pushed);
}

/// A consumer. Returns its handle, and its last item of each producer, so that it can pop more
/// later.
fn receive<T: Item, C: Consumer<Item = T>>(
    mut rx: C,
    mut last: Vec<Option<u64>>,
    thread: &mut Thread,
) -> (C, Vec<Option<u64>>) {
    thread.load = Time::ZERO;
    thread.work();
    while thread.look() != Phase::Over {
        let called = now();
        let popped = rx.try_pop();
        thread.tried(popped.is_ok());
        if let Ok(item) = popped {
            thread.account.popped(item.number(), since(called), &mut last);
            thread.work();
        }
    }
    (rx, last)
}
