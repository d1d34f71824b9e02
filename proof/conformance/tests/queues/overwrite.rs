//! The queues that overwrite. Tests of bugs that other queues had are named after the bugs.

use corelane::block::overwriting::{self, BbqDropOld};
use corelane::seq_ring::SeqRing;
use corelane::{CapacityError, Config, Queue, TryPopError};
use corelane_conformance::overwrite;
use proptest::prelude::*;

/// The tests that both queues have.
macro_rules! tests {
    ($name:ident: $queue:ident) => {
        mod $name {
            use super::*;

            #[test]
            fn singly_on_two_cores() {
                overwrite::singly_on_two_cores::<$queue>();
            }

            #[test]
            fn mixed_on_two_cores() {
                overwrite::mixed_on_two_cores::<$queue>();
            }

            #[test]
            fn mixed_on_one_core() {
                overwrite::mixed_on_one_core::<$queue>();
            }

            #[test]
            fn handles_come_and_go() {
                overwrite::handles_come_and_go::<$queue>();
            }

            #[test]
            fn counted() {
                overwrite::counted::<$queue>();
            }

            #[test]
            fn zero_sized_items() {
                overwrite::items_come_out::<$queue, ()>([(); 3]);
            }

            #[test]
            fn items_of_every_size() {
                overwrite::items_come_out::<$queue, _>([true, false, true]);
                overwrite::items_come_out::<$queue, _>(['a', 'ß', char::MAX]);
                overwrite::items_come_out::<$queue, _>([1u8, 2, 3]);
                overwrite::items_come_out::<$queue, _>([[1u8, 2, 3], [4, 5, 6], [7, 8, 9]]);
                overwrite::items_come_out::<$queue, _>([[1u16; 7], [2; 7], [3; 7]]);
                overwrite::items_come_out::<$queue, _>([1u128, u128::MAX, 7]);
                overwrite::items_come_out::<$queue, _>([[1.5f64; 100], [2.5; 100], [3.5; 100]]);
            }

            #[test]
            fn disconnect_before_data() {
                overwrite::closed_by_the_last_producer::<$queue>();
            }

            #[test]
            fn goes_on_without_consumers() {
                overwrite::goes_on_without_consumers::<$queue>();
            }

            /// Counters that start just below every width at which they could wrap.
            #[test]
            fn counter_wrap_width() {
                for bits in [8, 16, 17, 31, 32, 33, 47, 48, 62, 63, 64] {
                    let first = (u64::MAX >> (64 - bits)) - 5;
                    let config = Config::new(8).grouped(2).first(first);
                    overwrite::random_calls::<$queue>(config, bits, 300);
                }
            }

            /// A million calls, in rings from the smallest on.
            #[test]
            fn a_million_random_calls() {
                for (seed, (capacity, block)) in
                    (0..).zip([(2, 1), (16, 1), (16, 8), (100, 16), (512, 64)])
                {
                    let config = Config::new(capacity).grouped(block).first(u64::MAX - 1000);
                    overwrite::random_calls::<$queue>(config, seed, 200_000);
                }
            }

            #[test]
            fn capacity_overflow() {
                for capacity in [0, usize::MAX, usize::MAX / 2 + 2, 1 << 62] {
                    let queue = <$queue as Queue<u64>>::with(Config::new(capacity));
                    let error = queue.err().expect("so large a capacity is refused");
                    assert!(matches!(error, CapacityError::OutOfRange { .. }), "{error}");
                }
            }

            #[test]
            fn zero_length_batch() {
                let (mut tx, mut rx) = <$queue as Queue<u64>>::with(Config::new(4)).unwrap();
                assert_eq!((tx.push_slice(&[]), rx.pop_slice(&mut [])), (0, 0));
                assert_eq!(
                    (tx.try_push(1), rx.pop_slice(&mut []), rx.try_pop()),
                    (Ok(()), 0, Ok(1))
                );
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
                    let config = Config::new(1 << log_capacity).grouped(batch).first(first);
                    overwrite::random_calls::<$queue>(config, seed, 200);
                }
            }
        }
    };
}

tests!(bbq_drop_old: BbqDropOld);
tests!(seqring: SeqRing);

/// Slices of many blocks, pushed by many handles, each of which adds to the same counters.
#[test]
fn batch_spills_into_version() {
    let (tx, mut rx) = overwriting::queue_with(Config::new(8).block(4)).expect("it is small");
    let mut txs = vec![tx; 1000];
    for (number, tx) in (0u64..).zip(&mut txs) {
        assert_eq!(tx.push_slice(&[number; 30]), 30);
    }
    assert!(rx.pop_iter().all(|number| number == 999));
    assert_eq!((rx.lost(), rx.try_pop()), (30_000 - 12, Err(TryPopError::Empty)));
}
