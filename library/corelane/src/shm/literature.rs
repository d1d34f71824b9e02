//! Queues of the literature in memory that processes share, to compare with [`Lanes`](super::Lanes)
//! and [`Lane`].
//!
//! Any number of handles push, and any number pop: a process takes one more handle of a side by
//! [`Lane::producer`] or [`Lane::consumer`]. The handles wait as those of other lanes do. Their
//! [`Strategy`](crate::wait::Strategy) says how.
//!
//! | | algorithm | items | room |
//! |---|---|---|---|
//! | [`Ring`] | [`ring`] in order, as DPDK's `rte_ring` | any [`Item`] | as asked, rounded up to a power of two |
//! | [`Msq`] | [`list::pooled`](crate::list::pooled), Michael's and Scott's list in a pool of nodes | any [`Item`] | as asked, rounded up to a power of two |
//! | [`Elcrq`] | [`rings::pooled`], LCRQ in a pool of rings | [`NonZeroU64`] | eight rings, each as asked and rounded up to a power of two; each idle handle keeps one |
//!
//! ```
//! use corelane::shm::literature::Ring;
//!
//! let ring = Ring::<u64>::create(1024)?;
//! let (mut tx, mut other) = (ring.producer()?, ring.producer()?);
//! // In another process: `Ring::<u64>::open(descriptor)?`.
//! let mut rx = Ring::<u64>::open(&ring)?.consumer()?;
//! tx.push(1).unwrap();
//! other.push(2).unwrap();
//! assert_eq!(rx.pop().unwrap() + rx.pop().unwrap(), 3);
//! # Ok::<(), corelane::shm::Error>(())
//! ```
//!
//! # For processes that trust each other
//!
//! These queues have none of what makes other lanes robust. A process that is killed inside a push
//! or pop may leave the queue stuck: then calls of all other processes fail or wait for ever, and
//! only a new lane helps. A process that is killed outside of such a call leaves [`Ring`] and
//! [`Msq`] as they are. In [`Elcrq`] each of its handles keeps a ring for ever, also outside of a
//! call. A process that writes anything else into the memory may cause undefined behaviour in the
//! others. Don't use these queues but to measure.
//!
//! | | a process was killed inside a call |
//! |---|---|
//! | [`Ring`] | the calls of its side spin for ever, and the other side finds no more items, or no more room |
//! | [`Msq`] | there is one node less, and the item of a pop may be lost. After as many such deaths as there are nodes, all pushes are busy |
//! | [`Elcrq`] | up to two rings are kept, and the item of a pop may be lost. When no ring is left, all pushes find the queue full or busy |

use alloc::alloc::Layout;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU64;

use super::bells::Link;
use super::carried::{Kind, Sizes, end};
use super::error::Error;
use super::file::{Seat, Seats};
use super::places::{Place, SharedBells};
use super::{Item, Lane, Side};
use crate::list::pooled::{self, MsqPool, NodeShape};
use crate::queue::{self, CapacityError};
use crate::region::shared::{Leaves, found_with, shared_layout};
use crate::region::{Attach, End, Slots, State};
use crate::ring::{self, InOrder};
use crate::rings;
use crate::rings::pooled::{LcrqPool, RingsShape};
use crate::wait;

/// A lane that is the [`ring`] of DPDK, with both sides in order.
pub type Ring<T> = Lane<Of<ring::Ring<InOrder>, T>>;

/// A lane that is [Michael's and Scott's list](crate::list::pooled) in a pool of nodes.
pub type Msq<T> = Lane<Of<MsqPool, T>>;

/// A lane that is the [list of rings](rings::pooled) of paper 5, in a pool of rings, with words
/// where its handles sleep. With [`Strategy::Sleep`](crate::wait::Strategy::Sleep) it is eLCRQ, with
/// [`Strategy::SpinThenSleep`](crate::wait::Strategy::SpinThenSleep) eLCRQ-spin.
pub type Elcrq = Lane<Of<LcrqPool, NonZeroU64>>;

/// The queue `Q` for items `T`: what the lanes of this module carry.
pub struct Of<Q, T>(PhantomData<fn(Q, T) -> T>);

/// A sending side of a lane of this module.
pub type Producer<Q, T> = wait::Producer<<Q as Placed<T>>::Producer, SharedBells>;

/// A receiving side of a lane of this module.
pub type Consumer<Q, T> = wait::Consumer<<Q as Placed<T>>::Consumer, SharedBells>;

/// The number of slots, or their arrangement.
type Shape<Q, T> = <<<Q as Placed<T>>::Header as State>::Slots as Slots>::Shape;

/// A queue without pointers, whose sides may have several handles. Only this crate has such queues.
pub trait Placed<T> {
    /// The queue's name, in the header of the lane.
    const QUEUE: [u8; 8];
    /// The shared part.
    type Header: State<Item = T, Slots: Attach>;
    /// A sending handle.
    type Producer: queue::Producer<Item = T>;
    /// A receiving handle.
    type Consumer: queue::Consumer<Item = T>;

    /// The parts of a queue for `capacity` items.
    fn shape(capacity: usize) -> Result<Shape<Self, T>, CapacityError>;

    /// The shared part of an empty queue.
    fn header(shape: Shape<Self, T>) -> Self::Header;

    /// A sending handle.
    fn producer(end: End<Self::Header>) -> Self::Producer;

    /// A receiving handle.
    fn consumer(end: End<Self::Header>) -> Self::Consumer;
}

impl<T: Item> Placed<T> for ring::Ring<InOrder> {
    const QUEUE: [u8; 8] = *b"ring\0\0\0\0";
    type Header = ring::Header<T, InOrder, InOrder>;
    type Producer = ring::Producer<T>;
    type Consumer = ring::Consumer<T>;

    fn shape(capacity: usize) -> Result<usize, CapacityError> {
        Self::Header::slots(capacity)
    }

    fn header(len: usize) -> Self::Header {
        ring::Header::new(0, len)
    }

    fn producer(end: End<Self::Header>) -> Self::Producer {
        ring::Producer::new(end.slots().len(), end)
    }

    fn consumer(end: End<Self::Header>) -> Self::Consumer {
        ring::Consumer::new(end.slots().len(), end)
    }
}

impl<T: Item> Placed<T> for MsqPool {
    const QUEUE: [u8; 8] = *b"msqpool\0";
    type Header = pooled::Header<T>;
    type Producer = pooled::Producer<T>;
    type Consumer = pooled::Consumer<T>;

    fn shape(capacity: usize) -> Result<NodeShape, CapacityError> {
        Self::Header::shape(capacity, 0)
    }

    fn header(shape: NodeShape) -> Self::Header {
        pooled::Header::new(shape)
    }

    fn producer(end: End<Self::Header>) -> Self::Producer {
        pooled::Producer::new(end)
    }

    fn consumer(end: End<Self::Header>) -> Self::Consumer {
        pooled::Consumer::new(end)
    }
}

impl Placed<NonZeroU64> for LcrqPool {
    const QUEUE: [u8; 8] = *b"lcrqpool";
    type Header = rings::pooled::Header<NonZeroU64>;
    type Producer = rings::pooled::Producer<NonZeroU64>;
    type Consumer = rings::pooled::Consumer<NonZeroU64>;

    fn shape(capacity: usize) -> Result<RingsShape, CapacityError> {
        Self::Header::shape(capacity, 0)
    }

    fn header(shape: RingsShape) -> Self::Header {
        rings::pooled::Header::new(shape)
    }

    fn producer(end: End<Self::Header>) -> Self::Producer {
        rings::pooled::Producer::new(end)
    }

    fn consumer(end: End<Self::Header>) -> Self::Consumer {
        rings::pooled::Consumer::new(end)
    }
}

impl<T, Q: Placed<T>> Kind for Of<Q, T> {
    type Producer = Producer<Q, T>;
    type Consumer = Consumer<Q, T>;
    type Item = T;
    const QUEUE: [u8; 8] = Q::QUEUE;

    /// A seat is for any number of handles.
    fn seats(_: Sizes) -> [Seats; 2] {
        [0, 1].map(|first| Seats { first, count: 1, is_shared: true })
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(shared_layout::<Q::Header>(Q::shape(sizes.capacity)?))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let shape = Q::shape(sizes.capacity)?;
        // SAFETY: the caller's contract.
        unsafe { found_with(link.queue(), shape, Q::header(shape)) };
        Ok(())
    }

    unsafe fn producer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
    ) -> Result<Self::Producer, Error> {
        // SAFETY: the caller's contract.
        let (end, bells) = unsafe { join::<Q, T>(link, sizes, Side::Producer, seat) }?;
        Ok(wait::Producer::new(Q::producer(end), bells))
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        _: u64,
    ) -> Result<Self::Consumer, Error> {
        // SAFETY: the caller's contract.
        let (end, bells) = unsafe { join::<Q, T>(link, sizes, Side::Consumer, seat) }?;
        Ok(wait::Consumer::new(Q::consumer(end), bells))
    }
}

/// One more end of a side, and its bells.
///
/// # Safety
///
/// The queue was made with these sizes, and the seat of the side is this process's.
unsafe fn join<Q: Placed<T>, T>(
    link: &Arc<Link>,
    sizes: Sizes,
    side: Side,
    seat: Seat,
) -> Result<(End<Q::Header>, SharedBells), Error> {
    let bells = SharedBells::new(link, Place::new(link, side, seat), side);
    // SAFETY: the caller's contract. Each side may have several ends.
    let end = unsafe { end(link, Q::shape(sizes.capacity)?, side, Leaves::Others) }?;
    // For threads that wait for this side.
    bells.ring_for_all();
    Ok((end, bells))
}

impl<Q, T> fmt::Debug for Of<Q, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Of")
    }
}
