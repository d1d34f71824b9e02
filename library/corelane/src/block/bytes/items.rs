//! Byte records that are items, for code that is generic over queues: checks and measurements.
//!
//! An item of any type is moved into a record of its own. Programs use
//! [`block::shared`](crate::block::shared) instead.

use super::granules::{GRANULE, Granules, LONGEST};
use super::sides::{Header, Receiver, Sender, both_ends, take};
use crate::block::layout::{BlockShape, Blocks, Nothing};
use crate::block::variables::Separate;
use crate::queue::{
    self, Backing, Built, CapacityError, Config, Info, Sides, TryPopError, TryPushError, full,
    handles, queue_type,
};

/// A sending side whose records are items.
pub struct ItemProducer<T> {
    sender: Sender<T>,
}

/// A receiving side whose records are items.
pub struct ItemConsumer<T> {
    receiver: Receiver<T>,
}

/// Bytes of an item's record: a power of two, so that blocks have no rest.
const fn room<T>() -> usize {
    size_of::<T>().next_power_of_two().next_multiple_of(GRANULE)
}

/// Items that always have room: those of all blocks but one, and one more.
fn promised<T>(blocks: &Blocks<Separate, Granules>) -> usize {
    (blocks.len() - blocks.arrangement().size() as usize) * GRANULE / room::<T>() + 1
}

/// Items inside.
fn count<T>(blocks: &Blocks<Separate, Granules>) -> usize {
    blocks.count_filled() * GRANULE / room::<T>()
}

impl<T> queue::Producer for ItemProducer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        match self.sender.allocate(room::<T>()) {
            Ok(run) => {
                let place = self.sender.array().to_fill(run.position, size_of::<T>());
                // SAFETY: there is room for an item, allocated to this thread alone. The write is
                // unaligned, since a record may be aligned less than the type.
                unsafe { place.cast::<T>().write_unaligned(item) };
                self.sender.commit(run, size_of::<T>());
                Ok(())
            }
            Err(_) if self.is_closed() => Err(full(true, item)),
            Err(Nothing::AtAll) => Err(full(false, item)),
            Err(Nothing::Yet) => Err(TryPushError::Busy(item)),
        }
    }

    fn capacity(&self) -> usize {
        promised::<T>(self.sender.blocks())
    }

    fn len(&mut self) -> usize {
        count::<T>(self.sender.blocks())
    }

    fn slots(&self) -> usize {
        self.sender.blocks().len() * GRANULE / room::<T>()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.sender.end().peer_is_gone()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn backing(&self) -> Backing {
        self.sender.end().backing()
    }
}

impl<T> queue::Consumer for ItemConsumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let (run, _) = self.receiver.reserve(&mut false)?;
        // SAFETY: all records are items of this type, and this one was reserved to this thread
        // alone.
        let item = unsafe { take(self.receiver.array(), run.position) };
        self.receiver.consume(run);
        Ok(item)
    }

    fn capacity(&self) -> usize {
        promised::<T>(self.receiver.blocks())
    }

    fn len(&mut self) -> usize {
        count::<T>(self.receiver.blocks())
    }

    fn is_empty(&mut self) -> bool {
        self.receiver.is_empty()
    }

    fn slots(&self) -> usize {
        self.receiver.blocks().len() * GRANULE / room::<T>()
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.receiver.end().peer_is_gone()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn backing(&self) -> Backing {
        self.receiver.end().backing()
    }
}

impl<T> Clone for ItemProducer<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone() }
    }
}

impl<T> Clone for ItemConsumer<T> {
    fn clone(&self) -> Self {
        Self { receiver: self.receiver.clone() }
    }
}

handles! {
    [T] ItemProducer<T>: producer of T;
    [T] ItemConsumer<T>: consumer of T;
}

/// The options of a queue of bytes whose blocks hold as many items as those of
/// [`block::shared`](crate::block::shared).
fn in_bytes<T>(config: Config) -> Result<Config, CapacityError> {
    let granules = room::<T>() / GRANULE;
    let refused = |most| CapacityError::OutOfRange { asked: config.capacity, most };
    let items = BlockShape::new::<Header<T>>(config).map_err(|error| match error {
        CapacityError::OutOfRange { most, .. } => refused(most / granules),
        error => error,
    })?;
    if room::<T>() > LONGEST {
        return Err(refused(0));
    }
    let capacity = config.capacity.saturating_mul(room::<T>());
    Ok(Config { capacity, block: Some(items.size.saturating_mul(room::<T>())), ..config })
}

/// A queue whose records are items.
fn items_with<T: Send>(config: Config) -> Built<ItemProducer<T>, ItemConsumer<T>> {
    let spare = |size| size - room::<T>() / GRANULE;
    let ends = both_ends(in_bytes::<T>(config)?, |n, size| n + spare(size));
    let (sender, receiver) = ends.map_err(|error| match error {
        CapacityError::OutOfRange { most, .. } => {
            CapacityError::OutOfRange { asked: config.capacity, most: most / room::<T>() }
        }
        error => error,
    })?;
    Ok((ItemProducer { sender }, ItemConsumer { receiver }))
}

queue_type!(BbqBytes of [T: Send] T: ItemProducer<T>, ItemConsumer<T> = items_with; Info {
    id: "bbq-bytes",
    name: "block-based bounded queue of byte records",
    paper: "Wang 2024, §2.4.4",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free FIFO",
    capacity: "n bytes of any records; the ring has twice that",
    choose: advice!(choose bbq_bytes),
    avoid: advice!(avoid bbq_bytes),
    ..Info::RING
});
