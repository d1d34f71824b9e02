//! A queue as a value.

use std::fmt;
use std::sync::Arc;

use corelane::{
    Backing, CapacityError, Config, Consumer, Info, Producer, Queue, SingleConsumer,
    SingleProducer, SingleQueue, TryPopError, TryPushError,
};

use crate::Limited;

/// The only producer of a queue, boxed.
pub type SingleTx<T> = Box<dyn SingleProducer<Item = T> + Send>;

/// The only consumer of a queue, boxed.
pub type SingleRx<T> = Box<dyn SingleConsumer<Item = T> + Send>;

/// A queue with one producer and one consumer, which lend slots and items.
pub type Single<T> = Subject<SingleTx<T>, SingleRx<T>>;

/// Any queue. Its handles can be cloned if the queue may have several.
pub type Any<T> = Subject<AnyTx<T>, AnyRx<T>>;

/// What makes a queue.
type Open<P, C> = dyn Fn(Config) -> Result<(P, C), CapacityError> + Send + Sync;

/// A queue that can be made, and what it promises.
///
/// An unbounded queue is [`Limited`] to the capacity asked for: what is checked of a ring is checked of it as well.
pub struct Subject<P, C> {
    /// What it promises.
    pub info: Info,
    open: Arc<Open<P, C>>,
}

impl<P, C> Subject<P, C> {
    /// A new queue, or why there is none.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large, or there is not enough memory.
    pub fn try_open(&self, config: Config) -> Result<(P, C), CapacityError> {
        (self.open)(config)
    }

    /// A new queue.
    pub fn open(&self, config: Config) -> (P, C) {
        self.try_open(config).expect("this capacity is possible")
    }
}

impl<T: Send + 'static> Single<T> {
    /// The queue `Q`.
    pub fn of<Q: SingleQueue<T> + 'static>() -> Self {
        Self::new(Q::INFO, Q::with)
    }

    /// The queue that `open` makes.
    pub fn new<P, C>(
        info: Info,
        open: impl Fn(Config) -> Result<(P, C), CapacityError> + Send + Sync + 'static,
    ) -> Self
    where
        P: SingleProducer<Item = T> + Send + 'static,
        C: SingleConsumer<Item = T> + Send + 'static,
    {
        let boxed = move |config| -> Result<(SingleTx<T>, SingleRx<T>), CapacityError> {
            let (tx, rx) = open(config)?;
            Ok((Box::new(tx), Box::new(rx)))
        };
        Self { info, open: Arc::new(boxed) }.limited_if_unbounded()
    }

    fn limited_if_unbounded(self) -> Self {
        let Self { info, open } = self;
        if info.bounded {
            return Self { info, open };
        }
        let limited = move |config| -> Result<(SingleTx<T>, SingleRx<T>), CapacityError> {
            let (tx, rx) = Limited::open(config, &*open)?;
            Ok((Box::new(tx), Box::new(rx)))
        };
        Self { info, open: Arc::new(limited) }
    }
}

impl<T: Send + 'static> Any<T> {
    /// The queue `Q`.
    pub fn of<Q: Queue<T> + 'static>() -> Self {
        Self::new(Q::INFO, Q::with)
    }

    /// The queue that `open` makes.
    pub fn new<P, C>(
        info: Info,
        open: impl Fn(Config) -> Result<(P, C), CapacityError> + Send + Sync + 'static,
    ) -> Self
    where
        P: Producer<Item = T> + Send + 'static,
        C: Consumer<Item = T> + Send + 'static,
    {
        let boxed = move |config| {
            let (tx, rx) = open(config)?;
            Ok((AnyTx::new(tx), AnyRx::new(rx)))
        };
        Self { info, open: Arc::new(boxed) }.limited_if_unbounded()
    }

    fn limited_if_unbounded(self) -> Self {
        let Self { info, open } = self;
        if info.bounded {
            return Self { info, open };
        }
        let limited = move |config| {
            let (tx, rx) = Limited::open(config, &*open)?;
            Ok((AnyTx::new(tx), AnyRx::new(rx)))
        };
        Self { info, open: Arc::new(limited) }
    }

    /// So many handles of a new queue, each but the first a clone of the one before.
    pub fn handles(
        &self,
        config: Config,
        (producers, consumers): (usize, usize),
    ) -> (Vec<AnyTx<T>>, Vec<AnyRx<T>>) {
        clones(self.open(config), (producers, consumers))
    }
}

/// So many handles of a queue, each but the first a clone of the one before.
pub fn clones<P: Producer, C: Consumer>(
    (tx, rx): (P, C),
    (producers, consumers): (usize, usize),
) -> (Vec<P>, Vec<C>) {
    let (mut txs, mut rxs) = (vec![tx], vec![rx]);
    while txs.len() < producers {
        txs.push(txs[txs.len() - 1].try_clone().expect("the queue may have several"));
    }
    while rxs.len() < consumers {
        rxs.push(rxs[rxs.len() - 1].try_clone().expect("the queue may have several"));
    }
    (txs, rxs)
}

impl<P, C> Clone for Subject<P, C> {
    fn clone(&self) -> Self {
        Self { info: self.info, open: self.open.clone() }
    }
}

impl<P, C> fmt::Debug for Subject<P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("id", &self.info.id).finish_non_exhaustive()
    }
}

/// A producer that clones itself into a box.
trait CloneProducer<T>: Producer<Item = T> + Send {
    fn boxed_clone(&self) -> Option<AnyTx<T>>;
}

impl<T, P: Producer<Item = T> + Send + 'static> CloneProducer<T> for P {
    fn boxed_clone(&self) -> Option<AnyTx<T>> {
        self.try_clone().map(AnyTx::new)
    }
}

/// A consumer that clones itself into a box.
trait CloneConsumer<T>: Consumer<Item = T> + Send {
    fn boxed_clone(&self) -> Option<AnyRx<T>>;
}

impl<T, C: Consumer<Item = T> + Send + 'static> CloneConsumer<T> for C {
    fn boxed_clone(&self) -> Option<AnyRx<T>> {
        self.try_clone().map(AnyRx::new)
    }
}

/// A producer of any queue, boxed. It can be cloned if the queue may have several.
pub struct AnyTx<T>(Box<dyn CloneProducer<T>>);

/// A consumer of any queue, boxed. It can be cloned if the queue may have several.
pub struct AnyRx<T>(Box<dyn CloneConsumer<T>>);

impl<T> AnyTx<T> {
    /// This producer, boxed.
    pub fn new(tx: impl Producer<Item = T> + Send + 'static) -> Self {
        Self(Box::new(tx))
    }
}

impl<T> AnyRx<T> {
    /// This consumer, boxed.
    pub fn new(rx: impl Consumer<Item = T> + Send + 'static) -> Self {
        Self(Box::new(rx))
    }
}

impl<T> Producer for AnyTx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.0.try_push(item)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn slack(&self) -> usize {
        self.0.slack()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn backing(&self) -> Backing {
        self.0.backing()
    }

    fn flush(&mut self) {
        self.0.flush();
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        self.0.push_slice(items)
    }

    fn try_clone(&self) -> Option<Self> {
        // The box's own `boxed_clone` would clone the box.
        (*self.0).boxed_clone()
    }
}

impl<T> Consumer for AnyRx<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.0.try_pop()
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn lost(&self) -> u64 {
        self.0.lost()
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        self.0.pop_slice(into)
    }

    fn try_clone(&self) -> Option<Self> {
        // As for producers.
        (*self.0).boxed_clone()
    }
}

impl<T> fmt::Debug for AnyTx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyTx").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for AnyRx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyRx").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
