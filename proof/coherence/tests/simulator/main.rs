//! What the simulator must count, how long things must take, and who sees what.

mod ahead;
mod litmus;
mod memory;
mod protocol;
mod runs;
mod schedules;
mod sharing;
mod store_buffer;
mod tso;
