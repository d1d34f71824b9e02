//! Every item is dropped exactly once, in whatever order the handles are dropped.

use std::sync::Arc;

use corelane::TryPushError::{Busy, Closed, Full};
use corelane::{Config, Consumer, Producer, TryPopError};

use super::{Handles, at_most, fewer, shapes};
use crate::{Any, Counted, Ledger};
use corelane_harness::ledger::must_explode;
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, Together, all, scaled};

/// Drops all handles in a random order.
fn drop_at_random((mut txs, mut rxs): Handles<Counted>, rng: &mut Rng) {
    while txs.len() + rxs.len() > 0 {
        let number = rng.below(txs.len() + rxs.len());
        match number.checked_sub(txs.len()) {
            None => drop(txs.swap_remove(number)),
            Some(number) => drop(rxs.swap_remove(number)),
        }
    }
}

/// Items left in the queue, over any number of groups and laps, are dropped with its last handle.
pub fn leftovers_of_random_mixes(subject: &Any<Counted>) {
    let configs = [(2, 1), (4, 1), (4, 2), (32, 1), (32, 4), (32, 16)];
    for seed in 0..scaled(2_000) {
        let mut rng = Rng::new(seed);
        let (capacity, batch) = configs[rng.below(configs.len())];
        let config = Config::new(capacity).grouped(batch).first(u64::MAX - rng.below(100) as u64);
        let (mut txs, mut rxs) = subject.handles(config, at_most(&subject.info, 3, 3));
        let ledger = Ledger::new(4000);
        for _ in 0..rng.below(40) {
            let (tx, rx) = (rng.below(txs.len()), rng.below(rxs.len()));
            let (n, k) = (rng.below(capacity + 2), rng.below(capacity + 2));
            (0..n).take_while(|_| txs[tx].try_push(ledger.make()).is_ok()).count();
            rxs[rx].pop_iter().take(k).for_each(drop);
        }
        drop_at_random((txs, rxs), &mut rng);
        ledger.settle();
    }
}

/// A destructor panics while items are popped, or when the queue's last handle is dropped: every
/// other destructor runs once, and the queue stays usable (row `drop_panics_mid_batch`).
pub fn drop_panics_mid_batch(subject: &Any<Counted>) {
    for (capacity, batch) in [(1, 1), (4, 1), (8, 2), (40, 4)] {
        for bomb in 0..capacity {
            let stock = || stock(subject, Config::new(capacity).grouped(batch), bomb);
            let Some(((mut txs, mut rxs), ledger)) = stock() else { continue };
            must_explode(|| rxs[0].pop_iter().for_each(drop));
            rxs[0].pop_iter().for_each(drop);
            assert!(txs[0].try_push(ledger.make()).is_ok(), "there is room");
            assert!(rxs[0].try_pop().is_ok(), "there is an item");
            drop((txs, rxs));
            ledger.settle();
            let Some(((txs, rxs), ledger)) = stock() else { continue };
            must_explode(|| drop((txs, rxs)));
            ledger.settle();
            let Some(((txs, rxs), ledger)) = stock() else { continue };
            must_explode(|| drop((rxs, txs)));
            ledger.settle();
        }
    }
}

/// A queue with as many items as fit. One item's destructor panics, unless this item didn't fit.
fn stock(
    subject: &Any<Counted>,
    config: Config,
    bomb: usize,
) -> Option<(Handles<Counted>, Arc<Ledger>)> {
    let (mut txs, rxs) = subject.handles(config, at_most(&subject.info, 2, 2));
    let ledger = Ledger::new(config.capacity + 1);
    let fit = (0..config.capacity).take_while(|_| txs[0].try_push(ledger.make()).is_ok()).count();
    ledger.arm(bomb);
    (bomb < fit).then_some(((txs, rxs), ledger))
}

/// Handles are dropped while others push and pop, in any order: every item is dropped once (row
/// `teardown_races_push`).
pub fn teardown_races_push(subject: &Any<Counted>) {
    for (shape, round) in shapes(&subject.info).cycle().zip(0..scaled(250) as usize) {
        let config = Config::new(12).grouped(1 << (round % 4)).first(round as u64 % 29);
        let (txs, rxs) = subject.handles(config, shape);
        let ledger = &Ledger::new(50 * txs.len());
        let progress = &Progress::of(txs.len() + rxs.len());
        let mut patience = (0..).map(|thread| progress.patience(thread));
        let mut tasks: Vec<Task<()>> = Vec::new();
        for (n, mut tx) in txs.into_iter().enumerate() {
            let (sends, mut patience) = ((round + n) * 7 % 50, patience.next().expect("one each"));
            tasks.push(Box::new(move || {
                (0..sends).all(|_| push_until_closed(&mut tx, ledger, &mut patience));
            }));
        }
        for (n, mut rx) in rxs.into_iter().enumerate() {
            let (receives, mut patience) =
                ((round + n) * 11 % 50, patience.next().expect("one each"));
            tasks.push(Box::new(move || {
                (0..receives).all(|_| pop_until_closed(&mut rx, &mut patience).is_some());
            }));
        }
        all(Cores::Two, tasks);
        ledger.settle();
    }
}

/// Pushes one item, waiting for room. `false` if all consumers are gone.
fn push_until_closed(
    tx: &mut impl Producer<Item = Counted>,
    ledger: &Arc<Ledger>,
    patience: &mut Together,
) -> bool {
    let mut item = ledger.make();
    loop {
        item = match tx.try_push(item) {
            Ok(()) => break,
            Err(Closed(_)) => return false,
            Err(Full(item) | Busy(item)) => item,
        };
        patience.wait();
    }
    patience.moved();
    true
}

/// Pops one item, waiting for it. `None` if all producers are gone and no item is left.
fn pop_until_closed<T>(rx: &mut impl Consumer<Item = T>, patience: &mut Together) -> Option<T> {
    let item = loop {
        match rx.try_pop() {
            Ok(item) => break item,
            Err(TryPopError::Closed) => return None,
            Err(_) => patience.wait(),
        }
    };
    patience.moved();
    Some(item)
}

/// Items that own memory, between threads: no item is lost, doubled or leaked, and its memory
/// arrives with it.
pub fn owned_items(subject: &Any<Counted>) {
    for shape in shapes(&subject.info) {
        let each = fewer(&subject.info, scaled(20_000)) as usize;
        let (txs, rxs) = subject.handles(Config::new(50).grouped(8), shape);
        let ledger = &Ledger::new(each * txs.len());
        let progress = &Progress::of(txs.len() + rxs.len());
        let mut patience = (0..).map(|thread| progress.patience(thread));
        let mut tasks: Vec<Task<usize>> = Vec::new();
        for mut tx in txs {
            let mut patience = patience.next().expect("one each");
            tasks.push(Box::new(move || {
                assert!((0..each).all(|_| push_until_closed(&mut tx, ledger, &mut patience)));
                0
            }));
        }
        for mut rx in rxs {
            let mut patience = patience.next().expect("one each");
            tasks.push(Box::new(move || {
                let items = || pop_until_closed(&mut rx, &mut patience);
                std::iter::from_fn(items).map(|item| assert!(item.number() < ledger.made())).count()
            }));
        }
        let popped: usize = all(Cores::Two, tasks).into_iter().sum();
        assert_eq!(popped, ledger.made(), "pops of {} items", ledger.made());
        ledger.settle();
    }
}
