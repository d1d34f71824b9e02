//! Throughput: one side pushes as fast as it can, the other pops (000 §5.1, §5.2).

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use coherence::{
    CoreReport, Deadlock, Machine, Simulation, Time, compute, count, now, pause, work,
};
use corelane_sim::{CapacityError, Config, Consumer, Producer};

use crate::item::Item;

/// What the two sides do, and where.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The machine.
    pub machine: Machine,
    /// Cores of the producer and of the consumer.
    pub cores: [usize; 2],
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
    /// Work of the producer and of the consumer for each item.
    pub loads: [Time; 2],
    /// What the instructions of a push or a pop take besides.
    pub call: Time,
    /// Whether the sides take turns: one fills the queue, then the other one empties it. It is what
    /// costs the fewest misses.
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
    /// A number for a page, which both sides touch (000 §5.1).
    Indirect,
}

impl Stream {
    /// Numbers one by one, as fast as they go, between the first two cores of `machine`; 4096 fit.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            cores: [0, 1],
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
        self.group.map_or(config, |group| config.batch(group))
    }

    /// With those after the counted ones, so that these come and go like all others.
    fn all_items(&self) -> u64 {
        self.warm_up + self.items + 2 * self.capacity as u64
    }
}

/// What a stream has cost.
#[derive(Debug, Clone)]
pub struct Run {
    /// The producer and the consumer.
    pub sides: [Side; 2],
    /// From the first pop that was counted to the last: a producer may be a full queue ahead.
    pub time: Time,
    /// Simulated accesses, with those of the warm-up.
    pub accesses: u64,
}

impl Run {
    /// Time per item.
    pub fn ns_per_item(&self) -> f64 {
        self.time.as_ns() / self.sides[1].items as f64
    }
}

/// What a stream has cost one side.
#[derive(Debug, Clone)]
pub struct Side {
    /// Items that were counted.
    pub items: u64,
    /// How often the side found the queue full or empty; runs of it count once.
    pub stalls: u64,
    /// Its core.
    pub core: CoreReport,
}

impl Side {
    /// Cache misses per item.
    pub fn misses_per_item(&self) -> f64 {
        self.core.total.misses() as f64 / self.items as f64
    }

    /// Items from one stall to the next, which the paper calls the perceived batch (000 §5.1).
    pub fn perceived_batch(&self) -> f64 {
        self.items as f64 / self.stalls.max(1) as f64
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// There can't be such a queue.
    Capacity(CapacityError),
    /// Both sides waited for ever.
    Stuck(Deadlock),
    /// The consumer got another item than the next.
    Wrong {
        /// The one that was due.
        expected: u64,
        /// The one that came.
        found: u64,
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
        }
    }
}

impl std::error::Error for Failure {}

/// What the sides tell each other outside of the simulated machine.
#[derive(Debug, Default)]
struct Aside {
    /// Whose turn it is, if they take turns.
    consumer_is_on: Cell<bool>,
    /// When the first pop that is counted began, and the last one ended.
    start: Cell<Time>,
    end: Cell<Time>,
    stalls: [Cell<u64>; 2],
    wrong: Cell<Option<(u64, u64)>>,
}

/// Runs `stream` through a queue that `channel` makes.
pub(crate) fn run<T: Item, P, C>(
    stream: &Stream,
    channel: impl Fn(Config) -> Result<(P, C), CapacityError>,
) -> Result<Run, Failure>
where
    P: Producer<Item = T> + 'static,
    C: Consumer<Item = T> + 'static,
{
    let (tx, rx) = channel(stream.config()).map_err(Failure::Capacity)?;
    let aside = Rc::new(Aside::default());
    let pool = Rc::new(Pool::new(stream)?);
    let mut simulation = Simulation::new(stream.machine.clone(), stream.seed);
    let [sending, receiving] = [0, 1].map(|number| Turn {
        stream: stream.clone(),
        number,
        counts: Cell::new(false),
        aside: aside.clone(),
        pool: pool.clone(),
    });
    simulation.spawn(stream.cores[0], move || send(tx, &sending));
    simulation.spawn(stream.cores[1], move || receive(rx, &receiving));
    let report = simulation.run().map_err(Failure::Stuck)?;
    if let Some((expected, found)) = aside.wrong.get() {
        return Err(Failure::Wrong { expected, found });
    }
    let side = |number: usize| Side {
        items: stream.items,
        stalls: aside.stalls[number].get(),
        core: report.core(stream.cores[number]).expect("it ran a thread").clone(),
    };
    Ok(Run {
        sides: [side(0), side(1)],
        time: aside.end.get() - aside.start.get(),
        accesses: report.accesses,
    })
}

/// One side of a stream.
#[derive(Debug)]
struct Turn {
    stream: Stream,
    /// 0 for the producer, 1 for the consumer.
    number: usize,
    /// Whether items are counted now.
    counts: Cell<bool>,
    aside: Rc<Aside>,
    pool: Rc<Pool>,
}

impl Turn {
    /// Before the item with this number: counting starts after the warm-up, and ends.
    fn begin(&self, number: u64) {
        if number == self.stream.warm_up {
            count(true);
            self.counts.set(true);
            if self.number == 1 {
                self.aside.start.set(now());
            }
        } else if number == self.stream.warm_up + self.stream.items {
            count(false);
            self.counts.set(false);
            if self.number == 1 {
                self.aside.end.set(now());
            }
        }
    }

    /// The emulated load of one item.
    fn work(&self) {
        compute(self.stream.call);
        let load = self.stream.loads[self.number];
        if load > Time::ZERO {
            work(load);
        }
    }

    /// The queue is full or empty, for the first time or again.
    fn stall(&self, first: bool) {
        if first && self.counts.get() {
            let stalls = &self.aside.stalls[self.number];
            stalls.set(stalls.get() + 1);
        }
        if self.stream.turns {
            self.pass();
        } else {
            pause(1);
        }
    }

    /// Gives the turn to the other side, if sides take turns.
    fn pass(&self) {
        if self.stream.turns {
            self.aside.consumer_is_on.set(self.number == 0);
            self.wait_for_turn();
        }
    }

    fn wait_for_turn(&self) {
        while self.stream.turns && self.aside.consumer_is_on.get() != (self.number == 1) {
            work(Time::ns(100));
        }
    }
}

fn send<T: Item>(mut tx: impl Producer<Item = T>, side: &Turn) {
    count(false);
    side.wait_for_turn();
    match side.stream.burst {
        1 => send_singly(&mut tx, side),
        _ => send_bursts(&mut tx, side),
    }
    tx.flush();
    // The last items are the consumer's without any answer.
    side.aside.consumer_is_on.set(true);
}

fn send_singly<T: Item>(tx: &mut impl Producer<Item = T>, side: &Turn) {
    for number in 0..side.stream.all_items() {
        side.begin(number);
        side.work();
        side.pool.fill(number);
        let mut first = true;
        while tx.try_push(T::of(number)).is_err() {
            side.stall(first);
            first = false;
        }
    }
}

fn send_bursts<T: Item>(tx: &mut impl Producer<Item = T>, side: &Turn) {
    let mut items = Vec::with_capacity(side.stream.burst);
    let mut numbers = 0..side.stream.all_items();
    while !numbers.is_empty() {
        items.clear();
        for number in numbers.by_ref().take(side.stream.burst) {
            side.begin(number);
            side.work();
            side.pool.fill(number);
            items.push(T::of(number));
        }
        let mut pushed = tx.push_slice(&items);
        let mut first = true;
        while pushed < items.len() {
            side.stall(first);
            let more = tx.push_slice(&items[pushed..]);
            first = more > 0;
            pushed += more;
        }
    }
}

fn receive<T: Item>(mut rx: impl Consumer<Item = T>, side: &Turn) {
    count(false);
    side.wait_for_turn();
    match side.stream.burst {
        1 => receive_singly(&mut rx, side),
        _ => receive_bursts(&mut rx, side),
    }
}

fn receive_singly<T: Item>(rx: &mut impl Consumer<Item = T>, side: &Turn) {
    for number in 0..side.stream.all_items() {
        side.begin(number);
        let mut first = true;
        let item = loop {
            match rx.try_pop() {
                Ok(item) => break item,
                Err(_) => side.stall(first),
            }
            first = false;
        };
        take(side, item, number);
    }
}

fn receive_bursts<T: Item>(rx: &mut impl Consumer<Item = T>, side: &Turn) {
    let mut items = vec![T::of(0); side.stream.burst];
    let mut number = 0;
    while number < side.stream.all_items() {
        let mut first = true;
        let popped = loop {
            match rx.pop_slice(&mut items) {
                0 => side.stall(first),
                popped => break popped,
            }
            first = false;
        };
        for &item in &items[..popped] {
            side.begin(number);
            take(side, item, number);
            number += 1;
        }
    }
}

/// Does what is to be done with an item that was popped.
fn take<T: Item>(side: &Turn, item: T, expected: u64) {
    let found = item.number();
    if found != expected {
        side.aside.wrong.set(side.aside.wrong.get().or(Some((expected, found))));
    }
    side.pool.read(found);
    side.work();
}

/// The pages that indirect items stand for: twice as many as fit into the queue, so that both sides
/// never touch the same one at once (000 §5.1).
///
/// Only their addresses matter: nothing is ever stored there.
#[derive(Debug)]
struct Pool {
    pages: Vec<Page>,
    len: usize,
}

#[derive(Debug)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only the address matters")] [u8; 4096]);

impl Pool {
    fn new(stream: &Stream) -> Result<Self, Failure> {
        let len = match stream.payload {
            Payload::Embedded => 0,
            Payload::Indirect => 2 * stream.capacity.next_power_of_two(),
        };
        let mut pages = Vec::new();
        pages.try_reserve_exact(len).map_err(|_| {
            let bytes = len.saturating_mul(size_of::<Page>());
            Failure::Capacity(CapacityError::OutOfMemory { bytes })
        })?;
        Ok(Self { pages, len })
    }

    fn page(&self, number: u64) -> Option<*const Page> {
        let index = number.checked_rem(self.len as u64)?;
        Some(self.pages.as_ptr().wrapping_add(index as usize))
    }

    /// The producer writes four bytes.
    fn fill(&self, number: u64) {
        if let Some(page) = self.page(number) {
            coherence::write(page.cast_mut(), 4);
        }
    }

    /// The consumer reads them.
    fn read(&self, number: u64) {
        if let Some(page) = self.page(number) {
            coherence::read(page, 4);
        }
    }
}
