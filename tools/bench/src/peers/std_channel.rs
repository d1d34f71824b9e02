//! The standard library's channel, with a bound and without.

use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use corelane::Sides;

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Sync<T>(PhantomData<T>);

impl<T: Word> Link for Sync<T> {
    const SIDES: Sides = Sides::ManyToOne;

    type Item = T;
    type Tx = SyncSender<T>;
    type Rx = Receiver<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(sync_channel(setup.capacity))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(tx.clone())
    }
}

impl<T: Word> Tx for SyncSender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.try_send(item).is_ok()
    }
}

pub(super) struct Unbounded<T>(PhantomData<T>);

impl<T: Word> Link for Unbounded<T> {
    const SIDES: Sides = Sides::ManyToOne;
    const BOUNDED: bool = false;

    type Item = T;
    type Tx = Sender<T>;
    type Rx = Receiver<T>;

    fn open(_: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(channel())
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(tx.clone())
    }
}

impl<T: Word> Tx for Sender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.send(item).is_ok()
    }
}

impl<T: Word> Rx for Receiver<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.try_recv().ok()
    }
}
