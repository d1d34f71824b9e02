//! What sides count in a block, and in all blocks (J. Wang 2024, Fig. 2.4 and §2.4.5).

use super::layout::{Arrangement, BlockShape};
use crate::memory::{AtomicU64, Ordering, is_before};
use crate::pad::Padded;

/// The variables of a block.
pub trait BlockVariables {
    /// Those of a block in a new queue: as if the laps before had filled and emptied it.
    fn new(shape: &BlockShape) -> Self;
}

/// The variables of a block of slots that hold an item, or none.
pub trait Variables: BlockVariables {
    /// What the sides share besides the blocks.
    type Heads;

    /// How many slots have been filled.
    fn committed(&self) -> &AtomicU64;

    /// How many slots have been emptied; exact when no consumer is left.
    fn consumed(&self) -> &AtomicU64;

    /// The same when it was all slots.
    fn emptied(&self) -> &AtomicU64;

    /// Says that the only consumer has emptied the block, and so many slots by now.
    fn give_back(&self, count: u64);

    /// Says that the only producer fills the block that starts here, in order.
    #[inline]
    fn enter(&self, _start: u64, _: Arrangement) {}

    /// Whether producers have begun to fill slots from `position` on, in no order.
    #[inline]
    fn is_begun(&self, _position: u64, _: Arrangement) -> bool {
        false
    }

    /// Whether consumers have gone on from the block that starts here.
    #[inline]
    fn is_left(_: &Self::Heads, _start: u64) -> bool {
        false
    }
}

/// The variables of a block between one producer and one consumer (§2.4.5).
#[derive(Debug)]
#[repr(C)]
pub struct Merged {
    /// The paper's `allocated` and `committed`. Written by the producer only.
    committed: Padded<AtomicU64>,
    /// The paper's `reserved` and `consumed`. Written by the consumer only, when the block is empty or the
    /// consumer goes: the producer, which may be waiting for that, has the line meanwhile.
    consumed: Padded<AtomicU64>,
}

impl BlockVariables for Merged {
    fn new(shape: &BlockShape) -> Self {
        let count = || Padded(AtomicU64::new(shape.first));
        Self { committed: count(), consumed: count() }
    }
}

impl Variables for Merged {
    type Heads = ();

    #[inline]
    fn committed(&self) -> &AtomicU64 {
        &self.committed
    }

    #[inline]
    fn consumed(&self) -> &AtomicU64 {
        &self.consumed
    }

    #[inline]
    fn emptied(&self) -> &AtomicU64 {
        &self.consumed
    }

    #[inline]
    fn give_back(&self, count: u64) {
        // Release pairs with the load in `enter_block`: the items are out before their slots are free.
        self.consumed.store(count, Ordering::Release);
    }
}

/// The variables of a block with several producers or several consumers (Fig. 2.4).
#[derive(Debug)]
#[repr(C)]
pub struct Separate {
    pub(crate) producers: Padded<ProducerCursors>,
    pub(crate) consumers: Padded<ConsumerCursors>,
    /// `consumed` when it was all slots: for producers that wait for the block, and must not disturb consumers
    /// meanwhile.
    pub(crate) emptied: Padded<AtomicU64>,
}

/// What producers count in a block.
#[derive(Debug)]
#[repr(C)]
pub struct ProducerCursors {
    /// How many slots have been taken to be filled, and then some: see [`Arrangement::allocated`].
    pub(crate) allocated: AtomicU64,
    /// How many of them are filled. One producer needs no other.
    pub(crate) committed: AtomicU64,
}

/// What consumers count in a block.
#[derive(Debug)]
#[repr(C)]
pub struct ConsumerCursors {
    /// How many slots have been taken to be emptied.
    pub(crate) reserved: AtomicU64,
    /// How many of them are empty. One consumer needs no other.
    pub(crate) consumed: AtomicU64,
}

/// Where the blocks start that several producers and several consumers work in, or earlier ones.
#[derive(Debug)]
#[repr(C)]
pub struct Heads {
    pub(crate) phead: Padded<AtomicU64>,
    pub(crate) chead: Padded<AtomicU64>,
}

impl Heads {
    /// Those of a new queue: the only producer and the only consumer write them before there are others.
    pub(crate) fn new(shape: &BlockShape) -> Self {
        let first = || Padded(AtomicU64::new(shape.first));
        Self { phead: first(), chead: first() }
    }

    /// Those of a new queue that may have several of both at once: nobody has entered the first block.
    pub(crate) fn at_first(shape: &BlockShape) -> Self {
        let last = shape.arrangement().block_before(shape.first);
        Self { phead: Padded(AtomicU64::new(last)), chead: Padded(AtomicU64::new(shape.first)) }
    }
}

impl BlockVariables for Separate {
    fn new(shape: &BlockShape) -> Self {
        let arrangement = shape.arrangement();
        let lap_before = shape.first.wrapping_sub(arrangement.positions());
        let allocated = arrangement.all_allocated(lap_before);
        let count = || AtomicU64::new(shape.first);
        Self {
            producers: Padded(ProducerCursors {
                allocated: AtomicU64::new(allocated),
                committed: count(),
            }),
            consumers: Padded(ConsumerCursors { reserved: count(), consumed: count() }),
            emptied: Padded(count()),
        }
    }
}

impl Variables for Separate {
    type Heads = Heads;

    #[inline]
    fn committed(&self) -> &AtomicU64 {
        &self.producers.committed
    }

    #[inline]
    fn consumed(&self) -> &AtomicU64 {
        &self.consumers.consumed
    }

    #[inline]
    fn emptied(&self) -> &AtomicU64 {
        &self.emptied
    }

    #[inline]
    fn give_back(&self, count: u64) {
        self.consumers.reserved.store(count, Ordering::Relaxed);
        self.consumers.consumed.store(count, Ordering::Relaxed);
        // Release pairs with the load in `advance_phead`: the items are out before their slots are free.
        self.emptied.store(count, Ordering::Release);
    }

    #[inline]
    fn enter(&self, start: u64, arrangement: Arrangement) {
        // As if nobody had: it is not needed, but must not become so old that it looks new.
        let lap_before = arrangement.all_allocated(start.wrapping_sub(arrangement.positions()));
        self.producers.allocated.store(lap_before, Ordering::Relaxed);
    }

    #[inline]
    fn is_begun(&self, position: u64, arrangement: Arrangement) -> bool {
        // Relaxed: a thread that has been told of a push has been told that slots before its own were allocated.
        let allocated = self.producers.allocated.load(Ordering::Relaxed);
        is_before(arrangement.allocated(position), allocated)
    }

    #[inline]
    fn is_left(heads: &Heads, start: u64) -> bool {
        // Relaxed: it orders nothing, it says why a push fails. A thread that has been told of a pop behind the block
        // has been told of this too.
        is_before(start, heads.chead.load(Ordering::Relaxed))
    }
}
