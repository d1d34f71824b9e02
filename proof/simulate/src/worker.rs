//! The threads of a stream.

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Time, compute, count, now, pause, work};
use corelane_sim::{Consumer, Producer};

use crate::item::Item;
use crate::pool::Pool;
use crate::stream::Stream;

/// The state that threads share outside of the simulated machine.
#[derive(Debug)]
pub(crate) struct Aside {
    /// Whether it is the consumer's turn, if the sides take turns.
    consumer_is_on: Cell<bool>,
    /// When the first counted step of the last thread began, and its last one ended.
    pub(crate) start: Cell<Time>,
    pub(crate) end: Cell<Time>,
    /// How often each thread found the queue full or empty.
    pub(crate) stalls: Vec<Cell<u64>>,
    /// The expected item and the popped item, if they differed.
    pub(crate) wrong: Cell<Option<(u64, u64)>>,
}

impl Aside {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            consumer_is_on: Cell::new(false),
            start: Cell::default(),
            end: Cell::default(),
            stalls: vec![Cell::new(0); threads],
            wrong: Cell::new(None),
        }
    }
}

/// One thread of a stream.
#[derive(Debug)]
pub(crate) struct Worker {
    stream: Stream,
    /// 0 for the producer.
    number: usize,
    /// Whether items are counted now.
    counts: Cell<bool>,
    aside: Rc<Aside>,
    pool: Rc<Pool>,
}

impl Worker {
    pub(crate) fn new(stream: Stream, number: usize, aside: Rc<Aside>, pool: Rc<Pool>) -> Self {
        Self { stream, number, counts: Cell::new(false), aside, pool }
    }

    /// Before the item with this number: counting starts after the warm-up, and ends.
    fn begin(&self, number: u64) {
        let counts = match number.checked_sub(self.stream.warm_up) {
            Some(0) => true,
            Some(counted) if counted == self.stream.items => false,
            _ => return,
        };
        count(counts);
        self.counts.set(counts);
        if self.number + 1 == self.stream.cores.len() {
            let time = if counts { &self.aside.start } else { &self.aside.end };
            time.set(now());
        }
    }

    /// The simulated work for one item.
    fn work(&self) {
        compute(self.stream.call);
        let load = self.stream.loads[self.number.min(1)];
        if load > Time::ZERO {
            work(load);
        }
    }

    /// The thread has found a queue full or empty, for the first time or again.
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

    /// Handles a popped item.
    fn take<T: Item>(&self, item: T, expected: u64) {
        let found = item.number();
        if found != expected {
            self.aside.wrong.set(self.aside.wrong.get().or(Some((expected, found))));
        }
        self.pool.read(found);
        self.work();
    }

    /// Pushes as many of `items` as fit.
    fn try_push<T: Item>(&self, tx: &mut impl Producer<Item = T>, items: &[T]) -> usize {
        match self.stream.burst {
            1 => usize::from(tx.try_push(items[0]).is_ok()),
            _ => tx.push_slice(items),
        }
    }

    /// Pops as many items as there are, and `items` has room for.
    fn try_pop<T: Item>(&self, rx: &mut impl Consumer<Item = T>, items: &mut [T]) -> usize {
        match self.stream.burst {
            1 => rx.try_pop().map_or(0, |item| {
                items[0] = item;
                1
            }),
            _ => rx.pop_slice(items),
        }
    }

    /// Pushes all of `items`.
    fn push<T: Item>(&self, tx: &mut impl Producer<Item = T>, items: &[T]) {
        let mut pushed = self.try_push(tx, items);
        let mut first = true;
        while pushed < items.len() {
            self.stall(first);
            let more = self.try_push(tx, &items[pushed..]);
            first = more > 0;
            pushed += more;
        }
    }

    /// Pops at least one item.
    fn pop<T: Item>(&self, rx: &mut impl Consumer<Item = T>, items: &mut [T]) -> usize {
        let mut first = true;
        loop {
            match self.try_pop(rx, items) {
                0 => self.stall(first),
                popped => return popped,
            }
            first = false;
        }
    }
}

/// The first thread: pushes all items.
pub(crate) fn send<T: Item>(mut tx: impl Producer<Item = T>, worker: &Worker) {
    count(false);
    worker.wait_for_turn();
    let mut items = Vec::with_capacity(worker.stream.burst);
    let mut numbers = 0..worker.stream.all_items();
    while !numbers.is_empty() {
        items.clear();
        for number in numbers.by_ref().take(worker.stream.burst) {
            worker.begin(number);
            worker.work();
            worker.pool.fill(number);
            items.push(T::of(number));
        }
        worker.push(&mut tx, &items);
    }
    tx.flush();
    // The consumer pops the last items, and gives the turn no more.
    worker.aside.consumer_is_on.set(true);
}

/// A thread in the middle: pops all items and pushes them on.
pub(crate) fn forward<T: Item>(
    rx: impl Consumer<Item = T>,
    mut tx: impl Producer<Item = T>,
    worker: &Worker,
) {
    pop_all(rx, worker, |items| worker.push(&mut tx, items));
    tx.flush();
}

/// The last thread: pops all items.
pub(crate) fn receive<T: Item>(rx: impl Consumer<Item = T>, worker: &Worker) {
    pop_all(rx, worker, |_| ());
}

fn pop_all<T: Item>(mut rx: impl Consumer<Item = T>, worker: &Worker, mut on: impl FnMut(&[T])) {
    count(false);
    worker.wait_for_turn();
    let mut items = vec![T::of(0); worker.stream.burst];
    let mut number = 0;
    while number < worker.stream.all_items() {
        worker.begin(number);
        let popped = worker.pop(&mut rx, &mut items);
        for (index, &item) in items[..popped].iter().enumerate() {
            if index > 0 {
                worker.begin(number);
            }
            worker.take(item, number);
            number += 1;
        }
        on(&items[..popped]);
    }
}

/// The side that is charged if one thread does both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    Pushes,
    Pops,
}

/// The only thread: pushes a burst, and pops it.
pub(crate) fn alone<T: Item>(
    mut tx: impl Producer<Item = T>,
    mut rx: impl Consumer<Item = T>,
    charged: Charged,
    worker: &Worker,
) {
    count(false);
    let charge = |what| count(worker.counts.get() && what == charged);
    let burst = worker.stream.burst;
    let (mut pushing, mut popping) = (Vec::with_capacity(burst), vec![T::of(0); burst]);
    let (mut pushed, mut popped) = (0, 0);
    while popped < worker.stream.all_items() {
        if pushing.is_empty() {
            for number in popped..popped + burst as u64 {
                worker.begin(number);
                charge(Charged::Pushes);
                worker.work();
                worker.pool.fill(number);
                pushing.push(T::of(number));
            }
        }
        charge(Charged::Pushes);
        let fitted = worker.try_push(&mut tx, &pushing);
        pushing.drain(..fitted);
        pushed += fitted as u64;
        while popped < pushed {
            charge(Charged::Pops);
            let came = worker.try_pop(&mut rx, &mut popping);
            for &item in &popping[..came] {
                worker.take(item, popped);
                popped += 1;
            }
            if came == 0 {
                charge(Charged::Pushes);
                worker.stall(true);
                tx.flush();
            }
        }
    }
}
