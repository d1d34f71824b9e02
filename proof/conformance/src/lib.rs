//! What every queue must do, written once.
//!
//! Each check is a function without arguments, generic over a [`Subject`]: a queue as the registry of
//! `corelane` knows it. The tests of this crate stamp all checks on all queues with the registry's own
//! macros, so a new queue is checked as soon as it is registered.
//!
//! No check knows a queue. Where queues differ they say so themselves: how much fits
//! ([`capacity`](corelane::Producer::capacity)), how much of that may be hidden once the queue is in
//! use ([`slack`](corelane::Producer::slack)), and what makes items visible
//! ([`flush`](corelane::Producer::flush)).
//!
//! Most checks drive a [`Checked`] queue, which knows what must be in it and compares every answer. Calls
//! made up at random, with either handle gone and without flushes, are compared with a [`model`].
//!
//! | module | what is checked |
//! |---|---|
//! | [`order`] | first in first out, by every way in and every way out |
//! | [`capacity`] | what fits, what is refused, false full |
//! | [`observers`] | `len`, `available`, `free_slots`, `is_empty`, `is_full` |
//! | [`chunks`] | lent slots and items: every length at every offset, partial commits, batches of any size |
//! | [`wrap`] | counters that start just below every width at which they could wrap |
//! | [`closing`] | full, empty and closed, alone and while the other side works |
//! | [`drops`] | every item is dropped exactly once, also after panics |
//! | [`items`] | zero-sized, tiny, large, over-aligned and non-`Copy` items |
//! | [`memory`] | heap, huge pages and mirrored slots |
//! | [`stress`] | two threads on two cores and on one |
//! | [`bytes`] | queues of byte records |
//! | [`several`] | queues with several handles a side: many handles in one thread, many threads |
//! | [`overwrite`] | the queue that overwrites |
//! | [`history`] | what real threads did, through a linearizability monitor |
//!
//! The environment variable `CORELANE_STRESS` scales the number of operations of the stress tests, for
//! sanitizers (`0.05`) or long runs (`100`).

pub mod bytes;
pub mod capacity;
pub mod chunks;
pub mod closing;
pub mod drops;
pub mod history;
pub mod items;
pub mod memory;
pub mod model;
pub mod observers;
pub mod order;
pub mod overwrite;
pub mod several;
pub mod stress;
pub mod wrap;

mod checked;
mod ledger;
mod limited;
mod rng;
mod subject;
mod threads;

pub use checked::{Checked, Numbers, numbers, with_items};
pub use ledger::{Counted, Ledger};
pub use limited::Limited;
use subject::channel;
pub use subject::{Any, Item, Pair, Queue, Several, Subject, Tokens};

/// A test for each check, named after it.
#[macro_export]
macro_rules! checks {
    ($queue:ty: $($module:ident::$check:ident,)*) => {$(
        #[test]
        fn $check() {
            $module::$check::<$queue>();
        }
    )*};
}
