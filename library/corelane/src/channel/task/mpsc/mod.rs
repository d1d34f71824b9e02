//! Channels between any number of senders and one receiver, with Tokio's names.
//!
//! ```
//! use corelane::channel::task::mpsc;
//!
//! async fn send(tx: mpsc::Sender<String>) -> Result<(), mpsc::error::SendError<()>> {
//!     let permit = tx.reserve().await?; // there is room now
//!     permit.send(String::from("hello"));
//!     Ok(())
//! }
//!
//! let (tx, mut rx) = mpsc::channel(100);
//! # use std::{pin::pin, task::{Context, Waker}};
//! # let mut context = Context::from_waker(Waker::noop());
//! # let mut spawn = |future| assert!(std::future::Future::poll(pin!(future), &mut context).is_ready());
//! spawn(send(tx)); // of any runtime
//! assert_eq!(rx.blocking_recv().unwrap(), "hello"); // in a task: `rx.recv().await`
//! ```
//!
//! # Differences from Tokio's
//!
//! - Room that comes back is for the first sender that takes it, and not for the one that has
//!   waited longest. Senders that wait are woken in the order in which they came.
//! - A blocking call in a task doesn't panic.

pub mod error;
mod permit;
mod receiver;

use alloc::boxed::Box;
use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use std::time::{Duration, Instant};

use super::super::alarm::Alarm;
use super::super::common::{Extra, OfTasks};
use super::super::ends;
use super::super::turn::Turn;
use super::wait_at;
use crate::channel;
use crate::queue::TryPushError;
use crate::wait::bell::Look;

use error::{SendError, SendTimeoutError, TrySendError};
pub use permit::{OwnedPermit, Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};

/// A channel for exactly `buffer` messages.
///
/// # Panics
///
/// If `buffer` is 0, or if there is not enough memory for the messages.
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    let (tx, queue) = open(ends::bounded(buffer));
    (Sender(tx), Receiver::new(queue))
}

/// A channel that is never full.
///
/// # Panics
///
/// If there is no memory.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, queue) = open(ends::unbounded());
    (UnboundedSender(tx), UnboundedReceiver::new(queue))
}

fn open<T>(ends: ends::Ends<T>) -> (channel::Sender<T>, channel::mpsc::Receiver<T>) {
    channel::open_with(ends, Extra::OfTasks(Box::default()))
}

/// The sending side of a channel that may be full.
pub struct Sender<T>(channel::Sender<T>);

/// The sending side of a channel that is never full.
pub struct UnboundedSender<T>(channel::Sender<T>);

/// A [`Sender`] that doesn't keep the channel open.
pub struct WeakSender<T>(channel::WeakSender<T>);

/// An [`UnboundedSender`] that doesn't keep the channel open.
pub struct WeakUnboundedSender<T>(channel::WeakSender<T>);

/// What both kinds of senders have.
macro_rules! sender {
    ($sender:ident, $weak:ident) => {
        impl<T> $sender<T> {
            /// Waits until the receiver is gone, or has closed the channel.
            pub async fn closed(&self) {
                closed(&self.0).await;
            }

            /// Whether the receiver is gone, or has closed the channel.
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }

            /// Whether both send into the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.0.same_channel(&other.0)
            }

            /// A sender that doesn't keep the channel open.
            pub fn downgrade(&self) -> $weak<T> {
                $weak(self.0.downgrade())
            }

            /// The number of senders that keep the channel open.
            pub fn strong_count(&self) -> usize {
                self.0.sender_count()
            }

            /// The number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.0.common().counts().weak_senders
            }
        }

        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<T> $weak<T> {
            /// A sender, unless all senders are gone.
            pub fn upgrade(&self) -> Option<$sender<T>> {
                self.0.upgrade().map($sender)
            }

            /// The number of senders that keep the channel open.
            pub fn strong_count(&self) -> usize {
                self.0.sender_count()
            }

            /// The number of weak senders.
            pub fn weak_count(&self) -> usize {
                self.0.weak_sender_count()
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        debug! { $sender $weak }
    };
}

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!(stringify!($name), " { .. }"))
            }
        }
    )*};
}

use debug;

sender!(Sender, WeakSender);
sender!(UnboundedSender, WeakUnboundedSender);

impl<T> UnboundedSender<T> {
    /// Sends a message. Never waits.
    ///
    /// # Errors
    ///
    /// If the receiver is gone, or has closed the channel. The error has the message.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message)
    }
}

impl<T> Sender<T> {
    /// Sends a message. Waits while the channel is full.
    ///
    /// If the future is dropped before it is ready, the message is dropped, and is not sent.
    ///
    /// # Errors
    ///
    /// If the receiver is gone, or has closed the channel. The error has the message.
    #[inline]
    pub async fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send_async(message).await
    }

    /// As [`send`](Self::send), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over, or as [`send`](Self::send). The error has the message.
    pub async fn send_timeout(
        &self,
        message: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        let due = channel::unlimited(timeout);
        let mut alarm = None;
        let mut sending = self.0.send_async(message);
        let sent = poll_fn(|context| {
            // With the waker of this poll.
            alarm = None;
            if let Poll::Ready(sent) = Pin::new(&mut sending).poll(context) {
                return Poll::Ready(Some(sent));
            }
            if due.is_some_and(|due| due <= Instant::now()) {
                return Poll::Ready(None);
            }
            alarm = due.map(|due| Alarm::new(due, context.waker()));
            Poll::Pending
        });
        match sent.await {
            Some(sent) => Ok(sent?),
            // A task that had to let others run may not have looked.
            None => self.try_send(sending.take_back()).map_err(|error| match error {
                TrySendError::Full(message) => SendTimeoutError::Timeout(message),
                TrySendError::Closed(message) => SendTimeoutError::Closed(message),
            }),
        }
    }

    /// Sends a message if there is room now.
    ///
    /// # Errors
    ///
    /// If the channel is full, or as [`send`](Self::send). The error has the message.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(message).map_err(|error| match error {
            channel::TrySendError::Full(message) => TrySendError::Full(message),
            channel::TrySendError::Disconnected(message) => TrySendError::Closed(message),
        })
    }

    /// As [`send`](Self::send), in a thread.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    #[inline]
    pub fn blocking_send(&self, message: T) -> Result<(), SendError<T>> {
        self.0.send(message)
    }

    /// Reserves room for one message. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// If the receiver is gone, or has closed the channel.
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        reserve(&self.0).await?;
        Ok(Permit(&self.0))
    }

    /// As [`reserve`](Self::reserve), with the sender in the permit.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve). The sender is dropped.
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        reserve(&self.0).await?;
        Ok(OwnedPermit(self))
    }

    /// Reserves room for `n` messages. Waits while there is less. Several callers take turns.
    ///
    /// # Errors
    ///
    /// If `n` is greater than the capacity, or as [`reserve`](Self::reserve).
    pub async fn reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        if n > self.max_capacity() || self.is_closed() {
            return Err(SendError(()));
        }
        let mut permits = PermitIterator::new(&self.0, 0);
        if n > 0 && self.0.reserve(n).is_err() {
            let turn = turn(&self.0).await?;
            // Room that is reserved is kept: otherwise single messages would always be faster.
            while permits.n < n {
                let some = self.capacity().clamp(1, n - permits.n);
                match self.0.reserve(some) {
                    Ok(()) => permits.n += some,
                    Err(_) => {
                        reserve(&self.0).await?;
                        permits.n += 1;
                    }
                }
            }
            // Before the permits: a waker may panic.
            drop(turn);
            return Ok(permits);
        }
        permits.n = n;
        Ok(permits)
    }

    /// Reserves room for one message, if there is room now.
    ///
    /// # Errors
    ///
    /// If the channel is full, or as [`reserve`](Self::reserve).
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_reserve_room(1)?;
        Ok(Permit(&self.0))
    }

    /// As [`try_reserve`](Self::try_reserve), with the sender in the permit.
    ///
    /// # Errors
    ///
    /// As [`try_reserve`](Self::try_reserve). The error has the sender.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_reserve_room(1) {
            Ok(()) => Ok(OwnedPermit(self)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Reserves room for `n` messages, if there is room for all of them now.
    ///
    /// # Errors
    ///
    /// If there is less room, or as [`reserve`](Self::reserve).
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        match n {
            0 if self.is_closed() => return Err(TrySendError::Closed(())),
            0 => {}
            _ => self.try_reserve_room(n)?,
        }
        Ok(PermitIterator::new(&self.0, n))
    }

    fn try_reserve_room(&self, n: usize) -> Result<(), TrySendError<()>> {
        self.0.try_reserve(n).map_err(|error| match error {
            channel::TrySendError::Full(()) => TrySendError::Full(()),
            channel::TrySendError::Disconnected(()) => TrySendError::Closed(()),
        })
    }

    /// The number of messages for which there is room that is not reserved.
    pub fn capacity(&self) -> usize {
        self.0.common().kind.room()
    }

    /// The number of messages for which there is room while the channel is empty.
    pub fn max_capacity(&self) -> usize {
        self.0.common().kind.capacity()
    }
}

fn of_tasks<T>(sender: &channel::Sender<T>) -> &OfTasks {
    match &sender.common().extra {
        Extra::OfTasks(of_tasks) => of_tasks,
        _ => unreachable!("channels of this module have it"),
    }
}

async fn closed<T>(sender: &channel::Sender<T>) {
    wait_at(&of_tasks(sender).closed, || match sender.is_closed() {
        true => Look::Done(()),
        false => Look::NotYet,
    })
    .await;
}

/// Reserves room for one message.
async fn reserve<T>(sender: &channel::Sender<T>) -> Result<(), SendError<()>> {
    wait_at(&sender.common().room, || match sender.reserve(1) {
        Ok(()) => Look::Done(Ok(())),
        Err(TryPushError::Closed(())) => Look::Done(Err(SendError(()))),
        Err(TryPushError::Full(())) => Look::NotYet,
        Err(TryPushError::Busy(())) => Look::Busy,
    })
    .await
}

/// The turn to reserve room for several messages.
async fn turn<T>(sender: &channel::Sender<T>) -> Result<Turn<'_>, SendError<()>> {
    let turns = &of_tasks(sender).turns;
    wait_at(&turns.bell, || match sender.is_closed() {
        true => Look::Done(Err(SendError(()))),
        false => turns.look().map(Ok),
    })
    .await
}
