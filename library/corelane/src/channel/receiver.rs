//! The receiving side.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

use super::access::sealed::Access as _;
use super::access::{Access, Exclusive, Shared};
use super::common::{Common, End};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::lane::{Item, Kind, Meeting, Rx, unpack};
use super::rendezvous::meet;
use super::{Tries, unlimited};
use crate::queue::TryPopError;
use crate::wait::bell::Look;

/// The receiving side of a channel.
///
/// `Receiver<T>` can be cloned and shared; each message goes to one receiver. With [`Exclusive`], one thread at a time uses
/// it.
pub struct Receiver<T, A: Access = Shared> {
    end: A::Of<End<Rx<T>>>,
    common: Arc<Common<T>>,
    /// Neither `Send` nor `Sync`, but for what follows.
    bound: PhantomData<*const T>,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send, A: Access> Send for Receiver<T, A> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Sync for Receiver<T> {}

// No call panics in the middle, but in a message's destructor.
impl<T, A: Access> UnwindSafe for Receiver<T, A> {}
impl<T, A: Access> RefUnwindSafe for Receiver<T, A> {}

impl<T, A: Access> Receiver<T, A> {
    pub(super) fn new(rx: Rx<T>, common: Arc<Common<T>>) -> Self {
        Self { end: A::new(End::new(rx)), common, bound: PhantomData }
    }

    #[inline(always)]
    pub(super) fn common(&self) -> &Arc<Common<T>> {
        &self.common
    }

    /// Receives the oldest message. Waits while the channel is empty.
    ///
    /// # Errors
    ///
    /// If the channel is empty, and all senders are gone or the channel was closed.
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut why = TryPopError::Empty;
        match self.take(&mut why) {
            Some(message) => Ok(message),
            None if why == TryPopError::Closed => Err(RecvError),
            None => self.wait_to_recv(None).map_err(|_| RecvError),
        }
    }

    /// Receives the oldest message if there is one now.
    ///
    /// While a call of another thread is in the way, looks again, as it would wait for a lock. If that thread doesn't go on within
    /// about a millisecond, the channel counts as empty.
    ///
    /// # Errors
    ///
    /// If the channel is empty, or as [`recv`](Self::recv).
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut tries = Tries::default();
        loop {
            let mut why = TryPopError::Empty;
            match self.take_now(&mut why) {
                Some(message) => return Ok(message),
                None if why == TryPopError::Closed => return Err(TryRecvError::Disconnected),
                None if tries.again(why == TryPopError::Busy) => {}
                None => {
                    self.found_empty();
                    return Err(TryRecvError::Empty);
                }
            }
        }
    }

    /// After a call that doesn't wait any longer: a poller is told of the next message.
    #[inline]
    fn found_empty(&self) {
        #[cfg(target_os = "linux")]
        if let Some(watch) = self.common.watch.get() {
            watch.arm(self);
        }
    }

    /// As [`recv`](Self::recv), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over, or as [`recv`](Self::recv).
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_by(unlimited(timeout))
    }

    /// As [`recv`](Self::recv), until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`recv_timeout`](Self::recv_timeout).
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_by(Some(deadline))
    }

    fn recv_by(&self, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let mut why = TryPopError::Empty;
        match self.take(&mut why) {
            Some(message) => Ok(message),
            None if why == TryPopError::Closed => Err(RecvTimeoutError::Disconnected),
            None => self.wait_to_recv(until),
        }
    }

    /// Moves up to `most` messages to the end of `into`, and returns their number. Waits for the first one, and then takes
    /// what is there. 0 if the channel is empty and disconnected, or if `most` is 0.
    pub fn recv_many(&self, into: &mut Vec<T>, most: usize) -> usize {
        let Some(first) = (most > 0).then(|| self.recv().ok()).flatten() else { return 0 };
        into.push(first);
        let before = into.len();
        into.extend(self.try_iter().take(most - 1));
        into.len() - before + 1
    }

    /// The oldest message of any kind of channel.
    #[inline(always)]
    fn take_now(&self, why: &mut TryPopError) -> Option<T> {
        match &self.common.kind {
            Kind::Queue { .. } => self.take(why),
            Kind::Rendezvous(meeting) => unpack(meeting.try_recv(), why),
            Kind::Timer(timer) => unpack(timer.try_recv().map(Item), why),
        }
    }

    /// The oldest message of a queue, or why there is none: see [`Rx::pop`]. Of other channels it says that they are empty.
    #[inline(always)] // a call would cost more than the pop itself
    pub(super) fn take(&self, why: &mut TryPopError) -> Option<T> {
        let message = A::with(&self.end, &mut *why, pop);
        match message {
            Some(_) => self.common.room.ring(),
            None if self.common.has_ended() => return self.take_last(why),
            // The last sender has left the queue, and is about to leave the channel: then it rings.
            None if *why == TryPopError::Closed => *why = TryPopError::Empty,
            None => {}
        }
        message
    }

    /// Looks once more, for messages that were sent just before the channel was closed.
    #[cold]
    #[inline(never)]
    fn take_last(&self, why: &mut TryPopError) -> Option<T> {
        let message = A::with(&self.end, &mut *why, pop);
        // Where the sides meet, messages may be left: the caller looks there.
        if *why == TryPopError::Empty && self.common.kind.meeting().is_none() {
            *why = TryPopError::Closed;
        }
        message
    }

    /// One look for a message, by a caller that waits.
    pub(super) fn look(&self) -> Look<Result<T, RecvError>> {
        let mut why = TryPopError::Empty;
        match (self.take(&mut why), why) {
            (Some(message), _) => Look::Done(Ok(message)),
            (None, TryPopError::Closed) => Look::Done(Err(RecvError)),
            (None, TryPopError::Empty) => Look::NotYet,
            (None, TryPopError::Busy) => Look::Busy,
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_to_recv(&self, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let received = self.recv_or_wait(until);
        if matches!(received, Err(RecvTimeoutError::Timeout)) {
            self.found_empty();
        }
        received
    }

    fn recv_or_wait(&self, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
        if let Some(meeting) = self.common.kind.meeting() {
            return wait_for_sender(meeting, until);
        }
        if let Some(timer) = self.common.kind.timer() {
            return timer.wait(until).ok_or(RecvTimeoutError::Timeout);
        }
        let mut looks = A::with(&self.end, (), |end, ()| end.looks);
        let received = looks.wait(&self.common.items, until, || self.look());
        A::with(&self.end, looks, |end, looks| end.looks = looks);
        Ok(received.ok_or(RecvTimeoutError::Timeout)??)
    }

    /// Lets nothing be sent any more. Receivers get what was sent.
    ///
    /// A message that another thread sends at the same time may be received, or be dropped with the channel.
    ///
    /// The channels of the clock can't be closed.
    pub fn close(&self) {
        if self.common.kind.timer().is_none() {
            self.common.close();
        }
    }

    /// Whether all senders are gone, or the channel was closed. Messages may still be there.
    ///
    /// If all senders are gone, all that they did happens before this call returns.
    pub fn is_disconnected(&self) -> bool {
        self.common.has_ended()
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.common.kind.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room. A channel of capacity 0 is always full.
    pub fn is_full(&self) -> bool {
        self.common.kind.is_full()
    }

    /// The number of messages for which there is room. `None` if the channel is never full.
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.common.kind.capacity();
        (capacity != usize::MAX).then_some(capacity)
    }

    /// Whether both receive from the same channel.
    pub fn same_channel<B: Access>(&self, other: &Receiver<T, B>) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// The messages, until the channel is empty and disconnected. `next` waits.
    pub fn iter(&self) -> Iter<'_, T, A> {
        Iter(self)
    }

    /// The messages that are there. `next` doesn't wait.
    pub fn try_iter(&self) -> TryIter<'_, T, A> {
        TryIter(self)
    }

    /// As many messages as are there at the call.
    pub fn drain(&self) -> impl Iterator<Item = T> {
        self.try_iter().take(self.len())
    }
}

impl<T> Receiver<T> {
    /// A handle for one thread at a time, which takes a little less time for each call.
    ///
    /// # Panics
    ///
    /// If the channel has 65,536 local receivers, and threads that receive, already.
    pub fn local(&self) -> Receiver<T, Exclusive> {
        let end = Exclusive::new(Shared::another(&self.end));
        self.common.enter_receiver();
        Receiver { end, common: self.common.clone(), bound: PhantomData }
    }
}

/// One pop.
#[inline(always)]
fn pop<T>(end: &mut End<Rx<T>>, why: &mut TryPopError) -> Option<T> {
    end.queue.pop(why)
}

/// Waits until a sender gives a message.
fn wait_for_sender<T>(meeting: &Meeting<T>, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
    let mut waiting = None;
    let (received, error) = match meet(until, |waker| meeting.poll_recv(&mut waiting, waker)) {
        Some(received) => (received, RecvTimeoutError::Disconnected),
        None => {
            let last = waiting.and_then(|waiting| meeting.cancel_recv(waiting));
            (last, RecvTimeoutError::Timeout)
        }
    };
    received.map(|Item(message)| message).ok_or(error)
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.common.enter_receiver();
        Self { end: self.end.clone(), common: self.common.clone(), bound: PhantomData }
    }
}

impl<T, A: Access> Drop for Receiver<T, A> {
    fn drop(&mut self) {
        self.common.leave_receiver(|| A::another(&self.end).queue);
    }
}

impl<T, A: Access> fmt::Debug for Receiver<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}

/// The messages of a [`Receiver`]: see [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T, A: Access = Shared>(&'a Receiver<T, A>);

/// The messages that are there: see [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T, A: Access = Shared>(&'a Receiver<T, A>);

/// The messages of a [`Receiver`] that the iterator owns.
#[derive(Debug)]
pub struct IntoIter<T, A: Access = Shared>(Receiver<T, A>);

impl<T, A: Access> Iterator for Iter<'_, T, A> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T, A: Access> Iterator for TryIter<'_, T, A> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T, A: Access> Iterator for IntoIter<T, A> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T, A: Access> core::iter::FusedIterator for Iter<'_, T, A> {}
impl<T, A: Access> core::iter::FusedIterator for IntoIter<T, A> {}

impl<'a, T, A: Access> IntoIterator for &'a Receiver<T, A> {
    type Item = T;
    type IntoIter = Iter<'a, T, A>;

    fn into_iter(self) -> Iter<'a, T, A> {
        self.iter()
    }
}

impl<T, A: Access> IntoIterator for Receiver<T, A> {
    type Item = T;
    type IntoIter = IntoIter<T, A>;

    fn into_iter(self) -> IntoIter<T, A> {
        IntoIter(self)
    }
}
