//! Handles that continue where others stopped: for processes that share a ring, of which one has
//! died.
//!
//! Each side stores its position after each record. It may have died before that store, or between
//! the two stores of its mark. Then the header at the stored position is that of one more record,
//! or of a skipped end of the ring. A claim that was not committed has changed nothing. A record
//! that the dead consumer had not dropped is popped again.
//!
//! A process takes a side by a lock that the system gives back when its owner has ended. So
//! everything that the owner did happens before.

use super::head::{Head, words};
use super::place::Place;
use super::{Consumer, Geometry, Header, Producer, begin};
use crate::line_ring::Corrupt;
use crate::memory::Ordering;
use crate::queue::{CapacityError, Config};
use crate::region::{End, ends};

impl Producer {
    /// A new handle goes on behind the last record. No other thread may use this side of the ring
    /// any more.
    ///
    /// # Errors
    ///
    /// If no producer can have left the ring so.
    pub(crate) fn resume(mut self) -> Result<Self, Corrupt> {
        let (slots, header, len) = (self.end.slots(), self.end.header(), self.geometry.len);
        // Relaxed, all: the system orders all that the dead producer did before this.
        let position = header.pushed.position.load(Ordering::Relaxed);
        let head = |place: Place| Head(slots.atomic(place.index).load(Ordering::Relaxed));
        let stored = header.pushed.count.load(Ordering::Relaxed);
        let mut place = Place::of(position, header.first(), len);
        let mut count = head(place).number(stored).ok_or(Corrupt)?;
        // A record or a skipped end of the ring that the dead producer had published, and had not
        // moved behind.
        if head(place).is_skip(count) {
            place = place.next_lap(len);
        } else if let Some(bytes) = head(place).len(count) {
            if words(bytes) > place.left(len) {
                return Err(Corrupt);
            }
            place = place.after(words(bytes), len);
            count = count.wrapping_add(1);
        }
        if head(place) != Head::empty(count) {
            return Err(Corrupt);
        }
        header.pushed.store(place.position, count);
        (self.place, self.count) = (place, count);
        self.look();
        Ok(self)
    }
}

impl Consumer {
    /// A new handle goes on behind the last record that was dropped. No other thread may use this
    /// side of the ring any more.
    ///
    /// # Errors
    ///
    /// If no consumer can have left the ring so.
    pub(crate) fn resume(mut self) -> Result<Self, Corrupt> {
        let header = self.end.header();
        // Relaxed, all: as above. The header at the position is ordered by the record before it,
        // which the dead consumer had seen.
        let position = header.popped.position.load(Ordering::Relaxed);
        let stored = header.popped.count.load(Ordering::Relaxed);
        let given = header.read.load(Ordering::Relaxed);
        let place = Place::of(position, header.first(), self.geometry.len);
        let head = Head(self.end.slots().atomic(place.index).load(Ordering::Relaxed));
        if position.wrapping_sub(given) > self.geometry.len as u64 {
            return Err(Corrupt);
        }
        let count = head.number(stored).ok_or(Corrupt)?;
        (self.place, self.count, self.given) = (place, count, given);
        // The last consumer may have stopped just before it gave room back.
        self.give_back(position);
        Ok(self)
    }
}

/// A side of a ring, whose handle may stop for ever. For the models and simulated schedules, which
/// have no processes; not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Heir(End<Header>, Geometry);

impl Heir {
    /// Both sides of a new ring.
    ///
    /// # Errors
    ///
    /// As [`queue_with`](super::queue_with).
    pub fn both(config: Config) -> Result<(Self, Self), CapacityError> {
        let geometry = Geometry::new(config)?;
        let (tx, rx) = ends(config.memory, geometry.len, Header::new(config.first))?;
        begin(tx.slots(), config.first);
        Ok((Self(tx, geometry), Self(rx, geometry)))
    }

    /// Continues as the producer.
    ///
    /// # Errors
    ///
    /// If no producer can have left the ring so.
    pub fn producer(self) -> Result<Producer, Corrupt> {
        Producer::new(self.0, self.1).resume()
    }

    /// Continues as the consumer.
    ///
    /// # Errors
    ///
    /// If no consumer can have left the ring so.
    pub fn consumer(self) -> Result<Consumer, Corrupt> {
        Consumer::new(self.0, self.1).resume()
    }
}

impl Clone for Heir {
    fn clone(&self) -> Self {
        Self(self.0.duplicate(), self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_was_not_given_back_comes_back() {
        let (tx, rx) = Heir::both(Config::new(4096)).unwrap();
        let (mut tx, heir) = (tx.producer().unwrap(), rx.clone());
        let mut rx = rx.consumer().unwrap();
        let together = rx.geometry.together() as u64;
        while rx.given == 0 {
            tx.try_push(&[]).unwrap();
            drop(rx.try_pop().unwrap());
        }
        // As if it had been killed just before.
        rx.end.header().read.store(0, Ordering::Relaxed);
        let heir = heir.consumer().unwrap();
        assert_eq!(heir.count(), rx.count());
        assert_eq!(rx.end.header().read.load(Ordering::Relaxed), together);
    }
}
