//! crossbeam: `ArrayQueue` and the bounded channel.

use std::marker::PhantomData;
use std::sync::Arc;

use crossbeam::channel::{self, Receiver, Sender};
use crossbeam::queue::ArrayQueue;

use crate::link::{Link, Rx, Setup, Tx};
use crate::payload::Payload;

pub(super) struct Array<T>(PhantomData<T>);

/// Both sides of an [`ArrayQueue`].
pub(super) struct Shared<T>(Arc<ArrayQueue<T>>);

impl<T: Payload> Link for Array<T> {
    type Item = T;
    type Tx = Shared<T>;
    type Rx = Shared<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(ArrayQueue::new(setup.capacity));
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
        self.0.pop()
    }
}

pub(super) struct Channel<T>(PhantomData<T>);

impl<T: Payload> Link for Channel<T> {
    type Item = T;
    type Tx = Sender<T>;
    type Rx = Receiver<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(channel::bounded(setup.capacity))
    }
}

impl<T: Payload> Tx for Sender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.try_send(item).is_ok()
    }
}

impl<T: Payload> Rx for Receiver<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.try_recv().ok()
    }
}
