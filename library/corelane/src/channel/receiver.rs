// Above 500 lines: the calls of a receiver, their waits, and its iterators.

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
use super::ends::{Kind, Meeting, Message, Rx};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::operation::Operation as _;
use super::party::meet;
use super::timer::Timer;
use super::{YieldingRetries, unlimited};
use crate::memory::limit;
use crate::queue::TryPopError;
use crate::relaxed::cnq::RankError;
use crate::wait::bell::Look;

/// Most messages of a run, during which other receivers wait.
const RUN: usize = limit(64, 2) as usize;

/// The receiving side of a channel.
///
/// `Receiver<T>` can be cloned and shared; each message goes to one receiver. With [`Exclusive`],
/// one thread at a time uses it.
pub struct Receiver<T, A: Access = Shared> {
    end: A::Of<End<Rx<T>>>,
    common: Arc<Common<T>>,
    /// Neither `Send` nor `Sync`, except by the implementations below.
    bound: PhantomData<*const T>,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send, A: Access> Send for Receiver<T, A> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Sync for Receiver<T> {}

// A call panics in the middle only in a message's destructor.
impl<T, A: Access> UnwindSafe for Receiver<T, A> {}
impl<T, A: Access> RefUnwindSafe for Receiver<T, A> {}
// No message is in the handle.
impl<T, A: Access> Unpin for Receiver<T, A> {}

impl<T, A: Access> Receiver<T, A> {
    pub(super) fn new(rx: Rx<T>, common: Arc<Common<T>>) -> Self {
        Self { end: A::new(End::new(rx)), common, bound: PhantomData }
    }

    pub(super) fn end(&self) -> &A::Of<End<Rx<T>>> {
        &self.end
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
    #[inline(always)] // a call would cost a fifth of it
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut message = Message::empty();
        match self.take_quickly(&mut message) {
            Some(false) => Ok(message.unpack()),
            Some(true) => self.attend(message),
            None => self.recv_slowly(),
        }
    }

    #[inline(never)]
    fn recv_slowly(&self) -> Result<T, RecvError> {
        let mut message = Message::empty();
        match self.take(&mut message) {
            Ok(()) => Ok(message.unpack()),
            Err(why) => self.wait_to_recv(why, None, |_| RecvError),
        }
    }

    /// Receives the oldest message if there is one now.
    ///
    /// While a call of another thread is in the way, looks again, as it would wait for a lock. If
    /// that thread doesn't go on within a second, the channel counts as empty.
    ///
    /// # Errors
    ///
    /// If the channel is empty, or as [`recv`](Self::recv).
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut message = Message::empty();
        match self.take_quickly(&mut message) {
            Some(false) => Ok(message.unpack()),
            Some(true) => self.attend(message),
            None => self.try_recv_slowly(),
        }
    }

    /// Not in the caller: there a message would be in memory, and not in a register.
    #[inline(never)]
    fn try_recv_slowly(&self) -> Result<T, TryRecvError> {
        let mut message = Message::empty();
        match self.take(&mut message) {
            Ok(()) => Ok(message.unpack()),
            Err(TryPopError::Empty) if self.common.kind.has_queue() => {
                self.found_empty();
                Err(TryRecvError::Empty)
            }
            Err(_) => self.try_recv_elsewhere(),
        }
    }

    /// The channel has no queue, or another thread's call was in the way.
    #[cold]
    #[inline(never)]
    fn try_recv_elsewhere(&self) -> Result<T, TryRecvError> {
        let mut message = Message::empty();
        match self.take_any(&mut message, YieldingRetries::patient()) {
            Ok(()) => Ok(message.unpack()),
            Err(error) => Err(error),
        }
    }

    /// After a call that no longer waits: a poller is told of the next message.
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
        let mut message = Message::empty();
        match self.take(&mut message) {
            Ok(()) => Ok(message.unpack()),
            Err(why) => self.wait_to_recv(why, until, |is_over| match is_over {
                true => RecvTimeoutError::Timeout,
                false => RecvTimeoutError::Disconnected,
            }),
        }
    }

    /// Moves up to `most` messages to the end of `into`, and returns their number. Waits for the
    /// first one, and then takes what is there. 0 if the channel is empty and disconnected, or if
    /// `most` is 0.
    ///
    /// The messages are taken in runs. A run costs little more than one message.
    pub fn recv_many(&self, into: &mut Vec<T>, most: usize) -> usize {
        let before = into.len();
        if most > 0 && !self.take_run(into, most) {
            let Ok(first) = self.recv() else { return 0 };
            into.push(first);
        }
        self.take_many(into, most - (into.len() - before));
        into.len() - before
    }

    /// Moves up to `most` messages that are there to the end of `into`, and returns their number.
    pub(super) fn take_many(&self, into: &mut Vec<T>, most: usize) -> usize {
        let before = into.len();
        while into.len() - before < most && self.take_run(into, most - (into.len() - before)) {}
        // A rendezvous, or another thread's call is in the way.
        let rest = most - (into.len() - before);
        into.extend(self.try_iter().take(rest));
        into.len() - before
    }

    /// Moves at most `most` messages of a queue, and at most [`RUN`], to the end of `into`. Whether
    /// there were any. `false` also where another thread's call is in the way.
    fn take_run(&self, into: &mut Vec<T>, most: usize) -> bool {
        if self.common.kind.is_relaxed() {
            return false;
        }
        let most = most.min(RUN).min(self.len());
        // Before the run, which must not allocate memory.
        into.reserve(most);
        let (taken, is_asked) = A::with(&self.end, |end| end.queue.pop_run(into, most));
        if is_asked {
            self.common.room.ring_for_and_catch(taken);
        }
        taken > 0
    }

    /// As [`try_recv`](Self::try_recv), into `message`.
    pub(super) fn take_any(
        &self,
        message: &mut Message<T>,
        tries: YieldingRetries,
    ) -> Result<(), TryRecvError> {
        let taken = match &self.common.kind {
            Kind::Queue { .. } | Kind::Relaxed(_) => return self.take_now(message, tries),
            Kind::Rendezvous(meeting) => meeting.try_recv(message),
            Kind::Timer(timer) => timer.try_recv(message),
        };
        match taken {
            Ok(()) => Ok(()),
            Err(TryPopError::Closed) => Err(TryRecvError::Disconnected),
            Err(TryPopError::Empty | TryPopError::Busy) => {
                self.found_empty();
                Err(TryRecvError::Empty)
            }
        }
    }

    /// As [`take_any`](Self::take_any), from a queue.
    fn take_now(
        &self,
        message: &mut Message<T>,
        mut tries: YieldingRetries,
    ) -> Result<(), TryRecvError> {
        loop {
            match self.take(message) {
                Ok(()) => return Ok(()),
                Err(TryPopError::Closed) => return Err(TryRecvError::Disconnected),
                Err(why) if tries.again(why == TryPopError::Busy) => {}
                Err(_) => {
                    self.found_empty();
                    return Err(TryRecvError::Empty);
                }
            }
        }
    }

    /// Takes the oldest message. Returns whether the caller must then [attend](Self::attend).
    /// `None` if [`take`](Self::take) must decide. As
    /// [`offer_quickly`](super::Sender::offer_quickly).
    #[inline(always)] // a call would cost more than the pop itself
    pub(super) fn take_quickly(&self, message: &mut Message<T>) -> Option<bool> {
        A::known(&self.end)?.queue.pop_quickly::<A>(message)
    }

    /// After a pop of a receiver that is asked for attention. Returns the message.
    #[cold]
    #[inline(never)]
    pub(super) fn attend<E>(&self, mut message: Message<T>) -> Result<T, E> {
        A::with(&self.end, |end| end.queue.end_quick_use());
        // The message is in hand.
        self.common.room.ring_and_catch();
        Ok(message.unpack())
    }

    /// Takes the oldest message of a queue. Says that other channels are empty.
    #[inline(always)] // one call is enough
    pub(super) fn take(&self, message: &mut Message<T>) -> Result<(), TryPopError> {
        let mut has_ended = false;
        loop {
            match A::with(&self.end, |end| end.queue.pop(message)) {
                Ok(is_asked) => {
                    if is_asked {
                        // The message is in hand.
                        self.common.room.ring_and_catch();
                    }
                    return Ok(());
                }
                // Looks once more, for messages that were sent just before the channel was closed.
                Err(_) if !has_ended && self.common.has_ended() => has_ended = true,
                // In a rendezvous, messages may be left: the caller looks there.
                Err(TryPopError::Empty) if has_ended && self.common.kind.meeting().is_none() => {
                    return Err(TryPopError::Closed);
                }
                Err(why) => return Err(why),
            }
        }
    }

    /// One look for a message, by a caller that waits.
    pub(super) fn look(&self, message: &mut Message<T>) -> Look<Result<(), RecvError>> {
        match self.take(message) {
            Ok(()) => Look::Done(Ok(())),
            Err(TryPopError::Closed) => Look::Done(Err(RecvError)),
            Err(TryPopError::Empty) => Look::NotYet,
            Err(TryPopError::Busy) => Look::Busy,
        }
    }

    /// As [`look`](Self::look), by a task that has just looked. Takes no lease while nothing is
    /// there.
    pub(super) fn look_again(&self, message: &mut Message<T>) -> Look<Result<(), RecvError>> {
        match self.is_ready(None) {
            true => self.look(message),
            false => Look::NotYet,
        }
    }

    /// Receives a message that was not there at once. `error` makes the error, of whether the time
    /// is over.
    #[cold]
    #[inline(never)]
    fn wait_to_recv<E>(
        &self,
        why: TryPopError,
        until: Option<Instant>,
        error: fn(bool) -> E,
    ) -> Result<T, E> {
        let mut message = Message::empty();
        let received = match why {
            TryPopError::Closed => Some(Err(RecvError)),
            TryPopError::Empty | TryPopError::Busy => self.wait(&mut message, until),
        };
        match received {
            Some(Ok(())) => return Ok(message.unpack()),
            Some(Err(RecvError)) => {}
            None => self.found_empty(),
        }
        Err(error(received.is_none()))
    }

    /// Waits for a message. `None` if the time is over.
    fn wait(
        &self,
        message: &mut Message<T>,
        until: Option<Instant>,
    ) -> Option<Result<(), RecvError>> {
        match &self.common.kind {
            Kind::Rendezvous(meeting) => wait_for_sender(meeting, message, until),
            Kind::Timer(timer) => timer.wait(message, until).then_some(Ok(())),
            Kind::Queue { .. } | Kind::Relaxed(_) => {
                let mut habit = A::with(&self.end, |end| end.habit.get());
                let received = habit.wait(&self.common.items, until, || self.look(message));
                A::with(&self.end, |end| end.habit.set(habit));
                received
            }
        }
    }

    /// Closes the channel: no message can be sent any more. Receivers get the messages that were
    /// sent.
    ///
    /// A message that another thread sends at the same time may be received, or be dropped with the
    /// channel.
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
    pub fn is_closed(&self) -> bool {
        self.common.is_ending()
    }

    /// The number of messages that senders of [`latest`](super::latest()) have dropped. 0 for other
    /// channels.
    pub fn dropped(&self) -> u64 {
        self.common.dropped()
    }

    /// The k of a channel from [`relaxed`](super::relaxed()): a receive takes one of the k oldest
    /// messages. 1 for other channels.
    pub fn relaxation(&self) -> usize {
        self.common.kind.relaxation()
    }

    /// How far messages left out of turn, since any receiver of this channel was last asked: see
    /// [`cnq::Consumer::rank_error`](crate::relaxed::cnq::Consumer::rank_error). Only for channels
    /// from [`relaxed`](super::relaxed()).
    pub fn rank_error(&self) -> RankError {
        self.common.kind.rank_error()
    }

    /// As [`is_closed`](Self::is_closed).
    pub fn is_disconnected(&self) -> bool {
        self.is_closed()
    }

    /// The number of senders.
    pub fn sender_count(&self) -> usize {
        self.common.counts().senders
    }

    /// The number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.common.counts().receivers
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.common.kind.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room: all of it is taken, or reserved by a
    /// [`SelectedOperation`](super::SelectedOperation). A channel of capacity 0 is always full.
    pub fn is_full(&self) -> bool {
        self.common.kind.is_full()
    }

    /// The number of messages for which there is room. `None` if the channel is never full.
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.common.kind.capacity();
        (capacity != usize::MAX).then_some(capacity)
    }

    /// Whether both receive from the same channel. All channels of [`never`](super::never()) are the
    /// same.
    pub fn same_channel<B: Access>(&self, other: &Receiver<T, B>) -> bool {
        let is_never = |common: &Common<T>| common.kind.timer().is_some_and(Timer::is_never);
        Arc::ptr_eq(&self.common, &other.common)
            || (is_never(&self.common) && is_never(&other.common))
    }

    /// The messages, until the channel is empty and disconnected. `next` waits.
    pub fn iter(&self) -> Iter<'_, T, A> {
        Iter(self)
    }

    /// The messages that are there. `next` doesn't wait.
    pub fn try_iter(&self) -> TryIter<'_, T, A> {
        TryIter(self)
    }

    /// Takes as many messages as are there at the call, also if the iterator is not used.
    pub fn drain(&self) -> impl ExactSizeIterator<Item = T> + use<T, A> {
        let mut messages = Vec::new();
        self.take_many(&mut messages, self.len());
        messages.into_iter()
    }
}

impl<T> Receiver<T> {
    /// A handle for one thread at a time, which takes a little less time for each call.
    ///
    /// # Panics
    ///
    /// If the channel already has 65,536 local receivers and threads that receive.
    pub fn local(&self) -> Receiver<T, Exclusive> {
        let end = Exclusive::new(Shared::another(&self.end));
        self.common.enter_receiver();
        Receiver { end, common: self.common.clone(), bound: PhantomData }
    }
}

/// Waits until a sender gives a message.
fn wait_for_sender<T>(
    meeting: &Meeting<T>,
    message: &mut Message<T>,
    until: Option<Instant>,
) -> Option<Result<(), RecvError>> {
    let mut waiting = None;
    let received = meet(until, |waker| meeting.poll_recv(message, &mut waiting, waker));
    match waiting {
        Some(waiting) => meeting.cancel_recv(waiting, message).then_some(Ok(())),
        None => received,
    }
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

macro_rules! debug {
    ($($name:literal: $type:ty;)*) => {$(
        impl<T, A: Access> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!($name, " { .. }"))
            }
        }
    )*};
}

debug! {
    "Receiver": Receiver<T, A>;
    "Iter": Iter<'_, T, A>;
    "TryIter": TryIter<'_, T, A>;
    "IntoIter": IntoIter<T, A>;
}

/// The messages of a [`Receiver`]: see [`Receiver::iter`].
pub struct Iter<'a, T, A: Access = Shared>(&'a Receiver<T, A>);

/// The messages that are there: see [`Receiver::try_iter`].
pub struct TryIter<'a, T, A: Access = Shared>(&'a Receiver<T, A>);

/// The messages of a [`Receiver`] that the iterator owns.
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
