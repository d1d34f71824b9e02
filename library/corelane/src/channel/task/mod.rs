//! Channels for tasks, with the names and the shapes of `tokio::sync`.
//!
//! A program moves with its `use` lines: `use corelane::channel::task::mpsc` instead of
//! `use tokio::sync::mpsc`. `send` and `recv` are futures, which need nothing of their runtime, and
//! `blocking_send` and `blocking_recv` are for threads.
//!
//! | | |
//! |---|---|
//! | [`mpsc`] | many senders, one receiver. Room can be reserved before a message is made |
//! | [`oneshot`] | one message, such as an answer |
//!
//! Unlike Tokio's, a blocking call in a task blocks the thread of the runtime without a panic.

pub mod mpsc;
pub mod oneshot;
