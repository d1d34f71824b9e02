//! flume: a channel that drains in one call what has come.

use std::collections::VecDeque;
use std::marker::PhantomData;

use corelane::Sides;
use flume::{Receiver, Sender};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Flume<T, const BOUNDED: bool = true>(PhantomData<T>);

/// The receiver and what it drained but hasn't handed out.
pub(super) struct Draining<T> {
    receiver: Receiver<T>,
    drained: VecDeque<T>,
}

impl<T> Draining<T> {
    fn of(receiver: Receiver<T>) -> Self {
        Self { receiver, drained: VecDeque::new() }
    }
}

impl<T: Word, const BOUNDED: bool> Link for Flume<T, BOUNDED> {
    const SIDES: Sides = Sides::ManyToMany;
    const BOUNDED: bool = BOUNDED;

    type Item = T;
    type Tx = Sender<T>;
    type Rx = Draining<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let (sender, receiver) = match BOUNDED {
            true => flume::bounded(setup.capacity),
            false => flume::unbounded(),
        };
        Ok((sender, Draining::of(receiver)))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(tx.clone())
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(Draining::of(rx.receiver.clone()))
    }
}

impl<T: Word> Tx for Sender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.try_send(item).is_ok()
    }
}

impl<T: Word> Rx for Draining<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [T]) -> usize {
        if self.drained.is_empty() {
            self.drained.extend(self.receiver.drain());
        }
        let popped = into.len().min(self.drained.len());
        into.iter_mut().zip(self.drained.drain(..popped)).for_each(|(place, item)| *place = item);
        popped
    }
}
