//! First models of `bbq` between several threads.

use corelane_loom::mpmc::block::{Consumer, Producer, channel_with};
use corelane_loom::{Config, Consumer as _, Producer as _, TryPopError, TryPushError};
use loom::hint::spin_loop;
use loom::thread;

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 5000;
    builder.check(model);
}

fn queue(capacity: usize, size: usize) -> (Producer<u64>, Consumer<u64>) {
    channel_with(Config::new(capacity).batch(size).first(u64::MAX - 1)).unwrap()
}

fn drain(rx: &mut Consumer<u64>, got: &mut Vec<u64>) {
    loop {
        match rx.try_pop() {
            Ok(item) => got.push(item),
            Err(TryPopError::Busy) => panic!("nobody else is at work"),
            Err(_) => break,
        }
    }
}

/// Two producers push one item each into a block of `size`; the consumer looks meanwhile.
fn two_producers(size: usize) {
    let (mut tx, mut rx) = queue(2 * size, size);
    let mut other = tx.clone();
    let threads = [
        thread::spawn(move || other.try_push(1).is_ok()),
        thread::spawn(move || tx.try_push(2).is_ok()),
    ];
    let mut got = Vec::new();
    for _ in 0..2 {
        if let Ok(item) = rx.try_pop() {
            got.push(item);
        }
    }
    for thread in threads {
        assert!(thread.join().unwrap(), "there is room");
    }
    drain(&mut rx, &mut got);
    got.sort_unstable();
    assert_eq!(got, [1, 2]);
}

#[test]
fn two_producers_in_a_block() {
    check(2, || two_producers(2));
}

#[test]
fn two_producers_in_two_blocks() {
    check(2, || two_producers(1));
}

/// Two consumers; the producer wraps.
fn two_consumers(size: usize, items: u64) {
    let (mut tx, rx) = queue(2 * size, size);
    let consumer = |mut rx: Consumer<u64>| {
        move || {
            let mut got = Vec::new();
            for _ in 0..2 {
                if let Ok(item) = rx.try_pop() {
                    got.push(item);
                }
            }
            (rx, got)
        }
    };
    let other = thread::spawn(consumer(rx.clone()));
    let mine = thread::spawn(consumer(rx));
    let mut pushed = 0;
    for item in 0..items {
        match tx.try_push(item) {
            Ok(()) => pushed += 1,
            Err(TryPushError::Full(_) | TryPushError::Busy(_)) => break,
            Err(TryPushError::Closed(_)) => panic!("consumers are there"),
        }
    }
    let (_rx, theirs) = other.join().unwrap();
    let (mut rx, mine) = mine.join().unwrap();
    assert!(theirs.is_sorted() && mine.is_sorted(), "{theirs:?} {mine:?}");
    let mut rest = Vec::new();
    drain(&mut rx, &mut rest);
    assert!(rest.is_sorted());
    let mut got = [theirs, mine, rest].concat();
    got.sort_unstable();
    assert!(got.into_iter().eq(0..pushed));
}

#[test]
fn two_consumers_in_a_block() {
    check(2, || two_consumers(2, 2));
}

#[test]
fn two_consumers_in_two_blocks() {
    check(2, || two_consumers(1, 3));
}

/// A full queue, a pop, and two who want the slot.
#[test]
fn two_producers_and_one_slot() {
    check(2, || {
        let (mut tx, mut rx) = queue(2, 1);
        tx.try_push(0).unwrap();
        tx.try_push(1).unwrap();
        let mut other = tx.clone();
        let threads = [
            thread::spawn(move || other.try_push(2).is_ok()),
            thread::spawn(move || tx.try_push(3).is_ok()),
        ];
        let mut got = vec![rx.try_pop().unwrap()];
        let pushed: usize = threads.into_iter().map(|t| usize::from(t.join().unwrap())).sum();
        assert!(pushed <= 1);
        drain(&mut rx, &mut got);
        assert_eq!(got.len(), 2 + pushed);
        assert_eq!(got[..2], [0, 1]);
    });
}

/// Items of one producer stay in order past another one's.
#[test]
fn each_producers_items_stay_in_order() {
    check(2, || {
        let (mut tx, mut rx) = queue(4, 2);
        let mut other = tx.clone();
        let first = thread::spawn(move || {
            tx.try_push(1).unwrap();
            tx.try_push(2).unwrap();
        });
        let second = thread::spawn(move || other.try_push(10).unwrap());
        let mut got = Vec::new();
        while got.len() < 3 {
            match rx.try_pop() {
                Ok(item) => got.push(item),
                Err(_) => spin_loop(),
            }
        }
        first.join().unwrap();
        second.join().unwrap();
        let place = |item| got.iter().position(|got| *got == item).unwrap();
        assert!(place(1) < place(2), "{got:?}");
        assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    });
}
