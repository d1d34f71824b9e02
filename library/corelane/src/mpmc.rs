//! Queues between several producers and several consumers.
//!
//! | queue | use it | don't use it |
//! |---|---|---|
#![doc = advice!(row leased "leased")]
#![doc = advice!(row bbq "block::shared")]
#![doc = advice!(row faaq "block::fetch_add")]
#![cfg_attr(feature = "literature", doc = advice!(row ring "ring"))]
#![cfg_attr(feature = "literature", doc = advice!(row ring_rts "ring::RelaxedTail"))]
#![cfg_attr(feature = "literature", doc = advice!(row ring_hts "ring::HeadTail"))]
#![doc = advice!(row scq "scq")]
#![doc = advice!(row lprq "rings::lprq")]
#![doc = advice!(row lcrq "rings::lcrq")]
#![cfg_attr(feature = "literature", doc = advice!(row msq "list::michael_scott"))]
#![cfg_attr(feature = "literature", doc = advice!(row lcrq_pool "rings::pooled"))]
#![cfg_attr(feature = "literature", doc = advice!(row msq_pool "list::pooled"))]
#![cfg_attr(all(feature = "std", feature = "literature"), doc = advice!(row locked "locked"))]
//!
//! Each page says how a thread that is stopped in the middle of a call affects other threads. A
//! thread that is killed in the middle of a call, or never runs again, is stopped for ever. The
//! handle of this thread is never dropped. So its side of the queue is never closed, and the
//! queue's memory is never freed.
//!
//! A thread that ends by itself is never in the middle of a call. No call panics in the middle,
//! except in the code of an item or an iterator: then the queue stays intact.

use crate::leased;
use crate::queue::{CapacityError, Config};
use crate::relaxed::cnq;
use crate::rings::lprq;

/// A sending side of a [`queue`].
pub type Producer<T> = leased::Producer<T>;

/// A receiving side of a [`queue`].
pub type Consumer<T> = leased::Consumer<T>;

/// A queue for at least `capacity` items, between any number of threads on either side: a [line
/// ring whose handles are leased](crate::leased).
///
/// ```
/// use corelane::mpmc;
///
/// let (mut tx, rx) = mpmc::queue(100)?;
/// let mut other = rx.clone();
/// tx.try_push("hello")?;
/// assert_eq!(other.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    leased::queue(capacity)
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    leased::queue_with(config)
}

/// A queue for at least `capacity` items, of which a pop takes one of the `k` oldest: a [nested
/// queue](cnq). For tens of threads; [how much order do you need?](crate::relaxed)
///
/// ```
/// use corelane::mpmc;
///
/// let (mut tx, mut rx) = mpmc::relaxed_queue(10_000, 256)?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// assert!(rx.rank_error().max <= 256);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
pub fn relaxed_queue<T: Send>(
    capacity: usize,
    k: usize,
) -> Result<(cnq::Producer<T>, cnq::Consumer<T>), CapacityError> {
    cnq::queue_with(Config::new(capacity).relaxation(k))
}

/// A queue that is never full, between any number of threads on either side: the
/// [list of portable ring queues](crate::rings::lprq).
///
/// ```
/// use corelane::mpmc;
///
/// let (mut tx, mut rx) = mpmc::unbounded_queue()?;
/// for n in 0..100_000 {
///     tx.try_push(n)?;
/// }
/// assert_eq!(rx.try_pop(), Ok(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no memory for its first ring, of 1024 items.
pub fn unbounded_queue<T: Send>() -> Result<(lprq::Producer<T>, lprq::Consumer<T>), CapacityError> {
    lprq::queue(1024)
}

/// As [`unbounded_queue`], with all options. [`Config::capacity`] is the capacity of each ring.
///
/// ```
/// use corelane::{Config, mpmc};
///
/// let (mut tx, mut rx) = mpmc::unbounded_queue_with(Config::new(1 << 16))?;
/// tx.try_push("hello")?;
/// assert_eq!(rx.try_pop(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the capacity is 0 or too large for memory, or if it is to be [exact](Config::exact): the
/// queue is never full.
pub fn unbounded_queue_with<T: Send>(
    config: Config,
) -> Result<(lprq::Producer<T>, lprq::Consumer<T>), CapacityError> {
    lprq::queue_with(config)
}
