//! `bbq-mpsc`: the block-based bounded queue, for several producers and one consumer.
//!
//! Producers are those of [`block::shared`](crate::block::shared). The consumer is that of
//! [`block::single`](crate::block::single): it reserves nothing, needs no compare-and-swap, and
//! lends items in place. In a block that isn't full the consumer also checks that no slot before
//! the item is still being filled.
//!
#![doc = advice!(bbq_mpsc)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity, blocks, producers | as [`block::shared`](crate::block::shared) |
//! | paper | J. Wang (2024), §2.4, with the consumer of §2.4.5 |
//!
//! ```
//! use corelane::block::one_consumer;
//!
//! let (mut tx, mut rx) = one_consumer::queue(100)?;
//! std::thread::scope(|s| {
//!     let mut tx = tx.clone();
//!     s.spawn(move || tx.try_push(1).unwrap());
//! });
//! tx.try_push(2)?;
//! assert_eq!((rx.try_pop(), rx.try_pop()), (Ok(1), Ok(2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::single;
use crate::block::shared::both_ends;
use crate::block::variables::Separate;
use crate::queue::{CapacityError, Config, Info, Sides, queue_type};

/// A sending side.
pub type Producer<T> = crate::block::shared::Producer<T>;

/// The receiving side.
pub type Consumer<T> = single::Consumer<T, Separate>;

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

queue_type!(BbqMpsc of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "bbq-mpsc",
    name: "block-based bounded queue, one consumer",
    paper: "Wang 2024, §2.4",
    sides: Sides::ManyToOne,
    guarantee: "deadlock-free FIFO",
    capacity: "n, and up to a block more",
    choose: advice!(choose bbq_mpsc),
    avoid: advice!(avoid bbq_mpsc),
    ..Info::RING
});
