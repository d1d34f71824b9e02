//! corelane's queues as links.

use std::marker::PhantomData;

use corelane::overwrite::{self, Plain};
use corelane::slot::Token;
use corelane::{
    CapacityError, Config, Consumer, MpmcQueue, MpmcTokenQueue, Producer, Sides, SpscQueue,
    SpscTokenQueue,
};

use crate::link::{Link, Rx, Setup, Tx, Word};

/// A queue for items of any type.
pub(crate) struct Any<Q, T>(PhantomData<(Q, T)>);

/// A queue whose slots are one word.
pub(crate) struct Packed<Q, T>(PhantomData<(Q, T)>);

/// A queue that may have several handles on one side at least.
pub(crate) struct Many<Q, T>(PhantomData<(Q, T)>);

/// A queue for tokens that may have several handles on one side at least.
pub(crate) struct ManyTokens<Q, T>(PhantomData<(Q, T)>);

/// The queue that overwrites what was not popped in time.
pub(crate) struct DropOld<T>(PhantomData<T>);

/// A receiving side that items may be lost to.
pub(crate) struct Lossy<T>(overwrite::Consumer<T>);

/// A handle of one of our queues.
pub(crate) struct Ours<H>(H);

impl<Q: SpscQueue + 'static, T: Word> Link for Any<Q, T> {
    const BOUNDED: bool = Q::INFO.bounded;

    type Item = T;
    type Tx = Ours<Q::Producer<T>>;
    type Rx = Ours<Q::Consumer<T>>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        wrap(Q::channel(config(setup)))
    }
}

impl<Q: SpscTokenQueue + 'static, T: Word + Token> Link for Packed<Q, T> {
    type Item = T;
    type Tx = Ours<Q::Producer<T>>;
    type Rx = Ours<Q::Consumer<T>>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        wrap(Q::channel(config(setup)))
    }
}

impl<Q: MpmcQueue + 'static, T: Word> Link for Many<Q, T> {
    const SIDES: Sides = Q::INFO.sides;
    const BOUNDED: bool = Q::INFO.bounded;
    const TAKES_TURNS: bool = Q::TAKES_TURNS;

    type Item = T;
    type Tx = Ours<Q::Producer<T>>;
    type Rx = Ours<Q::Consumer<T>>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        wrap(Q::channel(config(setup)))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Q::another_producer(&tx.0).map(Ours)
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Q::another_consumer(&rx.0).map(Ours)
    }
}

impl<Q: MpmcTokenQueue + 'static, T: Word + Token> Link for ManyTokens<Q, T> {
    const SIDES: Sides = Q::INFO.sides;
    const BOUNDED: bool = Q::INFO.bounded;

    type Item = T;
    type Tx = Ours<Q::Producer<T>>;
    type Rx = Ours<Q::Consumer<T>>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        wrap(Q::channel(config(setup)))
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Q::another_producer(&tx.0).map(Ours)
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Q::another_consumer(&rx.0).map(Ours)
    }
}

impl<T: Word + Plain> Link for DropOld<T> {
    const SIDES: Sides = block::overwriting::INFO.sides;
    const BOUNDED: bool = false;
    const OVERWRITES: bool = true;

    type Item = T;
    type Tx = Ours<overwrite::Producer<T>>;
    type Rx = Lossy<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        let channel = block::overwriting::channel_with(config(setup));
        channel.map(|(tx, rx)| (Ours(tx), Lossy(rx))).map_err(|error| error.to_string())
    }

    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx> {
        Some(Ours(tx.0.clone()))
    }

    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx> {
        Some(Lossy(rx.0.clone()))
    }
}

fn config(setup: &Setup) -> Config {
    Config::new(setup.capacity).memory(setup.memory)
}

fn wrap<P, C>(channel: Result<(P, C), CapacityError>) -> Result<(Ours<P>, Ours<C>), String> {
    channel.map(|(tx, rx)| (Ours(tx), Ours(rx))).map_err(|error| error.to_string())
}

impl<P: Producer<Item: Copy> + Send> Tx for Ours<P> {
    type Item = P::Item;

    #[inline(always)]
    fn try_push(&mut self, item: P::Item) -> bool {
        self.0.try_push(item).is_ok()
    }

    #[inline(always)]
    fn push_batch(&mut self, items: &[P::Item]) -> usize {
        self.0.push_slice(items)
    }

    #[inline(always)]
    fn flush(&mut self) {
        self.0.flush();
    }
}

impl<C: Consumer<Item: Copy> + Send> Rx for Ours<C> {
    type Item = C::Item;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<C::Item> {
        self.0.try_pop().ok()
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [C::Item]) -> usize {
        self.0.pop_slice(into)
    }
}

impl<T: Word + Plain> Rx for Lossy<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.0.try_pop().ok()
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [T]) -> usize {
        self.0.pop_slice(into)
    }

    fn lost(&self) -> u64 {
        self.0.lost()
    }
}
