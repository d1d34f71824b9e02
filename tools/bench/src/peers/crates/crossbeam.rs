//! crossbeam: `ArrayQueue`, `SegQueue`, and the channel with a bound and without.

use std::marker::PhantomData;
use std::sync::Arc;

use corelane::Sides;
use crossbeam::channel::{self, Receiver, Sender};
use crossbeam::queue::{ArrayQueue, SegQueue};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Array<T>(PhantomData<T>);

/// Both sides of an [`ArrayQueue`].
pub(super) struct Shared<T>(Arc<ArrayQueue<T>>);

impl<T: Word> Link for Array<T> {
    const SIDES: Sides = Sides::ManyToMany;

    type Item = T;
    type Tx = Shared<T>;
    type Rx = Shared<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(ArrayQueue::new(setup.capacity));
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
        self.0.pop()
    }
}

pub(super) struct Seg<T>(PhantomData<T>);

/// Both sides of a [`SegQueue`], which is never full.
pub(super) struct Endless<T>(Arc<SegQueue<T>>);

impl<T: Word> Link for Seg<T> {
    const SIDES: Sides = Sides::ManyToMany;
    const BOUNDED: bool = false;

    type Item = T;
    type Tx = Endless<T>;
    type Rx = Endless<T>;

    fn open(_: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(SegQueue::new());
        Ok((Endless(queue.clone()), Endless(queue)))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(Endless(tx.0.clone()))
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(Endless(rx.0.clone()))
    }
}

impl<T: Word> Tx for Endless<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.0.push(item);
        true
    }
}

impl<T: Word> Rx for Endless<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.0.pop()
    }
}

pub(super) struct Channel<T, const BOUNDED: bool = true>(PhantomData<T>);

impl<T: Word, const BOUNDED: bool> Link for Channel<T, BOUNDED> {
    const SIDES: Sides = Sides::ManyToMany;
    const BOUNDED: bool = BOUNDED;

    type Item = T;
    type Tx = Sender<T>;
    type Rx = Receiver<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(match BOUNDED {
            true => channel::bounded(setup.capacity),
            false => channel::unbounded(),
        })
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(tx.clone())
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(rx.clone())
    }
}

impl<T: Word> Tx for Sender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.try_send(item).is_ok()
    }
}

impl<T: Word> Rx for Receiver<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.try_recv().ok()
    }
}
