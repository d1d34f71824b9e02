//! `bbq-spmc`: the block-based bounded queue, for one producer and several consumers.
//!
//! The producer is that of [`block::single`](crate::block::single): it allocates nothing, a push is
//! a plain store, and it lends slots in place. Consumers are those of
//! [`block::shared`](crate::block::shared). They needn't check for unfilled slots before an item,
//! because one producer fills slots in order.
//!
#![doc = advice!(bbq_spmc)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity, blocks, consumers | as [`block::shared`](crate::block::shared) |
//! | paper | J. Wang (2024), §2.4, with the producer of §2.4.5 |
//!
//! ```
//! use corelane::block::one_producer;
//!
//! let (mut tx, mut rx) = one_producer::queue(100)?;
//! let mut other = rx.clone();
//! tx.try_push("a")?;
//! tx.try_push("b")?;
//! assert_eq!((rx.try_pop(), other.try_pop()), (Ok("a"), Ok("b")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::single;
use crate::block::shared::both_ends;
use crate::block::variables::Separate;
use crate::queue::{CapacityError, Config, Info, Sides, queue_type};

/// The sending side.
pub type Producer<T> = single::Producer<T, Separate>;

/// A receiving side.
pub type Consumer<T> = crate::block::shared::Consumer<T>;

/// A queue for at least `capacity` items.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (tx, rx, first) = both_ends(config)?;
    Ok((Producer::new(tx, first), Consumer::new(rx, first)))
}

queue_type!(BbqSpmc of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bbq-spmc",
    name: "block-based bounded queue, one producer",
    paper: "Wang 2024, §2.4",
    sides: Sides::OneToMany,
    guarantee: "deadlock-free FIFO",
    capacity: "n, and up to a block more",
    choose: advice!(choose bbq_spmc),
    avoid: advice!(avoid bbq_spmc),
    ..Info::RING
});
