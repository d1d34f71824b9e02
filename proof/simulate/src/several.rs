//! Queues between several threads under schedules that look for bugs.
//!
//! A seed determines a case: the numbers of producers and consumers of one queue, when handles are
//! cloned and dropped, and the batches. The same seed determines the choices of the schedule.

mod stopped;
mod waiting;

pub use stopped::Room;
pub use waiting::test_waiting_for_records;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use coherence::{Chance, Schedule, Simulation, pause};
use corelane_history::{Span, most_behind};
use corelane_sim::{
    BoxedConsumer, BoxedProducer, Built, Config, Consumer, Info, Producer, TryPopError,
    TryPushError,
};

use crate::handles::New;
use crate::ledger::{self, Counted};
use crate::passages::Passages;
use crate::team::Team;
use crate::trial::{Wrong, caught, machine};

/// The case of a seed, which is run with a queue that may have several handles on a side.
pub(crate) trait Rerun {
    /// Whether items are counted when they are dropped. If not, they are numbers.
    fn counts_drops(&self) -> bool;

    /// Runs the case, and returns the number of steps.
    fn run<T: Freight>(self, schedule: Schedule, new: New<T>) -> Result<u64, Wrong>;
}

/// Most threads of a side.
const MOST: u64 = 4;
/// Items that the queues are asked to hold.
const CAPACITIES: [u64; 4] = [1, 2, 4, 16];
/// Most items of a batch.
const BATCH: u64 = 5;

/// The case of a seed, in a test of queues that may have several handles on a side.
#[derive(Debug)]
pub(crate) struct SharedCase {
    seed: u64,
    chance: Chance,
    producers: u64,
    consumers: u64,
    /// Items of each producer.
    items: u64,
    /// Whether items are counted when they are dropped. If not, they are numbers, moved in slices.
    counts_drops: bool,
    /// The k that a relaxed queue is asked for.
    relaxation: Option<usize>,
}

impl SharedCase {
    pub(crate) fn new(seed: u64, info: &Info) -> Self {
        // Other random numbers than the schedule's.
        let mut chance = Chance::new(!seed);
        let sides = info.sides;
        let mut threads = |may_be_many: bool| if may_be_many { 1 + chance.below(MOST) } else { 1 };
        let (producers, consumers) = (threads(sides.allow(2, 1)), threads(sides.allow(1, 2)));
        let (items, counts_drops) = (2 + chance.below(20), chance.below(2) == 0);
        let relaxation = info.relaxed.then(|| 1 << chance.below(7));
        Self { seed, producers, consumers, items, counts_drops, relaxation, chance }
    }

    /// As [`run`](Rerun::run), but panics if a thread does.
    fn run_to_the_end<T: Freight>(mut self, schedule: Schedule, new: New<T>) -> Result<u64, Wrong> {
        ledger::open();
        let config = self.config();
        let relaxed = self.relaxation.map(|k| new(config.relaxation(k).lenient()));
        // A queue that refuses this k has its own.
        let (tx, rx) = relaxed.and_then(Result::ok).map_or_else(|| new(config), Ok)?;
        let k = rx.relaxation();
        let account = Rc::new(Receipts::of(self.producers));
        let txs = handles(tx, self.producers, Producer::try_clone);
        let rxs = handles(rx, self.consumers, Consumer::try_clone);
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for (number, tx) in (0..).zip(txs) {
            let (items, chance) = (self.items, self.chance());
            let sender = Sender { number, items, chance, account: account.clone() };
            simulation.spawn(number as usize, move || sender.run(tx));
        }
        for (number, rx) in (self.producers..).zip(rxs) {
            let taken = Taken::from(self.producers, k, &account);
            let receiver = Receiver { taken, chance: self.chance() };
            simulation.spawn(number as usize, move || receiver.run(rx));
        }
        let report = simulation.run()?;
        account.settle(self.producers, self.items);
        let disorder = account.passages.certain();
        assert!(account.lost.get() > 0 || disorder.is_within(k), "not {k}-FIFO: {disorder:?}");
        ledger::settle();
        Ok(report.steps)
    }

    fn config(&mut self) -> Config {
        let capacity = CAPACITIES[self.chance.below(4) as usize];
        let first = match self.chance.below(2) {
            0 => 0,
            _ => 0_u64.wrapping_sub(self.chance.below(3 * capacity)),
        };
        let config = Config::new(capacity as usize).first(first);
        match self.chance.below(3) {
            0 => config,
            _ => config.grouped(1 + self.chance.below(4) as usize),
        }
    }

    fn chance(&mut self) -> Chance {
        Chance::new(u64::from(self.chance.any()) << 32)
    }
}

impl Rerun for SharedCase {
    fn counts_drops(&self) -> bool {
        self.counts_drops
    }

    fn run<T: Freight>(self, schedule: Schedule, new: New<T>) -> Result<u64, Wrong> {
        caught(|| self.run_to_the_end(schedule, new))
    }
}

/// A queue with as many handles as `team` has threads.
pub(crate) fn open<T: 'static>(
    team: &Team,
    new: New<T>,
) -> Built<Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>> {
    let (tx, rx) = new(team.config())?;
    let txs = handles(tx, team.producers as u64, Producer::try_clone);
    Ok((txs, handles(rx, team.consumers as u64, Consumer::try_clone)))
}

/// `n` handles of a side.
fn handles<H>(first: H, n: u64, another: impl Fn(&H) -> Option<H>) -> Vec<H> {
    let clone = |_| another(&first).expect("there may be several");
    let mut handles: Vec<H> = (1..n).map(clone).collect();
    handles.push(first);
    handles
}

/// An item that knows its producer, and its number among the producer's items.
pub(crate) trait Freight: Send + Sized + 'static {
    fn of(number: u64) -> Self;
    fn number(&self) -> u64;

    /// Pushes these items, or the first of them, together. Returns how many it pushed.
    fn push(tx: &mut impl Producer<Item = Self>, numbers: &[u64]) -> usize;
    /// Pops up to `n` items together.
    fn pop(rx: &mut impl Consumer<Item = Self>, n: usize) -> Vec<Self>;
}

impl Freight for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }

    fn push(tx: &mut impl Producer<Item = Self>, numbers: &[u64]) -> usize {
        tx.push_slice(numbers)
    }

    fn pop(rx: &mut impl Consumer<Item = Self>, n: usize) -> Vec<Self> {
        let mut items = vec![u64::MAX; n];
        let popped = rx.pop_slice(&mut items);
        items.truncate(popped);
        items
    }
}

impl Freight for Counted {
    fn of(number: u64) -> Self {
        Self::new(number)
    }

    fn number(&self) -> u64 {
        self.number()
    }

    fn push(tx: &mut impl Producer<Item = Self>, numbers: &[u64]) -> usize {
        let mut pushed = numbers.iter().map(|number| tx.try_push(Self::of(*number)));
        pushed.position(|pushed| pushed.is_err()).unwrap_or(numbers.len())
    }

    fn pop(rx: &mut impl Consumer<Item = Self>, n: usize) -> Vec<Self> {
        rx.pop_iter().take(n).collect()
    }
}

/// The counts of all threads, outside of the simulated machine.
#[derive(Debug)]
struct Receipts {
    popped: RefCell<Vec<u64>>,
    /// Items that were overwritten.
    lost: Cell<u64>,
    /// Producers that have pushed all their items.
    finished: Cell<u64>,
    passages: Passages,
    ticks: Cell<u64>,
}

impl Receipts {
    fn of(producers: u64) -> Self {
        Self {
            popped: RefCell::default(),
            lost: Cell::default(),
            finished: Cell::default(),
            passages: Passages::new(producers as usize),
            ticks: Cell::default(),
        }
    }

    /// The number of earlier ticks: a clock for threads that run one at a time on the host, in
    /// whatever order the schedule chooses.
    fn tick(&self) -> u64 {
        self.ticks.replace(self.ticks.get() + 1)
    }

    /// The interval from `invoked` to the next tick.
    fn since(&self, invoked: u64) -> Span {
        Span { invoked, answered: self.tick() }
    }

    /// A consumer has found `items` items overwritten.
    fn lost(&self, items: u64) {
        self.lost.set(self.lost.get() + items);
    }

    /// Checks that each item of each producer was popped once, or overwritten.
    fn settle(&self, producers: u64, items: u64) {
        assert_eq!(self.finished.get(), producers, "producers that have pushed all");
        let mut popped = self.popped.take();
        popped.sort_unstable();
        let lost = self.lost.get();
        assert_eq!(
            popped.len() as u64 + lost,
            producers * items,
            "{lost} lost, popped {popped:x?}"
        );
        assert!(popped.is_sorted_by(|a, b| a < b), "an item was popped twice: {popped:x?}");
        let exists =
            |&number: &u64| number >> 32 < producers && number & u64::from(u32::MAX) < items;
        assert!(popped.iter().all(exists), "never pushed: {popped:x?}");
    }
}

/// Item number `item` of a producer.
fn number(producer: u64, item: u64) -> u64 {
    producer << 32 | item
}

/// A producer.
struct Sender {
    number: u64,
    items: u64,
    chance: Chance,
    account: Rc<Receipts>,
}

impl Sender {
    fn run<T: Freight>(mut self, mut tx: BoxedProducer<T>) {
        let (mut next, mut spare) = (0, None);
        while next < self.items {
            let before = next;
            let called = self.account.tick();
            if self.chance.below(2) == 0 {
                let end = self.items.min(next + 1 + self.chance.below(BATCH));
                let numbers: Vec<_> = (next..end).map(|i| number(self.number, i)).collect();
                next += T::push(&mut tx, &numbers) as u64;
            } else {
                match tx.try_push(T::of(number(self.number, next))) {
                    Ok(()) => next += 1,
                    Err(TryPushError::Closed(_)) => panic!("the consumers are there"),
                    Err(_) => {}
                }
            }
            let span = self.account.since(called);
            for item in before..next {
                self.account.passages.came(self.number as usize, item, span);
            }
            if next == before {
                pause(1);
            }
            change_handles(&mut self.chance, &mut tx, &mut spare, Producer::try_clone);
        }
        self.account.finished.set(self.account.finished.get() + 1);
    }
}

/// Now and then clones a handle, or drops one of two handles.
fn change_handles<H>(
    chance: &mut Chance,
    handle: &mut H,
    spare: &mut Option<H>,
    another: impl Fn(&H) -> Option<H>,
) {
    if chance.below(6) > 0 {
        return;
    }
    *spare = match spare.take() {
        None => another(handle),
        Some(other) => {
            if chance.below(2) == 0 {
                *handle = other;
            }
            None
        }
    };
}

/// A consumer.
struct Receiver {
    taken: Taken,
    chance: Chance,
}

impl Receiver {
    fn run<T: Freight>(mut self, mut rx: BoxedConsumer<T>) {
        let mut spare = None;
        let lost_by = |rx: &BoxedConsumer<T>, spare: &Option<BoxedConsumer<T>>| {
            rx.lost() + spare.as_ref().map_or(0, Consumer::lost)
        };
        loop {
            if self.chance.below(2) == 0 {
                let n = 1 + self.chance.below(BATCH) as usize;
                let called = self.taken.account.tick();
                let items = T::pop(&mut rx, n).into_iter();
                self.taken.add_all(called, items.map(|item| item.number()));
            }
            let called = self.taken.account.tick();
            match rx.try_pop() {
                Ok(item) => self.taken.add_all(called, [item.number()]),
                Err(TryPopError::Closed) => break,
                Err(_) => pause(1),
            }
            let before = lost_by(&rx, &spare);
            change_handles(&mut self.chance, &mut rx, &mut spare, Consumer::try_clone);
            // The count of a dropped handle is gone.
            self.taken.account.lost(before - lost_by(&rx, &spare));
        }
        self.taken.account.lost(lost_by(&rx, &spare));
    }
}

/// The items that a consumer has popped.
struct Taken {
    /// The largest number of each producer's items, and one.
    next: Vec<u64>,
    most_behind: u64,
    account: Rc<Receipts>,
}

impl Taken {
    /// No items, of a k-FIFO queue.
    fn from(producers: u64, k: usize, account: &Rc<Receipts>) -> Self {
        let next = vec![0; producers as usize];
        Self { next, most_behind: most_behind(k), account: account.clone() }
    }

    fn add(&mut self, number: u64) {
        let next = &mut self.next[(number >> 32) as usize];
        let is_in_turn = *next <= number.saturating_add(self.most_behind);
        assert!(is_in_turn, "item {number:x} was popped after {:x}", *next - 1);
        *next = (*next).max(number + 1);
        self.account.popped.borrow_mut().push(number);
    }

    /// Adds the items of a call.
    fn add_all(&mut self, called: u64, numbers: impl IntoIterator<Item = u64>) {
        let span = self.account.since(called);
        for number in numbers {
            let item = number & u64::from(u32::MAX);
            self.account.passages.left((number >> 32) as usize, item, span);
            self.add(number);
        }
    }
}
