//! What every queue must do, written once.
//!
//! Each check is a function of a queue, a [`Single`] or an [`Any`]: a value whose handles are boxed. So a check is
//! compiled once for each type of items, and not for each queue. One stress test of each queue uses the handles as they
//! are, since that is what users compile. The tests of this crate stamp all checks on all queues with the registry of
//! `corelane`, so a new queue is checked as soon as it is registered.
//!
//! No check knows a queue. Where queues differ they say so themselves: how much fits
//! ([`capacity`](corelane::Producer::capacity)), how much of that may be hidden once the queue is in
//! use ([`capacity`](corelane::Producer::capacity)), and what makes items visible
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
//!
//! The environment variable `CORELANE_STRESS` scales the number of operations of the stress tests, for
//! sanitizers (`0.05`) or long runs (`100`).

mod checked;

pub mod bytes;
pub mod capacity;
pub mod chunks;
pub mod closing;
pub mod drops;
pub mod items;
pub mod memory;
pub mod model;
pub mod observers;
pub mod order;
pub mod overwrite;
pub mod several;
pub mod stress;
pub mod wrap;

pub use checked::Checked;
pub use corelane_harness::{Any, Counted, Item, Ledger, Single, Subject};
