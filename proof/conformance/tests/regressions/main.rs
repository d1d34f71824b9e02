//! Bugs that queues in the wild really had: for each row of the project's list that can apply to a
//! queue here, a test on every queue, named after the row, and one on queues that have the bug, which must
//! fail. Queues with several handles a side have tests of their own, in `several.rs`; byte records have some
//! more, in `tests/bytes.rs`.
//!
//! | row | where it is tested, or for which queues it will be |
//! |---|---|
//! | `drop_panics_mid_batch` | here |
//! | `aba_on_narrow_index` | here: no index is narrow, so laps of 2^8 and 2^16 must change nothing |
//! | `capacity_overflow` | here; `huge` items too, but tokens are one word |
//! | `counter_wrap_width` | here |
//! | `teardown_races_push` | here |
//! | `observer_lies` | here |
//! | `disconnect_before_data` | here |
//! | `false_full` | here |
//! | `false_empty` | here, in one thread and between two (`false_empty_across_threads`) |
//! | `head_tail_reordered` | here |
//! | `zero_length_batch` | here |
//! | `batch_larger_than_buffer` | here |
//! | `first_wrap_uninitialised` | here |
//! | `oversubscription_collapse` | here: what a preempted thread holds up, as throughput would be a clock's word |
//! | `memory_never_returned` | here for all that a queue takes; the memory of a burst with `dspsc`, `uspsc`, `msq`, `lcrq`, `lprq`, `faaq` |
//! | `zero_sized_items` | here; tokens have a size |
//! | `large_item_on_stack` | here; tokens are one word |
//! | `non_send_item_crosses` | `handles.rs` for every queue and for a broken handle, `compile_fail.rs` with the compiler's words |
//! | `vacuous_model` | the models crate, which runs a model on the machine's atomics as well |
//! | `double_pop` | here for several consumers; an owner and its thieves to come with `bwos-lifo`, `bwos-fifo`, `abp` |
//! | `steal_from_self`, `takeover_during_steal` | to come with `bwos-lifo`, `bwos-fifo`, `abp` |
//! | `lost_wakeup_on_notify` | `waiting.rs` for `locked`, and models; to come with blocking and async, and with `elcrq` |
//! | `cancelled_receive_loses_item` | to come with blocking and async, and with `elcrq` |
//! | `batch_spills_into_version` | here, with several producers |
//! | `read_behind_stalled_writer` | here, with several producers |
//! | `killed_peer` | to come with shared memory between processes |

mod broken;
mod leaks;
mod locked;
mod ring;

use std::collections::BTreeSet;

use corelane::{
    for_each_mpmc_queue, for_each_spsc_queue, for_each_spsc_token_queue,
    for_each_unbounded_spsc_queue,
};
use corelane_conformance::{
    Any, Limited, Tokens, capacity, checks, chunks, closing, drops, items, observers, order,
    stress, wrap,
};

/// The rows that apply to every queue: row, check, and the bugs that the check must find.
macro_rules! rows {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            drop_panics_mid_batch: drops::drop_panics_mid_batch finds NoReleaseOnUnwind NoTeardownOnUnwind;
            aba_on_narrow_index: wrap::aba_on_narrow_index finds ViewOf8Bits ViewOf16Bits;
            capacity_overflow: capacity::capacity_overflow finds RoundingWraps BytesWrap;
            counter_wrap_width: wrap::counter_wrap_width finds CountersOf8Bits CountersOf16Bits;
            teardown_races_push: drops::teardown_races_push finds LooksBeforeItGoes;
            observer_lies: observers::observer_lies finds SubtractsIndices SubtractsSaturating;
            disconnect_before_data: closing::disconnect_before_data finds ClosedAfterOneLook;
            false_full: capacity::false_full finds FullByOldCopy;
            false_empty: order::false_empty finds EmptyByOldCopy;
            false_empty: order::false_empty_across_threads finds EmptyByOldCopy FullByOldCopy StaysInStoreBuffer;
            head_tail_reordered: observers::head_tail_reordered finds LoadsReadEarly LoadsWriteEarly;
            zero_length_batch: chunks::zero_length_batch finds ZeroIsOne;
            batch_larger_than_buffer: chunks::batch_larger_than_buffer finds OverrunsBuffer;
            first_wrap_uninitialised: capacity::first_wrap_uninitialised finds FirstLapUnguarded;
            oversubscription_collapse: stress::oversubscription_collapse finds WaitsForProducer WaitsForConsumer;
        }
    };
}

/// The rows whose checks see one thread only: not for `mcring-sane`, which has another for its timer.
macro_rules! rows_of_one_thread {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            memory_never_returned: leaks::memory_never_returned finds KeepsMemory;
        }
    };
}

/// The rows that apply to queues for items of any type.
macro_rules! rows_of_any_items {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            capacity_overflow: items::huge finds BytesWrap;
            zero_sized_items: items::zero_sized_items finds CountsBytes;
            large_item_on_stack: items::large_item_on_stack finds BuildsOnStack;
        }
    };
}

/// A test for each row on a queue of ours.
macro_rules! on_ours {
    ($queue:ty, $($row:ident: $module:ident::$check:ident finds $($bug:ident)+;)*) => {
        checks! { $queue: $($module::$check,)* }
    };
}

/// A test for each row on a ring without a bug and on broken ones. `$any` makes a subject of a ring.
macro_rules! on_broken {
    ($any:ident, $($row:ident: $module:ident::$check:ident finds $($bug:ident)+;)*) => {$(
        #[test]
        fn $check() {
            passes_and_fails(
                concat!(module_path!(), "::", stringify!($check)),
                $module::$check::<$any<{ Bug::Nothing as u8 }>>,
                &[$((stringify!($bug), $module::$check::<$any<{ Bug::$bug as u8 }>>)),+],
            );
        }
    )*};
}

/// The names of the rows.
macro_rules! names {
    ($($row:ident: $module:ident::$check:ident finds $($bug:ident)+;)*) => {
        [$(stringify!($row)),*]
    };
}

macro_rules! for_any_items {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            rows! { on_ours! Any<$queue>, }
            rows_of_any_items! { on_ours! $queue, }
        }
    };
}

macro_rules! for_tokens {
    ($name:ident, $queue:ty) => {
        mod $name {
            use super::*;

            rows! { on_ours! Tokens<$queue>, }
        }
    };
}

macro_rules! for_unbounded {
    ($name:ident, $queue:ty) => {
        for_any_items!($name, Limited<$queue>);
    };
}

for_each_spsc_queue!(for_any_items);
for_each_unbounded_spsc_queue!(for_unbounded);
for_any_items!(mcring_sane, corelane::mc_ring_sane::McRingSane);

/// Queues whose slots are one word.
mod packed {
    use super::*;

    for_each_spsc_token_queue!(for_tokens);
}

/// What is checked in one thread.
mod in_one_thread {
    use super::*;

    macro_rules! any_items {
        ($name:ident, $queue:ty) => {
            mod $name {
                use super::*;

                rows_of_one_thread! { on_ours! Any<$queue>, }
            }
        };
    }

    macro_rules! tokens {
        ($name:ident, $queue:ty) => {
            mod $name {
                use super::*;

                rows_of_one_thread! { on_ours! Tokens<$queue>, }
            }
        };
    }

    macro_rules! unbounded {
        ($name:ident, $queue:ty) => {
            any_items!($name, Limited<$queue>);
        };
    }

    for_each_spsc_queue!(any_items);
    for_each_unbounded_spsc_queue!(unbounded);

    mod packed {
        use super::*;

        for_each_spsc_token_queue!(tokens);
    }
}

// Behind the macros that it uses.
mod several;

/// Rings with bugs that the checks must find.
mod on_broken {
    use super::broken::passes_and_fails;
    use super::ring::{Bug, Ring};
    use super::*;

    type AnyRing<const BUG: u8> = Any<Ring<BUG>>;

    rows! { on_broken! AnyRing, }
    rows_of_one_thread! { on_broken! AnyRing, }
    rows_of_any_items! { on_broken! Ring, }
}

/// The rows that the table at the top calls tested here are those that are.
#[test]
fn the_table_is_right() {
    let mut tested = BTreeSet::from(rows!(names!));
    tested.extend(several::rows_of_several!(names!));
    tested.extend(several::rows_of_bounded!(names!));
    tested.extend(rows_of_any_items!(names!));
    tested.extend(rows_of_one_thread!(names!));
    let table = include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
    let told: BTreeSet<_> = table.filter_map(|line| Some(line.split_once("` | here")?.0)).collect();
    assert_eq!(tested, told);
}

/// An unbounded queue gives the memory of a burst back, but for what its page says.
#[test]
fn memory_never_returned_after_a_burst() {
    use corelane::SpscQueue;
    use corelane::mpmc::{lcrq::Lcrq, lprq::Lprq, michael_scott::Msq};
    use corelane::spsc::{line_ring::LineRing, linked::Dspsc, segmented::Uspsc};
    use corelane_conformance::Several;

    // A node is an item and a pointer; up to 1024 are kept.
    leaks::burst::<Any<Dspsc>>(|_| 1024 * 16);
    // Up to 32 rings, and a few words for each.
    leaks::burst::<Any<Uspsc>>(|config| {
        32 * leaks::bytes_of(|| LineRing::channel::<u64>(config)) + 4096
    });
    // About a thousand nodes, and a note of some words for each.
    leaks::burst::<Several<Msq>>(|_| 1100 * (16 + 64));
    // The ring of a handle that hasn't gone on: 1024 slots of two words, and a few words more.
    let rings = |n: isize| n * (1024 * 16 + 1024);
    leaks::burst::<Several<Lprq>>(|_| rings(2));
    leaks::burst::<Several<Lcrq>>(|_| rings(2));
    // And a ring, or two nodes, for each handle that isn't used.
    leaks::burst_beside_idle_handles::<Lprq>(rings(4));
    leaks::burst_beside_idle_handles::<Lcrq>(rings(4));
    leaks::burst_beside_idle_handles::<Msq>(1104 * (16 + 64));
}

/// An unbounded queue without memory for a node, a ring, or the box of an item says so, and goes on when there is some.
#[test]
fn out_of_memory() {
    use corelane::mpmc::{lcrq::Lcrq, lprq::Lprq, michael_scott::Msq};
    use corelane::spsc::{linked::Dspsc, segmented::Uspsc};
    use corelane_conformance::Several;

    leaks::out_of_memory::<Any<Dspsc>>(0);
    leaks::out_of_memory::<Any<Uspsc>>(0);
    // What has been left is noted, until it is certain that nobody is there.
    leaks::out_of_memory::<Several<Msq>>(usize::MAX);
    leaks::out_of_memory::<Several<Lprq>>(usize::MAX);
    leaks::out_of_memory::<Several<Lcrq>>(usize::MAX);
}

/// No queue is made without memory, and those between one and one say so.
#[test]
fn no_memory_for_a_queue() {
    use corelane_conformance::Several;

    macro_rules! of_any {
        ($name:ident, $queue:ty) => {
            leaks::no_memory_for_a_queue::<Any<$queue>>();
        };
    }
    macro_rules! of_several {
        ($name:ident, $queue:ty) => {
            leaks::no_memory_for_a_queue::<Several<$queue>>();
        };
    }
    for_each_spsc_queue!(of_any);
    for_each_unbounded_spsc_queue!(of_any);
    for_each_mpmc_queue!(of_several);
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
