//! Channels: messages between threads and tasks, with calls that wait.

mod access;
mod common;
mod error;
mod future;
mod lane;
mod receiver;
mod rendezvous;
mod select;
mod select_macro;
mod sender;
mod timer;

use alloc::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::{select, select_biased};
pub use access::{Access, Exclusive, Shared};
pub use error::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError,
    SendTimeoutError, TryReadyError, TryRecvError, TrySelectError, TrySendError,
};
pub use future::{RecvFuture, SendFuture};
#[cfg(feature = "futures")]
pub use future::{RecvStream, SendSink};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use select::{Select, SelectedOperation};
pub use sender::Sender;

use crate::queue::Looks;
use common::Common;
use lane::{Kind, Rx};
use timer::Timer;

/// A channel for exactly `capacity` messages, between any number of threads on either side.
///
/// With capacity 0 a sender waits for a receiver, and hands the message over.
///
/// # Panics
///
/// If there is no memory for so many messages.
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    channel(lane::bounded(capacity))
}

/// A channel that is never full, between any number of threads on either side.
///
/// # Panics
///
/// If there is no memory.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    channel(lane::unbounded())
}

/// A channel with such handles.
fn channel<T, S: Access, R: Access>(ends: lane::Ends<T>) -> (Sender<T, S>, Receiver<T, R>) {
    let (tx, rx, kind) = ends.unwrap_or_else(|error| panic!("{error}"));
    let common = Arc::new(Common::new(kind));
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
pub fn never<T>() -> Receiver<T> {
    timed(Timer::new(None, None, |_| unreachable!("it is never due")))
}

fn timed<T>(timer: Timer<T>) -> Receiver<T> {
    let timer = Arc::new(timer);
    Receiver::new(Rx::Timer(timer.clone()), Arc::new(Common::new(Kind::Timer(timer))))
}

/// The end of a time that begins now. `None` if the clock can't tell it: it never comes.
fn unlimited(duration: Duration) -> Option<Instant> {
    Instant::now().checked_add(duration)
}

/// Looks of a thread that waits for a partner, before it sleeps: some microseconds.
const MEETING_LOOKS: u32 = 100;

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

/// How often a call that must not wait looks again while another thread's call is in the way.
#[derive(Default)]
struct Tries {
    looks: Looks,
    yields: u32,
}

impl Tries {
    /// Some milliseconds.
    const MOST: u32 = 2000;

    #[inline]
    fn again(&mut self, is_busy: bool) -> bool {
        is_busy && (self.looks.again(true) || self.after_yield())
    }

    #[cold]
    fn after_yield(&mut self) -> bool {
        std::thread::yield_now();
        self.yields += 1;
        self.yields < Self::MOST
    }
}

/// Channels between one sender and one receiver, each used by one thread at a time.
pub mod spsc {
    use super::{Exclusive, channel, lane};

    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(lane::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        channel(lane::unbounded())
    }
}

/// Channels between any number of senders and one receiver, which one thread at a time uses.
pub mod mpsc {
    use super::{Exclusive, channel, lane};

    pub use super::Sender;
    /// The receiving side.
    pub type Receiver<T> = super::Receiver<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(lane::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        channel(lane::unbounded())
    }
}

/// Channels between one sender, which one thread at a time uses, and any number of receivers.
pub mod spmc {
    use super::{Exclusive, channel, lane};

    pub use super::Receiver;
    /// The sending side.
    pub type Sender<T> = super::Sender<T, Exclusive>;

    /// As [`super::bounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory for so many messages.
    pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
        channel(lane::bounded(capacity))
    }

    /// As [`super::unbounded`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
        channel(lane::unbounded())
    }
}
