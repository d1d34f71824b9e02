//! The queues as the models see them: with items of any type, or with tokens.

use std::fmt::Debug;
use std::marker::PhantomData;

use corelane_loom::slot::Token;
use corelane_loom::{
    Config, Consumer, MpmcQueue, Producer, Sides, SingleConsumer, SingleProducer, SpscQueue,
    SpscTokenQueue,
};

use crate::Items;
use crate::item::{Cargo, Narrow as NarrowItem, Wide};

/// Whose models these are.
pub(crate) trait Named: 'static {
    /// Id of the queue.
    const ID: &'static str;
    /// Which of its slots.
    const ITEMS: Items;
}

/// A queue for items made from `T`.
pub(crate) trait Subject<T: Cargo>: Named {
    /// What it carries.
    type Item: Cargo + Debug;
    /// Its sending side.
    type Tx: Producer<Item = Self::Item> + Send + 'static;
    /// Its receiving side.
    type Rx: Consumer<Item = Self::Item> + Send + 'static;

    /// A new queue.
    fn channel(config: Config) -> (Self::Tx, Self::Rx);
}

/// A queue between one producer and one consumer.
pub(crate) trait Single<T: Cargo>:
    Subject<T, Tx: SingleProducer, Rx: SingleConsumer>
{
}

impl<T: Cargo, S: Subject<T, Tx: SingleProducer, Rx: SingleConsumer>> Single<T> for S {}

/// A queue that may have several handles on one side at least.
pub(crate) trait Shared<T: Cargo>: Subject<T> {
    /// Where there may be several.
    const SIDES: Sides;

    /// A clone of a sending side.
    fn another_producer(tx: &Self::Tx) -> Self::Tx;

    /// A clone of a receiving side.
    fn another_consumer(rx: &Self::Rx) -> Self::Rx;
}

/// A queue with items of any type.
#[derive(Debug)]
pub(crate) struct Any<Q>(PhantomData<Q>);

impl<Q: SpscQueue + 'static> Named for Any<Q> {
    const ID: &'static str = Q::INFO.id;
    const ITEMS: Items = Items::Any;
}

impl<Q: SpscQueue + 'static, T: Cargo + Debug> Subject<T> for Any<Q> {
    type Item = Wide<T>;
    type Tx = Q::Producer<Wide<T>>;
    type Rx = Q::Consumer<Wide<T>>;

    fn channel(config: Config) -> (Self::Tx, Self::Rx) {
        Q::channel(config).expect("models ask for small queues")
    }
}

/// A queue with items of which two fit into a line.
#[derive(Debug)]
pub(crate) struct Narrow<Q>(PhantomData<Q>);

impl<Q: SpscQueue + 'static> Named for Narrow<Q> {
    const ID: &'static str = Q::INFO.id;
    const ITEMS: Items = Items::Any;
}

impl<Q: SpscQueue + 'static, T: Cargo + Debug> Subject<T> for Narrow<Q> {
    type Item = NarrowItem<T>;
    type Tx = Q::Producer<NarrowItem<T>>;
    type Rx = Q::Consumer<NarrowItem<T>>;

    fn channel(config: Config) -> (Self::Tx, Self::Rx) {
        Q::channel(config).expect("models ask for small queues")
    }
}

/// A queue with tokens.
#[derive(Debug)]
pub(crate) struct Tokens<Q>(PhantomData<Q>);

impl<Q: SpscTokenQueue + 'static> Named for Tokens<Q> {
    const ID: &'static str = Q::INFO.id;
    const ITEMS: Items = Items::Tokens;
}

impl<Q: SpscTokenQueue + 'static, T: Cargo + Token + Debug> Subject<T> for Tokens<Q> {
    type Item = T;
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> (Self::Tx, Self::Rx) {
        Q::channel(config).expect("models ask for small queues")
    }
}

/// A queue with several handles on a side.
#[derive(Debug)]
pub(crate) struct Many<Q>(PhantomData<Q>);

impl<Q: MpmcQueue + 'static> Named for Many<Q> {
    const ID: &'static str = Q::INFO.id;
    const ITEMS: Items = Items::Any;
}

impl<Q: MpmcQueue + 'static, T: Cargo + Debug> Subject<T> for Many<Q> {
    type Item = T;
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> (Self::Tx, Self::Rx) {
        Q::channel(config).expect("models ask for small queues")
    }
}

impl<Q: MpmcQueue + 'static, T: Cargo + Debug> Shared<T> for Many<Q> {
    const SIDES: Sides = Q::INFO.sides;

    fn another_producer(tx: &Self::Tx) -> Self::Tx {
        Q::another_producer(tx).expect("there may be several")
    }

    fn another_consumer(rx: &Self::Rx) -> Self::Rx {
        Q::another_consumer(rx).expect("there may be several")
    }
}
