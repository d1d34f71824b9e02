use std::sync::Mutex;
use std::thread;
use std::vec::Vec;

use super::capsule::word;
use super::*;
use crate::block::shared::Bbq;
use crate::scq::Scq;
use crate::wait::{self, Strategy};
use crate::{Queue, TryPopError};

fn all_arrive<Q: Tube>(k: usize, producers: u64, consumers: u64) {
    // Each capsule may cost a switch between threads.
    let items = if Q::INFO.takes_turns { 300 } else { 60_000 };
    let config = Config::new(200).relaxation(k);
    let (tx, rx) = Cnq::<Q>::with(config).unwrap();
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for producer in 0..producers {
            let mut tx = tx.clone();
            scope.spawn(move || {
                for n in 0..items {
                    while tx.try_push(producer * items + n).is_err() {
                        thread::yield_now();
                    }
                }
            });
        }
        for _ in 0..consumers {
            let (mut rx, found) = (rx.clone(), &found);
            scope.spawn(move || {
                let mut mine = Vec::new();
                loop {
                    match rx.try_pop() {
                        Ok(n) => mine.push(n),
                        Err(TryPopError::Closed) => break,
                        Err(_) => thread::yield_now(),
                    }
                }
                found.lock().unwrap().extend(mine);
            });
        }
        drop((tx, rx));
    });
    let mut found = found.into_inner().unwrap();
    found.sort_unstable();
    assert_eq!(found, (0..producers * items).collect::<Vec<_>>());
}

#[test]
fn nothing_is_lost_over_any_tube() {
    for k in [3, 16, 256] {
        for (producers, consumers) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
            all_arrive::<Faaq>(k, producers, consumers);
            all_arrive::<Bbq>(k, producers, consumers);
            all_arrive::<Scq>(k, producers, consumers);
            #[cfg(feature = "literature")]
            all_arrive::<crate::ring::Ring<crate::ring::InOrder>>(k, producers, consumers);
        }
    }
}

#[test]
fn one_producer_and_one_consumer_keep_the_order() {
    for (capacity, k) in [(1, 1), (1, 300), (10, 16), (1000, 256), (1000, 10_000)] {
        let (mut tx, mut rx) = queue_with(Config::new(capacity).relaxation(k)).unwrap();
        for lap in 0..50 {
            let pushed = (0..).take_while(|n| tx.try_push(lap * 100_000 + n).is_ok()).count();
            assert!(pushed >= capacity, "{pushed} of {capacity}");
            assert_eq!(tx.len(), pushed);
            let popped = rx.pop_iter().zip(0..).map(|(n, i)| assert_eq!(n, lap * 100_000 + i));
            assert_eq!(popped.count(), pushed);
            assert_eq!((rx.len(), rx.try_pop()), (0, Err(TryPopError::Empty)));
        }
    }
}

/// As if producers had closed each other's capsules before they pushed: full without an item.
fn exhaust<T>(tx: &mut Producer<T>) {
    while let Some(number) = TubeProducer::allocate(&mut tx.tube) {
        tx.begin(number);
    }
}

#[test]
fn a_queue_without_items_is_not_full() {
    for k in [1, 3, 12, 256] {
        let (mut tx, mut rx) = queue_with(Config::new(10).relaxation(k)).unwrap();
        let mut other = tx.clone();
        for n in 0..100 {
            exhaust(&mut other);
            tx.try_push(n).unwrap();
            assert_eq!(rx.try_pop(), Ok(n));
        }
    }
}

#[test]
fn sleepers_find_room_in_a_queue_without_items() {
    let (tx, rx) = wait::pair(queue_with(Config::new(100).relaxation(12)).unwrap());
    let (tx, mut rx) = (tx.strategy(Strategy::Sleep), rx.strategy(Strategy::Sleep));
    thread::scope(|scope| {
        scope.spawn(move || assert_eq!(rx.iter().count(), 200));
        let mut other = tx.clone();
        for _ in 0..50 {
            exhaust(&mut other.queue);
            let pushes: Vec<_> = (0..4)
                .map(|n| (n, tx.clone()))
                .map(|(n, mut tx)| scope.spawn(move || tx.push(n).unwrap()))
                .collect();
            pushes.into_iter().for_each(|push| push.join().unwrap());
        }
        drop((tx, other));
    });
}

/// Fills and drains, in order, and returns what consumers estimate.
fn in_order(first: u64, handles: usize) -> RankError {
    let config = Config::new(5000).relaxation(256).first(first);
    let (tx, mut rx) = queue_with(config).unwrap();
    let mut all: Vec<_> = (0..handles).map(|_| tx.clone()).collect();
    for _ in 0..50 {
        for n in 0..5000 {
            all[n % handles].try_push(n).unwrap();
        }
        assert!(rx.pop_iter().eq(0..5000), "in order");
    }
    rx.rank_error()
}

#[test]
fn rank_errors_of_items_in_order_are_0() {
    for first in [0, u64::MAX - 100_000] {
        for handles in [1, 4] {
            let found = in_order(first, handles);
            assert!(found.samples > 10 && found.max == 0, "{found:?}");
        }
    }
}

#[test]
fn a_capsule_that_is_only_allocated_keeps_its_turn() {
    let (mut tx, mut rx) = queue_with(Config::new(1000).relaxation(256)).unwrap();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    let turn = tx.allocate().unwrap();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    tx.work_in(turn, word(turn));
    (0..100).for_each(|n| tx.try_push(n).unwrap());
    assert!(rx.pop_iter().eq(0..100));
}

#[test]
fn pushes_that_do_not_meet_keep_the_order() {
    let (mut tx, mut rx) = queue_with(Config::new(1000).relaxation(256)).unwrap();
    // The first one was alone, and has a capsule.
    tx.try_push(0).unwrap();
    assert_eq!(rx.try_pop(), Ok(0));
    let mut all: Vec<_> = (0..4).map(|_| tx.clone()).collect();
    all.push(tx);
    for n in 0..50_000 {
        all[n * n % 7 % 5].try_push(n).unwrap();
        if n % 900 == 899 {
            assert!(rx.pop_iter().eq(n - 899..=n));
        }
    }
}
