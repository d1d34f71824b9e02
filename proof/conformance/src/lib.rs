//! The properties that every queue must have, written once.
//!
//! Each check is a function of a queue, a [`Single`] or an [`Any`]: a value whose handles are
//! boxed. So a check is compiled once for each type of items, and not for each queue. One stress
//! test of each queue uses the handles without boxes, as users do. The tests of this crate make all
//! checks on all queues of `corelane`'s registry, so a new queue is checked as soon as it is
//! registered.
//!
//! Each queue states its properties: how many items fit
//! ([`capacity`](corelane::Producer::capacity)), how many can be inside
//! ([`slots`](corelane::Producer::slots)), and what makes items visible
//! ([`flush`](corelane::Producer::flush)). Only the checks of counts know queues by name, whose
//! counts are less exact.
//!
//! Most checks drive a [`Checked`] queue, which knows its expected contents and checks every
//! answer. Random calls, with either handle gone and without flushes, are compared with a
//! [`model`].
//!
//! | module | what is checked |
//! |---|---|
//! | [`order`] | first in first out, or k-FIFO, by every call that pushes and every call that pops |
//! | [`capacity`] | how many items fit, which capacities are refused, false full |
//! | [`observers`] | `len`, `available`, `free_slots`, `is_empty`, `is_full` |
//! | [`chunks`] | lent slots and items: every length at every offset, partial commits, batches of any size |
//! | [`wrap`] | counters that start just below every width at which they could wrap |
//! | [`closing`] | full, empty and closed, in one thread and while the other side works |
//! | [`drops`] | every item is dropped exactly once, also after panics |
//! | [`items`] | zero-sized, tiny, large, over-aligned and non-`Copy` items |
//! | [`memory`] | heap, huge pages and mirrored slots |
//! | [`stress`] | two threads on two cores and on one |
//! | [`bytes`] | queues of byte records |
//! | [`several`] | queues with several handles a side: many handles in one thread, many threads |
//! | [`overwrite`] | the queue that overwrites |
//!
//! The environment variable `CORELANE_STRESS` scales the number of operations of the stress tests,
//! for sanitizers (`0.05`) or long runs (`100`).

mod checked;
mod inside;

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
