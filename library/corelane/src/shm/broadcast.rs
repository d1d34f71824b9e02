//! A lane of which each consumer gets all items, for one producer that never waits.

use alloc::alloc::Layout;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use super::bells::{ALL, Bell, Link};
use super::carried::{Kind, Sizes, end};
use super::error::Error;
use super::file::{Seat, Seats};
use super::many::{Place, Silent, items};
use super::{Item, Publisher, Side, Subscriber};
use crate::queue::CapacityError;
use crate::region::shared::{Leaves, found, shared_layout};
use crate::seq_ring::{self, Header};
use crate::wait;
use crate::wait::sealed;

/// Items of one producer, of which each consumer gets all: what a [`Broadcast`](super::Broadcast) carries.
pub struct All<T>(PhantomData<fn(T) -> T>);

impl<T: Item> Kind for All<T> {
    type Producer = Publisher<T>;
    type Consumer = Subscriber<T>;
    const QUEUE: [u8; 8] = *b"seqring\0";
    const ITEM: (usize, usize) = (size_of::<T>(), align_of::<T>());

    fn name() -> &'static str {
        core::any::type_name::<T>()
    }

    fn seats(_: Sizes) -> [Seats; 2] {
        [false, true].map(|is_shared| Seats { first: is_shared.into(), count: 1, is_shared })
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(shared_layout::<Header<T>>(seq_ring::len::<T>(sizes.capacity)?))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract.
        seq_ring::begin(&unsafe { found(link.queue(), len, Header::<T>::new(0)) }, 0);
        Ok(())
    }

    unsafe fn producer(link: &Arc<Link>, sizes: Sizes, seat: Seat) -> Result<Publisher<T>, Error> {
        let bells = Heard::new(link, Side::Producer, seat);
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, len, Side::Producer, Leaves::Others) }?;
        // For threads that wait for a producer.
        bells.items.ring_for_all();
        Ok(wait::Producer::new(seq_ring::Producer::resume(end), bells))
    }

    unsafe fn consumer(link: &Arc<Link>, sizes: Sizes, seat: Seat) -> Result<Subscriber<T>, Error> {
        let bells = Heard::new(link, Side::Consumer, seat);
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract. There may be several consumers.
        let end = unsafe { end(link, len, Side::Consumer, Leaves::Others) }?;
        // For a producer that waits for a consumer.
        bells.items.ring_for_all();
        Ok(wait::Consumer::new(seq_ring::Consumer::watch(end), bells))
    }
}

/// Where all consumers sleep, and the producer that waits for one.
pub struct Heard {
    items: Bell,
    none: Silent,
    pub(super) place: Place,
}

impl Heard {
    fn new(link: &Arc<Link>, side: Side, seat: Seat) -> Self {
        Self { items: items(link, ALL), none: Silent, place: Place::new(link, side, seat) }
    }

    /// Where this side sleeps.
    pub(super) fn own(&self) -> &Bell {
        &self.items
    }
}

impl sealed::Bells for Heard {
    type Items = Bell;
    type Room = Silent;
    const HAS_SEVERAL: bool = false;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Silent {
        &self.none
    }

    fn try_clone(&self) -> Option<Self> {
        None
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.place.leave();
        self.items.ring_for_all();
    }
}

impl<T> fmt::Debug for All<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("All")
    }
}

impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heard").finish_non_exhaustive()
    }
}
