//! Tests of the simulator's counts and times, and of the values that threads read.

mod ahead;
mod litmus;
mod memory;
mod protocol;
mod runs;
mod schedules;
mod sharing;
mod store_buffer;
mod tso;
