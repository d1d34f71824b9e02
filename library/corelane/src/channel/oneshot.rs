//! A channel for one message, such as the answer to a request.

use alloc::sync::Arc;
use core::fmt;
use core::future::{Future, poll_fn};
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
        sender_waker: UnsafeCell::new(None),
    });
    (Sender(Some(shared.clone())), Receiver(shared))
}

/// Where the message is handed over.
///
/// `message` belongs to the sender until it is `SENT`, and then to the receiver, if that is not
/// `CLOSED`. The waker of a side belongs to this side, except while its bit is set: then it belongs
/// to the other side, which wakes it when it ends.
struct Meeting<T> {
    /// A set of the bits below.
    state: AtomicU64,
    message: UnsafeCell<Option<T>>,
    waker: UnsafeCell<Option<Waker>>,
    sender_waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the state says to which side message and wakers belong; the other side doesn't access
// them.
unsafe impl<T: Send> Sync for Meeting<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Meeting<T> {}

/// No message, no side has ended, and none sleeps.
const EMPTY: u64 = 0;
/// The receiver sleeps, and has left a waker.
const WAITING: u64 = 1;
/// The sender sleeps until the receiver is gone, and has left a waker.
const SENDER_WAITING: u64 = 2;
/// The sender has ended: there is a message.
const SENT: u64 = 4;
/// The sender has ended without a message.
const GONE: u64 = 8;
/// The receiver has ended: it has closed the channel, or received the message.
const CLOSED: u64 = 16;

impl<T> Meeting<T> {
    /// The sender ends, once: `SENT` or `GONE`. Wakes the receiver, if it sleeps. Returns the state
    /// before.
    fn end(&self, end: u64) -> u64 {
        // An addition sets the bit, and takes one instruction.
        // Release ↔ Acquire in `take`: the message. Acquire ↔ Release in `poll`: the waker.
        let before = self.state.fetch_add(end, Ordering::AcqRel);
        if before & (WAITING | SENDER_WAITING) != 0 && before & CLOSED == 0 {
            self.end_wakers(before);
        }
        before
    }

    /// The sender has ended, and the receiver had not.
    #[cold]
    fn end_wakers(&self, state: u64) {
        if state & WAITING != 0 {
            // SAFETY: the waker is left, and the sender ends once.
            wake_each(self.waker.with_mut(|waker| unsafe { (*waker).take() }));
        }
        // Last: a destructor may panic.
        if state & SENDER_WAITING != 0 {
            // SAFETY: the receiver leaves it alone when the sender has ended.
            drop(self.sender_waker.with_mut(|waker| unsafe { (*waker).take() }));
        }
    }

    /// The message, or why there is none. By the receiver.
    fn take(&self) -> Result<T, TryRecvError> {
        // Acquire ↔ Release in `end`: the message.
        let state = self.state.load(Ordering::Acquire);
        match state & (SENT | GONE | CLOSED) {
            SENT => {
                // Relaxed: the sender has ended, so only this side looks.
                self.state.store(SENT | CLOSED, Ordering::Relaxed);
                // SAFETY: the message was sent, and belongs to this side.
                let message = self.message.with_mut(|message| unsafe { (*message).take() });
                message.ok_or(TryRecvError::Disconnected)
            }
            0 => Err(TryRecvError::Empty),
            _ => Err(TryRecvError::Disconnected),
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
            // Relaxed: the waker of an earlier look is this side's own, and a message is looked for
            // again.
            let before = self.state.fetch_and(!WAITING, Ordering::Relaxed);
            if before & (SENT | GONE) != 0 {
                continue;
            }
            // SAFETY: the bit is not set, and only this side sets it.
            let old = self.waker.with_mut(|place| unsafe { (*place).replace(waker.clone()) });
            // Release ↔ Acquire in `end`: the waker.
            let before = self.state.fetch_or(WAITING, Ordering::Release);
            // It may own anything: only when this side is done with the state.
            drop(old);
            if before & (SENT | GONE) == 0 {
                return Look::NotYet;
            }
        }
    }

    /// The receiver ends. Wakes the sender, if it sleeps. A message that was sent before stays.
    fn close(&self) {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (SENT | GONE | CLOSED) == 0 {
            // Acquire ↔ Release in `poll_closed`: the sender's waker.
            let closed = self.state.compare_exchange(
                state,
                state | CLOSED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match closed {
                Ok(_) => return self.closed(state),
                Err(now) => state = now,
            }
        }
    }

    /// The receiver has ended, and the sender had not.
    fn closed(&self, state: u64) {
        if state & SENDER_WAITING != 0 {
            // SAFETY: the waker is left, and the receiver ends once.
            wake_each(self.sender_waker.with_mut(|waker| unsafe { (*waker).take() }));
        }
        // Last: a destructor may panic.
        if state & WAITING != 0 {
            // SAFETY: the sender leaves it alone when the receiver has ended.
            drop(self.waker.with_mut(|waker| unsafe { (*waker).take() }));
        }
    }

    /// One look of the sender, whether the receiver has ended. If not, `waker` is woken then.
    fn poll_closed(&self, waker: &Waker) -> Poll<()> {
        // Relaxed: the waker of an earlier look is this side's own.
        let before = self.state.fetch_and(!SENDER_WAITING, Ordering::Relaxed);
        if before & CLOSED != 0 {
            return Poll::Ready(());
        }
        // SAFETY: the bit is not set, and only this side sets it.
        let old = self.sender_waker.with_mut(|place| unsafe { (*place).replace(waker.clone()) });
        // Release ↔ Acquire in `close`: the waker.
        let before = self.state.fetch_or(SENDER_WAITING, Ordering::Release);
        drop(old);
        match before & CLOSED {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
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
    /// If the receiver is gone, or has closed the channel. The error has the message.
    pub fn send(mut self, message: T) -> Result<(), SendError<T>> {
        let Some(meeting) = self.0.take() else { unreachable!("it is there until it is dropped") };
        // SAFETY: nothing was sent, so the message is this side's.
        meeting.message.with_mut(|place| unsafe { *place = Some(message) });
        if meeting.end(SENT) & CLOSED == 0 {
            return Ok(());
        }
        // SAFETY: the receiver has ended, and has left the message to this side.
        let message = meeting.message.with_mut(|place| unsafe { (*place).take() });
        Err(SendError(message.expect("this side has put it there")))
    }

    /// Whether the receiver is gone, or has closed the channel.
    pub fn is_closed(&self) -> bool {
        // Relaxed: it promises nothing else.
        self.0.as_ref().is_none_or(|meeting| meeting.state.load(Ordering::Relaxed) & CLOSED != 0)
    }

    /// Waits in a task until the receiver is gone, or has closed the channel.
    pub async fn closed_async(&mut self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    /// As [`closed_async`](Self::closed_async). The task of the last call is woken.
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &self.0 {
            Some(meeting) => meeting.poll_closed(context.waker()),
            None => Poll::Ready(()),
        }
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

    /// Lets the message not be sent any more. If it was sent before, it can be received.
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Whether no message can be received now.
    pub fn is_empty(&self) -> bool {
        // Relaxed: a call that receives looks again.
        self.0.state.load(Ordering::Relaxed) & (SENT | CLOSED) != SENT
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
        self.0.close();
        drop(self.0.take());
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
