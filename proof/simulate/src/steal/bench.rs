//! The simulation of a task, and what its threads have in common.

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Chance, Report, Simulation, compute, count, now, pause};
use corelane_history::Span;
use corelane_sim::steal::{Stealer, Worker};
use corelane_sim::{CapacityError, TryPopError};

use super::queues::StealOrder;
use super::{StealTask, Stealing, StealingRun, StealingThread, pool, share};
use crate::account::{Phase, TeamAccount, number};
use crate::failure::Failure;

/// Runs a task with queues that `new` makes.
pub(super) fn run<W: Worker<Item = u64> + 'static>(
    stealing: &Stealing,
    order: StealOrder,
    new: fn(usize) -> Result<W, CapacityError>,
) -> Result<StealingRun, Failure> {
    let open = || new(stealing.capacity).map_err(Failure::Capacity);
    match stealing.task {
        StealTask::Share(_) => share::run(Bench::new(stealing, order, 1), open()?),
        StealTask::Pool(balancing, policy) => {
            let threads = stealing.cores.len();
            let workers = (0..threads).map(|_| open()).collect::<Result<_, _>>()?;
            pool::run(Bench::new(stealing, order, threads), (balancing, policy), workers)
        }
    }
}

/// A simulation, and the shared state of its threads.
pub(super) struct Bench {
    pub(super) stealing: Stealing,
    order: StealOrder,
    pub(super) account: Rc<TeamAccount>,
    tallies: Vec<Rc<Tally>>,
    progress: Rc<Progress>,
    simulation: Simulation,
}

/// What all threads have done since the start.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Calls that put, got or stole an item.
    ops: Cell<u64>,
    stolen: Cell<u64>,
}

/// A thread's calls while items were counted.
#[derive(Debug, Default)]
struct Tally {
    put: Cell<u64>,
    got: Cell<u64>,
    stolen: Cell<u64>,
    failed: Cell<u64>,
}

impl Bench {
    fn new(stealing: &Stealing, order: StealOrder, queues: usize) -> Self {
        let items = [stealing.warm_up, stealing.items];
        Self {
            account: Rc::new(TeamAccount::of(queues, items, stealing.longest)),
            tallies: Vec::new(),
            progress: Rc::default(),
            simulation: Simulation::new(stealing.machine.clone(), stealing.seed),
            order,
            stealing: stealing.clone(),
        }
    }

    /// Adds the next thread.
    pub(super) fn spawn(&mut self, run: impl FnOnce(Thread) + 'static) {
        let tally = Rc::new(Tally::default());
        let number = self.tallies.len();
        let core = self.stealing.cores[number];
        self.tallies.push(tally.clone());
        let thread = Thread {
            number,
            chance: Chance::new(self.stealing.seed << 8 | number as u64),
            last: (self.order == StealOrder::Fifo).then(|| vec![None; number + 1]),
            phase: Phase::WarmUp,
            put: 0,
            tally,
            progress: self.progress.clone(),
            account: self.account.clone(),
            stealing: self.stealing.clone(),
        };
        self.simulation.spawn(core, move || {
            count(false);
            run(thread);
        });
    }

    /// Runs all threads. The items that are left are got after the simulation, from the owners that
    /// `left` returns.
    pub(super) fn run<W: Worker<Item = u64>>(
        self,
        left: impl FnOnce() -> Vec<W>,
    ) -> Result<StealingRun, Failure> {
        let Self { stealing, account, tallies, simulation, .. } = self;
        let report = simulation.run().map_err(Failure::Stuck)?;
        for mut worker in left() {
            while let Ok(item) = worker.try_pop() {
                account.taken(item);
            }
        }
        let (items, time) = account.settle()?;
        let thread = |(tally, core): (&Rc<Tally>, &usize)| StealingThread {
            put: tally.put.get(),
            got: tally.got.get(),
            stolen: tally.stolen.get(),
            failed: tally.failed.get(),
            core: Report::core(&report, *core).expect("it ran a thread").clone(),
        };
        let threads = tallies.iter().zip(&stealing.cores).map(thread).collect();
        Ok(StealingRun { threads, items, time, accesses: report.accesses })
    }
}

/// A thread of a task.
#[derive(Debug)]
pub(super) struct Thread {
    /// Its number, and that of its queue.
    pub(super) number: usize,
    pub(super) chance: Chance,
    /// The last item that it got from its queue, at the place of its number, if there is an order
    /// to be checked.
    last: Option<Vec<Option<u64>>>,
    phase: Phase,
    /// Number of the next item that it puts.
    put: u64,
    tally: Rc<Tally>,
    progress: Rc<Progress>,
    account: Rc<TeamAccount>,
    pub(super) stealing: Stealing,
}

fn add(to: &Cell<u64>, n: u64) {
    to.set(to.get() + n);
}

impl Thread {
    /// Whether the run is over. The phase of the run may change by this.
    pub(super) fn is_over(&mut self) -> bool {
        self.enter(self.account.phase(now()))
    }

    /// Whether the run is over. The phase of the run changes by other threads.
    pub(super) fn sees_end(&mut self) -> bool {
        self.enter(self.account.known_phase())
    }

    /// Starts or ends the thread's counting when the phase changes.
    fn enter(&mut self, phase: Phase) -> bool {
        if phase != self.phase {
            count(phase == Phase::Counted);
            self.phase = phase;
        }
        phase == Phase::Over
    }

    /// Whether thieves have stolen less than this percentage of the items. As many items are put as
    /// are got or stolen, in the end, so there are half as many items as calls.
    pub(super) fn may_steal(&self, percent: u8) -> bool {
        let Progress { ops, stolen } = &*self.progress;
        200 * stolen.get() < u64::from(percent) * ops.get()
    }

    /// Whether there was room.
    pub(super) fn put(&mut self, worker: &mut impl Worker<Item = u64>) -> bool {
        let done = worker.try_push(number(self.number, self.put)).is_ok();
        compute(self.stealing.call);
        if done {
            self.put += 1;
            self.did(1, |tally| &tally.put);
        }
        done
    }

    /// Whether there was an item.
    pub(super) fn get(&mut self, worker: &mut impl Worker<Item = u64>) -> bool {
        let got = loop {
            let got = worker.try_pop();
            compute(self.stealing.call);
            if got != Err(TryPopError::Busy) {
                break got;
            }
            pause(1);
        };
        let Ok(item) = got else { return false };
        match &mut self.last {
            Some(last) => self.account.popped(item, Span::at(now().as_ps()), last),
            None => self.account.taken(item),
        }
        self.did(1, |tally| &tally.got);
        true
    }

    /// Whether the steal got an item. With a `random` number, the queue may be refused for its
    /// length.
    pub(super) fn steal(&mut self, thief: &impl Stealer<Item = u64>, random: Option<u64>) -> bool {
        let (mut items, most) = (0, self.stealing.batch);
        let stolen = match random {
            Some(random) => thief.try_steal_sampled(random, most),
            None => thief.try_steal_some(most),
        };
        if let Ok(loot) = stolen {
            for item in loot {
                self.account.taken(item);
                items += 1;
            }
        }
        compute(self.stealing.call);
        match items {
            0 if self.phase == Phase::Counted => add(&self.tally.failed, 1),
            _ => self.did(items, |tally| &tally.stolen),
        }
        add(&self.progress.stolen, items);
        items > 0
    }

    fn did(&self, items: u64, of: fn(&Tally) -> &Cell<u64>) {
        add(&self.progress.ops, items);
        if self.phase == Phase::Counted {
            add(of(&self.tally), items);
        }
    }

    /// The thread has put its last item.
    pub(super) fn ends(&self) {
        self.account.pushed(self.number, self.put);
    }
}
