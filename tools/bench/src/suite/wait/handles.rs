//! What a channel is, and the channels of corelane: any queue, with handles that wait.

use std::marker::PhantomData;

use corelane::{Config, Consumer, Producer, Queue, TryPopError, TryPushError, wait};

use crate::kinds::TeamSize;
use crate::suite::mpmc;
use crate::suite::wait::{Sharing, Strategy};
use crate::threads::Wait;

/// What a channel is made for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) capacity: usize,
    pub(super) size: TeamSize,
    pub(super) strategy: Strategy,
}

/// A channel of numbers.
pub(super) trait Channel: 'static {
    /// How its calls can wait.
    const STRATEGIES: &'static [Strategy] = &[Strategy::Adaptive];
    /// How its calls take handles. Each thread has handles of its own here.
    const HANDLES: Sharing;
    /// Whether each receiver gets all items.
    const TO_ALL: bool = false;

    type Tx;
    type Rx;

    /// A channel with a handle for each thread. The error says why there is none.
    fn open(of: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String>;
}

/// A channel whose calls block threads.
pub(super) trait Blocking: Channel<Tx: Sender + 'static, Rx: Receiver + 'static> {}

impl<C: Channel<Tx: Sender + 'static, Rx: Receiver + 'static>> Blocking for C {}

/// The handles of both sides.
pub(super) type Ends<T, R> = (Vec<T>, Vec<R>);

/// The handle of a thread that sends.
pub(crate) trait Sender: Send {
    /// Waits for room. False if all receivers are gone.
    fn put(&mut self, item: u64) -> bool;
}

/// The handle of a thread that receives.
pub(crate) trait Receiver: Send {
    /// Waits for an item. `None` if all senders are gone and no item is left.
    fn get(&mut self) -> Option<u64>;
}

/// `first` and clones of it, `count` handles in all. The error says that the handle can't be
/// cloned.
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

/// Makes `$channel` a channel, opened by `$open` for `$capacity` items. Handles of a side are
/// cloned if it says so.
macro_rules! channel {
    ($channel:ident, $sharing:ident: $tx:ty $(, $clone_tx:ident)?; $rx:ty $(, $clone_rx:ident)?;
     |$capacity:ident| $open:expr) => {
        struct $channel;

        impl Channel for $channel {
            const HANDLES: Sharing = Sharing::$sharing;

            type Tx = $tx;
            type Rx = $rx;

            fn open(Wanted { capacity: $capacity, size, .. }: Wanted) -> Result<Ends<$tx, $rx>, String> {
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

/// A queue with the handles of `wait::pair`.
pub(super) struct Waiting<Q>(PhantomData<Q>);

impl<Q: Queue<u64> + 'static> Channel for Waiting<Q> {
    const STRATEGIES: &'static [Strategy] =
        &[Strategy::Adaptive, Strategy::Sleep, Strategy::SpinThenSleep];
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = wait::Producer<Q::Producer>;
    type Rx = wait::Consumer<Q::Consumer>;

    fn open(of: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let queue = Q::with(Config::new(of.capacity)).map_err(|error| error.to_string())?;
        let (tx, rx) = of.pair(queue);
        let txs = copies(tx, of.size.producers, Producer::try_clone)?;
        Ok((txs, copies(rx, of.size.consumers, Consumer::try_clone)?))
    }
}

impl Wanted {
    /// The handles of a queue, which wait as it is wanted.
    pub(super) fn pair<P: Producer, C: Consumer<Item = P::Item>>(
        self,
        queue: (P, C),
    ) -> (wait::Producer<P>, wait::Consumer<C>) {
        let how = self.strategy.of_handles().unwrap_or_default();
        let (tx, rx) = wait::pair(queue);
        (tx.strategy(how), rx.strategy(how))
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

/// A queue with its plain handles, which try again and again: for comparison with threads that
/// sleep.
pub(super) struct Retrying<Q>(PhantomData<Q>);

/// A plain handle, and what its thread does before it tries again.
pub(super) struct Plain<H>(H, Wait);

impl<Q: Queue<u64> + 'static> Channel for Retrying<Q> {
    const STRATEGIES: &'static [Strategy] = &[Strategy::Spin, Strategy::Yield];
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = Plain<Q::Producer>;
    type Rx = Plain<Q::Consumer>;

    fn open(of: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let wait = if of.strategy == Strategy::Spin { Wait::Spin } else { Wait::Yield };
        let (txs, rxs) = mpmc::handles(Q::with, Config::new(of.capacity), of.size)?;
        let txs = txs.into_iter().map(|tx| Plain(tx, wait)).collect();
        Ok((txs, rxs.into_iter().map(|rx| Plain(rx, wait)).collect()))
    }
}

impl<P: Producer<Item = u64> + Send> Sender for Plain<P> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        self.1.until(|| match self.0.try_push(item) {
            Ok(()) => Some(true),
            Err(TryPushError::Closed(_)) => Some(false),
            Err(_) => None,
        })
    }
}

impl<C: Consumer<Item = u64> + Send> Receiver for Plain<C> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.1.until(|| match self.0.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(TryPopError::Closed) => Some(None),
            Err(_) => None,
        })
    }
}
