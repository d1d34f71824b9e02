//! The facade through which every algorithm touches memory.
//!
//! Algorithms name neither `core::sync::atomic` nor a model checker. They are compiled once against
//! the machine's memory (`real.rs`) and once against loom's (`loom.rs`, in the package
//! `corelane-loom`), from the same sources. In loom's world every access knows its caller's line.
//!
//! Public for the crates that check the queues; not for use, and not stable.

#[cfg(not(feature = "loom"))]
mod real;
#[cfg(not(feature = "loom"))]
pub use real::*;

#[cfg(feature = "loom")]
mod loom;
#[cfg(feature = "loom")]
pub use self::loom::*;

pub use core::sync::atomic::Ordering;
