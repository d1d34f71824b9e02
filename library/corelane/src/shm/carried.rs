//! What lanes carry, and by which queue.

use alloc::alloc::Layout;
use alloc::sync::Arc;

use zerocopy::FromBytes;

use super::Side;
use super::bells::{Bells, Link};
use super::error::Error;
use super::file::{Seat, Seats};
use crate::overwrite::Plain;
use crate::queue::{CapacityError, Config};
use crate::region::shared::{Leaves, found, join, shared_layout};
use crate::region::{Attach, End, Slots, State};
use crate::{line_ring, record_ring, wait};

/// Data that processes can send each other: plain data for which every pattern of bits is a value.
///
/// Numbers, arrays of them, and structs without padding that derive `zerocopy`'s `IntoBytes`,
/// `FromBytes` and `Immutable`.
#[diagnostic::on_unimplemented(
    message = "processes can't send each other `{Self}`",
    note = "derive `Clone, Copy, zerocopy::IntoBytes, zerocopy::FromBytes, zerocopy::Immutable` for it, with `#[repr(C)]` and \
            no padding"
)]
pub trait Item: Plain + FromBytes {}

impl<T: Plain + FromBytes> Item for T {}

/// What a lane carries: items of one type, or `[u8]` for byte records of any length.
///
/// | a [`Lane`](super::Lane) of | its sending side | its receiving side |
/// |---|---|---|
/// | items `T` | [`Producer`](super::Producer) | [`Consumer`](super::Consumer) |
/// | `[u8]` | [`RecordProducer`](super::RecordProducer) | [`RecordConsumer`](super::RecordConsumer) |
/// | [`Many<T>`](super::Many) | [`ManyProducer`](super::ManyProducer) | [`ManyConsumer`](super::ManyConsumer) |
/// | `Many<[u8]>` | [`ManyRecordProducer`](super::ManyRecordProducer) | [`ManyRecordConsumer`](super::ManyRecordConsumer) |
/// | [`All<T>`](super::All) | [`Publisher`](super::Publisher) | [`Subscriber`](super::Subscriber) |
#[diagnostic::on_unimplemented(
    message = "lanes can't carry `{Self}`",
    note = "items are numbers, arrays of them, and structs with `#[repr(C)]` and without padding that derive `Clone, Copy, \
            zerocopy::IntoBytes, zerocopy::FromBytes, zerocopy::Immutable`; tuples are none"
)]
pub trait Carried: Kind {}

impl<T: Kind + ?Sized> Carried for T {}

/// The sizes for which a lane was made.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Items, or bytes of records.
    pub capacity: usize,
    /// For records: bytes of the longest one; if it is 0, the length follows from the capacity. For
    /// [`Many`](super::Many): the number of producers. For other items: 0.
    pub longest: usize,
}

/// The type of an item, as the header of a lane tells it. Bindings for other languages have types
/// of their own for items of each size, and name what the items are.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The last part of its path counts.
    pub name: &'a str,
    /// At most 8.
    pub align: usize,
}

impl Named<'static> {
    /// Of the items of a lane.
    pub fn of<T: Carried + ?Sized>() -> Self {
        Self { name: T::name(), align: T::ITEM.1 }
    }
}

/// A queue between processes, made for a capacity.
pub trait Kind {
    /// The sending side.
    type Producer;
    /// The receiving side.
    type Consumer;
    /// What the queue consists of.
    type Item;
    /// The queue's name, in the header.
    const QUEUE: [u8; 8];
    /// Size and alignment of an item.
    const ITEM: (usize, usize) = (size_of::<Self::Item>(), align_of::<Self::Item>());

    /// The name of the item's type.
    fn name() -> &'static str {
        core::any::type_name::<Self::Item>()
    }

    /// The seats of the producers and of the consumers.
    fn seats(_: Sizes) -> [Seats; 2] {
        [0, 1].map(|first| Seats { first, count: 1, is_shared: false })
    }

    /// Memory for the queue.
    fn layout(sizes: Sizes) -> Result<Layout, CapacityError>;

    /// Makes an empty queue.
    ///
    /// # Safety
    ///
    /// The lane has room for the queue, of zeros, and no other process has it yet.
    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError>;

    /// Continues as the producer.
    ///
    /// # Safety
    ///
    /// The queue was made with these sizes, and the seat of the side is this process's.
    unsafe fn producer(link: &Arc<Link>, sizes: Sizes, seat: Seat)
    -> Result<Self::Producer, Error>;

    /// Where a consumer begins that gets all items from now on. Read before the consumer has its
    /// seat: a producer that finds this seat taken pushes behind this position.
    ///
    /// # Safety
    ///
    /// The queue was made with these sizes.
    unsafe fn begin(_: &Link, _: Sizes) -> Result<u64, Error> {
        Ok(0)
    }

    /// Continues as the consumer, which may begin at `begin`.
    ///
    /// # Safety
    ///
    /// As for the producer.
    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        begin: u64,
    ) -> Result<Self::Consumer, Error>;
}

/// The queue of a lane for items.
impl<T: Item> Kind for T {
    type Producer = super::Producer<T>;
    type Consumer = super::Consumer<T>;
    type Item = T;
    const QUEUE: [u8; 8] = *b"linering";

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        let lines = lines::<T>(sizes)?.lines;
        Ok(shared_layout::<line_ring::Header<T>>(lines))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let lines = lines::<T>(sizes)?.lines;
        // SAFETY: the caller's contract. A header for position 0 is zeros.
        let lines = unsafe { found::<line_ring::Header<T>>(link.queue(), lines) };
        line_ring::empty(&lines, 0);
        Ok(())
    }

    unsafe fn producer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
    ) -> Result<Self::Producer, Error> {
        let (geometry, bells) = (lines::<T>(sizes)?, Bells::new(link, Side::Producer, seat));
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.lines, Side::Producer, Leaves::End) }?;
        let tx = line_ring::Producer::new(end, geometry).resume()?;
        Ok(wait::Producer::new(tx, bells.rung()))
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        _: u64,
    ) -> Result<Self::Consumer, Error> {
        let (geometry, bells) = (lines::<T>(sizes)?, Bells::new(link, Side::Consumer, seat));
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.lines, Side::Consumer, Leaves::End) }?;
        let rx = line_ring::Consumer::new(end, geometry)?.resume()?;
        Ok(wait::Consumer::new(rx, bells.rung()))
    }
}

/// What a lane for byte records carries: `[u8]`, or [`Many<[u8]>`](super::Many).
pub trait OfRecords: Carried {
    /// Most records.
    const MOST: usize;

    /// Bytes for which a record counts in the capacity.
    fn size_of_record(len: usize) -> usize;

    /// Bytes of the longest record, of sizes that were checked.
    fn max_len(sizes: Sizes) -> usize;
}

impl OfRecords for [u8] {
    const MOST: usize = usize::MAX;

    fn size_of_record(len: usize) -> usize {
        record_ring::size_of_record(len)
    }

    fn max_len(sizes: Sizes) -> usize {
        words(sizes).map_or(0, record_ring::Geometry::max_len)
    }
}

fn lines<T>(sizes: Sizes) -> Result<line_ring::Geometry, CapacityError> {
    line_ring::Geometry::new::<T>(Config::new(sizes.capacity))
}

/// The queue of a lane for byte records.
impl Kind for [u8] {
    type Producer = super::RecordProducer;
    type Consumer = super::RecordConsumer;
    type Item = u8;
    const QUEUE: [u8; 8] = *b"records\0";
    const ITEM: (usize, usize) = (1, 8);

    fn name() -> &'static str {
        core::any::type_name::<Self>()
    }

    fn layout(sizes: Sizes) -> Result<Layout, CapacityError> {
        Ok(shared_layout::<record_ring::Header>(words(sizes)?.len))
    }

    unsafe fn found(link: &Link, sizes: Sizes) -> Result<(), CapacityError> {
        let len = words(sizes)?.len;
        // SAFETY: the caller's contract. A header for position 0 is zeros.
        let words = unsafe { found::<record_ring::Header>(link.queue(), len) };
        record_ring::begin(&words, 0);
        Ok(())
    }

    unsafe fn producer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
    ) -> Result<Self::Producer, Error> {
        let (geometry, bells) = (words(sizes)?, Bells::new(link, Side::Producer, seat));
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.len, Side::Producer, Leaves::End) }?;
        let tx = record_ring::Producer::new(end, geometry).resume()?;
        Ok(wait::bytes::Producer::new(tx, bells.rung()))
    }

    unsafe fn consumer(
        link: &Arc<Link>,
        sizes: Sizes,
        seat: Seat,
        _: u64,
    ) -> Result<Self::Consumer, Error> {
        let (geometry, bells) = (words(sizes)?, Bells::new(link, Side::Consumer, seat));
        // SAFETY: the caller's contract.
        let end = unsafe { end(link, geometry.len, Side::Consumer, Leaves::End) }?;
        let rx = record_ring::Consumer::new(end, geometry).resume()?;
        Ok(wait::bytes::Consumer::new(rx, bells.rung()))
    }
}

pub(super) fn words(sizes: Sizes) -> Result<record_ring::Geometry, CapacityError> {
    let config = Config::new(sizes.capacity);
    record_ring::Geometry::new(if sizes.longest == 0 {
        config
    } else {
        config.block(sizes.longest)
    })
}

/// The end of a side.
///
/// # Safety
///
/// The queue of the lane was made with this shape, and a seat of the side is this process's.
pub(super) unsafe fn end<H: State<Slots: Attach>>(
    link: &Link,
    shape: <H::Slots as Slots>::Shape,
    side: Side,
    leaves: Leaves,
) -> Result<End<H>, CapacityError> {
    // SAFETY: the caller's contract.
    unsafe { join(link.mapping.clone(), link.queue(), shape, side, leaves) }
}
