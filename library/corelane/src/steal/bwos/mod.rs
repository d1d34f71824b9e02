//! BWoS: block-based work stealing.
//!
//! A queue is divided into blocks. Each block belongs to the owner or to the thieves. Inside its
//! own block the owner needs no expensive atomic operation, and thieves don't disturb it: they
//! steal from other blocks. The owner *grants* a block to the thieves when it goes on to the next
//! block (LIFO), or when it has pushed some items into the block (FIFO). It *takes* a block *over*
//! from them when it comes to the block again. Atomic steps on the block's word decide which items
//! thieves have taken.
//!
//! # Items in the owner's block
//!
//! In the paper thieves can't enter the owner's block. Its items have to wait for the owner, even
//! while the owner runs a long task and all other threads sleep. Here a thief may *seize* a part of
//! them: it marks the block's word, and then orders the owner's accesses and its own by
//! [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html), which takes
//! microseconds. So the owner needs no fence: it stores its position before each pop and then loads
//! the word of its block, a cache line that no other thread writes. If the word is marked, the
//! owner removes the mark. If it has changed, the owner continues with the items that the thief has
//! left. The owner never waits for a thief.
//!
//! An owner that pops all the time finds each mark before the thief has finished. In a LIFO queue,
//! whose oldest item may be the largest part of a computation, the owner then gives the thief this
//! item.
//!
//! # The paper, and what differs
//!
//! J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems*
//! (2024), chapter 4.
//!
//! - Only the owner accesses the paper's `f_pos` and `b_pos`; FIFO thieves also read `b_pos`.
//!   Rounds are numbers of blocks, which only grow, and one word has the number and the state.
//! - All thieves share the position at which they steal (`bottom`, LIFO), or begin behind the
//!   owner's block (FIFO).
//! - The number of slots that thieves take is known when the owner leaves a block, so the owner
//!   only compares it with the number that they have read.

mod blocks;
pub mod fifo;
pub mod lifo;

pub use blocks::Loot;
