//! Rings whose handles may stop for ever. For the models and simulated schedules, which have no
//! processes.

use super::state::State;
use super::{Consumer, Found, Geometry, Header, Producer, begin};
use crate::bytes::record::{Records, Suspended};
use crate::queue::{CapacityError, Config};
use crate::region::{End, ends};

/// A side of a ring. Not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Heir(End<Header>, Geometry);

impl Heir {
    /// Both sides of a new ring.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large for memory.
    pub fn both(config: Config) -> Result<(Self, Self), CapacityError> {
        let geometry = Geometry::new(config)?;
        let (tx, rx) = ends(config.memory, geometry.len(), Header::new(config.first))?;
        begin(tx.slots(), geometry, config.first);
        Ok((Self(tx, geometry), Self(rx, geometry)))
    }

    /// A producer with this seat, whose last handle is gone.
    pub fn producer(self, seat: u16) -> Producer {
        Producer::new(self.0, self.1, seat)
    }

    /// A consumer with this seat, whose last handle is gone.
    pub fn consumer(self, seat: u16) -> Consumer {
        Consumer::new(self.0, self.1, seat)
    }
}

impl Clone for Heir {
    fn clone(&self) -> Self {
        Self(self.0.duplicate(), self.1)
    }
}

impl Consumer {
    /// Gives a record back that was kept without its borrow. It is one of this handle. Not stable.
    #[doc(hidden)]
    pub fn give_back(&mut self, record: Suspended<Found>) {
        // SAFETY: the caller's word, in programs that check the ring.
        unsafe { self.release(record.place, record.len) };
    }

    /// As a process that recovers this record, and is killed then. Not stable.
    #[doc(hidden)]
    pub fn return_untold(&mut self, record: Suspended<Found>) {
        let number = record.place.number;
        self.ring.slot(number).set(State::full(number));
    }

    /// Lets consumers find what a killed process had recovered. Not stable.
    #[doc(hidden)]
    pub fn find_forgotten(&self) -> bool {
        self.ring.find_forgotten()
    }
}
