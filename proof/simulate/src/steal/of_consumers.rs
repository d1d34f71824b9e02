//! A queue between one producer and several consumers, as one from which thieves steal: the owner
//! is its producer and a consumer, thieves are the other consumers.

use std::cell::RefCell;
use std::vec;

use corelane_sim::steal::{Stealer, Worker};
use corelane_sim::{
    BoxedConsumer, BoxedProducer, CapacityError, Config, Consumer, Queue, TryPopError, TryPushError,
};

/// The owner.
pub(super) struct OfConsumers {
    tx: BoxedProducer<u64>,
    rx: Rx,
    capacity: usize,
}

impl OfConsumers {
    pub(super) fn new<Q: Queue<u64> + 'static>(capacity: usize) -> Result<Self, CapacityError> {
        let (tx, rx) = Q::boxed(Config::new(capacity))?;
        Ok(Self { tx, rx: Rx(RefCell::new(rx)), capacity })
    }
}

/// A consumer.
pub(super) struct Rx(RefCell<BoxedConsumer<u64>>);

impl Clone for Rx {
    fn clone(&self) -> Self {
        Self(RefCell::new(self.0.borrow().try_clone().expect("there may be several")))
    }
}

impl Worker for OfConsumers {
    type Item = u64;
    type Stealer = Rx;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        self.tx.try_push(item)
    }

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        self.rx.0.get_mut().try_pop()
    }

    fn stealer(&self) -> Rx {
        self.rx.clone()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

impl Stealer for Rx {
    type Item = u64;
    type Loot<'a> = vec::IntoIter<u64>;

    fn try_steal_some(&self, most: usize) -> Result<vec::IntoIter<u64>, TryPopError> {
        let mut rx = self.0.borrow_mut();
        let mut loot = vec![rx.try_pop()?];
        // One by one: a queue of this kind has no step for several.
        loot.extend((1..most).map_while(|_| rx.try_pop().ok()));
        Ok(loot.into_iter())
    }

    /// A consumer doesn't know, and nothing asks it.
    fn len(&self) -> usize {
        0
    }
}
