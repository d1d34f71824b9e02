//! Queues that move data between cores, threads and processes.
//!
//! A queue has two sides. The handles of one side are its producers, the handles of the other side
//! its consumers. If a side may have several handles, a handle can be cloned. Otherwise the only
//! handle of the side also lends slots, to be filled or read in place. The calls of a queue never
//! wait for room or for an item. A [`channel`] waits: threads and tasks sleep until there is a
//! message, or room. [`wait::pair`] makes the handles of any queue wait.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use corelane::channel;
//!
//! let (tx, rx) = channel::bounded(1024);
//! std::thread::scope(|s| {
//!     s.spawn(move || tx.send("hello")); // then `tx` is dropped, and the loop ends
//!     s.spawn(move || rx.iter().for_each(|text| assert_eq!(text, "hello")));
//! });
//! # }
//! ```
//!
//! ```
//! use corelane::spsc;
//!
//! let (mut tx, mut rx) = spsc::queue(1024)?;
//! tx.try_push("hello")?;
//! assert_eq!(rx.try_pop(), Ok("hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which one?
//!
//! | you have | take |
//! |---|---|
//! | threads or tasks that wait | [`channel::bounded`], [`channel::unbounded`] |
//! | one producer, one consumer | [`spsc::queue`]; for blocks of hundreds of items [`spsc::chunk_queue`] |
//! | several producers or several consumers, or both | [`mpmc::queue`], [`mpsc::queue`], [`spmc::queue`] |
//! | an unknown number of waiting items | [`spsc::unbounded_queue`], [`mpmc::unbounded_queue`] |
//! | byte records of different lengths | [`record_ring::queue`] from one to one, [`bytes::queue`] between several |
//! | producers that must never wait | [`overwrite::queue`] |
//! | tasks for all cores | `steal::pool` |
//! | the queues for such a pool | [`steal::lifo`], [`steal::fifo`] |
//! | two processes, or several | `shm::Lane`, `shm::Lanes`, on Linux |
//!
//! [`spsc`] and [`mpmc`] have tables of all algorithms. Each algorithm is a module of its own.
//!
//! # Three answers besides success
//!
//! | answer | it means | what to do |
//! |---|---|---|
//! | [`Full`](TryPushError::Full), [`Empty`](TryPopError::Empty) | there is no room, or no item | try again later, or do something else |
//! | [`Closed`](TryPopError::Closed) | all handles of the other side are gone; a pop says so only after the last item | stop |
//! | [`Busy`](TryPopError::Busy) | an unfinished call of another thread is in the way | try again soon: yield, because that thread may need the core |
//!
//! Only these queues say busy:
//!
//! | queue | a push says busy | a pop says busy |
//! |---|---|---|
//! | [`block::shared`], [`block::fetch_add`], [`block::one_consumer`], [`block::one_producer`], [`block::bytes`] | while a pop from the next block is unfinished | while a push into the same block is unfinished |
//! | [`leased`] | while another push is unfinished, or another thread is about to push | the same for pops |
#![cfg_attr(
    feature = "literature",
    doc = "| [`ring`], in order | while a push or pop is unfinished and no slot is free | never, unless the queue's producers have relaxed tails |"
)]
#![cfg_attr(
    feature = "literature",
    doc = "| [`ring`], relaxed tails or one at a time | as in order, and while another push is in the way | while another pop is in the way |"
)]
//! | [`scq`] | while other threads hold all free slots, in unfinished calls | never |
#![cfg_attr(
    feature = "literature",
    doc = "| [`list::pooled`] | while other threads hold all free nodes, in unfinished calls | never |"
)]
#![cfg_attr(
    feature = "literature",
    doc = "| [`block::overwriting`] | while a push of an earlier lap into the next block is unfinished | while a push is unfinished |"
)]
#![cfg_attr(
    feature = "literature",
    doc = "| [`relaxed::d_cbo`], [`relaxed::lldq`], [`relaxed::k_segment`], [`relaxed::block_fifo`] | while a push or pop is unfinished and no other slot is free | while a push or pop is unfinished and no other item is there |"
)]
#![cfg_attr(
    all(feature = "std", feature = "literature"),
    doc = "| [`relaxed::multi_fifo`] | as before | as before |"
)]
#![cfg_attr(
    feature = "literature",
    doc = "| [`relaxed::k_segment_list`] | never | while a push is unfinished and no other item of its segment is left |"
)]
//! | [`seq_ring`] | never | while the push of the oldest item is unfinished |
//!
//! A queue is busy while the other call runs: some nanoseconds, or longer if the calling thread
//! loses its core. Calls for slices, and iterators, retry for about a microsecond. Then they end,
//! as if the queue were full or empty.
//!
//! # Names
//!
//! | name | what it does |
//! |---|---|
//! | `queue`, `token_queue`, `unbounded_queue`… | makes a queue for a capacity; the same with `_with` takes a [`Config`] with all options |
//! | `try_push`, `try_pop`, `try_send`, `try_recv`, `try_claim` | never waits. Without `try_` the call waits, with `_timeout` or `_deadline` at most so long, with `_async` as a task. Only [`overwrite`] has a `push` that never needs to wait |
//! | `push_slice`, `pop_slice`, `push_iter`, `pop_iter` | moves as many items as it can, and never waits |
//! | `push_all`, `send_all` | waits until all items are in |
//! | `pop_many`, `recv_many` | waits for the first item, and then takes the items that are there, up to a number |
//! | `is_closed` | whether the other side is gone. The errors of a channel say `Disconnected`, as those of `std` and of crossbeam-channel |
//!
//! # Errors
//!
//! [`TryPushError`], [`TryPopError`], [`bytes::ClaimError`] and [`Sides`] will not grow, so that a
//! `match` can name every case. [`CapacityError`], [`TooFew`], [`Config`], [`Memory`] and
//! [`Backing`] are `#[non_exhaustive]`, because they will grow. [`Info`] may gain fields: write
//! `..Info::RING` for those that a queue does not set.
//!
//! With `std`, the errors of pushes, pops, claims and capacities convert into `std::io::Error`.
//! Full, empty and busy are `WouldBlock`. Closed is `BrokenPipe` for a push and `UnexpectedEof` for
//! a pop.
//!
//! # Features
//!
//! `std` (default) adds [channels](channel) and handles that [wait], memory mappings
//! ([`Memory::HugePages`], [`Memory::Mirrored`]), lanes between processes, the queues that need a
//! timer or locks, and the system call with which [`leased`] needs no fences. Without it the crate
//! is `no_std` and needs `alloc`. `futures` adds `Stream` and `Sink` for channels.
//!
//! `literature` adds queues that are there to compare and to learn: those of papers and textbooks
//! that another queue here improves, and those that other libraries have. It also adds macros that
//! list all queues, for tests and measurements. Version 1.0 doesn't promise that it stays.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Parts of the queues that only channels and waiting handles use.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

extern crate alloc;

#[macro_use]
mod advice;

pub mod b_queue;
pub mod block;
pub mod bytes;
mod carrier;
#[cfg(feature = "std")]
pub mod channel;
/// Public for the models; not for use, and not stable.
#[doc(hidden)]
pub mod exact;
pub mod fast_forward;
#[doc(hidden)]
pub mod hazard;
pub mod lamport;
/// Public for the models, and for `shm::Lanes`, which is made of it; not for use by itself, and not
/// stable.
#[doc(hidden)]
pub mod lanes;
/// Public for the models, which use it without a queue; not for use, and not stable.
#[doc(hidden)]
pub mod lease;
pub mod leased;
pub mod line_ring;
#[cfg(feature = "literature")]
pub mod list;
// The part that `segmented` needs.
#[cfg(not(feature = "literature"))]
#[allow(dead_code)]
mod list;
#[cfg(all(feature = "std", feature = "literature"))]
pub mod locked;
#[cfg(feature = "literature")]
pub mod mc_ring;
#[cfg(all(feature = "std", feature = "literature"))]
pub mod mc_ring_sane;
#[doc(hidden)]
pub mod memory;
pub mod mpmc;
pub mod mpsc;
pub mod overwrite;
mod pad;
mod plain;
#[cfg(feature = "literature")]
mod pool;
mod queue;
#[cfg(any(feature = "std", feature = "literature"))]
mod random;
pub mod record_ring;
mod region;
#[cfg(feature = "literature")]
mod registry;
pub mod relaxed;
#[cfg(feature = "literature")]
pub mod ring;
pub mod rings;
pub mod scq;
/// Public for the models, and for `shm::Lanes` of `[u8]`, which is made of it; not for use by itself,
/// and not stable.
#[doc(hidden)]
pub mod seat_ring;
pub mod segmented;
pub mod seq_ring;
#[cfg(all(
    feature = "std",
    target_os = "linux",
    target_pointer_width = "64",
    not(any(feature = "no-mappings", feature = "loom", feature = "sim"))
))]
pub mod shm;
pub mod slot;
mod spin;
pub mod spmc;
pub mod spsc;
pub mod steal;
mod unwind;
#[cfg(feature = "std")]
pub mod wait;
#[cfg(feature = "std")]
pub mod workload;

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
