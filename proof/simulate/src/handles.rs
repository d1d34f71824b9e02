//! What makes a queue: its handles are in boxes, so that what is done with them is compiled once for all queues. What is
//! counted doesn't depend on how a queue's calls are reached.

use corelane_sim::{
    BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Built, Config,
};

/// Makes a queue.
pub(crate) type New<T> = fn(Config) -> Built<BoxedProducer<T>, BoxedConsumer<T>>;

/// Makes a queue whose handles lend their slots.
pub(crate) type NewLending<T> = fn(Config) -> Built<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;
