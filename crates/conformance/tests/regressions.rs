//! Bugs that queues in the wild really had: for each row of the project's list that can apply to a
//! ring between one producer and one consumer, a test on every queue, named after the row.
//!
//! | row | where it is tested, or why not here |
//! |---|---|
//! | `drop_panics_mid_batch` | here |
//! | `aba_on_narrow_index` | here: no index is narrow, so laps of 2^8 and 2^16 must change nothing |
//! | `capacity_overflow` | here |
//! | `counter_wrap_width` | here |
//! | `teardown_races_push` | here |
//! | `observer_lies` | here |
//! | `disconnect_before_data` | here |
//! | `false_full` | here |
//! | `false_empty` | here, and between threads in `false_empty_across_threads` |
//! | `head_tail_reordered` | here |
//! | `zero_length_batch` | here |
//! | `batch_larger_than_buffer` | here |
//! | `first_wrap_uninitialised` | here |
//! | `zero_sized_items` | here; tokens have a size |
//! | `large_item_on_stack` | here; tokens are one word |
//! | `non_send_item_crosses` | `handles.rs` for every queue, `compile_fail.rs` with the compiler's words |
//! | `vacuous_model` | the models crate: every model has a seeded bug that must be caught |
//! | `memory_never_returned` | no: a ring has all its memory from the start, and `leaks.rs` sees it returned |
//! | `double_pop`, `steal_from_self`, `takeover_during_steal` | no: nobody steals |
//! | `lost_wakeup_on_notify`, `cancelled_receive_loses_item` | no: nothing blocks or is awaited yet |
//! | `batch_spills_into_version` | no: no field is packed beside another |
//! | `read_behind_stalled_writer` | no: one writer commits in order |
//! | `oversubscription_collapse` | no: two threads; both on one core are in `spsc.rs` |
//! | `killed_peer` | no: not between processes yet |

use corelane::{for_each_spsc_queue, for_each_spsc_token_queue};
use corelane_conformance::{
    Any, Tokens, capacity, checks, chunks, closing, drops, items, observers, order, wrap,
};

macro_rules! common {
    ($queue:ty) => {
        checks! { $queue:
            drops::drop_panics_mid_batch,
            wrap::aba_on_narrow_index,
            capacity::capacity_overflow,
            wrap::counter_wrap_width,
            drops::teardown_races_push,
            observers::observer_lies,
            closing::disconnect_before_data,
            capacity::false_full,
            order::false_empty,
            order::false_empty_across_threads,
            observers::head_tail_reordered,
            chunks::zero_length_batch,
            chunks::batch_larger_than_buffer,
            capacity::first_wrap_uninitialised,
        }
    };
}

macro_rules! for_any_items {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            common! { Any<$queue> }

            checks! { $queue:
                items::huge,
                items::zero_sized_items,
                items::large_item_on_stack,
            }
        }
    };
}

macro_rules! for_tokens {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            common! { Tokens<$queue> }
        }
    };
}

for_each_spsc_queue!(for_any_items);
for_any_items!(mcring_sane, corelane::spsc::mc_ring_sane::McRingSane);

/// Queues whose slots are one word.
mod packed {
    use super::*;

    for_each_spsc_token_queue!(for_tokens);
}

/// Queues that are documented to be exact may never say full with a slot free.
#[test]
fn false_full_of_exact_queues() {
    use corelane::spsc::{batched_lamport, fast_forward, lamport, lazy_lamport};
    use corelane::{Config, Producer, SpscQueue};

    fn slack<Q: SpscQueue>(capacity: usize) -> usize {
        Q::channel::<u64>(Config::new(capacity)).unwrap().0.slack()
    }

    for capacity in [1, 64, 1000] {
        assert_eq!(slack::<lamport::Lq>(capacity), 0);
        assert_eq!(slack::<lazy_lamport::Llq>(capacity), 0);
        assert_eq!(slack::<batched_lamport::Blq>(capacity), 0);
        assert_eq!(slack::<fast_forward::Ffq>(capacity), 0);
    }
}
