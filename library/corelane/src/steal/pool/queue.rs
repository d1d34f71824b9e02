//! A worker's queue, of either order.

use super::Order;
use crate::Config;
use crate::queue::{CapacityError, TryPopError, TryPushError};
use crate::steal::bwos::{Loot, fifo, lifo};

/// Slots of a block: thieves take from full blocks without a heavy fence, and the owner comes to
/// the next block after about as many nanoseconds.
const LIFO_BLOCK: usize = 32;
/// Fewer, so that tasks which events have woken together are in several blocks.
const FIFO_BLOCK: usize = 8;

pub(super) enum Own<T> {
    Lifo(lifo::Worker<T>),
    Fifo(fifo::Worker<T>),
}

pub(super) enum Victim<T> {
    Lifo(lifo::Stealer<T>),
    Fifo(fifo::Stealer<T>),
}

/// Calls the method of the same name.
macro_rules! of_either {
    ($of:expr, $queue:ident => $call:expr) => {
        match $of {
            Self::Lifo($queue) => $call,
            Self::Fifo($queue) => $call,
        }
    };
}

impl<T: Send> Own<T> {
    pub(super) fn new(order: Order, capacity: usize) -> Result<Self, CapacityError> {
        let config = Config::new(capacity);
        Ok(match order {
            Order::Lifo => Self::Lifo(lifo::queue_with(config.block(LIFO_BLOCK))?),
            Order::Fifo => Self::Fifo(fifo::queue_with(config.block(FIFO_BLOCK))?),
        })
    }
}

impl<T> Own<T> {
    #[inline]
    pub(super) fn try_push(&mut self, task: T) -> Result<(), TryPushError<T>> {
        of_either!(self, queue => queue.try_push(task))
    }

    #[inline]
    pub(super) fn try_pop(&mut self) -> Result<T, TryPopError> {
        of_either!(self, queue => queue.try_pop())
    }

    /// The queue of a pool whose order is [`Order::Lifo`].
    #[inline(always)]
    pub(super) fn lifo(&mut self) -> &mut lifo::Worker<T> {
        match self {
            Self::Lifo(queue) => queue,
            Self::Fifo(_) => unreachable!("the pool's order is LIFO"),
        }
    }

    pub(super) fn victim(&self) -> Victim<T> {
        match self {
            Self::Lifo(queue) => Victim::Lifo(queue.stealer()),
            Self::Fifo(queue) => Victim::Fifo(queue.stealer()),
        }
    }
}

impl<T> Victim<T> {
    pub(super) fn try_steal_some(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        of_either!(self, queue => queue.try_steal_some(most))
    }

    pub(super) fn try_steal_sampled(
        &self,
        random: u64,
        most: usize,
    ) -> Result<Loot<'_, T>, TryPopError> {
        of_either!(self, queue => queue.try_steal_sampled(random, most))
    }

    pub(super) fn try_seize(&self, most: usize) -> Result<Loot<'_, T>, TryPopError> {
        of_either!(self, queue => queue.try_seize(most))
    }

    /// Whether a thief is about to seize tasks. If there are more tasks then, it will tell the
    /// others.
    pub(super) fn is_being_seized(&self) -> bool {
        of_either!(self, queue => queue.is_being_seized())
    }

    pub(super) fn is_empty(&self) -> bool {
        of_either!(self, queue => queue.is_empty())
    }

    pub(super) fn len(&self) -> usize {
        of_either!(self, queue => queue.len())
    }
}
