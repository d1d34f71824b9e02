//! concurrent-queue: the ring under smol's channels.

use std::marker::PhantomData;
use std::sync::Arc;

use concurrent_queue::ConcurrentQueue;
use corelane::Sides;

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Concurrent<T>(PhantomData<T>);

/// Both sides of the queue.
pub(super) struct Shared<T>(Arc<ConcurrentQueue<T>>);

impl<T: Word> Link for Concurrent<T> {
    const SIDES: Sides = Sides::ManyToMany;

    type Item = T;
    type Tx = Shared<T>;
    type Rx = Shared<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(ConcurrentQueue::bounded(setup.capacity));
        Ok((Shared(queue.clone()), Shared(queue)))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(Shared(tx.0.clone()))
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(Shared(rx.0.clone()))
    }
}

impl<T: Word> Tx for Shared<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.0.push(item).is_ok()
    }
}

impl<T: Word> Rx for Shared<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.0.pop().ok()
    }
}
