//! `lane bench replay`: a workload that a program has recorded, or the packets of a capture, moved
//! by each queue. `lane tune` searches among its measurements.
//!
//! Each thread of the workload has a thread here. It works as long between its calls as the
//! recorded thread did, and its calls move items that are as large.

mod args;
pub mod check;
mod ends;
mod measure;
mod plan;
mod setting;
mod workload;

pub use self::args::{ReplayArgs, WorkloadArgs};
pub(crate) use self::plan::{Candidate, candidates, cell, setting};
pub(crate) use self::setting::ReplaySetting;
pub(crate) use self::workload::Workload;
