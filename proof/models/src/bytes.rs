//! `bbq-bytes`: records of several granules, skipped ends of blocks, aborted claims, and held
//! records (paper 3 §2.4.4).
//!
//! Blocks have two or four granules, so some records fill a block, and some don't fit into the rest
//! of a block.

use corelane_loom::block::bytes::{BbqBytes, ClaimError, Consumer, Producer, queue_with};
use corelane_loom::{Config, TryPopError};
use loom::hint::spin_loop;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared};
use crate::item::Ticket;
use crate::queue::Of;
use crate::shared::{join, start};
use crate::{Exploration, Model};

/// Bytes of a granule.
const GRANULE: usize = 16;

pub(crate) fn models() -> Vec<Model> {
    let of = Of::any::<BbqBytes, Ticket>();
    vec![
        of.model("records", records),
        of.model("records_without_bytes", records_without_bytes),
        of.model("two_over_the_end", two_over_the_end),
        of.model("end_of_the_last_lap", end_of_the_last_lap),
        of.model("aborted_between_two", aborted_between_two),
        of.model("committed_in_part", committed_in_part),
        of.model("stalled_claim", stalled_claim),
        of.model("two_consumers_and_one_record", two_consumers_and_one_record),
        of.model("two_consumers_of_two_lengths", two_consumers_of_two_lengths),
        of.model("held_while_others_go_on", held_while_others_go_on),
        of.model("skipped_by_two", skipped_by_two),
        of.model("full_until_skipped", full_until_skipped),
        of.model("aborted_and_reclaimed", aborted_and_reclaimed),
        of.model("a_block_emptied_by_two", a_block_emptied_by_two),
        of.model("records_to_the_end", records_to_the_end),
    ]
}

/// A queue of `blocks` times `size` granules, whose counters are about to wrap.
fn queue(blocks: usize, size: usize) -> (Producer, Consumer) {
    let (capacity, block) = (blocks * size * GRANULE, size * GRANULE);
    let config = Config::new(capacity).block(block).first(u64::MAX);
    queue_with(config).expect("models ask for small queues")
}

/// The bytes of record `number` with so many granules. They encode both numbers.
fn record(number: u8, granules: usize) -> Vec<u8> {
    vec![number; granules * GRANULE]
}

/// Pushes record `number`, if there is room.
fn attempt(tx: &mut Producer, number: u8, granules: usize) -> bool {
    match tx.try_push(&record(number, granules)) {
        Ok(()) => true,
        Err(ClaimError::Full | ClaimError::Busy) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Pushes record `number`, for which there is room.
fn push(tx: &mut Producer, number: u8, granules: usize) {
    assert!(attempt(tx, number, granules), "there is room for record {number}");
}

/// The number of a record. Fails if the record is not whole.
fn number(bytes: &[u8]) -> u8 {
    let number = bytes[0];
    assert!(bytes.iter().all(|byte| *byte == number), "a record in pieces");
    number
}

/// Looks for a record once.
fn look(rx: &mut Consumer) -> Option<u8> {
    rx.try_pop().ok().map(|record| number(&record))
}

/// Pops all records that are there, while no other thread is at work.
fn drain(rx: &mut Consumer) -> Vec<u8> {
    let mut numbers = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(record) => numbers.push(number(&record)),
            Err(TryPopError::Busy) => panic!("no other thread is at work"),
            Err(_) => return numbers,
        }
    }
}

/// Checks that the queue gave these records, in any order, and no others.
fn are(mut numbers: Vec<u8>, mut expected: Vec<u8>) {
    numbers.sort_unstable();
    expected.sort_unstable();
    assert_eq!(numbers, expected);
}

/// Records of one to three granules go through two blocks of four, more than fit: full, empty, ends
/// of blocks.
fn records() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 4);
        let producer = start(move || {
            for (number, granules) in [(0, 3), (1, 2), (2, 3)] {
                while !attempt(&mut tx, number, granules) {
                    spin_loop();
                }
            }
        });
        for expected in 0..3 {
            let popped = loop {
                match rx.try_pop() {
                    Ok(record) => break number(&record),
                    Err(TryPopError::Closed) => panic!("closed before all records were popped"),
                    Err(_) => spin_loop(),
                }
            };
            assert_eq!(popped, expected, "first in, first out");
        }
        join([producer]);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    })
}

/// Records without bytes: a pop distinguishes them from an empty queue.
fn records_without_bytes() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 2);
        let producer = start(move || {
            (0..3).take_while(|_| tx.try_push(&[]).is_ok()).count();
            (0..3).filter(|_| tx.try_push(&[]).is_ok()).count()
        });
        let mut popped = (0..2).filter(|_| rx.try_pop().is_ok_and(|r| r.is_empty())).count();
        let pushed = 3 + join([producer])[0];
        while rx.try_pop().is_ok_and(|record| record.is_empty()) {
            popped += 1;
        }
        assert_eq!(popped, pushed);
    })
}

/// Two records that don't fit into the rest of a block. One of the two claims marks the rest as
/// skipped.
fn two_over_the_end() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(4, 2);
        push(&mut tx, 0, 1);
        let threads = [(tx.clone(), 1), (tx, 2)]
            .map(|(mut tx, number)| start(move || push(&mut tx, number, 2)));
        let mut numbers = Vec::from_iter(look(&mut rx));
        join(threads);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers[0], 0);
        are(numbers, vec![0, 1, 2]);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    })
}

/// The granules that are skipped in one lap are a record in the next lap. No consumer confuses the
/// two.
fn end_of_the_last_lap() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(2, 2);
        push(&mut tx, 0, 1);
        push(&mut tx, 1, 2);
        let mut other = rx.clone();
        let thread = start(move || look(&mut other));
        let mut numbers = Vec::from_iter(look(&mut rx));
        let pushed = (2..4).filter(|n| attempt(&mut tx, *n, 1));
        let pushed: Vec<u8> = (0..2).chain(pushed).collect();
        numbers.extend(join([thread]).remove(0));
        numbers.extend(drain(&mut rx));
        are(numbers, pushed);
    })
}

/// Another thread aborts the second of three claims: the other records are popped in order.
fn aborted_between_two() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(2, 4);
        let mut other = tx.clone();
        push(&mut tx, 0, 1);
        let threads = [
            start(move || other.try_claim(2 * GRANULE).expect("there is room").abort()),
            start(move || push(&mut tx, 1, 1)),
        ];
        let mut numbers = Vec::from_iter(look(&mut rx));
        numbers.extend(look(&mut rx));
        join(threads);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [0, 1]);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    })
}

/// Fewer bytes are committed than were claimed: the next record starts behind the claimed bytes.
fn committed_in_part() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 4);
        let producer = start(move || {
            let mut claim = tx.try_claim(3 * GRANULE).expect("there is room");
            claim[..GRANULE].fill(0);
            claim.commit_len(GRANULE);
            push(&mut tx, 1, 1);
        });
        let first = look(&mut rx);
        join([producer]);
        assert_eq!(first.into_iter().chain(drain(&mut rx)).collect::<Vec<_>>(), [0, 1]);
    })
}

/// While a claim is unfinished, a pop says busy, and never empty. Then all records come in the
/// order of their claims.
fn stalled_claim() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 4);
        let mut other = tx.clone();
        let mut claim = tx.try_claim(GRANULE).expect("there is room");
        let producer = start(move || push(&mut other, 1, 2));
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Busy));
        claim.fill(0);
        claim.commit();
        let mut numbers = Vec::new();
        match rx.try_pop() {
            Ok(record) => numbers.push(number(&record)),
            Err(error) => assert_eq!(error, TryPopError::Busy),
        }
        join([producer]);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [0, 1]);
    })
}

/// One record and two consumers: one consumer gets the record.
fn two_consumers_and_one_record() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(2, 2);
        push(&mut tx, 0, 2);
        let mut other = rx.clone();
        let thread = start(move || look(&mut other));
        let mut numbers = Vec::from_iter(look(&mut rx));
        numbers.extend(join([thread]).remove(0));
        assert_eq!(numbers, [0], "the queue can't be busy");
    })
}

/// Two consumers pop records of one length, while the producer pushes records of another length
/// over the same places. A consumer that reads an overwritten length doesn't get that record.
fn two_consumers_of_two_lengths() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(2, 2);
        push(&mut tx, 0, 1);
        push(&mut tx, 1, 1);
        push(&mut tx, 2, 1);
        let mut other = rx.clone();
        let thread = start(move || look(&mut other));
        let mut numbers: Vec<u8> = (0..2).filter_map(|_| look(&mut rx)).collect();
        let mut pushed = vec![0, 1, 2];
        pushed.extend((3..5).filter(|number| attempt(&mut tx, *number, 2)));
        numbers.extend(join([thread]).remove(0));
        numbers.extend(drain(&mut rx));
        are(numbers, pushed);
    })
}

/// One consumer holds a record, while the other consumer pops the records behind it and a producer
/// waits. The held bytes don't change.
fn held_while_others_go_on() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = queue(2, 2);
        push(&mut tx, 0, 1);
        push(&mut tx, 1, 1);
        push(&mut tx, 2, 2);
        let mut last = rx.clone();
        let threads = [rx.clone(), rx].map(|mut rx| {
            start(move || {
                let record = rx.try_pop().ok()?;
                let first = number(&record);
                assert_eq!(number(&record), first, "it is held");
                Some(first)
            })
        });
        let mut pushed = vec![0, 1, 2];
        pushed.extend(attempt(&mut tx, 3, 2).then_some(3));
        let mut numbers: Vec<u8> = join(threads).into_iter().flatten().collect();
        numbers.extend(drain(&mut last));
        are(numbers, pushed);
    })
}

/// Two consumers reach granules that are to be skipped: one consumer skips them, and both continue.
fn skipped_by_two() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = queue(2, 2);
        tx.try_claim(GRANULE).expect("there is room").abort();
        push(&mut tx, 0, 1);
        push(&mut tx, 1, 1);
        let mut last = rx.clone();
        let threads = [rx.clone(), rx].map(|mut rx| start(move || look(&mut rx)));
        let mut pushed = vec![0, 1];
        pushed.extend((2..4).filter(|number| attempt(&mut tx, *number, 1)));
        let mut numbers: Vec<u8> = join(threads).into_iter().flatten().collect();
        numbers.extend(drain(&mut last));
        are(numbers, pushed);
    })
}

/// Skipped granules belong to their block: they become free together with the block, and not
/// before.
fn full_until_skipped() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 2);
        push(&mut tx, 0, 1);
        push(&mut tx, 1, 2);
        let told = Arc::new(AtomicBool::new(false));
        let tell = told.clone();
        let consumer = start(move || {
            assert_eq!(look(&mut rx), Some(0));
            tell.store(true, Ordering::Release);
            rx
        });
        let is_told = told.load(Ordering::Acquire);
        let more = attempt(&mut tx, 2, 2);
        assert!(more || !is_told, "the first block comes back with its record");
        let mut rx = join([consumer]).remove(0);
        assert_eq!(drain(&mut rx), if more { vec![1, 2] } else { vec![1] });
    })
}

/// All entries were aborted: a claim gives their granules back, while a consumer passes them as
/// well.
fn aborted_and_reclaimed() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue(2, 2);
        for _ in 0..2 {
            tx.try_claim(2 * GRANULE).expect("there is room").abort();
        }
        let mut last = rx.clone();
        let thread = start(move || look(&mut rx));
        let pushed = attempt(&mut tx, 0, 2);
        let mut numbers = Vec::from_iter(join([thread]).remove(0));
        assert!(pushed || attempt(&mut tx, 0, 2), "no record is held");
        numbers.extend(drain(&mut last));
        assert_eq!(numbers, [0]);
    })
}

/// Two consumers empty a block whose end is skipped, and enter the next block: then there is room.
fn a_block_emptied_by_two() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = queue(2, 2);
        push(&mut tx, 0, 1);
        tx.try_claim(GRANULE).expect("there is room").abort();
        push(&mut tx, 1, 2);
        let mut last = rx.clone();
        let threads = [rx.clone(), rx].map(|mut rx| start(move || look(&mut rx)));
        let pushed = attempt(&mut tx, 2, 1);
        let mut numbers: Vec<u8> = join(threads).into_iter().flatten().collect();
        assert!(numbers.contains(&0));
        assert!(pushed || attempt(&mut tx, 2, 1), "a block is empty");
        numbers.extend(drain(&mut last));
        are(numbers, vec![0, 1, 2]);
    })
}

/// A producer is dropped after its last record, which starts in the next block. The record is
/// popped before a pop says closed.
fn records_to_the_end() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = queue(2, 2);
        let producer = start(move || {
            push(&mut tx, 0, 1);
            push(&mut tx, 1, 2);
        });
        let mut numbers = Vec::new();
        loop {
            match rx.try_pop() {
                Ok(record) => numbers.push(number(&record)),
                Err(TryPopError::Closed) => break,
                Err(_) => spin_loop(),
            }
        }
        join([producer]);
        assert_eq!(numbers, [0, 1]);
    })
}
