//! The counters of a block, and of all blocks (J. Wang 2024, Fig. 2.4 and §2.4.5).

use super::layout::{Arrangement, BlockShape};
use crate::memory::{AtomicU64, Ordering, is_before};
use crate::pad::Padded;

/// The variables of a block.
pub trait BlockVariables {
    /// The variables of a block in a new queue: as if earlier laps had filled and emptied the
    /// block.
    fn new(shape: &BlockShape) -> Self;
}

/// The variables of a block of slots that hold an item, or none.
pub trait Variables: BlockVariables {
    /// What the sides share besides the blocks.
    type Heads;

    /// How many slots have been filled.
    fn committed(&self) -> &AtomicU64;

    /// How many slots have been emptied; exact after the last consumer has been dropped.
    fn consumed(&self) -> &AtomicU64;

    /// The last value of `consumed` at which all slots were empty.
    fn emptied(&self) -> &AtomicU64;

    /// Publishes that the only consumer has emptied the block; `count` is its slots in all laps.
    fn give_back(&self, count: u64);

    /// Called when the only producer enters the block that starts here, to fill it in order.
    #[inline]
    fn enter(&self, _start: u64, _: Arrangement) {}

    /// Whether producers have begun to fill slots from `position` on, in no order.
    #[inline]
    fn is_begun(&self, _position: u64, _: Arrangement) -> bool {
        false
    }

    /// Whether consumers have left the block that starts here.
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
    /// The paper's `reserved` and `consumed`. Written by the consumer only, when the block is empty
    /// or the consumer is dropped. Meanwhile the producer may wait for it, and keeps the cache
    /// line.
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
        // Release ↔ Acquire in `enter_block`: the items are taken.
        self.consumed.store(count, Ordering::Release);
    }
}

/// The variables of a block with several producers or several consumers (Fig. 2.4).
#[derive(Debug)]
#[repr(C)]
pub struct Separate {
    pub(crate) producers: Padded<ProducerCursors>,
    pub(crate) consumers: Padded<ConsumerCursors>,
    /// The last value of `consumed` at which all slots were empty. Producers that wait for the
    /// block read it, so that they don't disturb consumers.
    pub(crate) emptied: Padded<AtomicU64>,
}

/// What producers count in a block.
#[derive(Debug)]
#[repr(C)]
pub struct ProducerCursors {
    /// How many slots have been taken to be filled, and late additions: see
    /// [`Arrangement::allocated`].
    pub(crate) allocated: AtomicU64,
    /// How many of these slots are filled. An only producer needs no other counter.
    pub(crate) committed: AtomicU64,
}

/// What consumers count in a block.
#[derive(Debug)]
#[repr(C)]
pub struct ConsumerCursors {
    /// How many slots have been taken to be emptied.
    pub(crate) reserved: AtomicU64,
    /// How many of these slots are empty. An only consumer needs no other counter.
    pub(crate) consumed: AtomicU64,
    /// How many slots consumers have taken by fetch-and-add, and late additions, as `allocated`
    /// counts: only in [`block::fetch_add`](crate::block::fetch_add).
    pub(crate) claimed: AtomicU64,
}

/// Where the current blocks of several producers and several consumers start, or earlier blocks.
#[derive(Debug)]
#[repr(C)]
pub struct Heads {
    pub(crate) phead: Padded<AtomicU64>,
    pub(crate) chead: Padded<AtomicU64>,
}

impl Heads {
    /// The heads of a new queue. The only producer and the only consumer write them before there
    /// are others.
    pub(crate) fn new(shape: &BlockShape) -> Self {
        let first = || Padded(AtomicU64::new(shape.first));
        Self { phead: first(), chead: first() }
    }

    /// The heads of a new queue that may have several of both at once: no producer has entered the
    /// first block.
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
            consumers: Padded(ConsumerCursors {
                reserved: count(),
                consumed: count(),
                claimed: AtomicU64::new(allocated),
            }),
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
        // Release ↔ Acquire in `advance_phead`: the items are taken.
        self.emptied.store(count, Ordering::Release);
    }

    #[inline]
    fn enter(&self, start: u64, arrangement: Arrangement) {
        // As if no producer had allocated slots. An only producer doesn't use `allocated`, but the
        // value must not become so old that it looks new.
        let lap_before = arrangement.all_allocated(start.wrapping_sub(arrangement.positions()));
        self.producers.allocated.store(lap_before, Ordering::Relaxed);
    }

    #[inline]
    fn is_begun(&self, position: u64, arrangement: Arrangement) -> bool {
        // Relaxed: a thread that knows of a push knows that all slots before the pushed one were
        // allocated.
        let allocated = self.producers.allocated.load(Ordering::Relaxed);
        is_before(arrangement.allocated(position), allocated)
    }

    #[inline]
    fn is_left(heads: &Heads, start: u64) -> bool {
        // Relaxed: it orders nothing, and only says why a push fails. A thread that knows of a pop
        // behind the block also knows that the block was left.
        is_before(start, heads.chead.load(Ordering::Relaxed))
    }
}
