//! Queues between the stages: of a type, or by name.

use std::marker::PhantomData;
use std::sync::OnceLock;

use corelane::line_ring::LineRing;
use corelane::mc_ring_sane::McRingSane;
use corelane::workload::{self, Recorder};
use corelane::{BoxedConsumer, BoxedProducer, Built, Config, Consumer, Producer, Queue};

use crate::packet::Parcel;
use crate::report::FlowRecord;

/// Makes the queues between the stages.
pub trait Queues {
    /// The sending side of a queue of packets.
    type PacketProducer: Producer<Item = Parcel> + Send;
    /// Its receiving side.
    type PacketConsumer: Consumer<Item = Parcel> + Send;
    /// The sending side of a queue of flows.
    type FlowProducer: Producer<Item = Box<FlowRecord>> + Send;
    /// Its receiving side.
    type FlowConsumer: Consumer<Item = Box<FlowRecord>> + Send;

    /// A queue of packets.
    ///
    /// # Errors
    ///
    /// If the capacity isn't possible.
    fn packets(&self, capacity: usize) -> Built<Self::PacketProducer, Self::PacketConsumer>;

    /// A queue of flows.
    ///
    /// # Errors
    ///
    /// If the capacity isn't possible.
    fn flows(&self, capacity: usize) -> Built<Self::FlowProducer, Self::FlowConsumer>;
}

/// Queues of type `Q`, whose calls are inlined into the stages.
#[derive(Debug)]
pub struct Of<Q>(PhantomData<Q>);

impl<Q> Default for Of<Q> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<Q: Queue<Parcel> + Queue<Box<FlowRecord>>> Queues for Of<Q> {
    type PacketProducer = <Q as Queue<Parcel>>::Producer;
    type PacketConsumer = <Q as Queue<Parcel>>::Consumer;
    type FlowProducer = <Q as Queue<Box<FlowRecord>>>::Producer;
    type FlowConsumer = <Q as Queue<Box<FlowRecord>>>::Consumer;

    fn packets(&self, capacity: usize) -> Built<Self::PacketProducer, Self::PacketConsumer> {
        <Q as Queue<Parcel>>::with(Config::new(capacity))
    }

    fn flows(&self, capacity: usize) -> Built<Self::FlowProducer, Self::FlowConsumer> {
        <Q as Queue<Box<FlowRecord>>>::with(Config::new(capacity))
    }
}

/// Queues that were chosen by name, whose calls go through the handles' boxes.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// The queue's id, as `lane list` has it.
    pub id: &'static str,
    packets: Maker<Parcel>,
    flows: Maker<Box<FlowRecord>>,
}

/// Makes a queue whose handles are in boxes.
type Maker<T> = fn(Config) -> Built<BoxedProducer<T>, BoxedConsumer<T>>;

impl Named {
    fn of<Q: Queue<Parcel> + Queue<Box<FlowRecord>> + 'static>() -> Self {
        Self {
            id: <Q as Queue<Parcel>>::INFO.id,
            packets: <Q as Queue<Parcel>>::boxed,
            flows: <Q as Queue<Box<FlowRecord>>>::boxed,
        }
    }

    /// The library's default between one producer and one consumer.
    pub fn usual() -> Self {
        Self::of::<LineRing>()
    }

    /// All queues that keep every packet, and keep packets in order.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        macro_rules! add {
            (single $items:ident $id:ident: $queue:ty) => {
                all.push(Self::of::<$queue>());
            };
            (shared plain $id:ident: $queue:ty) => {};
            (shared $items:ident $id:ident: $queue:ty) => {
                all.push(Self::of::<$queue>());
            };
            (relaxed $items:ident $id:ident: $queue:ty) => {};
        }
        corelane::for_each_queue!(add);
        // Not in the registry, because it has a thread of its own. It is one of those in the paper.
        all.push(Self::of::<McRingSane>());
        all
    }
}

impl Queues for Named {
    type PacketProducer = BoxedProducer<Parcel>;
    type PacketConsumer = BoxedConsumer<Parcel>;
    type FlowProducer = BoxedProducer<Box<FlowRecord>>;
    type FlowConsumer = BoxedConsumer<Box<FlowRecord>>;

    fn packets(&self, capacity: usize) -> Built<Self::PacketProducer, Self::PacketConsumer> {
        (self.packets)(Config::new(capacity))
    }

    fn flows(&self, capacity: usize) -> Built<Self::FlowProducer, Self::FlowConsumer> {
        (self.flows)(Config::new(capacity))
    }
}

/// Other queues, of which the first one is watched: the one from the input to the parser.
#[derive(Debug)]
pub struct Watched<Q> {
    queues: Q,
    first: OnceLock<Recorder>,
}

impl<Q> Watched<Q> {
    /// The same queues, watched.
    pub fn new(queues: Q) -> Self {
        Self { queues, first: OnceLock::new() }
    }

    /// How the first queue was used, for `lane tune`.
    pub fn workload(self) -> Option<Recorder> {
        self.first.into_inner()
    }
}

impl<Q: Queues> Queues for Watched<Q> {
    type PacketProducer = workload::Producer<Q::PacketProducer>;
    type PacketConsumer = workload::Consumer<Q::PacketConsumer>;
    type FlowProducer = Q::FlowProducer;
    type FlowConsumer = Q::FlowConsumer;

    fn packets(&self, capacity: usize) -> Built<Self::PacketProducer, Self::PacketConsumer> {
        // The recorders of the other queues are dropped.
        let recorder = Recorder::new();
        let pair = recorder.pair(self.queues.packets(capacity)?);
        self.first.get_or_init(|| recorder);
        Ok(pair)
    }

    fn flows(&self, capacity: usize) -> Built<Self::FlowProducer, Self::FlowConsumer> {
        self.queues.flows(capacity)
    }
}
