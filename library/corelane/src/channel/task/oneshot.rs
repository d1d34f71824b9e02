//! A channel for one message, with Tokio's names.
//!
//! ```
//! use corelane::channel::task::oneshot;
//!
//! let (tx, rx) = oneshot::channel();
//! std::thread::spawn(move || tx.send("hello"));
//! assert_eq!(rx.blocking_recv(), Ok("hello")); // in a task: `rx.await`
//! ```

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::channel;

/// Why a call failed.
pub mod error {
    use core::error::Error;
    use core::fmt;

    /// The sender was dropped without a message, or the channel was closed.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    /// Why there is no message.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum TryRecvError {
        /// It was not sent yet.
        Empty,
        /// The sender was dropped without a message, or the channel was closed, or the message was
        /// received.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for TryRecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self {
                Self::Empty => "channel empty",
                Self::Closed => "channel closed",
            })
        }
    }

    impl Error for RecvError {}
    impl Error for TryRecvError {}
}

use error::{RecvError, TryRecvError};

/// A channel for one message. It takes one allocation.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = channel::oneshot();
    (Sender(tx), Receiver(Some(rx)))
}

/// Sends the message.
pub struct Sender<T>(channel::oneshot::Sender<T>);

/// Receives the message, as a future: `rx.await`.
#[must_use = "the message is for it"]
pub struct Receiver<T>(Option<channel::oneshot::Receiver<T>>);

impl<T> Sender<T> {
    /// Sends the message. Never waits.
    ///
    /// # Errors
    ///
    /// The message, if the receiver is gone, or has closed the channel.
    pub fn send(self, message: T) -> Result<(), T> {
        self.0.send(message).map_err(|error| error.0)
    }

    /// Waits until the receiver is gone, or has closed the channel.
    pub async fn closed(&mut self) {
        self.0.closed_async().await;
    }

    /// As [`closed`](Self::closed). The task of the last call is woken.
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_closed(context)
    }

    /// Whether the receiver is gone, or has closed the channel.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<T> Receiver<T> {
    /// Lets the message not be sent any more. If it was sent before, it can be received.
    pub fn close(&mut self) {
        if let Some(receiver) = &mut self.0 {
            receiver.close();
        }
    }

    /// Whether a call has received the message, or has found that there will be none.
    pub fn is_terminated(&self) -> bool {
        self.0.is_none()
    }

    /// Whether no message can be received now.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(channel::oneshot::Receiver::is_empty)
    }

    /// The message, if it is there.
    ///
    /// # Errors
    ///
    /// If it is not there yet, or will not come.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let receiver = self.0.as_mut().ok_or(TryRecvError::Closed)?;
        let received = receiver.try_recv();
        if matches!(received, Err(channel::TryRecvError::Empty)) {
            return Err(TryRecvError::Empty);
        }
        self.0 = None;
        received.map_err(|_| TryRecvError::Closed)
    }

    /// Waits for the message, in a thread.
    ///
    /// # Errors
    ///
    /// If the sender was dropped without a message, or the channel was closed.
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        let receiver = self.0.ok_or(RecvError(()))?;
        receiver.recv().map_err(|channel::RecvError| RecvError(()))
    }
}

/// # Panics
///
/// If it is polled after it was ready.
impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let receiver = self.0.as_mut().expect("called after complete");
        let received = Pin::new(receiver).poll(context);
        if received.is_ready() {
            self.0 = None;
        }
        received.map_err(|channel::RecvError| RecvError(()))
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}
