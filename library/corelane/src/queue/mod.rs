//! What a queue is: its two handles, how it is asked for, and why a call fails.

mod calls;
pub(crate) mod chunk;
pub(crate) mod config;
pub(crate) mod error;
pub(crate) mod handle;
mod info;
mod pointer;
pub(crate) mod staging;

pub(crate) use calls::handles;
pub use chunk::{LentItems, LentSlots, ReadChunk, ReadChunkIntoIter, WriteChunk, WriteChunkUninit};
pub use config::{Backing, Config, Memory};
pub(crate) use error::full;
pub use error::{CapacityError, TooFew, TryPopError, TryPushError};
pub use handle::{
    Consumer, LendItems, LendSlots, PopIter, Producer, SingleConsumer, SingleProducer,
};
pub(crate) use handle::{answered_by, try_pop_by};
pub(crate) use info::queue_type;
pub use info::{BoxedSingleConsumer, BoxedSingleProducer, Built, Info, Queue, Sides, SingleQueue};
pub use pointer::{BoxedConsumer, BoxedProducer};

/// Most items that a queue that is never full counts. A producer may push as fast as the consumer
/// counts.
pub(crate) const MOST_COUNTED: usize = 1 << 16;
