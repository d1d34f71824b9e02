//! What the simulator must count, how long things must take, and which values threads see.

mod ahead;
mod litmus;
mod memory;
mod protocol;
mod runs;
mod schedules;
mod sharing;
mod store_buffer;
mod tso;
