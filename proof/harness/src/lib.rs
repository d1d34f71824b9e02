//! The common part of the proofs on real threads: a queue as a value, distinguishable items, and
//! threads on chosen cores.
//!
//! A check takes a [`Single`] or an [`Any`]: a queue whose handles are boxed. So it is compiled
//! once for each type of items, not once for each queue.

pub mod item;
pub mod ledger;
mod limited;
pub mod loose;
pub mod rng;
mod subject;
pub mod threads;

pub use item::Item;
pub use ledger::{Counted, Ledger};
pub use limited::Limited;
pub use subject::{Any, Single, Subject, clones};
