//! The queue that overwrites. Tests of bugs that other queues had are named after them.

use corelane::block::overwriting as block;
use corelane::{CapacityError, Config, TryPopError};
use corelane_conformance::overwrite;
use proptest::prelude::*;

#[test]
fn singly_on_two_cores() {
    overwrite::singly_on_two_cores();
}

#[test]
fn mixed_on_two_cores() {
    overwrite::mixed_on_two_cores();
}

#[test]
fn mixed_on_one_core() {
    overwrite::mixed_on_one_core();
}

#[test]
fn handles_come_and_go() {
    overwrite::handles_come_and_go();
}

#[test]
fn zero_sized_items() {
    overwrite::items_of_every_size();
}

#[test]
fn disconnect_before_data() {
    overwrite::closed_by_the_last_producer();
}

#[test]
fn goes_on_without_consumers() {
    overwrite::goes_on_without_consumers();
}

/// Counters that start just below every width at which they could wrap.
#[test]
fn counter_wrap_width() {
    for bits in [8, 16, 17, 31, 32, 33, 47, 48, 63, 64] {
        let first = (u64::MAX >> (64 - bits)) - 5;
        overwrite::random_calls(Config::new(8).block(2).first(first), bits, 300);
    }
}

#[test]
fn capacity_overflow() {
    for capacity in [0, usize::MAX, usize::MAX / 2 + 2, 1 << 62] {
        let error = block::queue::<u64>(capacity).expect_err("it can't be so many");
        assert!(matches!(error, CapacityError::OutOfRange { .. }), "{error}");
    }
}

#[test]
fn zero_length_batch() {
    let (mut tx, mut rx) = block::queue(4).expect("it is small");
    assert_eq!((tx.push_slice(&[]), rx.pop_slice(&mut [])), (0, 0));
    assert_eq!((tx.try_push(1), rx.pop_slice(&mut []), rx.try_pop()), (Ok(()), 0, Ok(1)));
}

/// Slices of many times a block, of many handles, each of which adds to the same counters.
#[test]
fn batch_spills_into_version() {
    let (tx, mut rx) = block::queue_with(Config::new(8).block(4)).expect("it is small");
    let mut txs = vec![tx; 1000];
    for (number, tx) in (0u64..).zip(&mut txs) {
        assert_eq!(tx.push_slice(&[number; 30]), 30);
    }
    assert!(rx.pop_iter().all(|number| number == 999));
    assert_eq!((rx.lost(), rx.try_pop()), (30_000 - 8, Err(TryPopError::Empty)));
}

proptest! {
    #[test]
    fn random_calls(
        log_capacity in 1..7u32,
        log_batch in 0..6u32,
        first in prop_oneof![Just(0), Just(u64::MAX - 100), any::<u64>()],
        seed: u64,
    ) {
        let batch = 1 << log_batch.min(log_capacity - 1);
        let config = Config::new(1 << log_capacity).block(batch).first(first);
        overwrite::random_calls(config, seed, 200);
    }
}
