//! The standard library's bounded channel.

use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::link::{Link, Rx, Setup, Tx};
use crate::payload::Payload;

pub(super) struct Sync<T>(PhantomData<T>);

impl<T: Payload> Link for Sync<T> {
    type Item = T;
    type Tx = SyncSender<T>;
    type Rx = Receiver<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(sync_channel(setup.capacity))
    }
}

impl<T: Payload> Tx for SyncSender<T> {
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
