//! concurrent-queue: the ring under smol's channels.

use std::marker::PhantomData;
use std::sync::Arc;

use concurrent_queue::ConcurrentQueue;

use crate::link::{Link, Rx, Setup, Tx};
use crate::payload::Payload;

pub(super) struct Concurrent<T>(PhantomData<T>);

/// Both sides of the queue.
pub(super) struct Shared<T>(Arc<ConcurrentQueue<T>>);

impl<T: Payload> Link for Concurrent<T> {
    type Item = T;
    type Tx = Shared<T>;
    type Rx = Shared<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(ConcurrentQueue::bounded(setup.capacity));
        Ok((Shared(queue.clone()), Shared(queue)))
    }
}

impl<T: Payload> Tx for Shared<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.0.push(item).is_ok()
    }
}

impl<T: Payload> Rx for Shared<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.0.pop().ok()
    }
}
