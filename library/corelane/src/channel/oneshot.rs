//! A channel for one message, such as the answer to a request.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::error::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use super::party::meet;
use super::unlimited;
use crate::memory::{AtomicU64, Ordering, UnsafeCell};
use crate::wait::bell::{Look, wake_each};

/// A channel for one message. It takes one allocation.
///
/// The sender never waits. The receiver waits as a blocked thread, or is awaited as a future.
///
/// ```
/// use corelane::channel::{bounded, oneshot};
///
/// let (requests, inbox) = bounded::<(u32, oneshot::Sender<u32>)>(10);
/// std::thread::spawn(move || {
///     for (number, answer) in inbox {
///         let _ = answer.send(2 * number); // an error: no thread waits for it any more
///     }
/// });
/// let (tx, rx) = oneshot();
/// requests.send((21, tx)).unwrap();
/// assert_eq!(rx.recv(), Ok(42));
/// ```
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Meeting {
        state: AtomicU64::new(EMPTY),
        message: UnsafeCell::new(None),
        waker: UnsafeCell::new(None),
    });
    (Sender(Some(shared.clone())), Receiver(shared))
}

/// Where the message is handed over.
///
/// `message` belongs to the sender until the state is `SENT`, and then to the receiver. `waker`
/// belongs to the receiver, except while the state is `WAITING`: then it belongs to the thread that
/// changes the state.
struct Meeting<T> {
    state: AtomicU64,
    message: UnsafeCell<Option<T>>,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the state says to which side message and waker belong; the other side doesn't access
// them.
unsafe impl<T: Send> Sync for Meeting<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Meeting<T> {}

/// No message, and no receiver that sleeps.
const EMPTY: u64 = 0;
/// The receiver sleeps, and has left a waker.
const WAITING: u64 = 1;
/// There is a message.
const SENT: u64 = 2;
/// The other side is gone, or the message was received.
const GONE: u64 = 3;

impl<T> Meeting<T> {
    /// Enters `SENT` or `GONE`. Wakes the receiver, if it sleeps. Returns the state before.
    fn end(&self, state: u64) -> u64 {
        // Release ↔ Acquire in `take` and `Receiver::drop`: the message. Acquire ↔ Release in
        // `poll`: the waker.
        let before = self.state.swap(state, Ordering::AcqRel);
        if before == WAITING {
            // SAFETY: this thread has ended the state in which the waker is left.
            let waker = self.waker.with_mut(|waker| unsafe { (*waker).take() });
            wake_each(waker);
        }
        before
    }

    /// The message, or why there is none. By the receiver.
    fn take(&self) -> Result<T, TryRecvError> {
        // Acquire ↔ Release in `end`: the message.
        match self.state.load(Ordering::Acquire) {
            SENT => {
                // Relaxed: the sender is gone, so only this side looks.
                self.state.store(GONE, Ordering::Relaxed);
                // SAFETY: the message was sent, and belongs to this side.
                let message = self.message.with_mut(|message| unsafe { (*message).take() });
                message.ok_or(TryRecvError::Disconnected)
            }
            GONE => Err(TryRecvError::Disconnected),
            _ => Err(TryRecvError::Empty),
        }
    }

    /// One look of the receiver. If nothing is there, `waker` is woken when there is.
    fn poll(&self, waker: &Waker) -> Look<Result<T, RecvError>> {
        loop {
            match self.take() {
                Ok(message) => return Look::Done(Ok(message)),
                Err(TryRecvError::Disconnected) => return Look::Done(Err(RecvError)),
                Err(TryRecvError::Empty) => {}
            }
            // Relaxed, all: the waker of an earlier look is this side's own, and a message is
            // looked for again.
            let taken_back =
                self.state.compare_exchange(WAITING, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
            if taken_back.is_err_and(|state| state != EMPTY) {
                continue;
            }
            // SAFETY: the state is `EMPTY`, which only this side changes to `WAITING`.
            let old = self.waker.with_mut(|place| unsafe { (*place).replace(waker.clone()) });
            // Release ↔ Acquire in `end`: the waker.
            let left =
                self.state.compare_exchange(EMPTY, WAITING, Ordering::Release, Ordering::Relaxed);
            // The message may own anything, so it is dropped only when this side is done with the
            // state.
            drop(old);
            if left.is_ok() {
                return Look::NotYet;
            }
        }
    }
}

/// Sends the message.
pub struct Sender<T>(Option<Arc<Meeting<T>>>);

/// Receives the message.
///
/// It is a future, too: `rx.await`.
#[must_use = "the message is for it"]
pub struct Receiver<T>(Arc<Meeting<T>>);

impl<T> Sender<T> {
    /// Sends the message. Never waits.
    ///
    /// # Errors
    ///
    /// If the receiver is gone. The error has the message.
    pub fn send(mut self, message: T) -> Result<(), SendError<T>> {
        let Some(meeting) = self.0.take() else { unreachable!("it is there until it is dropped") };
        // SAFETY: nothing was sent, so the message is this side's.
        meeting.message.with_mut(|place| unsafe { *place = Some(message) });
        if meeting.end(SENT) != GONE {
            return Ok(());
        }
        // SAFETY: the receiver is gone, and has left the message to this side.
        let message = meeting.message.with_mut(|place| unsafe { (*place).take() });
        Err(SendError(message.expect("this side has put it there")))
    }

    /// Whether the receiver is gone.
    pub fn is_closed(&self) -> bool {
        // Relaxed: it promises nothing else.
        self.0.as_ref().is_none_or(|meeting| meeting.state.load(Ordering::Relaxed) == GONE)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let Some(meeting) = self.0.take() {
            meeting.end(GONE);
        }
    }
}

impl<T> Receiver<T> {
    /// Waits for the message.
    ///
    /// # Errors
    ///
    /// If the sender was dropped without a message.
    pub fn recv(self) -> Result<T, RecvError> {
        meet(None, |waker| self.0.poll(waker)).unwrap_or(Err(RecvError))
    }

    /// As [`recv`](Self::recv), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over, or if the sender was dropped without a message, or the message was
    /// received before.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_by(unlimited(timeout))
    }

    /// As [`recv_timeout`](Self::recv_timeout), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`recv_timeout`](Self::recv_timeout).
    pub fn recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_by(Some(deadline))
    }

    fn recv_by(&mut self, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let received = meet(until, |waker| self.0.poll(waker));
        Ok(received.ok_or(RecvTimeoutError::Timeout)??)
    }

    /// The message, if it is there.
    ///
    /// # Errors
    ///
    /// If it is not there yet, or if the sender was dropped without a message, or the message was
    /// received before.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.0.take()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.poll(context.waker()) {
            Look::Done(received) => Poll::Ready(received),
            Look::NotYet | Look::Busy => Poll::Pending,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Not `end`, which would wake this side itself.
        // Acquire ↔ Release in `end`: the message.
        match self.0.state.swap(GONE, Ordering::Acquire) {
            // SAFETY: the message was sent, and belongs to this side.
            SENT => drop(self.0.message.with_mut(|message| unsafe { (*message).take() })),
            // SAFETY: the waker is this side's again.
            WAITING => drop(self.0.waker.with_mut(|waker| unsafe { (*waker).take() })),
            _ => {}
        }
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
