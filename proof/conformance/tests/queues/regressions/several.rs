//! The rows on queues with several handles a side, and on locked queues that have the bug.

/// The rows that apply to queues with several handles a side: the row, its check, and the bugs that
/// the check must find.
macro_rules! rows_of_several {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            drop_panics_mid_batch: drops::drop_panics_mid_batch finds NoTeardownOnUnwind;
            aba_on_narrow_index: order::aba_on_narrow_index finds ViewOf8Bits ViewOf16Bits;
            counter_wrap_width: order::counter_wrap_width finds CountersOf8Bits CountersOf16Bits;
            teardown_races_push: drops::teardown_races_push finds LooksBeforeItGoes;
            double_pop: stalls::double_pop finds LooksBeforeItTakes;
            disconnect_before_data: closing::disconnect_before_data finds ClosedAfterOneLook ClosedByAnyHandle;
            false_empty: order::false_empty finds EmptyByOldCopy;
            false_empty: order::false_empty_across_threads finds EmptyByOldCopy StaysInStoreBuffer;
            false_empty: stalls::false_empty_behind_a_writer finds EmptyAtHole;
            zero_length_batch: order::zero_length_batch finds ZeroIsOne;
            batch_spills_into_version: stalls::batch_spills_into_version finds LateSlicesSpill;
            read_behind_stalled_writer: stalls::read_behind_stalled_writer finds SkipsHole WaitsAtHole;
            oversubscription_collapse: stalls::oversubscription_collapse finds TakesTurns;
            zero_sized_items: items::zero_sized_items finds CountsBytes;
            large_item_on_stack: items::large_item_on_stack finds BuildsOnStack;
        }
    };
}

/// The rows that apply only to queues that may be full.
macro_rules! rows_of_bounded {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            false_full: stalls::false_full_behind_a_reader finds FreesLate;
        }
    };
}

use corelane_conformance::items as items_of_one;
use corelane_conformance::several::{closing, drops, items, order, stalls, stress};

use super::broken::passes_and_fails;
use super::locked::{self, Bug, subject};

/// Locked queues with bugs that the checks must find.
mod on_broken {
    use super::*;

    rows_of_several! { on_broken! subject, }
    rows_of_bounded! { on_broken! subject, }

    #[test]
    fn huge() {
        passes_and_fails(
            concat!(module_path!(), "::huge"),
            || items_of_one::huge(|config| locked::queue(config, Bug::Nothing)),
            &[("BytesWrap", || {
                items_of_one::huge(|config| locked::queue(config, Bug::BytesWrap));
            })],
        );
    }

    /// Relaxed queues.
    mod relaxed {
        use corelane_harness::loose::{Bug, subject};

        use super::*;

        on_broken! { subject,
            none: order::random_mix finds TooFar TooLate Loses EmptyTooEarly FullTooEarly;
            none: order::random_mix_for_every_relaxation finds TooFar TooLate Loses EmptyTooEarly FullTooEarly;
            none: closing::disconnect_before_data finds Loses;
            none: order::false_empty finds Loses EmptyTooEarly;
            none: order::false_empty_across_threads finds Loses EmptyTooEarly FullTooEarly;
            none: drops::owned_items finds Loses;
            none: stress::singly_on_two_cores finds Loses;
            none: stress::mixed_on_one_core finds Loses;
            none: stress::mixed_for_every_relaxation finds TooFar Loses;
            none: stalls::oversubscription_collapse finds TooFar Loses;
        }
    }

    /// Checks that belong to no row.
    mod others {
        use super::*;

        on_broken! { subject,
            none: order::random_mix finds SwapsNeighbours SecondLapLosesAnItem EmptyByOldCopy;
            none: order::random_mix_for_every_batch finds SwapsNeighbours;
            none: closing::closed_by_the_last_producer finds ClosedByAnyHandle;
            none: closing::closed_by_the_last_consumer finds ClosedByAnyHandle;
            none: drops::leftovers_of_random_mixes finds NewestIsLeaked;
            none: drops::owned_items finds LooksBeforeItTakes SecondLapLosesAnItem;
            none: stress::singly_on_two_cores finds SwapsNeighbours LooksBeforeItTakes;
            none: stress::mixed_on_two_cores finds SwapsNeighbours LooksBeforeItTakes SkipsHole;
            none: stress::mixed_on_one_core finds SwapsNeighbours LooksBeforeItTakes SkipsHole;
            none: stress::handles_come_and_go finds CountsHandlesInSteps ClosedByAnyHandle;
        }
    }
}
