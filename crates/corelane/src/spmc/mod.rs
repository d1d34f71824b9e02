//! Queues between one producer and several consumers.

pub mod block;
