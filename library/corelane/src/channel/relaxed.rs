//! A channel whose messages may be received out of turn.

use core::fmt;
use std::time::{Duration, Instant};

use super::error::{SendError, SendTimeoutError, TrySendError};
use super::{Receiver, SendFuture, Shared, ends, open};

/// A channel for at least `capacity` messages, of which a receive takes one of the `k` oldest. For tens
/// of threads that send and receive.
///
/// The queue is [`cnq`](crate::relaxed::cnq): its page says which `k` to take, and what *full* and
/// *empty* mean. With one receiver and without contention messages are almost always received in order.
/// Receivers are those of all channels: with `select!`, timeouts and tasks. [`Receiver::rank_error`]
/// tells how far messages left out of turn.
///
/// ```
/// let (tx, rx) = corelane::channel::relaxed(10_000, 256);
/// std::thread::scope(|scope| {
///     for thread in 0..4 {
///         let tx = tx.clone();
///         scope.spawn(move || (0..1000).try_for_each(|n| tx.send(thread * 1000 + n)));
///     }
///     drop(tx);
///     let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| rx.iter().count())).collect();
///     assert_eq!(workers.into_iter().map(|worker| worker.join().unwrap()).sum::<usize>(), 4000);
/// });
/// assert!(rx.rank_error().max <= 256);
/// ```
///
/// # Panics
///
/// If the capacity is 0, or if there is not enough memory for the messages.
pub fn relaxed<T>(capacity: usize, k: usize) -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = open::<_, Shared, Shared>(ends::relaxed(capacity, k));
    (Sender(tx), rx)
}

/// The sending side of a channel from [`relaxed`].
///
/// It can be cloned and shared. When all are dropped, receivers get what is there, and then find
/// the channel disconnected.
pub struct Sender<T>(super::Sender<T>);

impl<T> Sender<T> {
    /// Sends a message. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// If all receivers are gone, or the channel was closed. The error has the message.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message)
    }

    /// Sends a message if there is room now.
    ///
    /// # Errors
    ///
    /// If the channel is full, or as [`send`](Self::send). The error has the message.
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(message)
    }

    /// As [`send`](Self::send), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over, or as [`send`](Self::send). The error has the message.
    pub fn send_timeout(&self, message: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.0.send_timeout(message, timeout)
    }

    /// As [`send`](Self::send), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_deadline(&self, message: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.0.send_deadline(message, deadline)
    }

    /// Sends a message, in a task. Waits while the channel is full. If the future is dropped before it
    /// is ready, the message is dropped, and is not sent.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn send_async(&self, message: T) -> SendFuture<'_, T> {
        self.0.send_async(message)
    }

    /// Lets nothing be sent any more. Receivers get what was sent.
    pub fn close(&self) {
        self.0.close();
    }

    /// Whether all receivers are gone, or the channel was closed.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The number of messages in the channel. Visits all parts of the queue.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no message is in the channel. As [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
