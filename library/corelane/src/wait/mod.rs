//! Handles that wait: for items, or for room. For any queue.
//!
//! [`pair`] takes the two handles of a queue, and returns handles that are [`crate::Producer`] and
//! [`crate::Consumer`] too, with these calls:
//!
//! | | blocks the thread | gives up at a time | a future |
//! |---|---|---|---|
//! | for room | [`push`](Producer::push), [`push_all`](Producer::push_all) | [`push_timeout`](Producer::push_timeout), [`push_deadline`](Producer::push_deadline) | [`push_async`](Producer::push_async) |
//! | for an item | [`pop`](Consumer::pop), [`pop_many`](Consumer::pop_many), `for item in rx` | [`pop_timeout`](Consumer::pop_timeout), [`pop_deadline`](Consumer::pop_deadline) | [`pop_async`](Consumer::pop_async) |
//! | for a chunk | [`wait_for_room`](Producer::wait_for_room), [`wait_for_items`](Consumer::wait_for_items) | | |
//!
//! [`Inbox`] is the receiving side of many queues at once. [`bytes::pair`] is for byte records.
//!
//! A call first looks again for some microseconds, and longer if that has succeeded lately. Then it
//! sleeps, and takes no processor time. [`Strategy`] has other ways to wait. When all handles of
//! the other side are dropped, all sleepers wake up. A future needs no runtime of its own; one side
//! may be a task and the other one a thread.
//!
//! While no thread sleeps, a push or pop costs a load more than that of the plain handle. A sleep
//! takes a [`membarrier(2)`](https://man7.org/linux/man-pages/man2/membarrier.2.html) of 1 to 10
//! microseconds, unless sleeps come often: then each push and pop has a fence instead. On systems
//! without `membarrier` each push and pop always has a fence. Either all handles of a queue are in
//! a pair, or none: an item that a plain handle pushes wakes no thread.
//!
//! ```
//! use corelane::{spsc, wait};
//!
//! let (mut tx, rx) = wait::pair(spsc::queue(100)?);
//! std::thread::spawn(move || {
//!     for n in 1..=1000 {
//!         tx.push(n).expect("the consumer is there");
//!     }
//! });
//! assert_eq!(rx.into_iter().sum::<u32>(), 500_500);
//! # Ok::<(), corelane::CapacityError>(())
//! ```
//!
//! A call may wake tasks of the other side. If wakers panic, all others are woken first. Then the
//! first panic goes on. A pop that has its item catches the panic and returns the item. A push
//! whose call panics has pushed its item, or drops it.
//!
//! Threads that wait for each other in a circle wait for ever. So does a thread that waits for an
//! item and has the only producer itself.

/// Public for the models, which use it without a queue; not for use, and not stable.
#[doc(hidden)]
pub mod bell;
pub(crate) mod budget;
mod by_number;
pub mod bytes;
mod consumer;
mod inbox;
mod producer;
pub(crate) mod thread;
/// As [`bell`], for bells between processes.
#[doc(hidden)]
pub mod word;

use alloc::sync::Arc;
use core::fmt;

pub use consumer::{Consumer, Items, PopFuture};
pub use inbox::{Inbox, InboxFuture, InboxItems};
pub use producer::{Producer, PushFuture};
pub use thread::{Strategy, Waits};

use crate::memory::{AtomicU64, Ordering};
use bell::Bell;

/// Makes the handles of a queue wait.
pub fn pair<P, C>((tx, rx): (P, C)) -> (Producer<P>, Consumer<C>)
where
    P: crate::Producer,
    C: crate::Consumer<Item = P::Item>,
{
    let (sender, receiver) = Local::pair(Arc::default());
    (Producer::new(tx, sender), Consumer::new(rx, receiver))
}

/// All consumers are gone. Holds the item that was not pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> Closed<T> {
    /// The item that was not pushed.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the consumer is gone")
    }
}

impl<T> core::error::Error for Closed<T> {}

/// What the handles of a queue share besides the queue.
#[derive(Debug)]
struct Common {
    /// Producers sleep here.
    room: Bell,
    producers: AtomicU64,
    consumers: AtomicU64,
}

/// The bells at which the handles of a queue sleep, and which they ring: [`Local`], if all handles
/// are in one process.
pub trait Bells: sealed::Bells {}

impl<B: sealed::Bells> Bells for B {}

pub(crate) mod sealed {
    use std::time::Instant;

    use super::Waits;
    use super::bell::Look;

    /// The bells of a queue.
    pub trait Bells {
        type Items: Rings;
        type Room: Rings;
        /// Whether a side may have several handles. Then one call of `ring` may be for several
        /// sleepers, and each sleeper that has found an item or room calls it again.
        const HAS_SEVERAL: bool = false;

        /// Consumers sleep here.
        fn items(&self) -> &Self::Items;

        /// Producers sleep here.
        fn room(&self) -> &Self::Room;

        /// For one more handle of the same side, if there may be several.
        fn try_clone(&self) -> Option<Self>
        where
            Self: Sized,
        {
            None
        }
    }

    /// A bell, at which threads sleep until it is rung.
    pub trait Rings {
        /// Wakes a sleeper, if there is one. A sleeper that is about to sleep sees everything that
        /// the caller has published before.
        fn ring(&self);

        /// As `n` calls of [`ring`](Self::ring).
        fn ring_for(&self, n: usize);

        /// As [`ring`](Self::ring), for a caller that has an item: it must not panic.
        #[inline(always)] // as `ring`
        fn ring_and_catch(&self) {
            self.ring();
        }

        /// As `n` times [`ring_and_catch`](Self::ring_and_catch).
        #[inline]
        fn ring_for_and_catch(&self, n: usize) {
            self.ring_for(n);
        }

        /// Blocks the thread until a look finds something. `None` if no look did before `until`:
        /// then the caller looks once more.
        fn sleep<R>(
            &self,
            waits: &mut Waits,
            until: Option<Instant>,
            look: impl FnMut() -> Look<R>,
        ) -> Option<R>;

        /// Looks a few times, with a short sleep before each, from which nothing wakes the thread.
        /// `None` also if this bell has no such sleeps.
        #[inline]
        fn nap<R>(&self, _: Option<Instant>, _: impl FnMut() -> Look<R>) -> Option<R> {
            None
        }

        /// Called now and then by a thread that doesn't sleep and looks again and again.
        #[inline]
        fn check(&self) {}
    }
}

/// The bells of a queue whose handles are all in this process. Dropped after the handle of the
/// queue.
#[derive(Debug)]
pub struct Local {
    /// The consumer sleeps here. It may be that of several queues.
    items: Arc<Bell>,
    bells: Arc<Common>,
    is_producer: bool,
}

impl Local {
    /// Of a producer and of a consumer that sleeps at `items`.
    fn pair(items: Arc<Bell>) -> (Self, Self) {
        let one = || AtomicU64::new(1);
        let bells = Common { room: Bell::default(), producers: one(), consumers: one() };
        let sender = Self { items, bells: Arc::new(bells), is_producer: true };
        let receiver =
            Self { items: sender.items.clone(), bells: sender.bells.clone(), is_producer: false };
        (sender, receiver)
    }

    /// The handles of this side, and the bell at which the other side sleeps.
    fn side(&self) -> (&AtomicU64, &Bell) {
        match self.is_producer {
            true => (&self.bells.producers, &self.items),
            false => (&self.bells.consumers, &self.bells.room),
        }
    }
}

impl sealed::Bells for Local {
    type Items = Bell;
    type Room = Bell;
    const HAS_SEVERAL: bool = true;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Bell {
        &self.bells.room
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Clone for Local {
    fn clone(&self) -> Self {
        // Relaxed: the thread that uses the new handle got it from this thread.
        self.side().0.fetch_add(1, Ordering::Relaxed);
        let Self { items, bells, is_producer } = self;
        Self { items: items.clone(), bells: bells.clone(), is_producer: *is_producer }
    }
}

impl Drop for Local {
    /// The last handle of a side wakes the other side: the queue is closed.
    fn drop(&mut self) {
        let (handles, others) = self.side();
        // Release ↔ the fence of the last handle: the queue's handles are dropped.
        if handles.fetch_add(1_u64.wrapping_neg(), Ordering::Release) == 1 {
            others.ring_for_all();
        }
    }
}

/// Blocks the thread at a bell until a look finds something. For the models, which use bells
/// without a queue.
#[doc(hidden)]
pub fn block<R>(bell: &Bell, look: impl FnMut() -> bell::Look<R>) -> R {
    thread::Habit::new().wait(bell, None, look).expect("it waits for ever")
}
