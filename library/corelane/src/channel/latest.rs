//! A channel that drops its oldest message when it is full.

use alloc::sync::Arc;
use core::fmt;

use super::access::sealed::Access as _;
use super::access::{PerThread, Shared};
use super::common::End;
use super::ends::{self, Message, Rx};
use super::error::{SendError, TrySendError};
use super::{Receiver, YieldingRetries, open};
use crate::memory::yield_now;
use crate::unwind::quietly;

/// A channel for the latest `capacity` messages: a send into a full channel drops the oldest one.
///
/// Senders never wait, but for an unfinished call of another thread. Receivers are those of all
/// channels: with `select!`, timeouts and tasks. [`Receiver::dropped`] counts what was dropped.
///
/// ```
/// let (tx, rx) = corelane::channel::latest(2);
/// for price in ["1.10", "1.12", "1.11"] {
///     tx.send(price.to_string()).unwrap();
/// }
/// drop(tx);
/// assert_eq!(rx.dropped(), 1);
/// assert_eq!(rx.iter().collect::<Vec<_>>(), ["1.12", "1.11"]);
/// ```
///
/// For plain data, [`overwrite`](crate::overwrite) is faster: its consumers copy items that
/// producers may overwrite meanwhile.
///
/// # Panics
///
/// If the capacity is 0, or if there is not enough memory for the messages.
pub fn latest<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a channel for no message has no latest one");
    let (tx, rx) = open::<_, Shared, Shared>(ends::bounded(capacity));
    (Sender { tx, oldest: rx.end().clone() }, rx)
}

/// The sending side of a channel from [`latest`].
///
/// It can be cloned and shared. When all are dropped, receivers get what is there, and then find
/// the channel disconnected.
pub struct Sender<T> {
    tx: super::Sender<T>,
    /// The receiving end, which takes the oldest message. It is not counted as a receiver.
    oldest: Arc<PerThread<End<Rx<T>>>>,
}

impl<T> Sender<T> {
    /// Sends a message. If the channel is full, drops the oldest message first: until the new one is
    /// there, the channel has one message less.
    ///
    /// # Errors
    ///
    /// If all receivers are gone, or the channel was closed. The error has the message.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.tx.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => self.send_instead(message),
        }
    }

    #[cold]
    #[inline(never)]
    fn send_instead(&self, mut message: T) -> Result<(), SendError<T>> {
        let mut tries = YieldingRetries::patient();
        loop {
            if self.tx.is_closed() {
                return Err(SendError(message));
            }
            // Dropped when the message is sent: a destructor may panic.
            let mut oldest = Message::empty();
            // Not if a receiver is faster. Then there is room.
            if Shared::with(&self.oldest, |end| end.queue.pop_if_full(&mut oldest)) {
                self.tx.common().count_dropped();
            }
            let not_sent = match self.tx.try_send(message) {
                Ok(()) => return Ok(()),
                Err(not_sent) => not_sent,
            };
            // A panic would lose the message that is not sent.
            quietly(|| drop(oldest));
            message = match not_sent {
                TrySendError::Disconnected(message) => return Err(SendError(message)),
                TrySendError::Full(message) => message,
            };
            // Another sender was faster, or a receiver is in the middle of its call.
            if !tries.again(true) {
                yield_now();
            }
        }
    }

    /// The number of messages that senders have dropped.
    pub fn dropped(&self) -> u64 {
        self.tx.common().dropped()
    }

    /// Lets nothing be sent any more. Receivers get what was sent.
    pub fn close(&self) {
        self.tx.close();
    }

    /// Whether all receivers are gone, or the channel was closed.
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.tx.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.tx.is_empty()
    }

    /// The number of messages that the channel keeps.
    pub fn capacity(&self) -> usize {
        self.tx.common().kind.capacity()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone(), oldest: self.oldest.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
