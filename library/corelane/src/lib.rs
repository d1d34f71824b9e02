//! Queues that move data between cores.
//!
//! Each queue is one file that reads like the paper it comes from. All have two kinds of handles, a
//! [`Producer`] and a [`Consumer`]. Where there may be several of a kind it can be cloned; where there is
//! only one it is a [`SingleProducer`] or a [`SingleConsumer`], which can also lend its slots.
//!
//! ```
//! use corelane::spsc;
//!
//! let (mut tx, mut rx) = spsc::queue::<String>(1024)?;
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
//! [`spsc::queue`], [`mpsc::queue`], [`spmc::queue`] and [`mpmc::queue`] pick a good default among those of a fixed
//! size; [`segmented`] and [`rings::lprq`] are never full. The pages of [`spsc`] and [`mpmc`] have tables of when to use
//! which. [`bytes::queue`] is for byte records of any length,
//! written and read in place; [`overwrite::queue`] for writers who must never be held up, at the price of what
//! nobody reads in time.
//!
//! # Features
//!
//! `std` (default) brings memory mappings ([`Memory::HugePages`], [`Memory::Mirrored`]) and the
//! queues that need a timer or locks. Without it the crate is `no_std` and needs `alloc`.

#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

pub mod b_queue;
pub mod block;
pub mod bytes;
pub mod fast_forward;
pub mod lamport;
pub mod line_ring;
pub mod list;
#[cfg(feature = "std")]
pub mod locked;
pub mod mc_ring;
#[cfg(feature = "std")]
pub mod mc_ring_sane;
#[doc(hidden)]
pub mod memory;
pub mod mpmc;
pub mod mpsc;
pub mod overwrite;
mod pad;
mod patience;
mod queue;
mod region;
mod registry;
pub mod ring;
pub mod rings;
pub mod scq;
pub mod segmented;
pub mod slot;
pub mod spmc;
pub mod spsc;

pub use queue::{
    Backing, BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Built,
    CapacityError, Config, Consumer, Info, Memory, PopIter, Producer, Queue, ReadChunk,
    ReadChunkIntoIter, Sides, SingleConsumer, SingleProducer, SingleQueue, TooFew, TryPopError,
    TryPushError, WriteChunk, WriteChunkUninit,
};
#[doc(hidden)]
pub use queue::{LendItems, LendSlots, LentItems, LentSlots};

/// The examples of both READMEs compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../README.md")]
struct Readme;
