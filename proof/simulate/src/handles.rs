//! Functions that make queues. The handles are in boxes, so that the simulations are compiled once
//! for all queues. The counts don't depend on how a call is dispatched.

use corelane_sim::{
    BoxedConsumer, BoxedProducer, BoxedSingleConsumer, BoxedSingleProducer, Built, Config,
};

/// Makes a queue.
pub(crate) type New<T> = fn(Config) -> Built<BoxedProducer<T>, BoxedConsumer<T>>;

/// Makes a queue whose handles lend their slots.
pub(crate) type NewLending<T> = fn(Config) -> Built<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;
