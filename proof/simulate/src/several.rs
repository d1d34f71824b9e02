//! Queues between several threads under schedules that look for bugs.
//!
//! A seed makes up a case: so many producers and consumers of one queue, who come, go, and take batches.
//! The same seed makes the choices of the schedule.

mod stopped;

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::LazyLock;

use coherence::{Chance, Schedule, Simulation, pause};
use corelane_sim::overwrite::{self, block};
use corelane_sim::{
    Built, CapacityError, Config, Consumer, Info, MpmcQueue, Producer, TryPopError, TryPushError,
    for_each_mpmc_queue, for_each_unbounded_mpmc_queue,
};

use crate::Tested;
use crate::ledger::{self, Counted};
use crate::schedules::{Failed, Wrong, by_priorities, caught, machine, named, test_each};
use crate::stream::Failure;
use crate::team::{self, Team, TeamRun};

/// Runs a case under a schedule, and returns the number of steps.
type Test<C> = fn(C, Schedule) -> Result<u64, Wrong>;

/// A queue that may have several handles on a side.
#[derive(Debug, Clone)]
pub struct SharedQueue {
    /// What it promises.
    pub info: Info,
    /// Whether a push overwrites what was not popped in time.
    pub overwrites: bool,
    pub(crate) probe: fn(Config) -> Result<(), CapacityError>,
    pub(crate) team: fn(&Team) -> Result<TeamRun, Failure>,
    test: Test<Case>,
    /// Unless it overwrites.
    test_stopped: Option<Test<stopped::Case>>,
}

impl SharedQueue {
    fn keeping<Q: MpmcQueue + 'static>() -> Self {
        Self {
            info: Q::INFO,
            overwrites: false,
            probe: |config| Q::channel::<u64>(config).map(drop),
            team: |team| team::run(team, |config| open::<Keeping<Q>>(team, config), None),
            test: |case, schedule| match case.counts_drops {
                true => case.run::<Keeping<Q>, Counted>(schedule),
                false => case.run::<Keeping<Q>, u64>(schedule),
            },
            test_stopped: Some(|case, schedule| match case.counts_drops {
                true => case.run::<Keeping<Q>, Counted>(schedule),
                false => case.run::<Keeping<Q>, u64>(schedule),
            }),
        }
    }

    fn overwriting() -> Self {
        Self {
            info: block::INFO,
            overwrites: true,
            probe: |config| block::channel_with::<u64>(config).map(drop),
            team: |team| {
                team::run(
                    team,
                    |config| open::<Overwriting>(team, config),
                    Some(overwrite::Consumer::lost),
                )
            },
            // Its items have no destructors.
            test: |case, schedule| case.run::<Overwriting, u64>(schedule),
            test_stopped: None,
        }
    }

    /// Runs the case of each seed twice: at random, and by priorities with as many steps.
    ///
    /// Up to four producers and four consumers, as the queue allows, use one queue of a small capacity
    /// whose counters wrap on the way; handles are cloned and dropped meanwhile. Nothing may be lost, unless it is
    /// overwritten and counted, or doubled; each consumer must see each producer's items in order, each item must
    /// be dropped once, and nobody may wait for ever.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn test(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
        test_each(seeds, by_priorities, |seed, schedule| self.replay(seed, schedule))
    }

    /// Runs the case of a seed under a schedule, and returns the number of steps.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn replay(&self, seed: u64, schedule: Schedule) -> Result<u64, Failed> {
        let case = || (self.test)(Case::new(seed, &self.info), schedule);
        named(self.info.id, seed, schedule, case)
    }
}

/// All queues that may have several handles on a side.
pub fn all_shared() -> &'static [SharedQueue] {
    static QUEUES: LazyLock<Vec<SharedQueue>> = LazyLock::new(|| {
        let mut queues = Vec::new();
        macro_rules! add {
            ($name:ident, $queue:ty) => {
                queues.push(SharedQueue::keeping::<$queue>())
            };
        }
        for_each_mpmc_queue!(add);
        for_each_unbounded_mpmc_queue!(add);
        queues.push(SharedQueue::overwriting());
        queues
    });
    &QUEUES
}

/// A kind of queue that may have several handles on a side, for items of this type.
trait Kind<T>: 'static {
    type Tx: Producer<Item = T> + 'static;
    type Rx: Consumer<Item = T> + 'static;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx>;
    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx>;
    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx>;

    /// How many items this handle has found overwritten.
    fn lost(_: &Self::Rx) -> u64 {
        0
    }
}

/// A queue that keeps what was not popped.
struct Keeping<Q>(PhantomData<Q>);

impl<Q: MpmcQueue + 'static, T: Send + 'static> Kind<T> for Keeping<Q> {
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx> {
        Q::channel(config)
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Q::another_producer(tx)
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Q::another_consumer(rx)
    }
}

/// The queue that overwrites.
struct Overwriting;

impl Kind<u64> for Overwriting {
    type Tx = overwrite::Producer<u64>;
    type Rx = overwrite::Consumer<u64>;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx> {
        block::channel_with(config)
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(tx.clone())
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(rx.clone())
    }

    fn lost(rx: &Self::Rx) -> u64 {
        rx.lost()
    }
}

/// Most threads of a side.
const MOST: u64 = 4;
/// Items that the queues are asked to hold.
const CAPACITIES: [u64; 4] = [1, 2, 4, 16];
/// Most items to a batch.
const BATCH: u64 = 5;

/// What a seed stands for.
#[derive(Debug)]
struct Case {
    seed: u64,
    chance: Chance,
    producers: u64,
    consumers: u64,
    /// Items of each producer.
    items: u64,
    /// Whether items are counted when they are dropped. If not, they are numbers, moved in slices.
    counts_drops: bool,
}

impl Case {
    fn new(seed: u64, info: &Info) -> Self {
        // Not the numbers that the schedule gets.
        let mut chance = Chance::new(!seed);
        let sides = info.sides;
        let mut threads = |may_be_many: bool| if may_be_many { 1 + chance.below(MOST) } else { 1 };
        let (producers, consumers) = (threads(sides.allow(2, 1)), threads(sides.allow(1, 2)));
        let (items, counts_drops) = (2 + chance.below(20), chance.below(2) == 0);
        Self { seed, producers, consumers, items, counts_drops, chance }
    }

    fn run<K: Kind<T>, T: Freight>(self, schedule: Schedule) -> Result<u64, Wrong> {
        caught(|| self.run_to_the_end::<K, T>(schedule))
    }

    /// As [`run`](Self::run), but panics if a thread does.
    fn run_to_the_end<K: Kind<T>, T: Freight>(mut self, schedule: Schedule) -> Result<u64, Wrong> {
        ledger::open();
        let (tx, rx) = K::channel(self.config())?;
        let account = Rc::new(Account::default());
        let txs = handles(tx, self.producers, K::another_tx);
        let rxs = handles(rx, self.consumers, K::another_rx);
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for (number, tx) in (0..).zip(txs) {
            let (items, chance) = (self.items, self.chance());
            let sender = Sender { number, items, chance, account: account.clone() };
            simulation.spawn(number as usize, move || sender.run::<K, T>(tx));
        }
        for (number, rx) in (self.producers..).zip(rxs) {
            let taken = Taken::from(self.producers, &account);
            let receiver = Receiver { taken, chance: self.chance() };
            simulation.spawn(number as usize, move || receiver.run::<K, T>(rx));
        }
        let report = simulation.run()?;
        account.settle(self.producers, self.items);
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
            _ => config.batch(1 + self.chance.below(4) as usize),
        }
    }

    fn chance(&mut self) -> Chance {
        Chance::new(u64::from(self.chance.any()) << 32)
    }
}

/// A queue with as many handles as `team` has threads.
fn open<K: Kind<u64>>(team: &Team, config: Config) -> Built<Vec<K::Tx>, Vec<K::Rx>> {
    let (tx, rx) = K::channel(config)?;
    let txs = handles(tx, team.producers as u64, K::another_tx);
    Ok((txs, handles(rx, team.consumers as u64, K::another_rx)))
}

/// So many handles of a side.
fn handles<H>(first: H, n: u64, another: impl Fn(&H) -> Option<H>) -> Vec<H> {
    let clone = |_| another(&first).expect("there may be several");
    let mut handles: Vec<H> = (1..n).map(clone).collect();
    handles.push(first);
    handles
}

/// An item that says which producer's it is, and which of its items.
trait Freight: Send + Sized + 'static {
    fn of(number: u64) -> Self;
    fn number(&self) -> u64;

    /// Pushes these items or the first of them together; returns how many that were.
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

/// What all threads tell, outside of the simulated machine.
#[derive(Debug, Default)]
struct Account {
    popped: RefCell<Vec<u64>>,
    /// Items that were overwritten.
    lost: Cell<u64>,
    /// Producers that have pushed all their items.
    finished: Cell<u64>,
}

impl Account {
    /// A consumer has found so many items overwritten.
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
        assert!(popped.is_sorted_by(|a, b| a < b), "one comes twice: {popped:x?}");
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
    account: Rc<Account>,
}

impl Sender {
    fn run<K: Kind<T>, T: Freight>(mut self, mut tx: K::Tx) {
        let (mut next, mut spare) = (0, None);
        while next < self.items {
            let before = next;
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
            if next == before {
                pause(1);
            }
            change_handles(&mut self.chance, &mut tx, &mut spare, K::another_tx);
        }
        self.account.finished.set(self.account.finished.get() + 1);
    }
}

/// Now and then makes a clone of a handle, or drops one of both.
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
    fn run<K: Kind<T>, T: Freight>(mut self, mut rx: K::Rx) {
        let mut spare = None;
        let lost_by =
            |rx: &K::Rx, spare: &Option<K::Rx>| K::lost(rx) + spare.as_ref().map_or(0, K::lost);
        loop {
            if self.chance.below(2) == 0 {
                let n = 1 + self.chance.below(BATCH) as usize;
                T::pop(&mut rx, n).into_iter().for_each(|item| self.taken.add(item.number()));
            }
            match rx.try_pop() {
                Ok(item) => self.taken.add(item.number()),
                Err(TryPopError::Closed) => break,
                Err(_) => pause(1),
            }
            let before = lost_by(&rx, &spare);
            change_handles(&mut self.chance, &mut rx, &mut spare, K::another_rx);
            // A handle that goes takes its count with it.
            self.taken.account.lost(before - lost_by(&rx, &spare));
        }
        self.taken.account.lost(lost_by(&rx, &spare));
    }
}

/// What a consumer has taken.
struct Taken {
    /// The last number of each producer's items.
    last: Vec<Option<u64>>,
    account: Rc<Account>,
}

impl Taken {
    fn from(producers: u64, account: &Rc<Account>) -> Self {
        Self { last: vec![None; producers as usize], account: account.clone() }
    }

    fn add(&mut self, number: u64) {
        let last = &mut self.last[(number >> 32) as usize];
        assert!(*last < Some(number), "item {number:x} came after {last:x?}");
        *last = Some(number);
        self.account.popped.borrow_mut().push(number);
    }
}
