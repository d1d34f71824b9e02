//! Queues that move data between cores.
//!
//! Each queue is one file that reads like the paper it comes from. All have two kinds of handles, a
//! [`Producer`] and a [`Consumer`]. Where there may be several of a kind it can be cloned; where there is
//! only one it is a [`SingleProducer`] or a [`SingleConsumer`], which can also lend its slots.
//!
//! ```
//! use corelane::{Consumer, Producer, spsc};
//!
//! let (mut tx, mut rx) = spsc::channel::<String>(1024)?;
//! std::thread::scope(|s| {
//!     s.spawn(move || tx.try_push("hello".to_string()).unwrap());
//!     s.spawn(move || {
//!         loop {
//!             match rx.try_pop() {
//!                 Ok(text) => break assert_eq!(text, "hello"),
//!                 Err(_) => std::hint::spin_loop(),
//!             }
//!         }
//!     });
//! });
//! # Ok::<(), corelane::CapacityError>(())
//! ```
//!
//! # Which one?
//!
//! [`spsc::channel`], [`mpsc::channel`], [`spmc::channel`] and [`mpmc::channel`] pick a good default among those of a fixed
//! size; [`spsc::segmented`] and [`mpmc::lprq`] are never full. The pages of [`spsc`] and [`mpmc`] have tables of when to use
//! which. [`bytes::channel`] is for byte records of any length,
//! written and read in place; [`overwrite::channel`] for writers who must never be held up, at the price of what
//! nobody reads in time.
//!
//! # Features
//!
//! `std` (default) brings memory mappings ([`Memory::HugePages`], [`Memory::Mirrored`]) and the
//! queues that need a timer or locks. Without it the crate is `no_std` and needs `alloc`.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod blocks;
pub mod bytes;
mod chunk;
#[doc(hidden)]
pub mod memory;
pub mod mpmc;
pub mod mpsc;
pub mod overwrite;
mod pad;
mod plain;
mod queue;
mod region;
mod registry;
pub mod slot;
pub mod spmc;
pub mod spsc;

pub use chunk::{ReadChunk, ReadChunkIntoIter, WriteChunk};
pub use queue::{
    CapacityError, Config, Consumer, LentItems, LentSlots, PopIter, Producer, SingleConsumer,
    SingleProducer, TryPopError, TryPushError,
};
pub use region::{Backing, Memory};
pub use registry::{Built, Info, MpmcQueue, MpmcTokenQueue, Sides, SpscQueue, SpscTokenQueue};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
