//! Measurements of concurrent queues: corelane's own, and other crates.
//!
//! [`Plan`] lists the measurements that the options of a suite ask for. [`run`] makes them round by
//! round, all queues interleaved. [`Results`] are data for programs and a document for people. The
//! kernels are compiled here once for each queue, with inlined calls as in a user's program.

mod advice;
mod allocations;
mod args;
mod calibration;
mod calls;
mod catalogue;
mod clock;
mod conclusion;
mod cores;
mod floor;
mod headlines;
mod host;
mod kinds;
mod line_stream;
mod numbers;
mod page;
mod params;
mod payload;
mod peers;
mod plan;
mod queues;
mod results;
mod runner;
mod sample;
mod schedule;
mod stats;
mod suite;
mod table;
mod threads;
mod tune;
mod work;

pub use allocations::Counting;
pub use args::RunArgs;
pub use calibration::Calibration;
pub use calls::{CALLS, call};
pub use catalogue::{Entry, EntryKind, entries, ids, listed, listed_as};
pub use corelane::Sides;
pub use cores::pair as cores;
pub use kinds::{Between, allows, between, check_sizes, possible_sizes, usual_sizes};
pub use kinds::{CorePair, Placement, TeamSize, Test, WORD};
pub use numbers::{numbers, picture};
pub use params::Params;
pub use plan::Plan;
pub use results::{CellResult, Results};
pub use runner::run;
pub use sample::{OutOfTurn, Summary};
pub use stats::{Group, Quartiles};
pub use suite::BenchArgs;
pub use suite::ipc::{PEER, be_peer};
pub use suite::mpmc::{MpmcArgs, Workload};
pub use suite::net::{NET_END, NetArgs, be_net_end};
pub use suite::pipeline::PipelineArgs;
#[doc(hidden)]
pub use suite::pipeline::check as check_links;
pub use suite::relaxed::frontier::{FrontierPoint, frontier, frontier_file};
pub use suite::replay::ReplayArgs;
#[doc(hidden)]
pub use suite::replay::check as check_candidates;
pub use suite::rings::{RingsArgs, check_entries, paper_gain};
pub use suite::spsc::{Handles, MemoryKind, PayloadKind, QuickArgs, Regime, SpscArgs, SpscSetting};
pub use suite::switch::{SwitchArgs, SwitchTest};
pub use suite::wait::beside::{COMPUTE, compute};
pub use threads::{Cores, Wait};
pub use tune::{Goal, TuneArgs, Tuning};
pub use work::actual_load_ns;
