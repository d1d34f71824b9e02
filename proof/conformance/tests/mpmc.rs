//! All checks on all queues that may have several handles a side.

use corelane::ring::{HeadTail, InOrder, RelaxedTail, Ring};
use corelane::{
    MpmcQueue, for_each_mpmc_queue, for_each_mpmc_token_queue, for_each_unbounded_mpmc_queue,
};
use corelane_conformance::{Limited, Several, capacity, checks, drops, memory, order, wrap};

/// What one handle a side must do, as in every queue.
macro_rules! one_a_side {
    ($queue:ty) => {
        checks! { $queue:
            order::fifo,
            order::fill_and_drain,
            capacity::exact_when_new,
            capacity::free_again_after_drain,
            capacity::full_gives_the_item_back,
            drops::leftovers,
            drops::early_drop,
            wrap::leftovers_across_wraps,
        }
    };
}

/// What several must do.
macro_rules! several {
    ($queue:ty) => {
        use corelane_conformance::several::{closing, drops, items, order, stress};

        checks! { $queue:
            order::random_mix,
            order::random_mix_for_every_batch,
            closing::closed_by_the_last_producer,
            closing::closed_by_the_last_consumer,
            drops::leftovers_of_random_mixes,
            drops::owned_items,
            items::tiny,
            items::large,
            items::owning,
            items::over_aligned,
            stress::singly_on_two_cores,
            stress::mixed_on_two_cores,
            stress::mixed_on_one_core,
            stress::handles_come_and_go,
        }
    };
}

macro_rules! checks_of {
    ($queue:ty) => {
        one_a_side! { Several<$queue> }

        mod with_several {
            use super::*;

            several! { $queue }
        }
    };
}

macro_rules! all_checks {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            checks_of! { $queue }

            #[test]
            fn memory() {
                let build = |config| <$queue as MpmcQueue>::channel::<u64>(config).unwrap();
                let backing = |tx: &<$queue as MpmcQueue>::Producer<u64>| tx.backing();
                memory::backing_is_told(build, backing);
            }
        }
    };
}

macro_rules! for_unbounded {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            checks_of! { Limited<$queue> }
        }
    };
}

macro_rules! for_tokens {
    ($name:ident, $queue:ty) => {
        mod $name {
            use corelane_conformance::several::items;

            use super::*;

            checks! { $queue: items::tokens, }
        }
    };
}

/// Queues whose slots take tokens.
mod packed {
    use super::*;

    for_each_mpmc_token_queue!(for_tokens);
}

for_each_mpmc_queue!(all_checks);
all_checks!(scq_delayed, corelane::scq::Scq<5>);
// Sides in different modes.
all_checks!(ring_rts_to_in_order, Ring<RelaxedTail, InOrder>);
all_checks!(ring_in_order_to_hts, Ring<InOrder, HeadTail>);
for_each_unbounded_mpmc_queue!(for_unbounded);

/// What only `ring` can.
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
