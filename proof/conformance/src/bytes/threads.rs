//! Several threads, with records of random lengths. The first bytes of a record determine the
//! others.

use corelane::block::bytes::queue_with;
use corelane::bytes::{ClaimError, Consumer, Producer};
use corelane::{Config, TryPopError};

use super::{fill, is_record};
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, Together, all, both, scaled};

/// Bytes at the start of a record: its producer's number and its own.
const HEAD: usize = 16;

/// How a queue is used.
#[derive(Debug, Clone, Copy)]
struct Habits {
    config: Config,
    sides: (usize, usize),
    cores: Cores,
    /// Records of each producer.
    each: u64,
}

/// A number for a record that no other record has.
fn mixed(producer: u64, number: u64) -> u64 {
    producer << 40 | number
}

/// Sends records of any length, some shorter than their claims, and aborts claims between them.
fn send(tx: &mut Producer, producer: u64, each: u64, patience: &mut Together) {
    let mut rng = Rng::new(producer);
    let most = tx.max_len();
    let mut number = 0;
    while number < each {
        let len = HEAD + rng.below(most - HEAD + 1);
        let mut claim = match tx.try_claim(len) {
            Ok(claim) => claim,
            Err(ClaimError::Full | ClaimError::Busy) => {
                patience.wait();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        fill(&mut claim[HEAD..], mixed(producer, number));
        claim[..8].copy_from_slice(&producer.to_ne_bytes());
        claim[8..HEAD].copy_from_slice(&number.to_ne_bytes());
        match rng.below(8) {
            0 => claim.abort(),
            1 => {
                let less = HEAD + rng.below(len - HEAD + 1);
                claim.commit_len(less);
                number += 1;
            }
            _ => {
                claim.commit();
                number += 1;
            }
        }
        patience.moved();
    }
}

/// Receives records, and returns how many came from each producer.
fn receive(rx: &mut Consumer, producers: usize, patience: &mut Together) -> Vec<u64> {
    let (mut counts, mut next) = (vec![0; producers], vec![0; producers]);
    loop {
        match rx.try_pop() {
            Ok(record) => {
                let word = |at: usize| {
                    u64::from_ne_bytes(record[at..at + 8].try_into().expect("eight bytes"))
                };
                let (producer, number) = (word(0), word(8));
                assert!(is_record(&record[HEAD..], mixed(producer, number)), "in pieces");
                let next = &mut next[producer as usize];
                assert!(number >= *next, "{number} of producer {producer} comes late");
                *next = number + 1;
                counts[producer as usize] += 1;
            }
            Err(TryPopError::Closed) => return counts,
            Err(_) => {
                patience.wait();
                continue;
            }
        }
        patience.moved();
    }
}

/// Lets a thread for each handle send or receive.
fn stream(habits: Habits) {
    let (tx, rx) = queue_with(habits.config).expect("this capacity is possible");
    let (producers, consumers) = habits.sides;
    let progress = &Progress::of(producers + consumers);
    let mut tasks: Vec<Task<Vec<u64>>> = Vec::new();
    for (producer, mut tx) in vec![tx; producers].into_iter().enumerate() {
        tasks.push(Box::new(move || {
            send(&mut tx, producer as u64, habits.each, &mut progress.patience(producer));
            Vec::new()
        }));
    }
    for (consumer, mut rx) in vec![rx; consumers].into_iter().enumerate() {
        let patience = move || progress.patience(producers + consumer);
        tasks.push(Box::new(move || receive(&mut rx, producers, &mut patience())));
    }
    let mut counts = vec![0; producers];
    for received in all(habits.cores, tasks) {
        received.iter().zip(&mut counts).for_each(|(n, count)| *count += n);
    }
    assert_eq!(counts, vec![habits.each; producers], "records are lost or doubled");
}

/// Streams between all numbers of threads, in queues of a few shapes.
fn streams(cores: Cores, each: u64) {
    for sides in [(1, 1), (2, 2), (4, 1), (1, 4), (4, 4)] {
        for (capacity, block) in [(64, 32), (512, 256), (1 << 14, 1 << 10)] {
            let config = Config::new(capacity).block(block).first(u64::MAX - 5000);
            stream(Habits { config, sides, cores, each: scaled(each / sides.0 as u64) });
        }
    }
}

/// Streams on two cores.
pub fn streams_on_two_cores() {
    streams(Cores::Two, 20_000);
}

/// Streams on one core.
pub fn streams_on_one_core() {
    streams(Cores::One, 10_000);
}

/// Handles are dropped while others push and pop, in any order (row `teardown_races_push`).
pub fn teardown_races_push() {
    for round in 0..scaled(600) as usize {
        let config = Config::new(256).block(64 << (round % 2)).first(round as u64 % 29);
        let (tx, rx) = queue_with(config).expect("this capacity is possible");
        let progress = &Progress::of(4);
        let mut tasks: Vec<Task<()>> = Vec::new();
        for (n, mut tx) in vec![tx; 2].into_iter().enumerate() {
            let sends = (round + n) * 7 % 50;
            tasks.push(Box::new(move || {
                let mut patience = progress.patience(n);
                (0..sends).all(|i| push_until_closed(&mut tx, i % 64, &mut patience));
            }));
        }
        for (n, mut rx) in vec![rx; 2].into_iter().enumerate() {
            let receives = (round + n) * 11 % 50;
            tasks.push(Box::new(move || {
                let mut patience = progress.patience(2 + n);
                (0..receives).all(|_| pop_until_closed(&mut rx, &mut patience));
            }));
        }
        all(Cores::Two, tasks);
    }
}

/// Pushes a record, waiting for room. `false` if all consumers are gone.
fn push_until_closed(tx: &mut Producer, len: usize, patience: &mut Together) -> bool {
    let bytes = [len as u8; 64];
    loop {
        match tx.try_push(&bytes[..len]) {
            Ok(()) => break,
            Err(ClaimError::Closed) => return false,
            Err(ClaimError::TooLarge { .. }) => panic!("too large"),
            Err(_) => patience.wait(),
        }
    }
    patience.moved();
    true
}

/// Pops a record, waiting for it. `false` if all producers are gone and no record is left.
fn pop_until_closed(rx: &mut Consumer, patience: &mut Together) -> bool {
    loop {
        match rx.try_pop() {
            Ok(record) => {
                assert!(record.iter().all(|byte| usize::from(*byte) == record.len()));
                break;
            }
            Err(TryPopError::Closed) => return false,
            Err(_) => patience.wait(),
        }
    }
    patience.moved();
    true
}

/// Many producers claim records as long as a block when a block has just become full, again and
/// again (row `batch_spills_into_version`).
pub fn batch_spills_into_version() {
    for (block, producers, cores) in [(1024, 16, Cores::Two), (32, 16, Cores::One)] {
        let config = Config::new(2 * block).block(block).first(u64::MAX - 1000);
        let each = scaled(4000);
        let (tx, mut rx) = queue_with(config).expect("this capacity is possible");
        let progress = &Progress::of(producers + 1);
        let mut tasks: Vec<Task<()>> = Vec::new();
        for (n, mut tx) in vec![tx; producers].into_iter().enumerate() {
            tasks.push(Box::new(move || {
                let (mut patience, mut rng) = (progress.patience(n), Rng::new(n as u64));
                for _ in 0..each {
                    let len = block - rng.below(block / 2);
                    let bytes = vec![n as u8; len];
                    while tx.try_push(&bytes).is_err() {
                        patience.wait();
                    }
                    patience.moved();
                }
            }));
        }
        tasks.push(Box::new(move || {
            let mut patience = progress.patience(producers);
            let mut popped = 0;
            loop {
                match rx.try_pop() {
                    Ok(record) => assert!(record.iter().all(|byte| *byte == record[0])),
                    Err(TryPopError::Closed) => break,
                    Err(_) => {
                        patience.wait();
                        continue;
                    }
                }
                popped += 1;
                patience.moved();
            }
            assert_eq!(popped, each * producers as u64);
        }));
        all(cores, tasks);
    }
    late_claims_in_one_thread();
}

/// Many handles, each of which claims a whole block of a full queue, many times a lap.
fn late_claims_in_one_thread() {
    let (tx, mut rx) = queue_with(Config::new(256).block(256)).expect("this capacity is possible");
    let mut txs = vec![tx; 300];
    let long = [1; 256];
    for lap in 0..scaled(100) {
        for part in 0..2 {
            txs[0].try_push(&[0; 16]).expect("a block is free");
            let pushed = txs.iter_mut().filter_map(|tx| tx.try_push(&long).ok()).count();
            assert_eq!(pushed, 1, "in lap {lap}, {part}");
            assert!(txs.iter_mut().all(|tx| tx.try_push(&long) == Err(ClaimError::Full)));
            assert!([16, 256].iter().all(|len| rx.try_pop().is_ok_and(|r| r.len() == *len)));
        }
    }
}

/// Bytes of a block that a record of `len` bytes takes.
fn rounded(len: usize) -> usize {
    len.next_multiple_of(16).max(16)
}

/// A long claim that short claims overtake leaves the rest of a block unused: less than its own
/// length, and once in each block. So a new queue accepts its whole capacity, if no record is
/// longer than half of a block. An empty queue accepts its capacity, whatever has been left unused.
pub fn overtaken_claims_waste_less_than_their_length() {
    for (capacity, block) in [(256, 256), (1024, 256), (1 << 14, 1 << 10)] {
        for longest in [block, block / 2, block / 4] {
            let config = Config::new(capacity).block(block).first(u64::MAX - 5000);
            let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
            let (blocks, wasted) = (2 * tx.capacity() / block, rounded(longest) - 16);
            for round in 0..scaled(100) as usize {
                let (records, bytes) = fill_by_several(&tx, longest);
                // An earlier round may have used a part of the first block.
                let whole = blocks - round.min(1);
                assert!(bytes >= whole * (block - wasted), "{bytes} in {blocks} of {block}");
                assert!(round > 0 || longest == block || bytes >= tx.capacity(), "{bytes} fit");
                assert!((0..records).all(|_| rx.try_pop().is_ok()), "records are lost");
                takes_its_capacity(&mut tx, &mut rx);
                pass_by_several(&tx, &mut rx, longest, round as u64);
                takes_its_capacity(&mut tx, &mut rx);
            }
        }
    }
}

/// Two producers of the longest records and two producers of short records push until there is no
/// room. Returns the number of records, and the bytes that they take.
fn fill_by_several(tx: &Producer, longest: usize) -> (usize, usize) {
    let mut tasks: Vec<Task<(usize, usize)>> = Vec::new();
    for len in [longest, 16, longest, 1] {
        let mut tx = tx.clone();
        let bytes = vec![0; len];
        tasks.push(Box::new(move || {
            let records = (0..).take_while(|_| tx.try_push(&bytes).is_ok()).count();
            (records, records * rounded(len))
        }));
    }
    let filled = all(Cores::Two, tasks);
    filled.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Three producers push records of any length, and abort some claims, while a consumer pops as many
/// records and doesn't look for more.
fn pass_by_several(tx: &Producer, rx: &mut Consumer, longest: usize, seed: u64) {
    const EACH: u64 = 30;
    let progress = &Progress::of(4);
    let mut tasks: Vec<Task<()>> = Vec::new();
    for n in 0..3 {
        let mut tx = tx.clone();
        tasks.push(Box::new(move || {
            let (mut patience, mut rng) = (progress.patience(n), Rng::new(3 * seed + n as u64));
            let mut pushed = 0;
            while pushed < EACH {
                let len = if n == 0 { 16 } else { 1 + rng.below(longest) };
                let Ok(claim) = tx.try_claim(len) else {
                    patience.wait();
                    continue;
                };
                if rng.below(8) == 0 {
                    claim.abort();
                } else {
                    claim.commit();
                    pushed += 1;
                }
                patience.moved();
            }
        }));
    }
    tasks.push(Box::new(move || {
        let mut patience = progress.patience(3);
        for _ in 0..3 * EACH {
            while rx.try_pop().is_err() {
                patience.wait();
            }
            patience.moved();
        }
    }));
    all(Cores::Two, tasks);
}

/// Checks that an empty queue without held records accepts its capacity in the longest records.
fn takes_its_capacity(tx: &mut Producer, rx: &mut Consumer) {
    let long = vec![0; tx.max_len()];
    let records = tx.capacity() / long.len();
    assert!((0..records).all(|_| tx.try_push(&long) == Ok(())), "false full");
    assert!((0..records).all(|_| rx.try_pop().is_ok()), "records are lost");
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
}

/// An unfinished claim blocks the records behind it until it is finished. It is not skipped (row
/// `read_behind_stalled_writer`).
pub fn read_behind_stalled_writer() {
    for round in 0..scaled(300) as usize {
        let (mut tx, mut rx) =
            queue_with(Config::new(1024).block(512)).expect("this capacity is possible");
        let mut other = tx.clone();
        let stalled = tx.try_claim(100).expect("the queue is new");
        let write = move || {
            other.try_push(b"behind").expect("there is room");
        };
        let read = || {
            for _ in 0..round {
                assert_eq!(rx.try_pop().err(), Some(TryPopError::Busy));
            }
        };
        both(Cores::Two, write, read);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Busy));
        if round % 2 == 0 {
            stalled.commit_len(3);
            assert_eq!(rx.try_pop().map(|record| record.len()), Ok(3));
        } else {
            drop(stalled);
        }
        assert_eq!(*rx.try_pop().expect("nothing is in the way"), *b"behind");
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    }
}
