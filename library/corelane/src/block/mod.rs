//! The block-based bounded queues (J. Wang 2024, ch. 2): a ring of slots in blocks, each with counters of its own.
//!
//! | queue | producers, consumers | use it when |
//! |---|---|---|
//! | [`single`] | 1, 1 | many items wait in the queue, or they come in batches |
//! | [`one_consumer`] | many, 1 | many threads send to one |
//! | [`one_producer`] | 1, many | one thread hands work to many |
//! | [`shared`] | many, many | several threads on either side |
//! | [`overwriting`] | many, many | producers must never wait for consumers |
//! | [`mod@bytes`] | many, many | records of different lengths, written and read in place |
//!
//! `layout.rs` has what all of them share: where blocks lie, and how positions and counts belong together.

pub mod bytes;
mod layout;
pub mod one_consumer;
pub mod one_producer;
pub mod overwriting;
pub mod shared;
pub mod single;
mod variables;
