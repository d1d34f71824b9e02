//! The tests of a queue that may have several handles a side.

/// The checks of a first-in, first-out queue for items of any type.
macro_rules! shared_any {
    ($queue:ty) => {
        several_any! { $queue }

        #[test]
        fn memory() {
            memory::backing_is_told(&Any::<u64>::of::<$queue>());
        }

        mod full_at_once {
            use corelane_conformance::Any;
            use corelane_conformance::several::stalls;

            rows_of_bounded! { on_ours! Any<_>, $queue, }
        }
    };
}

/// The checks of a relaxed queue for items of any type.
macro_rules! relaxed_any {
    ($queue:ty) => {
        several_any! { $queue }

        mod k_fifo {
            use corelane_conformance::Any;
            use corelane_conformance::several::{order, stress};

            checks! { Any<u64>, $queue:
                order::random_mix_for_every_relaxation,
                stress::mixed_for_every_relaxation,
            }
        }
    };
}

/// The checks of a queue that may have several handles a side, first in, first out or relaxed, for
/// items of any type.
macro_rules! several_any {
    ($queue:ty) => {
        use corelane_conformance::*;

        checks! { Any<u64>, $queue:
            order::groups_of_every_size,
            order::fill_and_drain,
            capacity::exact,
            capacity::exact_when_new,
            capacity::free_again_after_drain,
            capacity::random_levels,
            capacity::full_gives_the_item_back,
            observers::counted,
            observers::counted_meanwhile,
        }

        checks! { Any<Counted>, $queue:
            drops::leftovers,
            drops::early_drop,
            wrap::leftovers_across_wraps,
        }

        mod with_several {
            use corelane_conformance::Any;
            use corelane_conformance::items::{Aligned, AlignedBeyondPages, Large, Owning};
            use corelane_conformance::several::{closing, drops, items, order, stress};

            checks! { Any<_>, $queue:
                order::random_mix,
                order::random_mix_for_every_batch,
                closing::closed_by_the_last_producer,
                closing::closed_by_the_last_consumer,
                drops::leftovers_of_random_mixes,
                drops::owned_items,
                stress::singly_on_two_cores,
                stress::mixed_on_one_core,
                stress::handles_come_and_go,
            }

            #[test]
            fn mixed_on_two_cores() {
                stress::inlined_on_two_cores::<$queue>();
            }

            items! { Any, $queue:
                tiny: u8 = 100, [u8; 3] = 100, u8 = 4096;
                large: Large = 10;
                owning: Owning = 50;
                over_aligned: Aligned = 20, AlignedBeyondPages = 4;
            }
        }

        mod regressions {
            use corelane_conformance::several::{closing, drops, items, order, stalls};
            use corelane_conformance::{Any, capacity};

            rows_of_several! { on_ours! Any<_>, $queue, }
            huge! { $queue }

            // The same checks as for other queues, where tests show that the checks can fail.
            checks! { Any<u64>, $queue:
                capacity::false_full,
                capacity::first_wrap_uninitialised,
            }

            #[test]
            fn capacity_overflow() {
                crate::shared::capacity_overflow::<$queue>();
            }

            #[test]
            fn memory_never_returned() {
                crate::regressions::leaks::memory_never_returned_of_several(&Any::of::<$queue>());
            }
        }

        mod handles {
            handles_of_shared! { $queue }
        }
    };
}

/// The checks of a queue for tokens, besides the checks with boxed items of any type.
macro_rules! shared_token {
    ($queue:ty) => {
        use corelane_conformance::several::items;

        #[test]
        fn tokens() {
            items::tokens_go_through::<$queue, Box<u64>>();
            items::tokens_go_through::<$queue, std::sync::Arc<u64>>();
            items::tokens_go_through::<$queue, &'static u64>();
            items::tokens_go_through::<$queue, &'static mut u64>();
            items::tokens_go_through::<$queue, std::num::NonZeroUsize>();
        }
    };
}

use corelane::Queue;
use corelane_conformance::{Any, capacity};

/// Impossible capacities are refused, unless the queue is a list whose nodes don't depend on the
/// capacity, which accepts any.
pub(crate) fn capacity_overflow<Q: Queue<u64> + 'static>() {
    if !["msq", "usq"].contains(&Q::INFO.id) {
        capacity::capacity_overflow(&Any::<u64>::of::<Q>());
    }
}

/// A relaxed queue behind a lock, which shows that the checks can pass.
mod loose {
    relaxed_any! { corelane_harness::loose::Loose }
}

mod scq_delayed {
    shared_any! { corelane::scq::ScqDelayed<5> }
}

/// Sides in different modes.
mod ring_rts_to_in_order {
    shared_any! { corelane::ring::Ring<corelane::ring::RelaxedTail, corelane::ring::InOrder> }
}

mod ring_in_order_to_hts {
    shared_any! { corelane::ring::Ring<corelane::ring::InOrder, corelane::ring::HeadTail> }
}

/// Calls that only `ring` has.
mod ring_alone {
    use corelane_conformance::several::bulks;

    #[test]
    fn all_or_nothing() {
        bulks::all_or_nothing();
    }

    #[test]
    fn claimed_and_looked_at() {
        bulks::claimed_and_looked_at();
    }
}
