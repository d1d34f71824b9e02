//! Items of any type, each in a box.

use alloc::boxed::Box;

use super::{Consumer, INFO, Producer, queue_with};
use crate::queue::{Built, Config, handles, queue_type};
use crate::rings::lcrq::Boxed;

/// A sending side that puts each item into a box.
pub type BoxingProducer<T> = Boxed<Producer<Box<T>>>;

/// A receiving side that takes each item out of its box.
pub type UnboxingConsumer<T> = Boxed<Consumer<Box<T>>>;

handles! {
    [T: Send] Boxed<Producer<Box<T>>>: producer of T;
    [T: Send] Boxed<Consumer<Box<T>>>: consumer of T;
}

/// As [`queue`](super::queue), for items of any type: each gets a box.
///
/// # Errors
///
/// As [`queue`](super::queue).
pub fn boxed_queue<T: Send>(ring: usize) -> Built<BoxingProducer<T>, UnboxingConsumer<T>> {
    boxed_queue_with(Config::new(ring))
}

/// As [`boxed_queue`], with all options.
///
/// # Errors
///
/// As [`queue`](super::queue).
pub fn boxed_queue_with<T: Send>(config: Config) -> Built<BoxingProducer<T>, UnboxingConsumer<T>> {
    let (tx, rx) = queue_with(config)?;
    Ok((Boxed(tx), Boxed(rx)))
}

queue_type!(LcrqPoolAny of [T: Send] T: BoxingProducer<T>, UnboxingConsumer<T> = boxed_queue_with; INFO.of_any("lcrq-pool-any"));
