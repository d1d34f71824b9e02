//! Tests of the program as users run it.

mod common;
mod executor;
mod ipc;
mod mpmc;
mod net;
mod pipeline;
mod quick;
mod refusals;
mod relaxed;
mod report;
mod ring;
mod rings;
mod runs;
mod steal;
mod subprograms;
mod switch;
mod tune;
mod wait;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_lane");
