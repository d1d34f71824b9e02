//! Work stealing: a queue whose owner pushes and pops items, and from which thieves steal waiting
//! items.
//!
//! A worker thread owns a queue: it pushes tasks, and pops the next one. A thread without a task
//! steals from the queues of others.
//!
//! ```
//! use corelane::steal;
//!
//! let mut worker = steal::fifo(256)?;
//! let thief = worker.stealer();
//! for task in 0..100 {
//!     worker.try_push(task)?;
//! }
//! // On other threads:
//! let stolen = thief.try_steal()?;
//! // Its owner goes on with the oldest of the others.
//! assert_eq!(worker.try_pop(), Ok(0));
//! assert!(stolen > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | | order of the owner | for |
//! |---|---|---|
//! | [`lifo`] | newest first | computations that fork and join: the data of the newest task is in the cache, and thieves get the oldest and largest tasks |
//! | [`fifo`] | oldest first | servers and executors: no task waits for ever |
#![cfg_attr(
    feature = "literature",
    doc = "| [`chase_lev`], [`chase_lev::asymmetric`], [`run_queue`] | newest; newest; oldest first | to compare: what most schedulers have. One would choose them for queues that grow, or when a thief must reach every item by an ordinary steal |"
)]
//!
//! `pool` has worker threads with such queues, for tasks of any type. `fork_join` has them for
//! computations that split.
//!
//! `lifo` and `fifo` are block-based ([`bwos`]). Where the system has `membarrier(2)`, as Linux
//! does, the owner's calls cost about as much as those of `Vec` and `VecDeque`. Elsewhere each pop
//! has a fence.

/// The traits of a queue's handles by their inherent calls of the same names, and what handles have
/// besides: clones of thieves, and `Debug`. `$also` are the calls of [`Stealer`] that the queue
/// doesn't leave to the trait.
macro_rules! handles {
    ($a:lifetime, $loot:ty: $($also:tt)*) => {
        impl<T> $crate::steal::Worker for Worker<T> {
            type Item = T;
            type Stealer = Stealer<T>;

            #[inline(always)]
            fn try_push(&mut self, item: T) -> Result<(), $crate::queue::TryPushError<T>> {
                self.try_push(item)
            }

            #[inline(always)]
            fn try_pop(&mut self) -> Result<T, $crate::queue::TryPopError> {
                self.try_pop()
            }

            fn stealer(&self) -> Stealer<T> {
                self.stealer()
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }
        }

        impl<T> $crate::steal::Stealer for Stealer<T> {
            type Item = T;
            type Loot<$a>
                = $loot
            where
                T: $a;

            fn try_steal_some(&self, most: usize) -> Result<Self::Loot<'_>, $crate::queue::TryPopError> {
                self.try_steal_some(most)
            }

            fn len(&self) -> usize {
                self.len()
            }

            $($also)*
        }

        impl<T> Clone for Stealer<T> {
            fn clone(&self) -> Self {
                Self { end: self.end.duplicate() }
            }
        }

        impl<T> core::fmt::Debug for Worker<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct("Worker").field("capacity", &self.capacity()).finish_non_exhaustive()
            }
        }

        impl<T> core::fmt::Debug for Stealer<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct("Stealer").finish_non_exhaustive()
            }
        }
    };
}
use handles;

pub mod bwos;
#[cfg(feature = "literature")]
pub mod chase_lev;
#[cfg(feature = "std")]
pub mod fork_join;
#[cfg(feature = "std")]
pub mod pool;
#[cfg(feature = "literature")]
pub mod run_queue;

pub use bwos::fifo::{queue as fifo, queue_with as fifo_with};
pub use bwos::lifo::{queue as lifo, queue_with as lifo_with};

use crate::queue::{TryPopError, TryPushError};

/// The owner's handle of a queue from which thieves steal.
pub trait Worker {
    /// Type of the items.
    type Item;
    /// The thieves' handle.
    type Stealer: Stealer<Item = Self::Item>;

    /// Pushes an item.
    ///
    /// # Errors
    ///
    /// `Full` if there is no room. The error has the item.
    fn try_push(&mut self, item: Self::Item) -> Result<(), TryPushError<Self::Item>>;

    /// Pops the next item, in the owner's order.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none.
    fn try_pop(&mut self) -> Result<Self::Item, TryPopError>;

    /// A handle for a thief.
    ///
    /// # Panics
    ///
    /// If there are 65,536 already.
    fn stealer(&self) -> Self::Stealer;

    /// Items that fit.
    fn capacity(&self) -> usize;
}

/// A thief's handle of another thread's queue.
pub trait Stealer: Clone {
    /// Type of the items.
    type Item;
    /// Items that a thief has taken.
    type Loot<'a>: ExactSizeIterator<Item = Self::Item>
    where
        Self: 'a;

    /// Steals an item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is none that can be stolen without disturbing the owner, `Closed` if there
    /// is none and the owner is gone. `Busy`, of some queues, if the owner or another thief was
    /// faster.
    fn try_steal(&self) -> Result<Self::Item, TryPopError> {
        Ok(self.try_steal_some(1)?.next().expect("it has stolen one"))
    }

    /// Steals up to `most` items, at least one, from adjacent slots in one step.
    ///
    /// # Errors
    ///
    /// As [`try_steal`](Self::try_steal).
    fn try_steal_some(&self, most: usize) -> Result<Self::Loot<'_>, TryPopError>;

    /// Steals up to `most` items, at least one, from adjacent slots, if a part of the queue that
    /// `random` chooses has items: the longer the queue, the more likely. If it has none, the thief
    /// tries another queue with another number. By default it is
    /// [`try_steal_some`](Self::try_steal_some), for queues that can't tell how long they are
    /// without disturbing the owner.
    ///
    /// # Errors
    ///
    /// `Empty` if that part has no items for thieves; otherwise as [`try_steal`](Self::try_steal).
    fn try_steal_sampled(&self, random: u64, most: usize) -> Result<Self::Loot<'_>, TryPopError> {
        _ = random;
        self.try_steal_some(most)
    }

    /// Steals up to `most` items, at least one, but no more than half, from the items on which the
    /// owner works. For a thread that finds no other item and would sleep.
    ///
    /// # Errors
    ///
    /// `Empty` if the owner has no such item; `Busy` if the owner, or another thief, was faster, or
    /// if [`try_steal`](Self::try_steal) finds items; `Closed` only if no item is left at all.
    ///
    /// By default it is [`try_steal_some`](Self::try_steal_some), for queues in which a thief
    /// reaches every item by that.
    fn try_seize(&self, most: usize) -> Result<Self::Loot<'_>, TryPopError> {
        self.try_steal_some(most)
    }

    /// Whether there was nothing to steal or to seize. Items that the owner pushed before, and that
    /// no thread has taken, are seen if there is a fence or another synchronisation between.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that could be stolen or seized, about.
    fn len(&self) -> usize;
}
