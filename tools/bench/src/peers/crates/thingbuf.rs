//! thingbuf: a ring whose slots are never moved out of, only written and read in place.

use std::marker::PhantomData;
use std::sync::Arc;

use corelane::Sides;
use thingbuf::{Recycle, ThingBuf};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Thing<T>(PhantomData<T>);

/// Both sides of the queue. Slots are options because they must hold something at first; of a
/// number that isn't 0 and of a pointer an option is as small as the item.
pub(super) struct Shared<T>(Arc<ThingBuf<Option<T>, Leave>>);

/// Leaves used slots as they are; the next push overwrites them.
pub(super) struct Leave;

impl<T> Recycle<Option<T>> for Leave {
    fn new_element(&self) -> Option<T> {
        None
    }

    #[inline(always)]
    fn recycle(&self, _: &mut Option<T>) {}
}

impl<T: Word> Link for Thing<T> {
    const SIDES: Sides = Sides::ManyToMany;

    type Item = T;
    type Tx = Shared<T>;
    type Rx = Shared<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let queue = Arc::new(ThingBuf::with_recycle(setup.capacity, Leave));
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
        self.0.push_with(|slot| *slot = Some(item)).is_ok()
    }
}

impl<T: Word> Rx for Shared<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.0.pop_with(|slot| *slot).flatten()
    }
}
