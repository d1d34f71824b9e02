//! Channels: messages between threads and tasks, with calls that wait.

mod access;
mod common;
mod error;
mod lane;
mod receiver;
mod rendezvous;
mod select;
mod select_macro;
mod sender;
mod timer;

use alloc::sync::Arc;
use std::time::{Duration, Instant};

pub use access::{Access, Exclusive, Shared};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use crate::{select, select_biased};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

use crate::queue::CapacityError;
use common::Common;
use lane::{Rx, Tx};
use timer::Timer;

/// A channel for exactly `capacity` messages, between any number of threads on either side.
///
/// With capacity 0 a sender waits for a receiver, and hands the message over.
///
/// # Panics
///
/// If there is no memory for so many messages.
pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    channel(Tx::bounded(capacity))
}

/// A channel that is never full, between any number of threads on either side.
///
/// # Panics
///
/// If there is no memory.
pub fn unbounded<T: Send>() -> (Sender<T>, Receiver<T>) {
    channel(Tx::unbounded())
}

/// A channel with such handles.
fn channel<T: Send, S: Access, R: Access>(
    ends: Result<(Tx<T>, Rx<T>), CapacityError>,
) -> (Sender<T, S>, Receiver<T, R>) {
    let (tx, rx) = ends.unwrap_or_else(|error| panic!("{error}"));
    let common = Arc::new(Common::new(tx.meeting().cloned()));
    (Sender::new(tx, common.clone()), Receiver::new(rx, common))
}

/// A channel that has one message, when so much time has passed: the moment.
pub fn after(duration: Duration) -> Receiver<Instant> {
    timed(Timer::new(unlimited(duration), None, |due| due))
}

/// A channel that has the message `due` at that time.
pub fn at(due: Instant) -> Receiver<Instant> {
    timed(Timer::new(Some(due), None, |due| due))
}

/// A channel that has a message each time so much time has passed. It is dropped if it was not received before the next one.
pub fn tick(period: Duration) -> Receiver<Instant> {
    timed(Timer::new(unlimited(period), Some(period), |due| due))
}

/// A channel that never has a message.
pub fn never<T: Send>() -> Receiver<T> {
    timed(Timer::new(None, None, |_| unreachable!("it is never due")))
}

fn timed<T: Send>(timer: Timer<T>) -> Receiver<T> {
    Receiver::new(Rx::Timer(Arc::new(timer)), Arc::new(Common::new(None)))
}

/// The end of a time that begins now. `None` if the clock can't tell it: it never comes.
fn unlimited(duration: Duration) -> Option<Instant> {
    Instant::now().checked_add(duration)
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

/// Channels between one sender and one receiver, each used by one thread at a time.
pub mod spsc {
    use super::{Exclusive, Tx, channel};

    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(Tx::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T: Send>() -> (Sender<T>, Receiver<T>) {
        channel(Tx::unbounded())
    }
}

/// Channels between any number of senders and one receiver, which one thread at a time uses.
pub mod mpsc {
    use super::{Exclusive, Tx, channel};

    pub use super::Sender;
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(Tx::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T: Send>() -> (Sender<T>, Receiver<T>) {
        channel(Tx::unbounded())
    }
}

/// Channels between one sender, which one thread at a time uses, and any number of receivers.
pub mod spmc {
    use super::{Exclusive, Tx, channel};

    pub use super::Receiver;
    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(Tx::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T: Send>() -> (Sender<T>, Receiver<T>) {
        channel(Tx::unbounded())
    }
}
