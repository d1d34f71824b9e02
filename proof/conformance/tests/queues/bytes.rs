//! The checks of a queue of byte records, and the rows of the project's list of bugs that apply to
//! it.
//!
//! The checks that it has as any other queue, with items for records, are in `mpmc.rs` and
//! `regressions`.

use corelane::Config;
use corelane_conformance::bytes::calls::{Call, Case, End};
use corelane_conformance::bytes::{lengths, one_to_one, threads};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

macro_rules! checks {
    ($($module:ident::$check:ident,)*) => {$(
        #[test]
        fn $check() {
            $module::$check();
        }
    )*};
}

checks! {
    lengths::every_length,
    lengths::aborted_claims_give_room_back,
    lengths::exact_when_new,
    lengths::full_leaves_the_rest,
    lengths::busy_while_a_record_is_held,
    lengths::zero_length_batch,
    lengths::capacity_overflow,
    lengths::counter_wrap_width,
    lengths::aba_on_narrow_index,
    lengths::drop_panics_mid_batch,
    one_to_one::every_length_one_to_one,
    one_to_one::capacities_one_to_one,
    one_to_one::one_to_one_on_two_cores_and_on_one,
    threads::streams_on_two_cores,
    threads::streams_on_one_core,
    threads::teardown_races_push,
    threads::batch_spills_into_version,
    threads::overtaken_claims_waste_less_than_their_length,
    threads::read_behind_stalled_writer,
}

/// Failures are saved beside this file, and tried first in the next run.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let persistence = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig {
        // The default configuration has read `PROPTEST_CASES`.
        cases: std::env::var_os("PROPTEST_CASES").map_or(4000, |_| usual.cases),
        failure_persistence: Some(Box::new(persistence)),
        ..usual
    }
}

/// Bytes of a record.
fn len() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..40_usize, 4 => 0..300_usize, 1 => 0..1100_usize]
}

fn call() -> impl Strategy<Value = Call> {
    let which = || 0..100_usize;
    prop_oneof![
        6 => len().prop_map(Call::Claim),
        4 => which().prop_map(Call::Commit),
        2 => (which(), which()).prop_map(|(index, len)| Call::CommitLen(index, len)),
        2 => which().prop_map(Call::Abort),
        8 => len().prop_map(Call::Push),
        10 => Just(Call::Pop),
        8 => which().prop_map(Call::Release),
    ]
}

/// A call that loses slots for ever.
fn loss() -> impl Strategy<Value = Call> {
    prop_oneof![(0..9_usize).prop_map(Call::ForgetClaim), (0..9_usize).prop_map(Call::ForgetRecord)]
}

fn case(call: impl Strategy<Value = Call>) -> impl Strategy<Value = Case> {
    let capacity = prop_oneof![4 => 1..300_usize, 1 => 1..3000_usize];
    let block = prop::option::of(1..600_usize);
    let first = prop_oneof![1 => Just(0), 3 => (0..200_u64).prop_map(|n| 0_u64.wrapping_sub(n))];
    let end = prop::sample::select(vec![End::Producers, End::Consumers, End::Both]);
    (capacity, block, first, vec(call, 0..120), end).prop_map(
        |(capacity, block, first, calls, end)| Case { capacity, block, first, calls, end },
    )
}

/// A call of the ring between one producer and one consumer.
fn call_one_to_one() -> impl Strategy<Value = one_to_one::Call> {
    use one_to_one::{Call, End};
    let end = prop_oneof![
        8 => Just(End::Commit),
        2 => (0..=100_usize).prop_map(End::Part),
        1 => Just(End::Written),
        2 => Just(End::Abort),
    ];
    let len = prop_oneof![8 => len(), 1 => 400..700_usize, 1 => 0..3000_usize];
    prop_oneof![
        6 => (len, end).prop_map(|(len, end)| Call::Claim(len, end)),
        5 => Just(Call::Pop),
        1 => Just(Call::PopAndForget),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_sequence_one_to_one(
        capacity in prop_oneof![3 => 1..300_usize, 1 => 1..3000_usize, 1 => 1..9000_usize],
        block in prop::option::of(0..1200_usize),
        first in prop_oneof![Just(0), (0..200_u64).prop_map(|n| 0_u64.wrapping_sub(n))],
        calls in vec(call_one_to_one(), 0..200),
    ) {
        let config = Config::new(capacity).first(first);
        one_to_one::compare(block.map_or(config, |block| config.block(block)), &calls);
    }

    #[test]
    fn any_sequence_of_calls(case in case(call())) {
        prop_assert!(case.run().is_ok());
    }

    #[test]
    fn any_sequence_with_losses(case in case(prop_oneof![30 => call(), 1 => loss()])) {
        prop_assert!(case.run().is_ok());
    }

    /// The fuzzer's input.
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert!(Case::decode(&bytes).run().is_ok());
    }
}
