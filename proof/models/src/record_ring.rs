//! `recordring`: records of several words, the skipped end of the ring, and handles that go on
//! where others stopped.
//!
//! Rings have 8 words. Records take 1 to 3 of them, with their header.

use corelane_loom::record_ring::{Consumer, Heir, INFO, Producer, queue_with};
use corelane_loom::{Config, TryPopError, bytes::ClaimError};
use loom::hint::spin_loop;

use crate::explore::{both, explore};
use crate::queue::Of;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::other(INFO);
    vec![
        of.model("records_of_lengths", records_of_lengths),
        of.model("skipped_end", skipped_end),
        of.model("full_until_given_back", full_until_given_back),
        of.model("committed_in_part_and_aborted", committed_in_part_and_aborted),
        of.model("records_before_closed", records_before_closed),
        of.model("watched_from_both_sides", watched_from_both_sides),
        of.model("record_producer_follows_another", producer_follows_another),
        of.model("record_consumer_follows_another", consumer_follows_another),
    ]
}

/// A ring of 8 words, whose counters wrap after `before` words.
fn config(before: u64) -> Config {
    Config::new(24).block(16).first(0_u64.wrapping_sub(before))
}

fn queue(before: u64) -> (Producer, Consumer) {
    queue_with(config(before)).expect("small")
}

/// The bytes of record `number`, which has `words` words.
fn record(number: u8, words: usize) -> Vec<u8> {
    vec![number; 8 * words]
}

/// Pushes record `number`, if there is room.
fn attempt(tx: &mut Producer, number: u8, words: usize) -> bool {
    match tx.try_push(&record(number, words)) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error, ClaimError::Full);
            false
        }
    }
}

/// Looks for record `number` once.
fn look(rx: &mut Consumer, number: u8, words: usize) -> bool {
    match rx.try_pop() {
        Ok(found) => {
            assert_eq!(*found, record(number, words), "first in, first out, and whole");
            true
        }
        Err(_) => false,
    }
}

/// Pops this record, when it is there.
fn pop(rx: &mut Consumer, number: u8, words: usize) {
    while !look(rx, number, words) {
        spin_loop();
    }
}

/// Records of different lengths go through, more than fit.
fn records_of_lengths() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2);
        both(
            move || {
                for (number, words) in [(0, 2), (1, 0), (2, 1), (3, 2)] {
                    while !attempt(&mut tx, number, words) {
                        spin_loop();
                    }
                }
            },
            move || [(0, 2), (1, 0), (2, 1), (3, 2)].map(|(n, words)| pop(&mut rx, n, words)),
        );
    })
}

/// A record doesn't fit before the end of the ring, where older records lay.
fn skipped_end() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(6);
        for number in 0..2 {
            assert!(attempt(&mut tx, number, 1));
            pop(&mut rx, number, 1);
        }
        let ((mut tx, pushed), (mut rx, popped)) = both(
            move || {
                let pushed = (2..5).take_while(|&n| attempt(&mut tx, n, 2)).count() as u8;
                (tx, 2 + pushed)
            },
            move || {
                let popped = (2..4).take_while(|&n| look(&mut rx, n, 2)).count() as u8;
                (rx, 2 + popped)
            },
        );
        (popped..pushed).for_each(|n| pop(&mut rx, n, 2));
        assert!(rx.is_empty() && rx.try_pop().is_err() && attempt(&mut tx, 0, 2));
    })
}

/// The producer writes over a record only after the consumer has dropped it.
fn full_until_given_back() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(0);
        let first = (0..).take_while(|&n| attempt(&mut tx, n, 2)).count() as u8;
        let (pushed, (rx, popped)) = both(
            move || {
                first + (first..first + 2).take_while(|&n| attempt(&mut tx, n, 2)).count() as u8
            },
            move || {
                let popped = (0..2).take_while(|&n| look(&mut rx, n, 2)).count() as u8;
                (popped..first).for_each(|n| pop(&mut rx, n, 2));
                let more = (first..first + 2).take_while(|&n| look(&mut rx, n, 2)).count() as u8;
                (rx, first + more)
            },
        );
        drop(rx);
        assert!(first >= 2 && popped <= pushed);
    })
}

/// Less is committed than was claimed, and a claim is given up.
fn committed_in_part_and_aborted() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(1);
        both(
            move || {
                let mut claim = tx.try_claim(16).expect("there is room");
                claim[..8].fill(0);
                claim.commit_len(8);
                tx.try_claim(16).expect("there is room").abort();
                assert!(attempt(&mut tx, 1, 0));
            },
            move || {
                pop(&mut rx, 0, 1);
                pop(&mut rx, 1, 0);
            },
        );
    })
}

/// The producer is dropped after its last record. A pop says closed only behind it.
fn records_before_closed() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2);
        let ((), popped) = both(
            move || assert!(attempt(&mut tx, 0, 0) && attempt(&mut tx, 1, 2)),
            move || {
                let mut popped = Vec::new();
                loop {
                    match rx.try_pop() {
                        Ok(record) => popped.push(record.len()),
                        Err(TryPopError::Closed) => return popped,
                        Err(_) => spin_loop(),
                    }
                }
            },
        );
        assert_eq!(popped, [0, 16]);
    })
}

/// Each side asks how much is inside while the other one works.
fn watched_from_both_sides() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(8);
        assert!(attempt(&mut tx, 0, 1));
        both(
            move || {
                let before = tx.len();
                assert!(before == 0 || before == 16, "{before}");
                assert!(attempt(&mut tx, 1, 2) && [24, 40].contains(&tx.len()));
            },
            move || {
                assert!([16, 40].contains(&rx.len()) && !rx.is_empty());
                pop(&mut rx, 0, 1);
                let after = rx.len();
                assert!(after == 0 || after == 24, "{after}");
            },
        );
    })
}

/// A producer goes on where another one has stopped, while the consumer pops.
fn producer_follows_another() -> Exploration {
    explore(|| {
        let (tx, rx) = Heir::both(config(4)).expect("small");
        let mut rx = rx.consumer().expect("it is new");
        let next = tx.clone();
        let (tx, (mut rx, popped)) = both(
            move || {
                let mut first = tx.producer().expect("it is new");
                assert!(attempt(&mut first, 0, 1));
                let mut second = next.producer().expect("the first has left it so");
                assert_eq!(second.count(), 1);
                assert!(attempt(&mut second, 1, 2));
                second
            },
            move || {
                let popped = (0..2).take_while(|&n| look(&mut rx, n, 1 + n as usize)).count() as u8;
                (rx, popped)
            },
        );
        (popped..2).for_each(|n| pop(&mut rx, n, 1 + n as usize));
        drop(tx);
        assert!(rx.try_pop().is_err());
    })
}

/// A consumer goes on where another one has stopped, while the producer writes over what both give
/// back.
fn consumer_follows_another() -> Exploration {
    explore(|| {
        let (tx, rx) = Heir::both(config(2)).expect("small");
        let mut tx = tx.producer().expect("it is new");
        let pushed = (0..).take_while(|&n| attempt(&mut tx, n, 1)).count() as u8;
        let next = rx.clone();
        let (pushed, mut rx) = both(
            move || {
                pushed + (pushed..pushed + 2).take_while(|&n| attempt(&mut tx, n, 1)).count() as u8
            },
            move || {
                let mut first = rx.consumer().expect("it is new");
                pop(&mut first, 0, 1);
                let mut second = next.consumer().expect("the first has left it so");
                assert_eq!(second.count(), 1);
                pop(&mut second, 1, 1);
                second
            },
        );
        (2..pushed).for_each(|n| pop(&mut rx, n, 1));
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    })
}
