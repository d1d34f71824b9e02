//! What a channel is, and the channels of corelane: any queue, with handles that wait.

use std::marker::PhantomData;

use corelane::{Config, Consumer, Producer, Queue, TryPopError, TryPushError, wait};

use crate::kinds::TeamSize;
use crate::suite::mpmc;
use crate::suite::wait::{Sharing, Strategy};
use crate::threads::Wait;

/// A channel of numbers.
pub(super) trait Channel: 'static {
    /// How its calls wait.
    const STRATEGY: Strategy = Strategy::Adaptive;
    /// How its calls take handles. Each thread has handles of its own here.
    const HANDLES: Sharing;

    type Tx;
    type Rx;

    /// A channel for `capacity` items, with a handle for each thread. The error says why there is none.
    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String>;
}

/// A channel whose calls block threads.
pub(super) trait Blocking: Channel<Tx: Sender, Rx: Receiver> {}

impl<C: Channel<Tx: Sender, Rx: Receiver>> Blocking for C {}

/// The handles of both sides.
pub(super) type Ends<T, R> = (Vec<T>, Vec<R>);

/// The handle of a thread that sends.
pub(super) trait Sender: Send {
    /// Waits for room. False if all receivers are gone.
    fn put(&mut self, item: u64) -> bool;
}

/// The handle of a thread that receives.
pub(super) trait Receiver: Send {
    /// Waits for an item. `None` if all senders are gone and no item is left.
    fn get(&mut self) -> Option<u64>;
}

/// `first` and clones of it, `count` handles in all. The error says that the handle can't be cloned.
pub(super) fn copies<H>(
    first: H,
    count: usize,
    more: impl Fn(&H) -> Option<H>,
) -> Result<Vec<H>, String> {
    let others: Option<Vec<H>> = (1..count).map(|_| more(&first)).collect();
    let mut all = others.ok_or("one side has only one handle")?;
    all.push(first);
    Ok(all)
}

/// Makes `$channel` a channel, opened by `$open` for `$capacity` items. Handles of a side are cloned if it says so.
macro_rules! channel {
    ($channel:ident, $sharing:ident: $tx:ty $(, $clone_tx:ident)?; $rx:ty $(, $clone_rx:ident)?; |$capacity:ident| $open:expr) => {
        struct $channel;

        impl Channel for $channel {
            const HANDLES: Sharing = Sharing::$sharing;

            type Tx = $tx;
            type Rx = $rx;

            fn open($capacity: usize, size: TeamSize) -> Result<Ends<$tx, $rx>, String> {
                let (tx, rx) = $open;
                let txs = copies(tx, size.producers, |_tx| channel!(copy _tx $($clone_tx)?))?;
                Ok((txs, copies(rx, size.consumers, |_rx| channel!(copy _rx $($clone_rx)?))?))
            }
        }
    };
    (copy $handle:ident clone) => { Some($handle.clone()) };
    (copy $handle:ident) => { None };
}

/// Handles with the calls `send` and `recv`.
macro_rules! blocking {
    ($($tx:ty, $rx:ty;)*) => {$(
        impl Sender for $tx {
            #[inline(always)]
            fn put(&mut self, item: u64) -> bool {
                self.send(item).is_ok()
            }
        }

        impl Receiver for $rx {
            #[inline(always)]
            fn get(&mut self) -> Option<u64> {
                self.recv().ok()
            }
        }
    )*};
}

pub(super) use {blocking, channel};

/// How handles of `wait::pair` wait.
pub(super) trait Sleep: 'static {
    const STRATEGY: Strategy;
    const HOW: wait::Strategy;
}

/// Ways to wait before a sleep.
macro_rules! sleep {
    ($($name:ident: $strategy:ident, $how:expr;)*) => {$(
        pub(super) struct $name;

        impl Sleep for $name {
            const STRATEGY: Strategy = Strategy::$strategy;
            const HOW: wait::Strategy = $how;
        }
    )*};
}

sleep! {
    Adapts: Adaptive, wait::Strategy::Adaptive;
    Sleeps: Sleep, wait::Strategy::Sleep;
    SpinsThenSleeps: SpinThenSleep, wait::Strategy::SpinThenSleep(1000);
}

/// A queue with the handles of `wait::pair`.
pub(super) struct Waiting<Q, S = Adapts>(PhantomData<(Q, S)>);

impl<Q: Queue<u64> + 'static, S: Sleep> Channel for Waiting<Q, S> {
    const STRATEGY: Strategy = S::STRATEGY;
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = wait::Producer<Q::Producer>;
    type Rx = wait::Consumer<Q::Consumer>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let queue = Q::with(Config::new(capacity)).map_err(|error| error.to_string())?;
        let (tx, rx) = wait::pair(queue);
        let (tx, rx) = (tx.strategy(S::HOW), rx.strategy(S::HOW));
        let txs = copies(tx, size.producers, Producer::try_clone)?;
        Ok((txs, copies(rx, size.consumers, Consumer::try_clone)?))
    }
}

impl<P: Producer<Item = u64> + Send> Sender for wait::Producer<P> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        self.push(item).is_ok()
    }
}

impl<C: Consumer<Item = u64> + Send> Receiver for wait::Consumer<C> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.pop()
    }
}

/// What a thread does before it tries again: for comparison with threads that sleep.
pub(super) trait Retry: Send + 'static {
    const STRATEGY: Strategy;
    const WAIT: Wait;
}

/// Pauses.
pub(super) struct Spins;

impl Retry for Spins {
    const STRATEGY: Strategy = Strategy::Spin;
    const WAIT: Wait = Wait::Spin;
}

/// Yields.
pub(super) struct Yields;

impl Retry for Yields {
    const STRATEGY: Strategy = Strategy::Yield;
    const WAIT: Wait = Wait::Yield;
}

/// A queue with its plain handles, which try again and again.
pub(super) struct Retrying<Q, W>(PhantomData<(Q, W)>);

/// A plain handle.
pub(super) struct Plain<H, W>(H, PhantomData<W>);

impl<Q: Queue<u64> + 'static, W: Retry> Channel for Retrying<Q, W> {
    const STRATEGY: Strategy = W::STRATEGY;
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = Plain<Q::Producer, W>;
    type Rx = Plain<Q::Consumer, W>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let (txs, rxs) = mpmc::handles::<u64, Q>(Config::new(capacity), size)?;
        let txs = txs.into_iter().map(|tx| Plain(tx, PhantomData)).collect();
        Ok((txs, rxs.into_iter().map(|rx| Plain(rx, PhantomData)).collect()))
    }
}

impl<P: Producer<Item = u64> + Send, W: Retry> Sender for Plain<P, W> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        W::WAIT.until(|| match self.0.try_push(item) {
            Ok(()) => Some(true),
            Err(TryPushError::Closed(_)) => Some(false),
            Err(_) => None,
        })
    }
}

impl<C: Consumer<Item = u64> + Send, W: Retry> Receiver for Plain<C, W> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        W::WAIT.until(|| match self.0.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(TryPopError::Closed) => Some(None),
            Err(_) => None,
        })
    }
}
