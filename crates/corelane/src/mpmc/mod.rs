//! Queues between several producers and several consumers.

pub mod block;
