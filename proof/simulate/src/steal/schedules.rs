//! Owners and thieves under schedules that look for bugs.
//!
//! A seed determines a case, and the choices of the schedule. So a failure can be repeated.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::{fmt, iter};

use coherence::{Chance, Schedule, Simulation, pause};
use corelane_sim::steal::chase_lev::{self, asymmetric};
use corelane_sim::steal::{Stealer, Worker};
use corelane_sim::{CapacityError, Config, TryPopError, for_each_steal_queue};

use super::StealOrder;
use crate::ledger::{self, Counted};
use crate::trial::{Failed, Tested, Wrong, by_priorities, caught, machine, named, test_each};

/// A queue from which thieves steal, to be tested.
#[derive(Clone, Copy)]
pub struct StealTest {
    /// Name of the queue; a queue that grows has its own.
    pub id: &'static str,
    run: fn(u64, Schedule) -> Result<u64, Wrong>,
}

impl StealTest {
    /// Runs the case of each seed twice: at random, and by priorities with the same number of
    /// steps.
    ///
    /// An owner pushes and pops at random, and up to three thieves steal in all ways. While it runs
    /// a long task, they get all. Queues are small, and the numbers of blocks and positions of 32
    /// bits wrap. Thieves may drop what they have stolen, and threads may quit early. Each item
    /// must come to one thread, and all must come if a thread stays to the end; the owner must get
    /// items in its order, and FIFO thieves what they steal; and each item must be dropped once.
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
        named(self.id, seed, schedule, || caught(|| (self.run)(seed, schedule)))
    }
}

impl fmt::Debug for StealTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StealTest").field("id", &self.id).finish_non_exhaustive()
    }
}

/// All queues from which thieves steal.
pub fn steal_tests() -> Vec<StealTest> {
    let mut tests = Vec::new();
    macro_rules! add {
        ($order:ident $id:ident: $($module:tt)+) => {
            add!($($module)+::INFO.id, $order, $($module)+::queue_with)
        };
        ($id:expr, $order:ident, $new:path) => {
            tests.push(StealTest {
                id: $id,
                run: |seed, schedule| run(seed, schedule, StealOrder::$order, $new),
            })
        };
    }
    for_each_steal_queue!(add);
    add!("abp-growing", Lifo, chase_lev::unbounded_with);
    add!("abp-asymmetric-growing", Lifo, asymmetric::unbounded_with);
    tests
}

/// Items that the queues are asked to hold.
const CAPACITIES: [usize; 5] = [1, 2, 4, 6, 16];
/// Most items of a steal.
const BATCH: u64 = 4;
/// Far more rounds than an owner needs.
const ROUNDS: u64 = 100_000;

fn run<W: Worker<Item = Counted, Stealer: 'static> + 'static>(
    seed: u64,
    schedule: Schedule,
    order: StealOrder,
    new: fn(Config) -> Result<W, CapacityError>,
) -> Result<u64, Wrong> {
    ledger::open();
    // Other random numbers than the schedule's.
    let mut chance = Chance::new(!seed);
    let worker = new(config(&mut chance))?;
    let account = Rc::new(Account::default());
    let mut simulation = Simulation::new(machine(), seed).schedule(schedule);
    account.thieves.set(1 + chance.below(3));
    for core in 1..=account.thieves.get() as usize {
        let thief =
            Thief { last: None, order, account: account.clone(), chance: other(&mut chance) };
        let stealer = worker.stealer();
        simulation.spawn(core, move || thief.run(&stealer));
    }
    let items = 2 + chance.below(30);
    let owner = Owner { left: Vec::new(), order, account: account.clone(), chance };
    simulation.spawn(0, move || owner.run(worker, items));
    let report = simulation.run()?;
    account.settle();
    ledger::settle();
    Ok(report.steps)
}

/// Positions of 32 bits, or the numbers of blocks in words, are about to wrap in every other case.
fn config(chance: &mut Chance) -> Config {
    let capacity = CAPACITIES[chance.below(CAPACITIES.len() as u64) as usize];
    let block = 1 << chance.below(3);
    let first = match chance.below(2) {
        0 => 0,
        _ => ((1 << 40) - 1 - chance.below(4)) * block,
    };
    // Items that the FIFO owner pushes into a block before it grants it.
    let held = chance.below(4) as usize;
    Config::new(capacity).lenient().block(block as usize).batch(held).first(first)
}

fn other(chance: &mut Chance) -> Chance {
    Chance::new(u64::from(chance.any()) << 32)
}

/// The counts of all threads, outside of the simulated machine.
#[derive(Default)]
struct Account {
    pushed: Cell<u64>,
    got: RefCell<Vec<u64>>,
    /// Items that thieves stole and dropped unseen.
    unseen: Cell<u64>,
    /// Whether the owner pushes no more and has found its queue empty.
    is_done: Cell<bool>,
    /// Thieves that have not quit.
    thieves: Cell<u64>,
    /// Whether the owner leaves its queue.
    is_left: Cell<bool>,
    /// Whether nothing may be left in the queue.
    is_empty: Cell<bool>,
}

impl Account {
    fn add(&self, item: u64) {
        let mut got = self.got.borrow_mut();
        assert!(!got.contains(&item), "item {item} came twice");
        got.push(item);
    }

    fn settle(&self) {
        let got = self.got.take();
        let (pushed, unseen) = (self.pushed.get(), self.unseen.get());
        assert!(got.iter().all(|&item| item < pushed), "never pushed: {got:?}");
        let taken = got.len() as u64 + unseen;
        assert!(taken <= pushed, "{pushed} were pushed, {taken} taken");
        assert!(
            taken == pushed || !self.is_empty.get(),
            "of {pushed} only {got:?}, {unseen} unseen"
        );
    }
}

struct Owner {
    /// Items in the queue as far as the owner knows.
    left: Vec<u64>,
    order: StealOrder,
    chance: Chance,
    account: Rc<Account>,
}

impl Owner {
    fn run(mut self, mut worker: impl Worker<Item = Counted>, items: u64) {
        let burst = 2 * worker.capacity().min(16) as u64;
        let quits = self.chance.below(4) == 0;
        let mut rounds = 0;
        while self.account.pushed.get() < items {
            rounds += 1;
            assert!(rounds < ROUNDS, "the owner finds no room");
            for _ in 0..self.chance.below(burst) {
                let next = self.account.pushed.get();
                if next == items || worker.try_push(Counted::new(next)).is_err() {
                    break;
                }
                self.account.pushed.set(next + 1);
                self.left.push(next);
            }
            for _ in 0..self.chance.below(burst) {
                let Ok(item) = worker.try_pop() else { break };
                self.take(item.number());
            }
            if self.chance.below(8) == 0 {
                self.run_long_task(&worker);
            }
            if quits && self.chance.below(8) == 0 {
                // Thieves go on with what is left, and may seize what is older than what they
                // stole.
                return self.account.is_left.set(true);
            }
            pause(1);
        }
        iter::from_fn(|| worker.try_pop().ok()).for_each(|item| self.take(item.number()));
        self.account.is_done.set(true);
        self.account.is_empty.set(true);
    }

    /// Thieves must reach every item meanwhile.
    fn run_long_task(&self, worker: &impl Worker<Item = Counted>) {
        let mut rounds = 0;
        while self.account.thieves.get() > 0 && !worker.stealer().is_empty() {
            rounds += 1;
            assert!(rounds < ROUNDS, "{} items that no thief reaches", worker.stealer().len());
            pause(1);
        }
    }

    /// Whatever the owner passes over must have been stolen.
    fn take(&mut self, item: u64) {
        let at = self.left.iter().position(|&other| other == item);
        let at = at.unwrap_or_else(|| panic!("the owner got {item} after a later one, or again"));
        match self.order {
            StealOrder::Lifo => self.left.truncate(at),
            StealOrder::Fifo => drop(self.left.drain(..=at)),
        }
        self.account.add(item);
    }
}

struct Thief {
    /// The last item that it stole in order.
    last: Option<u64>,
    order: StealOrder,
    chance: Chance,
    account: Rc<Account>,
}

impl Thief {
    fn run(mut self, stealer: &impl Stealer<Item = Counted>) {
        self.steal(stealer);
        self.account.thieves.set(self.account.thieves.get() - 1);
    }

    fn steal(&mut self, stealer: &impl Stealer<Item = Counted>) {
        let quits = self.chance.below(4) == 0;
        while !(quits && self.chance.below(8) == 0) {
            let stealer = stealer.clone();
            let was_done = self.account.is_done.get();
            let most = 1 + self.chance.below(BATCH) as usize;
            let is_in_order = self.chance.below(2) == 0;
            let loot = match self.chance.below(2) {
                _ if is_in_order => stealer.try_steal_some(most),
                0 => stealer.try_seize(most),
                _ => stealer.try_steal_sampled(self.chance.any().into(), most),
            };
            match loot {
                Ok(loot) => self.take(loot, most, is_in_order),
                Err(TryPopError::Closed) => return self.account.is_empty.set(true),
                Err(_) if was_done => return,
                Err(_) => pause(1),
            }
        }
    }

    /// Takes all, or drops the rest.
    fn take(&mut self, loot: impl ExactSizeIterator<Item = Counted>, most: usize, in_order: bool) {
        let stolen = loot.len();
        assert!((1..=most).contains(&stolen), "{stolen} stolen at once, at most {most} asked for");
        let seen = match self.chance.below(4) {
            0 => self.chance.below(stolen as u64 + 1) as usize,
            _ => stolen,
        };
        for item in loot.take(seen) {
            let item = item.number();
            if in_order && self.order == StealOrder::Fifo && !self.account.is_left.get() {
                assert!(self.last < Some(item), "a thief stole {item} after {:?}", self.last);
                self.last = Some(item);
            }
            self.account.add(item);
        }
        self.account.unseen.set(self.account.unseen.get() + (stolen - seen) as u64);
    }
}
