//! Lanes whose handles may stop for ever. For the models and simulated schedules, which have no
//! processes.

use super::slots::Shape;
use super::{Consumer, Header, Producer, begin};
use crate::line_ring::Corrupt;
use crate::overwrite::Plain;
use crate::queue::{CapacityError, Config};
use crate::region::{End, ends};
use zerocopy::FromBytes;

/// A side of the lanes. Not stable.
#[doc(hidden)]
#[derive(Debug)]
pub struct Heir<T>(End<Header<T>>);

impl<T: Plain + FromBytes> Heir<T> {
    /// Both sides of a new queue with this number of lanes.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large for memory.
    pub fn both(lanes: usize, config: Config) -> Result<(Self, Self), CapacityError> {
        let shape = Shape::new::<T>(lanes, config.capacity)?;
        let (tx, rx) = ends(config.memory, shape, Header::new())?;
        begin(tx.slots(), config.first);
        Ok((Self(tx), Self(rx)))
    }

    /// Continues as the producer of a lane.
    ///
    /// # Errors
    ///
    /// If no producer can have left the lane so.
    pub fn producer(self, lane: usize) -> Result<Producer<T>, Corrupt> {
        Producer::resume(self.0, lane)
    }

    /// One more consumer.
    pub fn consumer(self) -> Consumer<T> {
        Consumer::new(self.0)
    }
}

impl<T> Clone for Heir<T> {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}
