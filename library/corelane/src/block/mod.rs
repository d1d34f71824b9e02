//! The block-based bounded queues (J. Wang 2024, ch. 2): a ring of slots, divided into blocks that have counters of
//! their own.
//!
//! | queue | producers, consumers | use it when |
//! |---|---|---|
//! | [`single`] | 1, 1 | many items wait in the queue, or they come in batches |
//! | [`one_consumer`] | many, 1 | many threads send to one |
//! | [`one_producer`] | 1, many | one thread sends work to many |
//! | [`shared`] | many, many | several threads on either side |
//! | [`overwriting`] | many, many | producers must never wait for consumers |
//! | [`mod@bytes`] | many, many | records of different lengths, written and read in place |
//!
//! All of them share `layout.rs`: where blocks lie in memory, and which position belongs to which count.

pub mod bytes;
mod layout;
pub mod one_consumer;
pub mod one_producer;
pub mod overwriting;
pub mod shared;
pub mod single;
mod variables;
