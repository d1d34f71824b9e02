//! The block-based bounded queues (J. Wang 2024, ch. 2): a ring of slots, divided into blocks that
//! have counters of their own.
//!
//! | queue | producers, consumers | use it |
//! |---|---|---|
//! | [`single`] | 1, 1 | when many items wait most of the time, for large queues, or to fill slots in place |
//! | [`one_consumer`] | many, 1 | when many threads send to one |
//! | [`one_producer`] | 1, many | when one thread hands work to many |
//! | [`shared`] | many, many | between several threads that seldom push or pop |
//! | [`fetch_add`] | many, many | when many threads pop at once |
#![cfg_attr(
    feature = "literature",
    doc = "| [`overwriting`] | many, many | to compare: [`seq_ring`](crate::seq_ring) is the default if producers must never wait |"
)]
//! | [`mod@bytes`] | many, many | for records of different lengths, written and read in place |

pub mod bytes;
pub mod fetch_add;
mod layout;
pub mod one_consumer;
pub mod one_producer;
#[cfg(feature = "literature")]
pub mod overwriting;
mod reserve;
pub mod shared;
pub mod single;
mod variables;

pub use reserve::ByExchange;
pub use variables::{Merged, Separate};

/// How the counters of a block lie in memory: [`Merged`] between one producer and one consumer,
/// otherwise [`Separate`].
///
/// A parameter of the handles' types, which no program has to name.
pub trait Variables: variables::Variables {}

impl<V: variables::Variables> Variables for V {}

/// How one of several consumers takes items: [`ByExchange`], or [by
/// fetch-and-add](fetch_add::ByAddition).
///
/// A parameter of the handles' types, which no program has to name.
pub trait Reserve: reserve::Reserve {}

impl<R: reserve::Reserve> Reserve for R {}
