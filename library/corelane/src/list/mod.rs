//! Unbounded queues that are lists of nodes, one for each item.
//!
//! Both are here for comparison with lists of rings, which are faster. Compare [`linked`] with
//! [`segmented`](crate::segmented), and [`michael_scott`] with [`rings::lprq`](crate::rings::lprq).

pub mod linked;
#[cfg(feature = "literature")]
pub mod michael_scott;
#[cfg(feature = "literature")]
pub mod pooled;
