//! Threads that wait for room and for items, and sleep: none may sleep beside an item or beside
//! room for ever.

use std::cell::RefCell;
use std::rc::Rc;

use coherence::{Chance, Schedule, Simulation, pause};
use corelane_sim::wait::{self, Inbox, Strategy};
use corelane_sim::{Config, Consumer, Info, Producer, Sides, bytes};

use super::{BATCH, CAPACITIES, Freight, MOST, Receipts, Taken, handles, number};
use crate::handles::New;
use crate::queue::Queue;
use crate::trial::{Failed, Tested, Wrong, by_priorities, caught, machine, named, test_each};

type Tx = wait::Producer<corelane_sim::BoxedProducer<u64>>;
type Rx = wait::Consumer<corelane_sim::BoxedConsumer<u64>>;

/// The case of a seed.
#[derive(Debug)]
struct WaitingCase {
    seed: u64,
    chance: Chance,
    producers: u64,
    consumers: u64,
    /// Items of each producer.
    items: u64,
    /// Whether each consumer takes a number of items and then ends, so that no other one can do its
    /// work. Otherwise all take items until the producers are gone.
    has_quotas: bool,
    /// Whether one thread serves several queues.
    has_inbox: bool,
}

impl Queue {
    /// Runs the case of each seed twice: at random, and by priorities with the same number of
    /// steps.
    ///
    /// Producers and consumers of one queue of a small capacity wait by calls that block, and some
    /// of them sleep at once. Each must be woken in time, also from its store buffer's view of
    /// memory, until all items are popped in order.
    ///
    /// # Errors
    ///
    /// The first failure. Its seed alone repeats it.
    pub fn test_waiting(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
        test_each(seeds, by_priorities, |seed, schedule| {
            let case = || match self.of_numbers() {
                Some(new) => WaitingCase::new(seed, &self.info).run(schedule, new),
                None => panic!("{} is for tokens", self.id),
            };
            named(self.id, seed, schedule, case)
        })
    }
}

/// As [`Queue::test_waiting`], with byte records of different lengths. Some claims and records are
/// held for a while, and some claims are aborted.
///
/// # Errors
///
/// The first failure. Its seed alone repeats it.
pub fn test_waiting_for_records(seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
    let info = Info { sides: Sides::ManyToMany, overwrites: false, ..Info::RING };
    test_each(seeds, by_priorities, |seed, schedule| {
        let case = || caught(|| WaitingCase::new(seed, &info).run_records(schedule));
        named("records", seed, schedule, case)
    })
}

impl WaitingCase {
    fn new(seed: u64, info: &Info) -> Self {
        // Other random numbers than the schedule's.
        let mut chance = Chance::new(!seed);
        let mut threads = |may_be_many: bool| if may_be_many { 1 + chance.below(MOST) } else { 1 };
        let allow = |producers, consumers| {
            info.sides != Sides::OneToOne && info.sides.allow(producers, consumers)
        };
        let (producers, consumers) = (threads(allow(2, 1)), threads(allow(1, 2)));
        // At the end of a run no further ring mends what went wrong: many runs are short.
        let items = 1 + if chance.below(2) == 0 { chance.below(2) } else { chance.below(20) };
        let has_quotas = !info.overwrites && chance.below(2) == 0;
        let has_inbox = info.sides == Sides::OneToOne && chance.below(3) == 0;
        Self { seed, producers, consumers, items, has_quotas, has_inbox, chance }
    }

    fn run(self, schedule: Schedule, new: New<u64>) -> Result<u64, Wrong> {
        caught(|| match self.has_inbox {
            true => self.run_inbox(schedule, new),
            false => self.run_to_the_end(schedule, new),
        })
    }

    /// One thread takes the items of up to four queues, each of which has a producer.
    fn run_inbox(mut self, schedule: Schedule, new: New<u64>) -> Result<u64, Wrong> {
        let producers = 1 + self.chance.below(MOST);
        let account = Rc::new(Receipts::of(producers));
        let mut inbox = Inbox::new().strategy(self.strategy());
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for producer in 0..producers {
            let capacity = CAPACITIES[self.chance.below(4) as usize];
            let tx = inbox.add(new(Config::new(capacity as usize))?).strategy(self.strategy());
            let (account, items, chance) = (account.clone(), self.items, self.chance());
            simulation.spawn(producer as usize, move || {
                drop(send(tx, (0..items).map(|item| number(producer, item)), chance));
                account.finished.set(account.finished.get() + 1);
            });
        }
        let mut taken = Taken::from(producers, 1, &account);
        simulation.spawn(producers as usize, move || inbox.iter().for_each(|item| taken.add(item)));
        let report = simulation.run()?;
        account.settle(producers, self.items);
        Ok(report.steps)
    }

    fn run_records(mut self, schedule: Schedule) -> Result<u64, Wrong> {
        let config = Config::new(64 << self.chance.below(2)).block(LONGEST);
        let (tx, rx) = wait::bytes::pair(bytes::queue_with(config)?);
        let account = Rc::new(Receipts::of(self.producers));
        let mut quotas = self.quotas();
        let kept = Rc::new(RefCell::new(Vec::new()));
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for producer in 0..self.producers {
            let (tx, items, chance) =
                (tx.clone().strategy(self.strategy()), self.items, self.chance());
            let (account, kept) = (account.clone(), self.has_quotas.then(|| kept.clone()));
            simulation.spawn(producer as usize, move || {
                let tx = send_records(tx, (0..items).map(|item| number(producer, item)), chance);
                account.finished.set(account.finished.get() + 1);
                if let Some(kept) = kept {
                    kept.borrow_mut().push(tx);
                }
            });
        }
        for consumer in 0..self.consumers {
            let (mut rx, mut chance) = (rx.clone().strategy(self.strategy()), self.chance());
            let mut taken = Taken::from(self.producers, 1, &account);
            let quota = quotas.pop().unwrap_or(u64::MAX);
            simulation.spawn((self.producers + consumer) as usize, move || {
                for _ in 0..quota {
                    let Some(record) = rx.pop() else { break };
                    hold(&mut chance);
                    let number = record.first_chunk().expect("it has a number");
                    taken.add(u64::from_le_bytes(*number));
                }
            });
        }
        drop((tx, rx));
        let report = simulation.run()?;
        kept.take();
        account.settle(self.producers, self.items);
        Ok(report.steps)
    }

    /// As [`run`](Self::run), but panics if a thread does.
    fn run_to_the_end(mut self, schedule: Schedule, new: New<u64>) -> Result<u64, Wrong> {
        let capacity = CAPACITIES[self.chance.below(4) as usize];
        let grouped = 1 + self.chance.below(4) as usize;
        let (tx, rx) = wait::pair(new(Config::new(capacity as usize).grouped(grouped))?);
        let account = Rc::new(Receipts::of(self.producers));
        let mut quotas = self.quotas();
        // With them, the queue isn't closed before all consumers have ended: that would wake them.
        let kept = Rc::new(RefCell::new(Vec::new()));
        let txs = handles(tx, self.producers, Producer::try_clone);
        let rxs = handles(rx, self.consumers, Consumer::try_clone);
        let mut simulation = Simulation::new(machine(), self.seed).schedule(schedule);
        for (producer, tx) in (0..).zip(txs) {
            let (tx, items, chance) = (tx.strategy(self.strategy()), self.items, self.chance());
            let (account, kept) = (account.clone(), self.has_quotas.then(|| kept.clone()));
            simulation.spawn(producer as usize, move || {
                let tx = send(tx, (0..items).map(|item| number(producer, item)), chance);
                account.finished.set(account.finished.get() + 1);
                if let Some(kept) = kept {
                    kept.borrow_mut().push(tx);
                }
            });
        }
        for (thread, rx) in (self.producers..).zip(rxs) {
            let (rx, chance) = (rx.strategy(self.strategy()), self.chance());
            let (taken, quota) =
                (Taken::from(self.producers, rx.relaxation(), &account), quotas.pop());
            let quota = quota.unwrap_or(u64::MAX);
            simulation.spawn(thread as usize, move || receive(rx, taken, quota, chance));
        }
        let report = simulation.run()?;
        kept.take();
        account.settle(self.producers, self.items);
        Ok(report.steps)
    }

    /// All items, divided among the consumers at random.
    fn quotas(&mut self) -> Vec<u64> {
        if !self.has_quotas {
            return Vec::new();
        }
        let mut quotas = vec![0; self.consumers as usize];
        for _ in 0..self.producers * self.items {
            quotas[self.chance.below(self.consumers) as usize] += 1;
        }
        quotas
    }

    fn strategy(&mut self) -> Strategy {
        match self.chance.below(3) {
            0 => Strategy::Adaptive,
            looks => Strategy::SpinThenSleep(looks as u32 - 1),
        }
    }

    fn chance(&mut self) -> Chance {
        Chance::new(u64::from(self.chance.any()) << 32)
    }
}

/// Sends all items, singly, in slices, or by a push that doesn't wait.
fn send(mut tx: Tx, mut numbers: impl Iterator<Item = u64>, mut chance: Chance) -> Tx {
    while let Some(number) = numbers.next() {
        let there = "a consumer is there";
        match chance.below(4) {
            0 => tx.push_all([number]).expect(there),
            1 => {
                let more = numbers.by_ref().take(chance.below(BATCH) as usize);
                let batch: Vec<_> = [number].into_iter().chain(more).collect();
                let pushed = u64::push(&mut tx, &batch);
                tx.push_all(batch[pushed..].iter().copied()).expect(there);
            }
            2 => {
                if let Err(error) = tx.try_push(number) {
                    tx.push(error.into_inner()).expect(there);
                }
            }
            _ => tx.push(number).expect(there),
        }
    }
    // What it has delayed.
    tx.flush();
    tx
}

/// Takes `quota` items, or all until the producers are gone.
fn receive(mut rx: Rx, mut taken: Taken, mut quota: u64, mut chance: Chance) {
    let mut some = Vec::new();
    while quota > 0 {
        let most = quota.min(1 + chance.below(BATCH));
        match chance.below(3) {
            0 => _ = rx.pop_many(&mut some, most as usize),
            1 => some.extend(u64::pop(&mut rx, most as usize)),
            _ => match rx.pop() {
                Some(item) => some.push(item),
                None => break,
            },
        }
        quota -= some.len() as u64;
        some.drain(..).for_each(|item| taken.add(item));
    }
    taken.account.lost(rx.lost());
}

/// Bytes of the longest record.
const LONGEST: usize = 64;

/// Sends a record for each number.
fn send_records(
    mut tx: wait::bytes::Producer,
    numbers: impl Iterator<Item = u64>,
    mut chance: Chance,
) -> wait::bytes::Producer {
    for number in numbers {
        loop {
            let len = 8 + chance.below(LONGEST as u64 - 7) as usize;
            let mut claim = tx.claim(len).expect("a consumer is there");
            claim[..8].copy_from_slice(&number.to_le_bytes());
            hold(&mut chance);
            if chance.below(6) > 0 {
                claim.commit();
                break;
            }
            claim.abort();
        }
    }
    tx
}

/// Lets others run, sometimes for long.
fn hold(chance: &mut Chance) {
    if chance.below(4) == 0 {
        pause(chance.below(200) as u32);
    }
}
