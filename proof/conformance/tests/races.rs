//! What ThreadSanitizer watches: the checks with several threads at work, on each queue that is not there only to compare.
//! The other checks have one thread, and the other types of items have the same accesses. Each would be one more copy of each
//! queue to build. `.ci/run` builds these tests; without the sanitizer all of them are in `queues`.
#![cfg(corelane_shipped)]

/// A test for each check, with the check's name, on a queue of this type.
macro_rules! checks {
    ($subject:ty, $queue:ty: $($module:ident::$check:ident,)*) => {$(
        #[test]
        fn $check() {
            $module::$check(&<$subject>::of::<$queue>());
        }
    )*};
}

macro_rules! single {
    ($queue:ty, $number:ty, $owned:ty) => {
        use corelane_conformance::*;

        checks! { Single<$number>, $queue:
            closing::disconnect_before_data,
            observers::head_tail_reordered,
            order::false_empty_across_threads,
            stress::batches_on_two_cores,
            stress::mixed_on_two_cores,
        }

        checks! { Single<$owned>, $queue:
            drops::teardown_races_push,
            stress::owned_items,
        }

        #[test]
        fn singly_on_two_cores() {
            stress::singly_on_two_cores::<$number, $queue>();
        }
    };
}

macro_rules! several {
    ($queue:ty) => {
        use corelane_conformance::Any;
        use corelane_conformance::several::{closing, drops, order, stalls, stress};

        checks! { Any<_>, $queue:
            closing::disconnect_before_data,
            drops::owned_items,
            drops::teardown_races_push,
            order::false_empty_across_threads,
            stalls::batch_spills_into_version,
            stalls::double_pop,
            stalls::false_empty_behind_a_writer,
            stalls::read_behind_stalled_writer,
            stress::handles_come_and_go,
            stress::singly_on_two_cores,
        }

        #[test]
        fn mixed_on_two_cores() {
            stress::inlined_on_two_cores::<$queue>();
        }
    };
}

macro_rules! overwriting {
    ($queue:ty: $($check:ident,)*) => {$(
        #[test]
        fn $check() {
            corelane_conformance::overwrite::$check::<$queue>();
        }
    )*};
}

macro_rules! queue {
    // The sanitizer doesn't see exchanges of two words. `lprq` has the same list.
    (shared $items:ident lcrq: $queue:ty) => {};
    (shared $items:ident lcrq_any: $queue:ty) => {};
    (single any $name:ident: $queue:ty) => {
        mod $name {
            single! { $queue, u64, Counted }
        }
    };
    (single token $name:ident: $queue:ty) => {
        mod $name {
            single! { $queue, std::num::NonZeroU64, Box<Counted> }
        }
    };
    (shared plain $name:ident: $queue:ty) => {
        mod $name {
            overwriting! { $queue:
                closed_by_the_last_producer,
                handles_come_and_go,
                mixed_on_two_cores,
                singly_on_two_cores,
            }
        }
    };
    ($sides:ident any $name:ident: $queue:ty) => {
        mod $name {
            several! { $queue }
        }
    };
}

corelane::for_each_queue!(queue);

mod bytes {
    macro_rules! checks {
        ($($module:ident::$check:ident,)*) => {$(
            #[test]
            fn $check() {
                corelane_conformance::bytes::$module::$check();
            }
        )*};
    }

    checks! {
        one_to_one::one_to_one_on_two_cores_and_on_one,
        threads::streams_on_two_cores,
        threads::teardown_races_push,
        threads::batch_spills_into_version,
        threads::read_behind_stalled_writer,
    }
}
