//! The facade through which every algorithm accesses memory.
//!
//! Algorithms name neither `core::sync::atomic` nor a model checker nor the simulator. They are
//! compiled from the same sources against the machine's memory (`real.rs`), against loom's
//! (`loom.rs`, in the package `corelane-loom`) and against simulated memory (`sim.rs`, in
//! `corelane-sim`). In the latter two every access knows its caller's line.
//!
//! Public only for the crates that check the queues, and not stable.

#[cfg(not(any(feature = "loom", feature = "sim")))]
mod real;
#[cfg(not(any(feature = "loom", feature = "sim")))]
pub use real::*;

#[cfg(feature = "loom")]
mod loom;
#[cfg(feature = "loom")]
pub use self::loom::*;

#[cfg(any(feature = "loom", feature = "sim"))]
mod shifted;
#[cfg(any(feature = "loom", feature = "sim"))]
pub use shifted::Shifted;

#[cfg(not(feature = "loom"))]
mod unchecked;
#[cfg(not(feature = "loom"))]
pub(crate) use unchecked::{Freed, Made, Read};
#[cfg(not(feature = "loom"))]
mod words;
#[cfg(not(feature = "loom"))]
pub use words::Words;

#[cfg(feature = "sim")]
mod sim;
#[cfg(feature = "sim")]
pub use sim::*;

pub use core::sync::atomic::Ordering;

/// What a thread has taken of its processor.
#[cfg(feature = "std")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessorUse {
    pub(crate) busy: core::time::Duration,
    /// How often the thread has slept.
    pub(crate) sleeps: u64,
}

/// A limit of an algorithm: `usual`, or `in_models` in models, where each step costs executions.
pub(crate) const fn limit(usual: u64, in_models: u64) -> u64 {
    if cfg!(feature = "loom") { in_models } else { usual }
}

/// Whether `a` is before `b`. Both may have wrapped. Their distance is less than half of all
/// numbers.
#[inline]
pub(crate) fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// Advances `variable` to `value`, unless it is there or further already: a maximum for numbers
/// that wrap.
#[inline]
#[track_caller]
pub(crate) fn advance(variable: &AtomicU64, value: u64, order: Ordering) {
    let mut current = variable.load(Ordering::Relaxed);
    while is_before(current, value) {
        match variable.compare_exchange(current, value, order, Ordering::Relaxed) {
            Ok(_) => return,
            Err(found) => current = found,
        }
    }
}
