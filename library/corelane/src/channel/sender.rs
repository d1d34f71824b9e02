//! The sending side.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

use super::access::sealed::Access as _;
use super::access::{Access, Exclusive, Shared};
use super::common::{Common, End};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::lane::{Item, Meeting, Tx};
use super::rendezvous::meet;
use super::{Tries, unlimited};
use crate::memory::yield_now;
use crate::queue::TryPushError;
use crate::wait::bell::Look;

/// The sending side of a channel.
///
/// `Sender<T>` can be cloned and shared. With [`Exclusive`], one thread at a time uses it.
pub struct Sender<T, A: Access = Shared> {
    /// Dropped before `common` tells receivers.
    end: A::Of<End<Tx<T>>>,
    common: Presence<T>,
    /// Neither `Send` nor `Sync`, but for what follows.
    bound: PhantomData<*const T>,
}

// SAFETY: the sender brings messages to the threads that receive or drop them, and nothing else of `T`. All else it has is
// `Send`, whether threads share it or not.
unsafe impl<T: Send, A: Access> Send for Sender<T, A> {}
// SAFETY: as above. What isn't `Sync` is in a part for each thread, or under a lock.
unsafe impl<T: Send> Sync for Sender<T> {}

// No call panics in the middle, but in a message's destructor.
impl<T, A: Access> UnwindSafe for Sender<T, A> {}
impl<T, A: Access> RefUnwindSafe for Sender<T, A> {}

/// A sender's part in what all share.
pub(super) struct Presence<T>(pub(super) Arc<Common<T>>);

impl<T> Drop for Presence<T> {
    fn drop(&mut self) {
        self.0.leave_sender();
    }
}

impl<T, A: Access> Sender<T, A> {
    pub(super) fn new(tx: Tx<T>, common: Arc<Common<T>>) -> Self {
        Self { end: A::new(End::new(tx)), common: Presence(common), bound: PhantomData }
    }

    #[inline(always)]
    pub(super) fn common(&self) -> &Common<T> {
        &self.common.0
    }

    /// Uses this thread's end of the queue: see [`Access`].
    #[inline(always)]
    pub(super) fn with<V, R>(&self, argument: V, work: impl FnOnce(&mut End<Tx<T>>, V) -> R) -> R {
        A::with(&self.end, argument, work)
    }

    /// Sends a message. Waits while the channel is full.
    ///
    /// A channel of capacity 0 waits for a receiver to take the message.
    ///
    /// # Errors
    ///
    /// If all receivers are gone, or the channel was closed. The error has the message.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.offer(message) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(message)) => Err(SendError(message)),
            Err(TryPushError::Full(message) | TryPushError::Busy(message)) => {
                self.wait_to_send(message, None).map_err(|error| SendError(error.into_inner()))
            }
        }
    }

    /// Sends a message if there is room now.
    ///
    /// While a call of another thread is in the way, looks again, as it would wait for a lock. If that thread doesn't go on within
    /// about a millisecond, the channel counts as full.
    ///
    /// # Errors
    ///
    /// If the channel is full, or as [`send`](Self::send). The error has the message.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        if let Some(meeting) = self.common().kind.meeting() {
            return give(meeting, message);
        }
        let (mut message, mut tries) = (message, Tries::default());
        loop {
            match self.offer(message) {
                Ok(()) => return Ok(()),
                Err(TryPushError::Closed(back)) => return Err(TrySendError::Disconnected(back)),
                Err(error) if tries.again(error.is_busy()) => message = error.into_inner(),
                Err(error) => return Err(TrySendError::Full(error.into_inner())),
            }
        }
    }

    /// As [`send`](Self::send), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over, or as [`send`](Self::send). The error has the message.
    pub fn send_timeout(&self, message: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_by(message, unlimited(timeout))
    }

    /// As [`send`](Self::send), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_deadline(&self, message: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_by(message, Some(deadline))
    }

    fn send_by(&self, message: T, until: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        match self.offer(message) {
            Ok(()) => Ok(()),
            Err(TryPushError::Closed(message)) => Err(SendTimeoutError::Disconnected(message)),
            Err(error) => self.wait_to_send(error.into_inner(), until),
        }
    }

    /// Sends all messages. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send). The messages behind the one that is given back are still in the iterator: pass
    /// `iter.by_ref()` to keep them.
    pub fn send_all(&self, messages: impl IntoIterator<Item = T>) -> Result<(), SendError<T>> {
        messages.into_iter().try_for_each(|message| self.send(message))
    }

    #[inline(always)] // a call would cost more than the push itself
    pub(super) fn offer(&self, message: T) -> Result<(), TryPushError<T>> {
        if self.common().is_closed() {
            return Err(TryPushError::Closed(message));
        }
        self.with(message, push)?;
        self.common().sent();
        Ok(())
    }

    /// Sends where a select has reserved room.
    pub(super) fn send_reserved(&self, message: T) -> Result<(), SendError<T>> {
        if self.common().is_closed() {
            self.release(&mut None);
            return Err(SendError(message));
        }
        let mut message = Some(message);
        self.release(&mut message);
        match message {
            None => {
                self.common().sent();
                Ok(())
            }
            // There was no memory for it.
            Some(message) => self.send(message),
        }
    }

    /// Ends the reservation of a select, and pushes the message into its room, if there is one. Waits for calls of other threads
    /// that are in the way.
    pub(super) fn release(&self, message: &mut Option<T>) {
        while self.with(&mut *message, |end, message| end.queue.release(message)).is_none() {
            yield_now();
        }
        // The room may be free now. Or a thread found the channel full, because it saw the message and still the reservation.
        self.common().room.ring_if(|| !self.is_full(), || {});
    }

    /// One look for room, by a caller that waits. Takes the message if there is some.
    pub(super) fn look(&self, message: &mut Option<T>) -> Look<Result<(), SendError<T>>> {
        let Some(waiting) = message.take() else { unreachable!("it is there until it is sent") };
        match self.offer(waiting) {
            Ok(()) => Look::Done(Ok(())),
            Err(TryPushError::Closed(back)) => Look::Done(Err(SendError(back))),
            Err(TryPushError::Full(back)) => {
                *message = Some(back);
                Look::NotYet
            }
            Err(TryPushError::Busy(back)) => {
                *message = Some(back);
                Look::Busy
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_send(&self, message: T, until: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        if let Some(meeting) = self.common().kind.meeting() {
            return wait_for_receiver(meeting, message, until);
        }
        let mut message = Some(message);
        let mut looks = self.with((), |end, ()| end.looks);
        let sent = looks.wait(&self.common().room, until, || self.look(&mut message));
        self.with(looks, |end, looks| end.looks = looks);
        match (sent, message) {
            (Some(result), _) => Ok(result?),
            (None, Some(message)) => Err(SendTimeoutError::Timeout(message)),
            (None, None) => unreachable!("it was not sent"),
        }
    }

    /// Lets nothing be sent any more. Receivers get what was sent.
    ///
    /// A message that another thread sends at the same time may be received, or be dropped with the channel.
    pub fn close(&self) {
        self.common().close();
    }

    /// Whether all receivers are gone, or the channel was closed.
    pub fn is_disconnected(&self) -> bool {
        self.common().is_closed()
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.common().kind.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room. A channel of capacity 0 is always full.
    pub fn is_full(&self) -> bool {
        self.common().kind.is_full()
    }

    /// The number of messages for which there is room. `None` if the channel is never full.
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.common().kind.capacity();
        (capacity != usize::MAX).then_some(capacity)
    }

    /// Whether both send into the same channel.
    pub fn same_channel<B: Access>(&self, other: &Sender<T, B>) -> bool {
        Arc::ptr_eq(&self.common.0, &other.common.0)
    }
}

impl<T> Sender<T> {
    /// A handle for one thread at a time, which takes a little less time for each call.
    ///
    /// # Panics
    ///
    /// If the channel has 65,536 local senders, and threads that send, already.
    pub fn local(&self) -> Sender<T, Exclusive> {
        let end = Exclusive::new(Shared::another(&self.end));
        self.common().enter_sender();
        Sender { end, common: Presence(self.common.0.clone()), bound: PhantomData }
    }
}

/// One push.
#[inline(always)]
fn push<T>(end: &mut End<Tx<T>>, message: T) -> Result<(), TryPushError<T>> {
    end.queue.push(message)
}

/// Gives the message to a receiver that waits.
fn give<T>(meeting: &Meeting<T>, message: T) -> Result<(), TrySendError<T>> {
    match meeting.try_send(Item(message)) {
        Ok(()) => Ok(()),
        Err(TryPushError::Closed(Item(message))) => Err(TrySendError::Disconnected(message)),
        Err(error) => Err(TrySendError::Full(error.into_inner().0)),
    }
}

/// Waits until a receiver takes the message.
fn wait_for_receiver<T>(
    meeting: &Meeting<T>,
    message: T,
    until: Option<Instant>,
) -> Result<(), SendTimeoutError<T>> {
    let (mut message, mut waiting) = (Some(Item(message)), None);
    match meet(until, |waker| meeting.poll_send(&mut message, &mut waiting, waker)) {
        Some(sent) => sent.map_err(|Item(message)| SendTimeoutError::Disconnected(message)),
        None => {
            let sent = waiting.map_or(Ok(()), |waiting| meeting.cancel_send(waiting));
            sent.map_err(|Item(message)| SendTimeoutError::Timeout(message))
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.common().enter_sender();
        Self { end: self.end.clone(), common: Presence(self.common.0.clone()), bound: PhantomData }
    }
}

impl<T, A: Access> fmt::Debug for Sender<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
