//! A queue as a value.

use std::fmt;
use std::sync::Arc;

use corelane::{
    BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Built, Config,
    Consumer, Info, Producer, Queue, SingleConsumer, SingleProducer, SingleQueue,
};

use crate::Limited;

/// A queue with one producer and one consumer, which lend slots and items.
pub type Single<T> = Subject<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;

/// Any queue. Its handles can be cloned if the queue may have several.
pub type Any<T> = Subject<BoxedProducer<T>, BoxedConsumer<T>>;

/// A function that makes a queue.
type Open<P, C> = dyn Fn(Config) -> Built<P, C> + Send + Sync;

/// A kind of queue, and its properties.
///
/// An unbounded queue is [`Limited`] to the capacity asked for, so that the checks of rings also
/// apply to it.
pub struct Subject<P, C> {
    /// The queue's properties.
    pub info: Info,
    open: Arc<Open<P, C>>,
}

impl<P, C> Subject<P, C> {
    /// A new queue, or the error.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large, or there is not enough memory.
    pub fn try_open(&self, config: Config) -> Built<P, C> {
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
        open: impl Fn(Config) -> Built<P, C> + Send + Sync + 'static,
    ) -> Self
    where
        P: SingleProducer<Item = T> + Send + 'static,
        C: SingleConsumer<Item = T> + Send + 'static,
    {
        let boxed = move |config| -> Built<BoxedSingleProducer<T>, BoxedSingleConsumer<T>> {
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
        let limited = move |config| -> Built<BoxedSingleProducer<T>, BoxedSingleConsumer<T>> {
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
        open: impl Fn(Config) -> Built<P, C> + Send + Sync + 'static,
    ) -> Self
    where
        P: Producer<Item = T> + Send + 'static,
        C: Consumer<Item = T> + Send + 'static,
    {
        let boxed = move |config| {
            let (tx, rx) = open(config)?;
            Ok((BoxedProducer::new(tx), BoxedConsumer::new(rx)))
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
            Ok((BoxedProducer::new(tx), BoxedConsumer::new(rx)))
        };
        Self { info, open: Arc::new(limited) }
    }

    /// `producers` and `consumers` handles of a new queue. Each but the first is a clone of the
    /// previous one.
    pub fn handles(
        &self,
        config: Config,
        (producers, consumers): (usize, usize),
    ) -> (Vec<BoxedProducer<T>>, Vec<BoxedConsumer<T>>) {
        clones(self.open(config), (producers, consumers))
    }
}

/// `producers` and `consumers` handles of a queue. Each but the first is a clone of the previous
/// one.
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
