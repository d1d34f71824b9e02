//! A ring for processes: a producer that goes on after another one, and consumers of which each gets all items.
//!
//! A process takes the producer's side by a lock that the system gives back when its owner has ended. So all that the owner did happens before.

use core::cell::Cell;

use super::{Consumer, DONE, Header, NOTED, Producer, sides};
use crate::memory::Ordering;
use crate::plain::Plain;
use crate::queue::{CapacityError, Config};
use crate::region::End;

impl<T: Plain> Producer<T> {
    /// Goes on as the only producer, behind the last item that was published. No other thread may use this side of the ring any more.
    pub(crate) fn resume(end: End<Header<T>>) -> Self {
        // Relaxed, all: see above.
        let (slots, tail) = (end.slots(), end.header().tail.load(Ordering::Relaxed));
        let is_there =
            |position| slots.stamp(position).load(Ordering::Relaxed) == slots.lap(position) | DONE;
        // The dead producer has stored its position after so many items. It may have gone round the ring since.
        let since = (0..NOTED).rev().find(|&i| is_there(tail.wrapping_add(i)));
        let write = tail.wrapping_add(since.map_or(0, |last| last + 1));
        Self { write, is_alone: Cell::new(true), end }
    }

    /// Items that were pushed, if this is the only producer.
    pub fn count(&self) -> u64 {
        self.write
    }
}

impl<T: Plain> Consumer<T> {
    /// Gets all items that are pushed from now on, whatever others get.
    pub(crate) fn watch(end: End<Header<T>>) -> Self {
        // Relaxed: `newest` goes on from there.
        let read = end.header().tail.load(Ordering::Relaxed);
        let mut this = Self { read, lost: 0, is_alone: Cell::new(true), end };
        this.read = this.newest(read);
        this
    }
}

/// A side of a ring, whose handle may stop for ever. For the models and simulated schedules, which have no processes; not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Heir<T>(End<Header<T>>);

impl<T: Plain> Heir<T> {
    /// Both sides of a new ring.
    ///
    /// # Errors
    ///
    /// As [`queue_with`](super::queue_with).
    pub fn both(config: Config) -> Result<(Self, Self), CapacityError> {
        let (tx, rx) = sides(config)?;
        Ok((Self(tx), Self(rx)))
    }

    /// Goes on as the producer.
    pub fn producer(self) -> Producer<T> {
        Producer::resume(self.0)
    }

    /// One more consumer that gets all items.
    pub fn consumer(self) -> Consumer<T> {
        Consumer::watch(self.0)
    }
}

impl<T> Clone for Heir<T> {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}
