//! Tubes: queues whose pushes and pops have two phases each, so that an entry can be used between
//! them (paper, §3.3.1 and §3.7).

use crate::block::Reserve;
use crate::block::fetch_add::{self, Faaq};
use crate::block::shared::{self, Bbq};
use crate::queue::{Built, Config, Info, Sides};
use crate::region::Run;
#[cfg(feature = "literature")]
use crate::ring::{self, Ring, Wanted};
use crate::scq::{self, Scq};

/// What a tube is asked for.
#[derive(Debug, Clone, Copy)]
pub struct TubeShape {
    /// Number of entries, a power of two.
    pub(super) entries: usize,
    /// Number of entries that are given back together, a power of two.
    pub(super) group: usize,
    /// The first turn, a multiple of `entries`.
    pub(super) first: u64,
}

/// A queue that can be a tube. Its entries are numbered; the entry of a turn has the turn's number,
/// modulo the number of entries.
pub trait Tube: Sized + 'static {
    /// The properties of a nested queue over it.
    const INFO: Info;
    /// A sending side.
    type Producer: TubeProducer;
    /// A receiving side.
    type Consumer: TubeConsumer;

    /// A tube in which no entry has been allocated.
    fn open(shape: TubeShape) -> Built<Self::Producer, Self::Consumer>;
}

/// A sending side of a tube.
pub trait TubeProducer: Clone + Send {
    /// The number of the entry of the next turn, which is this thread's. Turns are allocated in
    /// order.
    fn allocate(&mut self) -> Option<u64>;

    /// Publishes the entry of `turn`, which [`allocate`](Self::allocate) has returned.
    fn produce(&mut self, turn: u64);
}

/// A receiving side of a tube.
pub trait TubeConsumer: Clone + Send {
    /// The number of the entry of the oldest turn that was not reserved.
    fn reserve(&mut self) -> Option<u64>;

    /// Gives back the entries of a group, from `turn` on. Groups are given back in order, one after
    /// the other, when all their entries have been reserved.
    fn consume(&mut self, turn: u64, n: u64);
}

/// The properties that all nested queues have.
const NESTED: Info = Info {
    sides: Sides::ManyToMany,
    guarantee: "k-FIFO, deadlock-free among few producers",
    relaxed: true,
    capacity: "n",
    ..Info::RING
};

/// Most blocks of a tube.
const MOST_BLOCKS: usize = 1 << 16;

/// The options of a block-based tube: blocks of a group, or larger ones if there were too many.
fn blocks(shape: TubeShape) -> Config {
    let TubeShape { entries, group, first } = shape;
    let block = group.max(entries / MOST_BLOCKS);
    Config::new(entries - block + 1).block(block).first(first)
}

/// Handles of a block-based queue that take turns from the start, as one of several.
impl TubeProducer for shared::Producer<()> {
    #[inline]
    fn allocate(&mut self) -> Option<u64> {
        self.allocate(1).ok().flatten().map(|run| run.position)
    }

    #[inline]
    fn produce(&mut self, turn: u64) {
        self.commit(Run { position: turn, n: 1 });
    }
}

impl<R: Reserve + Send> TubeConsumer for shared::Consumer<(), R> {
    #[inline]
    fn reserve(&mut self) -> Option<u64> {
        self.reserve(1).ok().flatten().map(|run| run.position)
    }

    fn consume(&mut self, turn: u64, n: u64) {
        shared::Consumer::consume(self, Run { position: turn, n });
    }
}

impl Tube for Bbq {
    const INFO: Info = Info {
        id: "cnq-bbq",
        name: "nested queue over bbq",
        paper: "Wang 2024, §3.7.3",
        choose: advice!(choose cnq_bbq),
        avoid: advice!(avoid cnq_bbq),
        ..NESTED
    };
    type Producer = shared::Producer<()>;
    type Consumer = shared::Consumer<()>;

    fn open(shape: TubeShape) -> Built<Self::Producer, Self::Consumer> {
        shared::queue_with(blocks(shape))
    }
}

impl Tube for Faaq {
    const INFO: Info = Info {
        id: "cnq",
        name: "nested queue over faaq",
        paper: "Wang 2024, ch. 3",
        choose: advice!(choose cnq),
        avoid: advice!(avoid cnq),
        ..NESTED
    };
    type Producer = fetch_add::Producer<()>;
    type Consumer = fetch_add::Consumer<()>;

    fn open(shape: TubeShape) -> Built<Self::Producer, Self::Consumer> {
        fetch_add::queue_with(blocks(shape))
    }
}

#[cfg(feature = "literature")]
impl TubeProducer for ring::Producer<()> {
    #[inline]
    fn allocate(&mut self) -> Option<u64> {
        ring::Producer::allocate(self, Wanted::UpTo(1)).ok().map(|run| run.position)
    }

    #[inline]
    fn produce(&mut self, turn: u64) {
        self.publish(Run { position: turn, n: 1 });
    }
}

#[cfg(feature = "literature")]
impl TubeConsumer for ring::Consumer<()> {
    #[inline]
    fn reserve(&mut self) -> Option<u64> {
        ring::Consumer::reserve(self, Wanted::UpTo(1)).ok().map(|run| run.position)
    }

    fn consume(&mut self, turn: u64, n: u64) {
        self.give_back(Run { position: turn, n });
    }
}

#[cfg(feature = "literature")]
impl Tube for Ring<ring::InOrder> {
    const INFO: Info = Info {
        id: "cnq-ring",
        name: "nested queue over a plain ring",
        paper: "Wang 2024, §3.7.1",
        choose: advice!(choose cnq_ring),
        avoid: advice!(avoid cnq_ring),
        takes_turns: true,
        ..NESTED
    };
    type Producer = ring::Producer<()>;
    type Consumer = ring::Consumer<()>;

    fn open(shape: TubeShape) -> Built<Self::Producer, Self::Consumer> {
        ring::queue_with(Config::new(shape.entries).first(shape.first))
    }
}

/// The entries are the indices of its slots. They come back in order, so they are allocated in
/// order.
impl TubeProducer for scq::Producer<()> {
    #[inline]
    fn allocate(&mut self) -> Option<u64> {
        scq::Producer::allocate(self)
    }

    #[inline]
    fn produce(&mut self, turn: u64) {
        self.publish(turn & (self.capacity() as u64 - 1));
    }
}

impl TubeConsumer for scq::Consumer<()> {
    #[inline]
    fn reserve(&mut self) -> Option<u64> {
        scq::Consumer::reserve(self)
    }

    fn consume(&mut self, turn: u64, n: u64) {
        let mask = self.capacity() as u64 - 1;
        (0..n).for_each(|i| self.give_back(turn.wrapping_add(i) & mask));
    }
}

impl Tube for Scq {
    const INFO: Info = Info {
        id: "cnq-scq",
        name: "nested queue over scq",
        paper: "Wang 2024, §3.7.2",
        choose: advice!(choose cnq_scq),
        avoid: advice!(avoid cnq_scq),
        ..NESTED
    };
    type Producer = scq::Producer<()>;
    type Consumer = scq::Consumer<()>;

    fn open(shape: TubeShape) -> Built<Self::Producer, Self::Consumer> {
        scq::queue_with(Config::new(shape.entries).first(shape.first))
    }
}
