//! What a check is generic over.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use corelane::slot::Token;
use corelane::{
    Built, Config, Consumer, Info, MpmcQueue, Producer, SingleConsumer, SingleProducer, SpscQueue,
    SpscTokenQueue,
};

use crate::Counted;

/// An item that says which number it was made from.
pub trait Item: Send {
    /// The item for number `n`.
    fn of(n: u64) -> Self;
    /// Whether this is the item for number `n`, as far as the type can tell.
    fn is(&self, n: u64) -> bool;
}

impl Item for u64 {
    fn of(n: u64) -> Self {
        n
    }

    fn is(&self, n: u64) -> bool {
        *self == n
    }
}

impl Item for NonZeroU64 {
    fn of(n: u64) -> Self {
        Self::MIN.saturating_add(n)
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}

/// A chunk of so many slots is granted whenever they are free: no private buffer is smaller, but the rest of what is
/// lent of an unbounded queue may be a single one.
pub(crate) const fn surely_lent(info: Info) -> usize {
    if info.bounded { 32 } else { 1 }
}

/// A queue for items of one type.
pub trait Queue<T> {
    /// A chunk of so many slots is granted whenever they are free.
    const SURELY_LENT: usize = 32;
    /// Its sending side.
    type Tx: Producer<Item = T> + Send;
    /// Its receiving side.
    type Rx: Consumer<Item = T> + Send;

    /// A new queue.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    fn channel(config: Config) -> Built<Self::Tx, Self::Rx>;
}

/// A queue with everything the checks need to know of it.
pub trait Subject: Queue<<Self as Subject>::Number> + Queue<<Self as Subject>::Owned> {
    /// What it promises.
    const INFO: Info;
    /// Items for checks that count and compare.
    type Number: Item + Copy + Into<u64>;
    /// Items for checks of ownership.
    type Owned: From<Counted> + Borrow<Counted> + Send;
}

/// A queue with one handle on each side, which lend slots and items and say how many there are.
pub trait Pair:
    Subject
    + Queue<<Self as Subject>::Number, Tx: SingleProducer, Rx: SingleConsumer>
    + Queue<<Self as Subject>::Owned, Tx: SingleProducer, Rx: SingleConsumer>
{
}

/// A queue for items of any type.
#[derive(Debug)]
pub struct Any<Q>(PhantomData<Q>);

impl<Q: SpscQueue, T: Send> Queue<T> for Any<Q> {
    const SURELY_LENT: usize = surely_lent(Q::INFO);
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx> {
        Q::channel(config)
    }
}

impl<Q: SpscQueue> Subject for Any<Q> {
    const INFO: Info = Q::INFO;
    type Number = u64;
    type Owned = Counted;
}

impl<Q: SpscQueue> Pair for Any<Q> {}

/// A queue for tokens.
#[derive(Debug)]
pub struct Tokens<Q>(PhantomData<Q>);

impl<Q: SpscTokenQueue, T: Token> Queue<T> for Tokens<Q> {
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx> {
        Q::channel(config)
    }
}

impl<Q: SpscTokenQueue> Subject for Tokens<Q> {
    const INFO: Info = Q::INFO;
    type Number = NonZeroU64;
    type Owned = Box<Counted>;
}

impl<Q: SpscTokenQueue> Pair for Tokens<Q> {}

/// A queue that may have several handles a side, in the hands of checks that need only one.
#[derive(Debug)]
pub struct Several<Q>(PhantomData<Q>);

impl<Q: MpmcQueue, T: Send> Queue<T> for Several<Q> {
    type Tx = Q::Producer<T>;
    type Rx = Q::Consumer<T>;

    fn channel(config: Config) -> Built<Self::Tx, Self::Rx> {
        Q::channel(config)
    }
}

impl<Q: MpmcQueue> Subject for Several<Q> {
    const INFO: Info = Q::INFO;
    type Number = u64;
    type Owned = Counted;
}

/// Both ends of a new queue for numbers.
pub(crate) fn channel<Q: Subject>(
    capacity: usize,
) -> (<Q as Queue<Q::Number>>::Tx, <Q as Queue<Q::Number>>::Rx) {
    <Q as Queue<Q::Number>>::channel(Config::new(capacity)).expect("this capacity is possible")
}
