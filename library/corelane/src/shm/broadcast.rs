//! A lane of which each consumer gets all items, for one producer that never waits.

use alloc::alloc::Layout;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use super::bells::{ALL, Bell, Link, Sleeps};
use super::carried::{Kind, Named, Sizes, end};
use super::error::{Error, system};
use super::file::{Seat, Seats, reopen_to_read, sealed_len};
use super::header::QUEUE_AT;
use super::many::Silent;
use super::places::{Place, items};
use super::{Broadcast, Item, Publisher, Reader, Side, Subscriber};
use crate::queue::CapacityError;
use crate::region::shared::{Leaves, Mapping, found, join, shared_layout};
use crate::seq_ring::{self, Header};
use crate::wait;
use crate::wait::Waits;
use crate::wait::bell::Look;
use crate::wait::sealed::{self, Rings};
use crate::wait::thread::is_over;

/// Items of one producer, of which each consumer gets all: what a [`Broadcast`](super::Broadcast)
/// carries.
pub struct All<T>(PhantomData<fn(T) -> T>);

impl<T: Item> Kind for All<T> {
    type Producer = Publisher<T>;
    type Consumer = Subscriber<T>;
    type Item = T;
    const QUEUE: [u8; 8] = *b"seqring\0";

    fn seats(_: Sizes) -> [Seats; 2] {
        [false, true].map(|is_shared| Seats { first: is_shared.into(), count: 1, is_shared })
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(shared_layout::<Header<T>>(seq_ring::len::<T>(sizes.capacity)?))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract. A header for position 0 is zeros.
        seq_ring::begin(&unsafe { found::<Header<T>>(link.queue(), len) }, 0);
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

    unsafe fn begin(link: &Link, sizes: Sizes) -> Result<u64, Error> {
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract. This end writes nothing.
        let end = unsafe { end::<Header<T>>(link, len, Side::Consumer, Leaves::Others) }?;
        Ok(seq_ring::Consumer::watch(end, None).position())
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        begin: u64,
    ) -> Result<Subscriber<T>, Error> {
        let bells = Heard::new(link, Side::Consumer, seat);
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the caller's contract. There may be several consumers.
        let end = unsafe { end(link, len, Side::Consumer, Leaves::Others) }?;
        // For a producer that waits for a consumer.
        bells.items.ring_for_all();
        Ok(wait::Consumer::new(seq_ring::Consumer::watch(end, Some(begin)), bells))
    }
}

impl<T: Item> Broadcast<T> {
    /// A receiving side that can't write to the memory of the lane, not even by mistake: the
    /// mapping is read-only. It begins with the next item.
    ///
    /// It can't announce itself, so no producer wakes it: a call that waits sleeps for 50
    /// microseconds at first, and later for up to a millisecond, and looks again. It sees that the
    /// publisher has left, but not that it has died: [`has_peer`](Reader::has_peer) checks for
    /// that.
    ///
    /// ```
    /// use corelane::shm::Broadcast;
    ///
    /// let feed = Broadcast::<u64>::create(1024)?;
    /// let (mut tx, mut rx) = (feed.producer()?, Broadcast::<u64>::read_only(&feed)?);
    /// tx.push(7).unwrap();
    /// assert_eq!((rx.pop(), rx.has_peer()), (Some(7), true));
    /// # Ok::<(), corelane::shm::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). A read-only descriptor suffices.
    pub fn read_only(file: impl AsFd) -> Result<Reader<T>, Error> {
        sealed_len(file.as_fd())?;
        let file = reopen_to_read(file.as_fd())?;
        let (sizes, there) = Self::read(file.as_fd(), Named::of::<All<T>>())?;
        let mapping = Arc::new(system("to map the lane", Mapping::read_only(file.as_fd(), there))?);
        let len = seq_ring::len::<T>(sizes.capacity)?;
        // SAFETY: the mapping is longer than this.
        let queue = unsafe { mapping.base().add(QUEUE_AT) };
        // SAFETY: the queue was made with this length. A consumer that watches writes nothing, and
        // its end doesn't count.
        let end = unsafe { join(mapping, queue, len, Side::Consumer, Leaves::Others) }?;
        let [producer, _] = All::<T>::seats(sizes);
        let naps = Naps { none: Silent, producer, file };
        Ok(wait::Consumer::new(seq_ring::Consumer::watch(end, None), naps))
    }
}

impl<T: Item> Reader<T> {
    /// Whether a process has the sending side.
    pub fn has_peer(&self) -> bool {
        self.bells.producer.are_taken(self.bells.file.as_fd())
    }
}

/// For a process that can only read: it sleeps for short times, because it can't announce itself.
#[derive(Debug)]
pub struct Naps {
    none: Silent,
    /// The seat of the publisher.
    producer: Seats,
    /// For questions about locks.
    file: OwnedFd,
}

/// The first nap.
const SHORTEST: Duration = Duration::from_micros(50);
/// The longest nap.
const LONGEST: Duration = Duration::from_millis(1);

impl Rings for Naps {
    #[inline(always)]
    fn ring(&self) {}

    #[inline(always)]
    fn ring_for(&self, _: usize) {}

    fn sleep<R>(
        &self,
        waits: &mut Waits,
        until: Option<Instant>,
        mut look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        let mut nap = SHORTEST;
        while !is_over(until) {
            if let Look::Done(found) = waits.count(look()) {
                return Some(found);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let begin = Instant::now();
            thread::sleep(left.map_or(nap, |left| left.min(nap)));
            waits.sleeps += 1;
            waits.asleep += begin.elapsed();
            nap = (2 * nap).min(LONGEST);
        }
        None
    }
}

impl sealed::Bells for Naps {
    type Items = Self;
    type Room = Silent;

    #[inline(always)]
    fn items(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn room(&self) -> &Silent {
        &self.none
    }
}

/// Where all consumers sleep, and the producer that waits for one.
#[derive(Debug)]
pub struct Heard {
    items: Bell,
    none: Silent,
    place: Place,
}

impl Heard {
    fn new(link: &Arc<Link>, side: Side, seat: Seat) -> Self {
        Self { items: items(link, side, ALL), none: Silent, place: Place::new(link, side, seat) }
    }
}

impl Sleeps for Heard {
    fn seat(&self) -> Option<RawFd> {
        self.place.seat()
    }

    fn own(&self) -> &Bell {
        &self.items
    }
}

impl sealed::Bells for Heard {
    type Items = Bell;
    type Room = Silent;

    #[inline(always)]
    fn items(&self) -> &Bell {
        &self.items
    }

    #[inline(always)]
    fn room(&self) -> &Silent {
        &self.none
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
