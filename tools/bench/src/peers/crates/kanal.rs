//! kanal: a channel that drains in one call what has come.

use std::marker::PhantomData;

use corelane::Sides;
use kanal::{Receiver, Sender};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Kanal<T, const BOUNDED: bool = true>(PhantomData<T>);

/// The receiver and what it drained but hasn't handed out. The oldest item is last.
pub(super) struct Draining<T> {
    receiver: Receiver<T>,
    drained: Vec<T>,
}

impl<T> Draining<T> {
    fn of(receiver: Receiver<T>) -> Self {
        Self { receiver, drained: Vec::new() }
    }
}

impl<T: Word, const BOUNDED: bool> Link for Kanal<T, BOUNDED> {
    const SIDES: Sides = Sides::ManyToMany;
    const BOUNDED: bool = BOUNDED;

    type Item = T;
    type Tx = Sender<T>;
    type Rx = Draining<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let (sender, receiver) = match BOUNDED {
            true => kanal::bounded(setup.capacity),
            false => kanal::unbounded(),
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
        self.try_send(item) == Ok(true)
    }
}

impl<T: Word> Rx for Draining<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.receiver.try_recv().ok().flatten()
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [T]) -> usize {
        if self.drained.is_empty() {
            // A closed channel has nothing more to drain, which is what the count then says.
            let _ = self.receiver.drain_into(&mut self.drained);
            self.drained.reverse();
        }
        let popped = into.len().min(self.drained.len());
        let oldest = self.drained.drain(self.drained.len() - popped..).rev();
        into.iter_mut().zip(oldest).for_each(|(place, item)| *place = item);
        popped
    }
}
