//! Measurements of concurrent queues: corelane's own, and other crates.
//!
//! [`Plan`] lists the measurements that the options of a suite ask for. [`run`] makes them round by round, all queues
//! interleaved. [`Results`] are data for programs and a document for people. The kernels are compiled here once for
//! each queue, with inlined calls as in a user's program.

mod advice;
mod beside;
mod calibration;
mod catalogue;
mod channel;
mod circle;
mod clock;
mod cores;
mod executor;
mod executor_plan;
mod field;
mod floor;
mod grid;
mod host;
#[cfg_attr(not(target_os = "linux"), path = "ipc_none.rs")]
mod ipc;
mod ipc_plan;
mod kept;
mod kinds;
mod larger;
mod mpmc;
mod open_loop;
mod options;
mod page;
mod pair;
mod params;
mod payload;
mod peers;
mod plan;
mod results;
mod ring;
mod rtt;
mod runner;
mod sample;
mod schedule;
mod spsc;
mod stats;
mod steal;
mod steal_plan;
mod stream;
mod team;
mod wait;
mod words;
mod work;

pub use beside::{COMPUTE, compute};
pub use calibration::Calibration;
pub use catalogue::{Entry, EntryKind, entries, ids, listed};
pub use corelane::Sides;
pub use cores::pair as cores;
pub use ipc::{PEER, be_peer};
pub use kept::{numbers, picture};
pub use kinds::{Between, allows, between, check_sizes, possible_sizes, usual_sizes};
pub use kinds::{
    CorePair, Handles, MemoryKind, Mode, PayloadKind, Placement, Regime, Runtime, Strategy,
    TeamSize, Test, WORD, Workload,
};
pub use options::{
    ExecutorArgs, IpcArgs, MpmcArgs, RingArgs, RunArgs, SpscArgs, StealArgs, WaitArgs,
};
pub use pair::{Cores, Wait};
pub use params::{PairSetting, Params};
pub use plan::Plan;
pub use results::{CellResult, Results};
pub use runner::run;
pub use sample::Summary;
pub use stats::{Group, Quartiles};
pub use work::actual_load_ns;
