//! The ring of byte records between one producer and one consumer: any sequence of calls compared
//! with a model, and two threads.

use std::collections::VecDeque;
use std::io::Write;

use corelane::bytes::ClaimError;
use corelane::record_ring::{Claim, Consumer, Producer, queue_with};
use corelane::{CapacityError, Config, Memory, TryPopError};

use super::{fill, is_record};
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, both, scaled};

/// What a record of `len` bytes counts.
fn counted(len: usize) -> usize {
    let bytes = len.next_multiple_of(8) + 8;
    if bytes < 512 { bytes } else { bytes.next_multiple_of(64) }
}

/// How a claim ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// All of it is committed.
    Commit,
    /// This percentage of it is.
    Part(usize),
    /// As much as was written through `Write`, which is half.
    Written,
    /// It is given up.
    Abort,
}

/// A call.
#[derive(Debug, Clone, Copy)]
pub enum Call {
    /// A claim of this number of bytes.
    Claim(usize, End),
    /// A pop.
    Pop,
    /// A pop whose record is forgotten: it stays in the queue.
    PopAndForget,
}

fn end(mut claim: Claim<'_>, number: u64, end: End) -> Option<usize> {
    let len = claim.len();
    fill(&mut claim, number);
    match end {
        End::Commit => {
            claim.commit();
            Some(len)
        }
        End::Part(percent) => {
            claim.commit_len(len * percent / 100);
            Some(len * percent / 100)
        }
        End::Written => {
            let half = claim[..len / 2].to_vec();
            claim.write_all(&half).expect("it fits");
            claim.commit_written();
            Some(len / 2)
        }
        End::Abort => {
            claim.abort();
            None
        }
    }
}

/// Makes these calls, and compares each answer with that of a list.
///
/// # Panics
///
/// If an answer is wrong.
pub fn compare(config: Config, calls: &[Call]) {
    let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
    assert!(tx.capacity() >= config.capacity && tx.max_len() >= config.block.unwrap_or(0));
    let mut inside: VecDeque<(u64, usize)> = VecDeque::new();
    for (number, call) in (0..).zip(calls) {
        let taken: usize = inside.iter().map(|(_, len)| counted(*len)).sum();
        assert!(tx.len() >= taken && rx.len() >= taken && tx.is_empty() == inside.is_empty());
        match *call {
            Call::Claim(len, how) => match tx.try_claim(len) {
                Ok(claim) => {
                    assert_eq!((claim.len(), claim.as_ptr() as usize % 8), (len, 0));
                    inside.extend(end(claim, number, how).map(|len| (number, len)));
                }
                Err(ClaimError::TooLarge { most, .. }) => {
                    assert!(most == tx.max_len() && len > most);
                }
                Err(error) => {
                    assert_eq!(error, ClaimError::Full);
                    assert!(taken + counted(len) > tx.capacity(), "{taken} bytes, and {len} more");
                }
            },
            Call::Pop | Call::PopAndForget => match rx.try_pop() {
                Ok(record) => {
                    let (number, len) = *inside.front().expect("the queue has a record");
                    assert!(record.len() == len && is_record(&record, number));
                    if matches!(call, Call::Pop) {
                        inside.pop_front();
                    } else {
                        std::mem::forget(record);
                    }
                }
                Err(error) => assert!(error == TryPopError::Empty && inside.is_empty()),
            },
        }
    }
    drop(tx);
    for (number, len) in inside {
        let record = rx.try_pop().expect("it was pushed");
        assert!(record.len() == len && is_record(&record, number));
    }
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
}

/// Records of each length that is possible, in each kind of memory, at each place of the ring.
/// Longer ones are refused.
pub fn every_length_one_to_one() {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        for (capacity, block) in [(1, None), (64, Some(64)), (1000, None), (1 << 12, Some(3000))] {
            let config = Config::new(capacity).memory(memory);
            let config = block.map_or(config, |block| config.block(block));
            let longest = queue_with(config).expect("possible").0.max_len();
            let calls: Vec<Call> = (0..=longest + 9)
                .chain((0..=longest).rev())
                .flat_map(|len| [Call::Claim(len, End::Commit), Call::Pop])
                .collect();
            compare(config, &calls);
        }
    }
}

/// Capacities that are not possible, and counters that wrap.
pub fn capacities_one_to_one() {
    for capacity in [0, usize::MAX, usize::MAX / 2, 1 << 60] {
        let error = queue_with(Config::new(capacity)).expect_err("not possible");
        assert!(matches!(error, CapacityError::OutOfRange { asked, .. } if asked == capacity));
    }
    let error = queue_with(Config::new(8).block(usize::MAX)).expect_err("not possible");
    assert!(matches!(error, CapacityError::OutOfRange { .. }));
    for below in [0, 1, 7, 40] {
        for wraps in [0, 1 << 32] {
            let first = u64::wrapping_sub(wraps, below);
            let calls: Vec<Call> =
                (0..200).flat_map(|n| [Call::Claim(n % 20, End::Commit), Call::Pop]).collect();
            compare(Config::new(64).first(first), &calls);
        }
    }
}

/// A stream of records of random lengths on two cores and on one. The first word says the number.
pub fn one_to_one_on_two_cores_and_on_one() {
    for (cores, records) in [(Cores::Two, 50_000), (Cores::One, 20_000)] {
        for (capacity, block) in [(64, 32), (512, 256), (1 << 14, 1 << 10)] {
            let config = Config::new(capacity).block(block).first(u64::MAX - 5000);
            let (tx, rx) = queue_with(config).expect("this capacity is possible");
            let records = scaled(records);
            both(cores, move || send(tx, records), move || receive(rx, records));
        }
    }
}

fn send(mut tx: Producer, records: u64) {
    let (mut rng, most) = (Rng::new(1), tx.max_len());
    for number in 0..records {
        let len = 8 + rng.below(most - 7);
        let mut claim = loop {
            match tx.try_claim(len) {
                Ok(_) => break tx.try_claim(len).expect("it was there"),
                Err(error) => assert_eq!(error, ClaimError::Full),
            }
            std::thread::yield_now();
        };
        fill(&mut claim[8..], number);
        claim[..8].copy_from_slice(&number.to_ne_bytes());
        match number % 8 {
            0 => claim.commit_len(8 + (len - 8) / 2),
            _ => claim.commit(),
        }
    }
}

fn receive(mut rx: Consumer, records: u64) {
    let mut next = 0_u64;
    loop {
        match rx.try_pop() {
            Ok(record) => {
                assert_eq!(record[..8], next.to_ne_bytes(), "out of order");
                assert!(is_record(&record[8..], next), "in pieces");
                next += 1;
            }
            Err(TryPopError::Closed) => break,
            Err(_) => std::thread::yield_now(),
        }
    }
    assert_eq!(next, records, "records are lost");
}
