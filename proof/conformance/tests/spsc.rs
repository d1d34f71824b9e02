//! All checks on all queues between one producer and one consumer.

use corelane::{
    SpscQueue, for_each_spsc_queue, for_each_spsc_token_queue, for_each_unbounded_spsc_queue,
};
use corelane_conformance::{
    Any, Limited, Tokens, capacity, checks, chunks, closing, drops, items, memory, observers,
    order, stress, wrap,
};

/// What every queue must do, whatever its items.
macro_rules! common {
    ($queue:ty) => {
        checks! { $queue:
            order::fifo,
            order::fill_and_drain,
            order::random_mix,
            order::random_mix_for_every_batch,
            capacity::exact_when_new,
            capacity::exact_when_new_by_chunks,
            capacity::free_again_after_drain,
            capacity::full_gives_the_item_back,
            observers::observed_after_chunks,
            chunks::every_length_at_every_offset,
            chunks::around_the_end_of_pages,
            chunks::dropped_chunks,
            chunks::changed_in_place,
            chunks::commit_of_too_many,
            chunks::lying_size_hint,
            chunks::panicking_iterator,
            wrap::batches_across_wraps,
            wrap::leftovers_across_wraps,
            closing::closed_after_the_last_item,
            closing::closed_when_full,
            closing::dropping_the_producer_flushes,
            stress::singly_on_two_cores,
            stress::singly_on_one_core,
            stress::batches_on_two_cores,
            stress::mixed_on_two_cores,
            stress::mixed_on_one_core,
            stress::owned_items,
        }

        /// Checks whose names are taken above.
        mod owned {
            use super::*;

            checks! { $queue:
                drops::leftovers,
                drops::early_drop,
                drops::committed_chunks,
                drops::taken_chunks,
                drops::dropped_chunks,
                drops::forgotten_iterators,
                drops::panicking_iterator,
            }
        }
    };
}

/// What every queue for items of any type must do.
macro_rules! of_any_items {
    ($queue:ty) => {
        common! { Any<$queue> }

        checks! { $queue:
            items::tiny,
            items::large,
            items::owning,
            items::over_aligned,
        }
    };
}

macro_rules! for_unbounded {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            of_any_items! { Limited<$queue> }
        }
    };
}

macro_rules! for_any_items {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            of_any_items! { $queue }

            #[test]
            fn memory() {
                let build = |config| <$queue as SpscQueue>::channel::<u64>(config).unwrap();
                let backing = |tx: &<$queue as SpscQueue>::Producer<u64>| tx.backing();
                memory::backing_is_told(build, backing);
                memory::mirrored_slots_are_one_slice(build, backing);
            }
        }
    };
}

macro_rules! for_tokens {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            common! { Tokens<$queue> }

            checks! { $queue:
                items::tokens,
            }
        }
    };
}

for_each_spsc_queue!(for_any_items);
for_each_unbounded_spsc_queue!(for_unbounded);
// Goes from ring to ring as often as can be.
for_unbounded!(uspsc_of_lq, corelane::segmented::Uspsc<corelane::lamport::Lq>);
for_unbounded!(uspsc_of_bqueue, corelane::segmented::Uspsc<corelane::b_queue::BQueue>);
for_any_items!(mcring_sane, corelane::mc_ring_sane::McRingSane);

/// Queues whose slots are one word.
mod packed {
    use super::*;

    for_each_spsc_token_queue!(for_tokens);
}
