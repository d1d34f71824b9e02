//! The queues as the models see them: functions that make handles.
//!
//! Most models take boxed handles, so that they are compiled once for all queues. Models of an
//! algorithm's own calls take its own handles.

use std::panic::RefUnwindSafe;

use corelane_loom::{
    BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Config, Consumer, Info,
    Producer, Queue, SingleQueue,
};

use crate::item::{Cargo, Narrow, Number, Ticket, Wide};
use crate::{Exploration, Items, Model};

/// A sending side.
pub(crate) trait Tx: Producer<Item: Cargo> + 'static {}
impl<P: Producer<Item: Cargo> + 'static> Tx for P {}

/// A receiving side.
pub(crate) trait Rx: Consumer<Item: Cargo> + 'static {}
impl<C: Consumer<Item: Cargo> + 'static> Rx for C {}

/// Makes a queue.
pub(crate) type New<P, C> = fn(Config) -> (P, C);

/// Makes a queue between one producer and one consumer.
pub(crate) type Single<T> = New<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;

/// Makes a queue that may have several handles on a side.
pub(crate) type Shared<T> = New<BoxedProducer<T>, BoxedConsumer<T>>;

/// A handle of a side that may have several handles.
pub(crate) trait Another {
    /// A clone.
    fn another(&self) -> Self;
}

impl<T> Another for BoxedProducer<T> {
    fn another(&self) -> Self {
        self.try_clone().expect("there may be several producers")
    }
}

impl<T> Another for BoxedConsumer<T> {
    fn another(&self) -> Self {
        self.try_clone().expect("there may be several consumers")
    }
}

/// Why making a queue can't fail in a model.
const SMALL: &str = "models ask for small queues";

/// A new queue, with its own handles.
pub(crate) fn own<Q: Queue<T>, T>(config: Config) -> (Q::Producer, Q::Consumer) {
    Q::with(config).expect(SMALL)
}

fn single<Q, T>(config: Config) -> (BoxedSingleProducer<T>, BoxedSingleConsumer<T>)
where
    Q: SingleQueue<T> + 'static,
    T: 'static,
{
    Q::boxed_single(config).expect(SMALL)
}

fn shared<Q, T>(config: Config) -> (BoxedProducer<T>, BoxedConsumer<T>)
where
    Q: Queue<T> + 'static,
    T: 'static,
{
    Q::boxed(config).expect(SMALL)
}

/// The queue that models belong to, and the kind of its slots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Of {
    pub(crate) info: Info,
    items: Items,
}

impl Of {
    /// A queue with items of any type.
    pub(crate) const fn any<Q: Queue<T>, T>() -> Self {
        Self { info: Q::INFO, items: Items::Any }
    }

    /// A queue with tokens.
    pub(crate) const fn tokens<Q: Queue<T>, T>() -> Self {
        Self { info: Q::INFO, items: Items::Tokens }
    }

    /// A queue that is not in the registry.
    pub(crate) const fn other(info: Info) -> Self {
        Self { info, items: Items::Any }
    }

    /// A model of this queue.
    pub(crate) fn model(
        self,
        name: &'static str,
        run: impl Fn() -> Exploration + Send + Sync + RefUnwindSafe + 'static,
    ) -> Model {
        Model::new(self.info.algorithm(), self.items, name, run)
    }
}

/// A queue between one producer and one consumer, as a queue of tickets and as a queue of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SingleSubject<T, N> {
    pub(crate) of: Of,
    pub(crate) tickets: Single<T>,
    pub(crate) numbers: Single<N>,
}

impl<T: 'static, N: 'static> SingleSubject<T, N> {
    fn of<Q: SingleQueue<T> + SingleQueue<N> + 'static>(of: Of) -> Self {
        Self { of, tickets: single::<Q, _>, numbers: single::<Q, _> }
    }
}

impl SingleSubject<Wide<Ticket>, Wide<Number>> {
    /// With items of any type, each in its own line.
    pub(crate) fn wide<Q>() -> Self
    where
        Q: SingleQueue<Wide<Ticket>> + SingleQueue<Wide<Number>> + 'static,
    {
        Self::of::<Q>(Of::any::<Q, Wide<Ticket>>())
    }
}

impl SingleSubject<Narrow<Ticket>, Narrow<Number>> {
    /// With items of any type, two in a line.
    pub(crate) fn narrow<Q>() -> Self
    where
        Q: SingleQueue<Narrow<Ticket>> + SingleQueue<Narrow<Number>> + 'static,
    {
        Self::of::<Q>(Of::any::<Q, Narrow<Ticket>>())
    }
}

impl SingleSubject<Ticket, Number> {
    /// With tokens.
    pub(crate) fn tokens<Q: SingleQueue<Ticket> + SingleQueue<Number> + 'static>() -> Self {
        Self::of::<Q>(Of::tokens::<Q, Ticket>())
    }
}

/// A queue that may have several handles on a side, as a queue of tickets and as a queue of
/// numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedSubject<T, N> {
    pub(crate) of: Of,
    pub(crate) tickets: Shared<T>,
    pub(crate) numbers: Shared<N>,
}

impl<T: 'static, N: 'static> SharedSubject<T, N> {
    pub(crate) fn new<Q: Queue<T> + Queue<N> + 'static>() -> Self {
        Self { of: Of::any::<Q, T>(), tickets: shared::<Q, _>, numbers: shared::<Q, _> }
    }
}
