//! Queues that are lists of nodes, one for each item.
//!
//! All are here for comparison. Lists of rings are faster: compare [`linked`] with
//! [`segmented`](crate::segmented), and [`michael_scott`] with [`rings::lprq`](crate::rings::lprq).
//! [`pooled`] is the latter in a fixed pool of nodes, and bounded.

pub mod linked;
#[cfg(feature = "literature")]
pub mod michael_scott;
#[cfg(feature = "literature")]
pub mod pooled;
