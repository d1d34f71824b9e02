//! Queues between several producers and one consumer.

pub mod block;
