//! BWoS: block-based work stealing.
//!
//! A queue is divided into blocks. Each block is the owner's or the thieves'. Inside a block of its
//! own the owner needs no atomic operation that costs something, and thieves don't disturb it: they
//! steal from other blocks. The owner *grants* a block to the thieves when it goes on to the next
//! one (LIFO), or when it has pushed some items into it (FIFO), and *takes* a block *over* from
//! them when it comes to it. The block's word decides by atomic steps which items thieves have got.
//!
//! # Items in the owner's block
//!
//! In the paper thieves can't enter the owner's block. Its items have to wait for the owner, even
//! if that runs a long task while all others sleep. Here a thief may *seize* a part of them: it
//! marks the block's word, and then orders the owner's accesses and its own by
//! [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), which takes
//! microseconds. So the owner needs no fence: it stores its position before each pop and then loads
//! the word of its block, a cache line that nobody else writes. If the word is marked, or has
//! changed, the owner takes the mark back, or goes on with what the thief has left. The owner never
//! waits for a thief.
//!
//! An owner that pops all the time finds each mark before the thief has done the rest. In a LIFO
//! queue, whose oldest item may be the largest part of a computation, it then gives the thief that
//! item.
//!
//! # The paper, and what differs
//!
//! J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems*
//! (2024), chapter 4.
//!
//! - The paper's `f_pos` and `b_pos` are the owner's alone; only FIFO thieves read `b_pos`. Rounds
//!   are numbers of blocks, which only grow, and one word has the number and the state.
//! - Thieves keep where they steal (`bottom`) in one place for all of them (LIFO), or begin behind
//!   the owner's block (FIFO).
//! - The number of slots that thieves take is known when the owner leaves a block, so the owner
//!   only compares it with the number that they have read.

mod blocks;
pub mod fifo;
pub mod lifo;

pub use blocks::Loot;
