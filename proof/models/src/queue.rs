//! The queues as the models see them: functions that make handles.
//!
//! Most models take boxed handles, so that they are compiled once for all queues. Those of an algorithm's own calls take
//! its own handles.

use std::panic::RefUnwindSafe;

use corelane_loom::{Config, Consumer, Info, Producer, Queue, SingleConsumer, SingleProducer};

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

/// The only producer of a queue.
pub(crate) type SingleTx<T> = Box<dyn SingleProducer<Item = T>>;
/// The only consumer of a queue.
pub(crate) type SingleRx<T> = Box<dyn SingleConsumer<Item = T>>;
/// Makes a queue between one producer and one consumer.
pub(crate) type Single<T> = New<SingleTx<T>, SingleRx<T>>;

/// A producer of a queue that may have several.
pub(crate) type SharedTx<T> = Box<dyn SharedProducer<Item = T>>;
/// A consumer of a queue that may have several.
pub(crate) type SharedRx<T> = Box<dyn SharedConsumer<Item = T>>;
/// Makes a queue that may have several handles on a side.
pub(crate) type Shared<T> = New<SharedTx<T>, SharedRx<T>>;

/// A producer that can be cloned in its box.
pub(crate) trait SharedProducer: Producer {
    /// A clone.
    fn boxed_clone(&self) -> Box<dyn SharedProducer<Item = Self::Item>>;
}

impl<P: Producer + 'static> SharedProducer for P {
    fn boxed_clone(&self) -> Box<dyn SharedProducer<Item = Self::Item>> {
        Box::new(self.try_clone().expect("there may be several"))
    }
}

impl<T: 'static> dyn SharedProducer<Item = T> {
    /// A clone.
    pub(crate) fn another(&self) -> SharedTx<T> {
        self.boxed_clone()
    }
}

/// A consumer that can be cloned in its box.
pub(crate) trait SharedConsumer: Consumer {
    /// A clone.
    fn boxed_clone(&self) -> Box<dyn SharedConsumer<Item = Self::Item>>;
}

impl<C: Consumer + 'static> SharedConsumer for C {
    fn boxed_clone(&self) -> Box<dyn SharedConsumer<Item = Self::Item>> {
        Box::new(self.try_clone().expect("there may be several"))
    }
}

impl<T: 'static> dyn SharedConsumer<Item = T> {
    /// A clone.
    pub(crate) fn another(&self) -> SharedRx<T> {
        self.boxed_clone()
    }
}

/// A new queue, with its own handles.
pub(crate) fn own<Q: Queue<T>, T>(config: Config) -> (Q::Producer, Q::Consumer) {
    Q::with(config).expect("models ask for small queues")
}

/// A new queue between one producer and one consumer.
pub(crate) fn single<Q, T>(config: Config) -> (SingleTx<T>, SingleRx<T>)
where
    Q: Queue<T, Producer: SingleProducer + 'static, Consumer: SingleConsumer + 'static>,
{
    let (tx, rx) = own::<Q, T>(config);
    (Box::new(tx), Box::new(rx))
}

/// A new queue that may have several handles on a side.
pub(crate) fn shared<Q, T>(config: Config) -> (SharedTx<T>, SharedRx<T>)
where
    Q: Queue<T, Producer: 'static, Consumer: 'static>,
{
    let (tx, rx) = own::<Q, T>(config);
    (Box::new(tx), Box::new(rx))
}

/// Whose models some are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Of {
    pub(crate) info: Info,
    items: Items,
}

impl Of {
    /// Those of a queue with items of any type.
    pub(crate) const fn any<Q: Queue<T>, T>() -> Self {
        Self { info: Q::INFO, items: Items::Any }
    }

    /// Those of a queue with tokens.
    pub(crate) const fn tokens<Q: Queue<T>, T>() -> Self {
        Self { info: Q::INFO, items: Items::Tokens }
    }

    /// One of them.
    pub(crate) fn model(
        self,
        name: &'static str,
        run: impl Fn() -> Exploration + Send + Sync + RefUnwindSafe + 'static,
    ) -> Model {
        Model::new(self.info.algorithm(), self.items, name, run)
    }
}

/// A queue between one producer and one consumer, with items that are made of tickets and of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SingleSubject<T, N> {
    pub(crate) of: Of,
    pub(crate) tickets: Single<T>,
    pub(crate) numbers: Single<N>,
}

impl SingleSubject<Wide<Ticket>, Wide<Number>> {
    /// With items of any type, each in a line of its own.
    pub(crate) fn wide<Q>() -> Self
    where
        Q: Queue<
                Wide<Ticket>,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
        Q: Queue<
                Wide<Number>,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
    {
        let of = Of::any::<Q, Wide<Ticket>>();
        Self { of, tickets: single::<Q, _>, numbers: single::<Q, _> }
    }
}

impl SingleSubject<Narrow<Ticket>, Narrow<Number>> {
    /// With items of any type, two in a line.
    pub(crate) fn narrow<Q>() -> Self
    where
        Q: Queue<
                Narrow<Ticket>,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
        Q: Queue<
                Narrow<Number>,
                Producer: SingleProducer + 'static,
                Consumer: SingleConsumer + 'static,
            >,
    {
        let of = Of::any::<Q, Narrow<Ticket>>();
        Self { of, tickets: single::<Q, _>, numbers: single::<Q, _> }
    }
}

impl SingleSubject<Ticket, Number> {
    /// With tokens.
    pub(crate) fn tokens<Q>() -> Self
    where
        Q: Queue<Ticket, Producer: SingleProducer + 'static, Consumer: SingleConsumer + 'static>,
        Q: Queue<Number, Producer: SingleProducer + 'static, Consumer: SingleConsumer + 'static>,
    {
        let of = Of::tokens::<Q, Ticket>();
        Self { of, tickets: single::<Q, _>, numbers: single::<Q, _> }
    }
}

/// A queue that may have several handles on a side, with tickets and with numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedSubject<T, N> {
    pub(crate) of: Of,
    pub(crate) tickets: Shared<T>,
    pub(crate) numbers: Shared<N>,
}

impl<T, N> SharedSubject<T, N> {
    pub(crate) fn new<Q>() -> Self
    where
        Q: Queue<T, Producer: 'static, Consumer: 'static>,
        Q: Queue<N, Producer: 'static, Consumer: 'static>,
    {
        Self { of: Of::any::<Q, T>(), tickets: shared::<Q, _>, numbers: shared::<Q, _> }
    }
}
