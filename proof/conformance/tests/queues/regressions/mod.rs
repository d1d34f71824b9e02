//! Bugs that real queues had. For each row of the project's list that can apply to a queue of the
//! library there is a test on every queue, named after the row. The same check runs on queues that
//! have the bug, and must fail. Queues with several handles a side have checks of their own, in
//! `several.rs`; byte records have more, in `bytes.rs`.
//!
//! | row | where it is tested, or queues for which it is to be tested |
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
//! | `oversubscription_collapse` | here: whether a preempted thread delays others; throughput would depend on the clock |
//! | `memory_never_returned` | here for all memory of a queue; the memory of a burst with `dspsc`, `uspsc`, `msq`, `lcrq`, `lprq` |
//! | `zero_sized_items` | here; tokens have a size |
//! | `large_item_on_stack` | here; tokens are one word |
//! | `non_send_item_crosses` | `handles.rs` for every queue and for a broken handle, `compile_fail.rs` with the compiler's messages |
//! | `vacuous_model` | the models crate, which runs a model on the machine's atomics as well |
//! | `double_pop` | here for several consumers; an owner and its thieves in the library's `tests/steal.rs` and models |
//! | `takeover_during_steal`, `work_hidden_in_owners_block` | models of `bwos-lifo`, `bwos-fifo`; the library's `tests/steal.rs` |
//! | `steal_from_self` | to come with the pool |
//! | `lost_wakeup_on_notify` | `waiting.rs` for `locked`; the library's `tests/wait.rs` and models of bells |
//! | `cancelled_receive_loses_item` | the library's `tests/wait.rs`, and models of bells |
//! | `batch_spills_into_version` | here, with several producers |
//! | `read_behind_stalled_writer` | here, with several producers |
//! | `killed_peer`, `lost_cell_spins_others` | the library's `tests/shm.rs`, `lane bench ipc --test kill`, and at each step in simulated schedules |
//! | `residue_after_kill`, `recovery_races_with_opening` | the library's `tests/shm.rs` |

/// The rows that apply to every queue: the row, its check, and the bugs that the check must find.
macro_rules! rows {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            aba_on_narrow_index: wrap::aba_on_narrow_index finds ViewOf8Bits ViewOf16Bits;
            capacity_overflow: capacity::capacity_overflow finds RoundingWraps BytesWrap;
            counter_wrap_width: wrap::counter_wrap_width finds CountersOf8Bits CountersOf16Bits;
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

/// The rows whose items own memory.
macro_rules! rows_of_owned {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            drop_panics_mid_batch: drops::drop_panics_mid_batch finds NoReleaseOnUnwind NoTeardownOnUnwind;
            teardown_races_push: drops::teardown_races_push finds LooksBeforeItGoes;
        }
    };
}

/// The rows whose checks observe only one thread: not for `mcring-sane`, which has another thread
/// for its timer.
macro_rules! rows_of_one_thread {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            memory_never_returned: leaks::memory_never_returned finds KeepsMemory;
        }
    };
}

/// A test for each row of one thread.
macro_rules! in_one_thread {
    ($number:ty, $queue:ty) => {
        mod in_one_thread {
            use corelane_conformance::Single;

            use crate::regressions::leaks;

            rows_of_one_thread! { on_ours! Single<$number>, $queue, }
        }
    };
}

/// The rows that apply to queues for items of any type.
macro_rules! rows_of_any_items {
    ($with:ident! $($args:tt)*) => {
        $with! { $($args)*
            zero_sized_items: items::zero_sized_items finds CountsBytes;
            large_item_on_stack: items::large_item_on_stack finds BuildsOnStack;
        }
    };
}

/// Row `capacity_overflow` once more.
macro_rules! huge {
    ($queue:ty) => {
        #[test]
        fn huge() {
            crate::regressions::huge::<$queue>();
        }
    };
}

/// A test for each row on a queue of the library.
macro_rules! on_ours {
    ($subject:ty, $queue:ty, $($row:ident: $module:ident::$check:ident finds $($bug:ident)+;)*) => {
        checks! { $subject, $queue: $($module::$check,)* }
    };
}

/// A test for each row on a queue without a bug and on broken ones, which `$subject` makes.
macro_rules! on_broken {
    ($subject:expr, $($row:ident: $module:ident::$check:ident finds $($bug:ident)+;)*) => {$(
        #[test]
        fn $check() {
            passes_and_fails(
                concat!(module_path!(), "::", stringify!($check)),
                || $module::$check(&$subject(Bug::Nothing)),
                &[$((stringify!($bug), || $module::$check(&$subject(Bug::$bug)))),+],
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

mod broken;
pub(crate) mod leaks;
mod locked;
mod ring;
#[macro_use]
mod several;

use std::collections::BTreeSet;

use corelane::{CapacityError, Config, Consumer, Producer, Queue, Sides, TryPushError, lamport};
use corelane_conformance::{
    Item, capacity, chunks, closing, drops, items, observers, order, stress, wrap,
};

/// Queues between one producer and one consumer, and all bounded queues, refuse impossible items.
/// An unbounded queue between several threads allocates memory for an item only when it is pushed.
pub(crate) fn huge<Q: Queue<items::Huge>>() {
    if Q::INFO.bounded || Q::INFO.sides == Sides::OneToOne {
        items::huge(Q::with);
    }
}

/// Rings with bugs that the checks must find.
mod on_broken {
    use super::broken::passes_and_fails;
    use super::ring::{self, Bug, subject};
    use super::*;

    rows! { on_broken! subject::<u64>, }
    rows_of_owned! { on_broken! subject::<corelane_conformance::Counted>, }
    rows_of_one_thread! { on_broken! subject::<u64>, }
    rows_of_any_items! { on_broken! subject, }

    #[test]
    fn huge() {
        passes_and_fails(
            concat!(module_path!(), "::huge"),
            || items::huge(|config| ring::queue(config, Bug::Nothing)),
            &[("BytesWrap", || items::huge(|config| ring::queue(config, Bug::BytesWrap)))],
        );
    }
}

/// The table at the top calls exactly the rows tested here that have tests.
#[test]
fn the_table_is_right() {
    let mut tested = BTreeSet::from(rows!(names!));
    tested.extend(rows_of_owned!(names!));
    tested.extend(rows_of_several!(names!));
    tested.extend(rows_of_bounded!(names!));
    tested.extend(rows_of_any_items!(names!));
    tested.extend(rows_of_one_thread!(names!));
    let table = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
    let told: BTreeSet<_> = table.filter_map(|line| Some(line.split_once("` | here")?.0)).collect();
    assert_eq!(tested, told);
}

/// An unbounded queue frees the memory of a burst, except for the memory that its page says it
/// keeps.
#[test]
fn memory_never_returned_after_a_burst() {
    use corelane::line_ring::LineRing;
    use corelane::list::{linked::Dspsc, michael_scott::Msq};
    use corelane::relaxed::k_segment_list::Usq;
    use corelane::rings::{lcrq::LcrqAny, lprq::Lprq};
    use corelane::segmented::Uspsc;

    // A node is an item and a pointer; up to 1024 nodes are kept.
    leaks::burst::<Dspsc>(|_| 1024 * 16);
    // Up to 32 rings, and a few words for each.
    leaks::burst::<Uspsc>(|config| {
        32 * leaks::bytes_of(|| <LineRing as Queue<u64>>::with(config)) + 4096
    });
    leaks::burst::<Msq>(|_| retired_nodes(3));
    // Both handles are in the last ring, and no other ring is kept.
    leaks::burst::<Lprq>(|_| 0);
    leaks::burst::<LcrqAny>(|_| 0);
    leaks::burst::<Usq>(|_| 0);
    // The ring of each idle handle: 1024 slots of two words, and a few words more.
    let rings = |n: isize| n * (1024 * 16 + 1024);
    leaks::burst_beside_idle_handles::<Lprq>(rings(2));
    leaks::burst_beside_idle_handles::<LcrqAny>(rings(2));
    leaks::burst_beside_idle_handles::<Msq>(retired_nodes(6) + 3 * 128);
}

/// Most bytes of retired nodes of `msq` with so many hazards. Nodes are handed over in batches of 64. A scan comes when
/// there are 256, one more for each hazard, and one more for each node that the last scan could not free: at most a
/// node for each hazard. A consumer, which has two hazards, keeps up to 63 more. A node has three words.
fn retired_nodes(hazards: isize) -> isize {
    (256 + 63 + 3 * hazards + 63 * hazards / 2) * 24
}

/// A push into an unbounded queue says full if there is no memory for a node, a ring, or an item's
/// box, and succeeds when there is memory again.
#[test]
fn out_of_memory() {
    use corelane::list::{linked::Dspsc, michael_scott::Msq};
    use corelane::relaxed::k_segment_list::Usq;
    use corelane::rings::{lcrq::LcrqAny, lprq::Lprq};
    use corelane::segmented::Uspsc;

    leaks::out_of_memory::<Dspsc>();
    leaks::out_of_memory::<Uspsc>();
    leaks::out_of_memory::<Msq>();
    leaks::out_of_memory::<Lprq>();
    leaks::out_of_memory::<LcrqAny>();
    leaks::out_of_memory::<Usq>();
}

/// Dropped handles leave no memory that grows with their number.
#[test]
fn memory_never_returned_of_handles() {
    use corelane::list::michael_scott::Msq;
    use corelane::relaxed::k_segment_list::Usq;
    use corelane::rings::{lcrq::LcrqAny, lprq::Lprq};

    // A record for each hazard that existed at the same time.
    let records = |hazards: isize| leaks::AT_ONCE * hazards * 128;
    leaks::handles_come_and_go::<Msq>(records(3) + retired_nodes(3 + 3 * leaks::AT_ONCE));
    leaks::handles_come_and_go::<Lprq>(records(2));
    leaks::handles_come_and_go::<LcrqAny>(records(2));
    leaks::handles_come_and_go::<Usq>(records(2));
}

/// No queue is made without memory: queues between one producer and one consumer, and bounded
/// queues, return an error.
#[test]
fn no_memory_for_a_queue() {
    macro_rules! without_memory {
        ($sides:ident any $name:ident: $queue:ty) => {
            let info = <$queue as Queue<u64>>::INFO;
            if info.bounded || info.sides == Sides::OneToOne {
                leaks::no_memory_for_a_queue::<u64, $queue>();
            }
        };
        ($sides:ident token $name:ident: $queue:ty) => {
            let info = <$queue as Queue<Box<u64>>>::INFO;
            if info.bounded {
                leaks::no_memory_for_a_queue::<Box<u64>, $queue>();
            }
        };
        ($($other:tt)*) => {};
    }
    corelane::for_each_queue!(without_memory);
}

/// Ids of the queues that can say full at exactly the number of items asked for.
const EXACT: [&str; 8] = ["lq", "llq", "blq", "ring", "ring-rts", "ring-hts", "msq-pool", "locked"];

/// If the queue can be exact: checks that it is full at exactly the number of items asked for, at
/// every offset. Otherwise: checks that it refuses to be exact.
fn is_exact_or_refuses<T: Item, Q: Queue<T>>(is_exact: bool) {
    for asked in [1, 2, 3, 5, 64, 100, 1000] {
        let queue = Q::with(Config::new(asked).exact());
        if !is_exact {
            assert_eq!(queue.err(), Some(CapacityError::Inexact), "{}", Q::INFO.id);
            continue;
        }
        let (mut tx, mut rx) = queue.expect("it can be exact");
        assert_eq!([tx.capacity(), tx.slots(), rx.capacity(), rx.slots()], [asked; 4]);
        for n in 0..2 * asked as u64 + 70 {
            while tx.try_push(T::of(n)).is_ok() {}
            let refused = tx.try_push(T::of(n));
            assert!(matches!(refused, Err(TryPushError::Full(_))), "{} is not full", Q::INFO.id);
            assert_eq!(rx.pop_iter().count(), asked, "items in a full {}", Q::INFO.id);
            assert!(tx.try_push(T::of(n)).is_ok() && rx.try_pop().is_ok());
        }
    }
}

/// Exactly the queues in the list can be exact.
#[test]
fn false_full_of_exact_queues() {
    let mut found = BTreeSet::new();
    macro_rules! exact {
        ($sides:ident token $name:ident: $queue:ty) => {
            exact!(@ Box<u64>, $queue);
        };
        ($sides:ident $items:ident $name:ident: $queue:ty) => {
            exact!(@ u64, $queue);
        };
        (@ $item:ty, $queue:ty) => {
            let id = <$queue as Queue<$item>>::INFO.id;
            found.insert(id);
            is_exact_or_refuses::<$item, $queue>(EXACT.contains(&id));
        };
    }
    corelane::for_each_queue!(exact);
    assert!(EXACT.iter().all(|id| found.contains(id)), "{EXACT:?} of {found:?}");
    // Never full, even if its rings can be exact.
    is_exact_or_refuses::<u64, corelane::segmented::Uspsc<lamport::Lq>>(false);
}
