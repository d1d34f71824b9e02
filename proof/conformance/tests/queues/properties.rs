//! Random sequences of calls, on every queue with every kind of item, compared with a model.
//!
//! A failure is shrunk to a few calls on a small queue, saved beside this file and tried first in
//! the next run. `PROPTEST_CASES` sets how many sequences each test tries.

mod broken;

use std::num::NonZeroU64;

use corelane::lamport::Lq;
use corelane::{BoxedSingleConsumer, BoxedSingleProducer, Config, Memory, Queue};
use corelane_conformance::items::{Aligned, Nothing};
use corelane_conformance::model::{Call, Model, Read, Slices, Written};
use corelane_conformance::{Counted, Item, Ledger, Single};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseError, TestError, TestRunner};

use broken::Bug;

/// Sequences for each queue and kind of item.
pub(crate) const CASES: u32 = 1500;
/// The same for queues that have a thread of their own.
pub(crate) const CASES_WITH_THREADS: u32 = 100;

fn config(cases: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let persistence = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig {
        // The default configuration has read the variable.
        cases: std::env::var_os("PROPTEST_CASES").map_or(cases, |_| usual.cases),
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(persistence)),
        ..usual
    }
}

/// A queue's options.
#[derive(Debug, Clone, Copy)]
struct Setup {
    capacity: usize,
    batch: Option<usize>,
    first: u64,
    memory: Memory,
}

impl Setup {
    fn config(self, most: usize) -> Config {
        let config = Config::new(self.capacity.min(most)).first(self.first).memory(self.memory);
        self.batch.map_or(config, |batch| config.grouped(batch))
    }
}

fn setup() -> impl Strategy<Value = Setup> {
    let capacity = prop_oneof![8 => 1..=70_usize, 1 => 100..1100_usize];
    let batch = prop::option::of(prop_oneof![4 => 0..80_usize, 1 => 80..2000_usize]);
    // Just before the end of every width that a counter could have; 0 stands for 2^64.
    let ends = vec![0, 1 << 63, 1 << 48, 1 << 32, 1 << 31, 1 << 16, 1 << 15, 1 << 8, 1 << 7];
    let before = (prop::sample::select(ends), 0..200_u64);
    let first = prop_oneof![Just(0), before.prop_map(|(end, n)| u64::wrapping_sub(end, n))];
    let memory = prop_oneof![
        20 => Just(Memory::Heap),
        1 => Just(Memory::HugePages),
        1 => Just(Memory::Mirrored),
    ];
    (capacity, batch, first, memory).prop_map(|(capacity, batch, first, memory)| Setup {
        capacity,
        batch,
        first,
        memory,
    })
}

/// Limits a capacity. Values are shrunk in their order: first the capacity, then the calls, then
/// this limit, and so the capacity for the calls that are left.
fn most() -> impl Strategy<Value = usize> {
    1..2000_usize
}

/// The number of items of a call.
fn amount() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..6_usize, 6 => 0..80_usize, 1 => 80..1200_usize]
}

/// The number of items asked for, where any number is allowed.
fn wanted() -> impl Strategy<Value = usize> {
    prop_oneof![10 => amount(), 1 => Just(usize::MAX)]
}

fn written() -> impl Strategy<Value = Written> {
    prop_oneof![
        1 => Just(Written::Dropped),
        3 => amount().prop_map(Written::Committed),
        3 => amount().prop_map(Written::Filled),
    ]
}

fn read() -> impl Strategy<Value = Read> {
    prop_oneof![
        1 => Just(Read::Dropped),
        3 => amount().prop_map(Read::Committed),
        1 => Just(Read::AllCommitted),
        2 => amount().prop_map(Read::Taken),
        2 => amount().prop_map(Read::TakenAndForgotten),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        12 => Just(Call::TryPush),
        4 => amount().prop_map(Call::PushSlice),
        4 => (amount(), any::<bool>()).prop_map(|(items, sized)| Call::PushIter { items, sized }),
        8 => (wanted(), written()).prop_map(|(n, end)| Call::WriteChunk(n, end)),
        3 => wanted().prop_map(Call::FreeSlots),
        2 => Just(Call::IsFull),
        2 => Just(Call::Flush),
        1 => Just(Call::DropProducer),
        12 => Just(Call::TryPop),
        4 => amount().prop_map(Call::PopSlice),
        4 => amount().prop_map(Call::PopIter),
        8 => (wanted(), read()).prop_map(|(n, end)| Call::ReadChunk(n, end)),
        3 => wanted().prop_map(Call::Available),
        2 => Just(Call::Len),
        2 => Just(Call::IsEmpty),
        1 => Just(Call::DropConsumer),
        2 => Just(Call::Look),
    ]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    vec(call(), 0..80)
}

/// The preparations before the first item of a queue, and the checks after the last one.
pub(crate) trait Kind: Item {
    fn begin() {}
    fn settle() {}
}

impl Kind for u64 {}
impl Kind for NonZeroU64 {}
impl Kind for Aligned {}

impl Kind for Counted {
    fn begin() {
        Ledger::begin(200_000);
    }

    fn settle() {
        Ledger::end().settle();
    }
}

impl Kind for Box<Counted> {
    fn begin() {
        Counted::begin();
    }

    fn settle() {
        Counted::settle();
    }
}

impl Kind for Nothing {
    fn settle() {
        assert_eq!(Self::alive(), 0, "items are lost, or dropped twice");
    }
}

/// The slices of a queue for items of type `T`.
type SlicesOf<T> = Slices<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;

/// Tries `cases` sequences of calls on queues like `subject`.
pub(crate) fn holds<T: Kind>(subject: &Single<T>, cases: u32, slices: fn() -> Option<SlicesOf<T>>) {
    proptest!(config(cases), |(setup in setup(), calls in calls(), most in most())| {
        T::begin();
        let mut model = Model::new(subject.open(setup.config(most)), subject.info, slices());
        model.call(Call::Look);
        calls.into_iter().for_each(|call| model.call(call));
        drop(model);
        T::settle();
    });
}

macro_rules! properties_of_any {
    ($queue:ty, $cases:expr) => {
        use corelane_conformance::Single;
        use corelane_conformance::model::Slices;

        use corelane_conformance::Counted;
        use corelane_conformance::items::{Aligned, Nothing};

        use crate::properties::holds;

        #[test]
        fn numbers() {
            holds::<u64>(&Single::of::<$queue>(), $cases, || Some(Slices::of_queue()));
        }

        #[test]
        fn large() {
            holds::<Aligned>(&Single::of::<$queue>(), $cases, || Some(Slices::of_queue()));
        }

        #[test]
        fn owned() {
            holds::<Counted>(&Single::of::<$queue>(), $cases, || None);
        }

        #[test]
        fn zero_sized() {
            holds::<Nothing>(&Single::of::<$queue>(), $cases, || None);
        }
    };
}

macro_rules! properties_of_tokens {
    ($queue:ty) => {
        use std::num::NonZeroU64;

        use corelane_conformance::Single;
        use corelane_conformance::model::Slices;

        use corelane_conformance::Counted;

        use crate::properties::{CASES, holds};

        #[test]
        fn numbers() {
            holds::<NonZeroU64>(&Single::of::<$queue>(), CASES, || Some(Slices::of_queue()));
        }

        #[test]
        fn owned() {
            holds::<Box<Counted>>(&Single::of::<$queue>(), CASES, || None);
        }
    };
}

/// Lists of other kinds of rings: exact rings, rings that publish items late, rings that copy the
/// items they lend.
mod lists_of {
    mod ffq {
        properties_of_any! { corelane::segmented::Uspsc<corelane::fast_forward::FfqAny>, crate::properties::CASES }
    }

    mod mcring {
        properties_of_any! { corelane::segmented::Uspsc<corelane::mc_ring::McRing>, crate::properties::CASES }
    }
}

/// Queues with a bug: a short sequence of calls shows it.
mod seeded {
    use super::*;

    /// The calls and the capacity to which a failure is shrunk, if there is one.
    fn found(bug: Bug) -> Option<(Vec<Call>, usize)> {
        // Enough cases, whatever the environment asks for.
        let config = ProptestConfig { failure_persistence: None, cases: 1000, ..config(CASES) };
        let outcome = TestRunner::new(config).run(
            &(1..=70_usize, calls(), most()),
            |(capacity, calls, most)| {
                let run = || {
                    let queue = broken::queue(capacity.min(most), bug);
                    let mut model =
                        Model::new(queue, <Lq as Queue<u64>>::INFO, Some(Slices::of_queue()));
                    calls.into_iter().for_each(|call| model.call(call));
                };
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
                    .map_err(|_| TestCaseError::fail("an answer is wrong"))
            },
        );
        match outcome {
            Ok(()) => None,
            Err(TestError::Fail(_, (capacity, calls, most))) => Some((calls, capacity.min(most))),
            Err(abort) => panic!("{abort}"),
        }
    }

    /// Checks that the bug is found, and that a few calls on a small queue show it.
    ///
    /// Two to four calls suffice. Shrinking may stop with more: when the test fails with none of
    /// these calls left out.
    fn is_found(bug: Bug) {
        let (calls, capacity) = found(bug).expect("the bug is found");
        assert!(capacity <= 2 && calls.len() <= 8, "{calls:?} on {capacity} slots");
    }

    #[test]
    fn the_queue_without_a_bug() {
        assert!(found(Bug::None).is_none());
    }

    #[test]
    fn second_lap_loses_an_item() {
        is_found(Bug::SecondLapLosesAnItem);
    }

    #[test]
    fn full_is_counted_short() {
        is_found(Bug::FullIsCountedShort);
    }

    #[test]
    fn closed_before_the_last_item() {
        is_found(Bug::ClosedBeforeTheLastItem);
    }

    #[test]
    fn dropped_chunk_comes_twice() {
        is_found(Bug::DroppedChunkComesTwice);
    }
}
