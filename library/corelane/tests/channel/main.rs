//! What `corelane::channel` promises. `channel_memory.rs` and `channel_large.rs` of the conformance
//! tests are programs of their own, because they look at the whole process.

mod broadcast;
mod calls;
mod fd;
mod kinds;
mod oneshot;
mod polled;
mod relaxed;
mod select;
mod selected;
mod task;
mod tasks;
mod threads;
mod wakers;
mod watch;
mod weighed;
