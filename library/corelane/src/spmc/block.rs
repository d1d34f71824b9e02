//! `bbq-spmc`: the block-based bounded queue, for one producer and several consumers.
//!
//! The producer is that of [`spsc::block`]: it allocates nothing, a push is a plain
//! store, and it lends slots in place. Consumers are those of [`mpmc::block`](crate::mpmc::block), but
//! needn't ask whether pushes are finished in order.
//!
//! **Use it** where one thread hands work to many.
//! **Don't** use it where each consumer is to see every item: each item goes to one of them.
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity, blocks, consumers | as [`mpmc::block`](crate::mpmc::block) |
//! | paper | J. Wang (2024), §2.4, with the producer of §2.4.5 |
//!
//! ```
//! use corelane::{Consumer, Producer, spmc::block};
//!
//! let (mut tx, mut rx) = block::channel(100)?;
//! let mut other = rx.clone();
//! tx.try_push("a")?;
//! tx.try_push("b")?;
//! assert_eq!((rx.try_pop(), other.try_pop()), (Ok("a"), Ok("b")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::blocks::Separate;
use crate::mpmc::block::both_ends;
use crate::queue::{CapacityError, Config};
use crate::registry::{Info, MpmcQueue, Sides};
use crate::spsc;

/// The sending side.
pub type Producer<T> = spsc::block::Producer<T, Separate>;

/// A receiving side.
pub type Consumer<T> = crate::mpmc::block::Consumer<T>;

/// A queue for at least `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn channel<T>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    channel_with(Config::new(capacity))
}

/// As [`channel`], with all options.
///
/// # Errors
///
/// As [`channel`].
pub fn channel_with<T>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (tx, rx, first) = both_ends(config)?;
    Ok((Producer::new(tx, first), Consumer::new(rx, first)))
}

/// The queue, for code that is generic over queues.
#[derive(Debug)]
pub struct BbqSpmc;

impl MpmcQueue for BbqSpmc {
    const INFO: Info = Info {
        id: "bbq-spmc",
        name: "block-based bounded queue, one producer",
        paper: "Wang 2024, §2.4",
        sides: Sides::OneToMany,
        guarantee: "deadlock-free FIFO",
        delayed: false,
        bounded: true,
        capacity: "N, in use N - S + 1",
        choose: "one thread hands work to several",
        avoid: "each consumer is to see every item, or the last slots count",
    };
    type Producer<T: Send> = Producer<T>;
    type Consumer<T: Send> = Consumer<T>;

    fn channel<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
        channel_with(config)
    }

    fn another_producer<T: Send>(_: &Producer<T>) -> Option<Producer<T>> {
        None
    }

    fn another_consumer<T: Send>(consumer: &Consumer<T>) -> Option<Consumer<T>> {
        Some(consumer.clone())
    }
}
