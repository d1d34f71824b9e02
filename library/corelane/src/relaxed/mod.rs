//! Queues whose items may leave out of turn, so that many threads don't wait for each other.
//!
//! In a first-in, first-out queue all threads of a side agree on the order of all items. On tens of
//! cores this agreement is what an item costs. A relaxed queue lets threads agree seldom, and bounds
//! or measures what that does to the order.
//!
//! # Terms
//!
//! - The *rank error* of an item that leaves is the number of older items that are still inside. An
//!   item is older if its push had returned before the push of the other item began.
//! - The *delay* of an item is the number of younger items that left before it.
//! - A queue is *k-FIFO* if each pop takes one of the k oldest items: no rank error and no delay is
//!   k or more. [`Config::relaxation`](crate::Config::relaxation) sets k, and
//!   [`Consumer::relaxation`](crate::Consumer::relaxation) tells it. 1-FIFO is first in, first out.
//!
//! # Queues to compare
//!
//! They need the feature `literature`.
//!
#![cfg_attr(feature = "literature", doc = "| queue | use it | don't use it |")]
#![cfg_attr(feature = "literature", doc = "|---|---|---|")]
#![cfg_attr(feature = "literature", doc = advice!(row d_cbo "relaxed::d_cbo"))]
#![cfg_attr(all(feature = "std", feature = "literature"), doc = advice!(row multi_fifo "relaxed::multi_fifo"))]
#![cfg_attr(feature = "literature", doc = advice!(row block_fifo "relaxed::block_fifo"))]
#![cfg_attr(feature = "literature", doc = advice!(row bsq "relaxed::k_segment"))]
#![cfg_attr(feature = "literature", doc = advice!(row usq "relaxed::k_segment_list"))]
#![cfg_attr(feature = "literature", doc = advice!(row lldq "relaxed::lldq"))]

#[cfg(feature = "literature")]
pub mod block_fifo;
pub mod cnq;
#[cfg(feature = "literature")]
mod counted_rings;
#[cfg(feature = "literature")]
pub mod d_cbo;
#[cfg(feature = "literature")]
pub mod k_segment;
#[cfg(feature = "literature")]
pub mod k_segment_list;
#[cfg(feature = "literature")]
pub mod lldq;
#[cfg(all(feature = "std", feature = "literature"))]
pub mod multi_fifo;
#[cfg(feature = "literature")]
mod parts;
#[cfg(feature = "literature")]
mod segments;
#[cfg(feature = "literature")]
mod single_use;
