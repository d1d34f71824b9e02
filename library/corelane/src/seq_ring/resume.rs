//! A ring for processes: a producer that continues after another one, and consumers that each get
//! all items.
//!
//! A process takes the producer's side by a lock that the system gives back when its owner has
//! ended. So everything that the owner did happens before.

use core::cell::Cell;

use super::{Consumer, DONE, Header, NOTED, Producer, sides};
use crate::memory::{Ordering, is_before};
use crate::plain::Plain;
use crate::queue::{CapacityError, Config};
use crate::region::End;

impl<T: Plain> Producer<T> {
    /// Continues as the only producer, behind the last item that was published. No other thread may
    /// use this side of the ring any more.
    pub(crate) fn resume(end: End<Header<T>>) -> Self {
        // Relaxed, all: see above.
        let (slots, tail) = (end.slots(), end.header().tail.load(Ordering::Relaxed));
        let is_there =
            |position| slots.stamp(position).load(Ordering::Relaxed) == slots.lap(position) | DONE;
        // The dead producer stored its position at most `NOTED` items ago. It may have gone round
        // the ring since.
        let since = (0..NOTED).rev().find(|&i| is_there(tail.wrapping_add(i)));
        let write = tail.wrapping_add(since.map_or(0, |last| last + 1));
        // The next producer that continues starts its look here.
        end.header().tail.store(write, Ordering::Relaxed);
        Self { write, is_alone: Cell::new(true), end }
    }

    /// Items that were pushed, if this is the only producer.
    #[doc(hidden)]
    pub fn count(&self) -> u64 {
        self.write
    }
}

impl<T: Plain> Consumer<T> {
    /// Gets all items from `begin` on, or all items that are pushed from now on, also those that
    /// other consumers get.
    pub(crate) fn watch(end: End<Header<T>>, begin: Option<u64>) -> Self {
        let read = begin.unwrap_or_else(|| Self::next(&end));
        Self { read, lost: 0, is_watching: true, is_alone: Cell::new(true), end }
    }

    /// The position of the next item.
    fn next(end: &End<Header<T>>) -> u64 {
        // Relaxed, all: the handle may begin with a later item, if that was pushed at the same
        // time.
        let (slots, tail) = (end.slots(), end.header().tail.load(Ordering::Relaxed));
        let is_to_come = |position| {
            let stamp = slots.stamp(position).load(Ordering::Relaxed);
            is_before(stamp, slots.lap(position) | DONE)
        };
        let since = (0..NOTED).find(|&i| is_to_come(tail.wrapping_add(i)));
        tail.wrapping_add(since.unwrap_or(NOTED))
    }

    /// The position of the next item, if this handle watches.
    #[doc(hidden)]
    pub fn position(&self) -> u64 {
        self.read
    }
}

/// A side of a ring, whose handle may stop for ever. For the models and simulated schedules, which
/// have no processes; not stable.
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

    /// Continues as the producer.
    pub fn producer(self) -> Producer<T> {
        Producer::resume(self.0)
    }

    /// One more consumer that gets all items.
    pub fn consumer(self) -> Consumer<T> {
        Consumer::watch(self.0, None)
    }
}

impl<T> Clone for Heir<T> {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TryPopError;

    /// The first is killed before it stores its position, the second before it has to.
    #[test]
    fn the_third_producer_goes_on_behind_the_second() {
        for capacity in [4, 256] {
            let (tx, _rx) = Heir::<u64>::both(Config::new(capacity)).unwrap();
            let mut first = tx.clone().producer();
            (0..NOTED).for_each(|number| first.push(number));
            first.end.header().tail.store(0, Ordering::Relaxed);
            let mut second = tx.clone().producer();
            assert_eq!(second.count(), NOTED);
            (0..36).for_each(|number| second.push(NOTED + number));
            assert_eq!(tx.producer().count(), NOTED + 36);
        }
    }

    /// A producer is killed in the middle of a push.
    #[test]
    fn a_late_consumer_gets_the_item_of_the_next_producer() {
        let (tx, rx) = Heir::<u64>::both(Config::new(8)).unwrap();
        let mut dead = tx.clone().producer();
        dead.push(0);
        let slots = dead.end.slots();
        slots.stamp(1).store(slots.lap(1), Ordering::Relaxed);
        let mut rx = rx.consumer();
        assert_eq!((rx.position(), rx.try_pop()), (1, Err(TryPopError::Empty)));
        let mut next = tx.producer();
        next.push(1);
        assert_eq!((rx.try_pop(), rx.lost()), (Ok(1), 0));
    }
}
