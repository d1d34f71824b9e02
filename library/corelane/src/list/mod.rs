//! Unbounded queues that are lists of nodes, one for each item.
//!
//! Both are here for comparison with the lists of rings, which are faster: [`linked`] with
//! [`segmented`](crate::segmented), [`michael_scott`] with [`rings::lprq`](crate::rings::lprq).

pub mod linked;
pub mod michael_scott;
