//! What `corelane::channel` promises. `channel_large.rs` and `channel_memory.rs` are programs of
//! their own, because they look at the whole process.

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
