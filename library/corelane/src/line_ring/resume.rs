//! Handles that continue where others stopped: for processes that share a ring, of which one has
//! died.
//!
//! A producer finds its place in the lines: behind the item with the highest `tail`. An item that
//! the dead producer had written and not published is not there. A consumer finds the position that
//! the previous consumer recorded after each pop. An item that the dead consumer was reading is
//! popped again: its pop had not returned.
//!
//! A process takes a side by a lock that the system gives back when its owner has ended. So
//! everything that the owner did happens before.

use super::lines::{Line, Place};
use super::{Consumer, Geometry, Header, Producer, empty};
use crate::memory::Ordering;
use crate::queue::{CapacityError, Config};
use crate::region::{End, ends};

/// The ring has contents that no producer and no consumer of this library writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt;

impl<T> Producer<T> {
    /// A new handle goes on behind the last item that was published. No other thread may use this
    /// side of the ring any more.
    ///
    /// # Errors
    ///
    /// If no line has a possible `tail`.
    pub(crate) fn resume(mut self) -> Result<Self, Corrupt> {
        let (lines, first) = (self.end.slots().clone(), self.end.header().first());
        let (count, mut last) = (lines.len() as u64, None);
        for index in 0..count {
            // Relaxed: the system orders all that the dead producer did before this.
            let tail = lines.get(index).tail().load(Ordering::Relaxed).wrapping_sub(first);
            // A line that was never entered has the `tail` of its own start.
            if tail != index * Line::<T>::N as u64 {
                last = last.max(Some((tail, index)));
            }
        }
        if let Some((tail, index)) = last {
            let line = tail.checked_sub(1).ok_or(Corrupt)? / Line::<T>::N as u64;
            if line % count != index {
                return Err(Corrupt);
            }
            let start = line * Line::<T>::N as u64;
            self.place = Place {
                line: lines.get(index),
                start: first.wrapping_add(start),
                i: (tail - start) as usize,
            };
            self.entered = line + 1;
        }
        self.limit = self.entered;
        self.look();
        Ok(self)
    }

    /// Items pushed since the ring was made.
    #[doc(hidden)]
    pub fn count(&self) -> u64 {
        let position = self.place.start.wrapping_add(self.place.i as u64);
        position.wrapping_sub(self.end.header().first())
    }
}

impl<T> Consumer<T, true> {
    /// Items popped since the ring was made.
    #[doc(hidden)]
    pub fn count(&self) -> u64 {
        self.position().wrapping_sub(self.end.header().first())
    }

    /// A new handle goes on at the position that the last consumer recorded. No other thread may
    /// use this side of the ring any more.
    ///
    /// # Errors
    ///
    /// If the last consumer can't have left the ring so.
    pub(crate) fn resume(mut self) -> Result<Self, Corrupt> {
        let header = self.end.header();
        // Relaxed: as above.
        let popped = header.popped.load(Ordering::Relaxed);
        let (place, left) = header.place(self.end.slots(), popped);
        // The last consumer may have stopped just before it gave lines back.
        let given_back = left & !(self.together - 1);
        // Relaxed: as above.
        if header.read.load(Ordering::Relaxed) > given_back {
            return Err(Corrupt);
        }
        // Release ↔ Acquire in `Producer::look`: the items are taken, also by the last consumer.
        header.read.store(given_back, Ordering::Release);
        (self.place, self.left) = (place, left);
        self.filled = self.place.i;
        Ok(self)
    }
}

/// A side of a ring, whose handle may stop for ever. For the models and simulated schedules, which
/// have no processes; not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Heir<T>(End<Header<T>>, Geometry);

impl<T> Heir<T> {
    /// Both sides of a new ring.
    ///
    /// # Errors
    ///
    /// As [`queue_with`](super::queue_with).
    pub fn both(config: Config) -> Result<(Self, Self), CapacityError> {
        let geometry = Geometry::new::<T>(config)?;
        let (tx, rx) = ends(config.memory, geometry.lines, Header::new(config.first))?;
        empty(tx.slots(), config.first);
        Ok((Self(tx, geometry), Self(rx, geometry)))
    }

    /// Continues as the producer.
    ///
    /// # Errors
    ///
    /// If no producer can have left the ring so.
    pub fn producer(self) -> Result<Producer<T>, Corrupt> {
        Producer::new(self.0, self.1).resume()
    }

    /// Continues as the consumer.
    ///
    /// # Errors
    ///
    /// If no consumer can have left the ring so.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn consumer(self) -> Result<Consumer<T, true>, Corrupt> {
        Consumer::new(self.0, self.1).expect("there is memory").resume()
    }
}

impl<T> Clone for Heir<T> {
    fn clone(&self) -> Self {
        Self(self.0.duplicate(), self.1)
    }
}
