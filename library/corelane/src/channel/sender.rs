//! The sending side.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

use super::access::sealed::Access as _;
use super::access::{Access, Exclusive, Shared};
use super::common::{Common, End};
use super::ends::{Meeting, Message, Tx};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::operation::Operation as _;
use super::party::meet;
use super::{WeakSender, YieldingRetries, unlimited};
use crate::memory::yield_now;
use crate::queue::TryPushError;
use crate::unwind::call_each;
use crate::wait::bell::{Bell, Look};

/// The sending side of a channel.
///
/// `Sender<T>` can be cloned and shared. With [`Exclusive`], one thread at a time uses it.
pub struct Sender<T, A: Access = Shared> {
    /// Dropped before `common` tells receivers.
    end: A::Of<End<Tx<T>>>,
    common: Presence<T>,
    /// Neither `Send` nor `Sync`, except by the implementations below.
    bound: PhantomData<*const T>,
}

// SAFETY: the sender brings messages to the threads that receive or drop them, and nothing else of
// `T`. All else it has is `Send`, whether threads share it or not.
unsafe impl<T: Send, A: Access> Send for Sender<T, A> {}
// SAFETY: as above. What isn't `Sync` is in a part for each thread, or under a lock.
unsafe impl<T: Send> Sync for Sender<T> {}

// A call panics in the middle only in a message's destructor.
impl<T, A: Access> UnwindSafe for Sender<T, A> {}
impl<T, A: Access> RefUnwindSafe for Sender<T, A> {}
// No message is in the handle.
impl<T, A: Access> Unpin for Sender<T, A> {}

/// Whether a message was sent, after a wait. Otherwise it is where it was.
pub(super) type Sent = Result<(), SendError<()>>;

/// A sender's access to the part that all handles share.
pub(super) struct Presence<T>(pub(super) Arc<Common<T>>);

impl<T> Drop for Presence<T> {
    fn drop(&mut self) {
        self.0.leave_sender();
    }
}

impl<T, A: Access> Sender<T, A> {
    pub(super) fn new(tx: Tx<T>, common: Arc<Common<T>>) -> Self {
        Self::of_end(A::new(End::new(tx)), common)
    }

    /// Of a sender that is counted.
    pub(super) fn of_end(end: A::Of<End<Tx<T>>>, common: Arc<Common<T>>) -> Self {
        Self { end, common: Presence(common), bound: PhantomData }
    }

    #[inline(always)]
    pub(super) fn common(&self) -> &Common<T> {
        &self.common.0
    }

    /// Uses this thread's end of the queue: see [`Access`].
    #[inline(always)]
    pub(super) fn with<R>(&self, work: impl FnOnce(&End<Tx<T>>) -> R) -> R {
        A::with(&self.end, work)
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
        let mut message = Message::new(message);
        match self.offer_quickly(&mut message) {
            Some(false) => Ok(()),
            Some(true) => self.attend(),
            None => self.send_slowly(message),
        }
    }

    /// By value, as in all functions to which a call passes a message: if its address were known
    /// elsewhere, the caller would have the message in memory, and not in a register.
    #[inline(never)]
    fn send_slowly(&self, mut message: Message<T>) -> Result<(), SendError<T>> {
        match self.offer(&mut message) {
            Ok(()) => Ok(()),
            Err(why) => self.wait_to_send(message, why, None, |message, _| SendError(message)),
        }
    }

    /// Sends a message if there is room now.
    ///
    /// While a call of another thread is in the way, looks again, as it would wait for a lock. If
    /// that thread doesn't go on within a second, the channel counts as full.
    ///
    /// # Errors
    ///
    /// If the channel is full, or as [`send`](Self::send). The error has the message.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut message = Message::new(message);
        match self.offer_quickly(&mut message) {
            Some(false) => Ok(()),
            Some(true) => self.attend(),
            None => self.try_send_slowly(message),
        }
    }

    #[inline(never)]
    fn try_send_slowly(&self, mut message: Message<T>) -> Result<(), TrySendError<T>> {
        match self.offer(&mut message) {
            Ok(()) => Ok(()),
            Err(TryPushError::Full(())) if self.common().kind.meeting().is_none() => {
                Err(TrySendError::Full(message.unpack()))
            }
            Err(_) => self.try_send_elsewhere(message),
        }
    }

    /// The channel has no queue or is closed, or another thread's call was in the way.
    #[cold]
    #[inline(never)]
    fn try_send_elsewhere(&self, mut message: Message<T>) -> Result<(), TrySendError<T>> {
        let mut tries = YieldingRetries::patient();
        loop {
            let sent = match self.common().kind.meeting() {
                Some(meeting) => meeting.try_send(&mut message),
                None => self.offer(&mut message),
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(why) if tries.again(why.is_busy()) => {}
                Err(why) => return refused(message, why),
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
        let mut message = Message::new(message);
        match self.offer(&mut message) {
            Ok(()) => Ok(()),
            Err(why) => self.wait_to_send(message, why, until, |message, is_over| match is_over {
                true => SendTimeoutError::Timeout(message),
                false => SendTimeoutError::Disconnected(message),
            }),
        }
    }

    /// Sends all messages. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send). The messages behind the one that is given back are still in the
    /// iterator: pass `iter.by_ref()` to keep them.
    pub fn send_all(&self, messages: impl IntoIterator<Item = T>) -> Result<(), SendError<T>> {
        messages.into_iter().try_for_each(|message| self.send(message))
    }

    /// Sends the message, or leaves it where it is. Returns whether the caller must then
    /// [attend](Self::attend). `None` if [`offer`](Self::offer) must decide.
    ///
    /// It calls no function. So a caller whose slow ways are tail calls needs no stack.
    #[inline(always)] // a call would cost more than the push itself
    pub(super) fn offer_quickly(&self, message: &mut Message<T>) -> Option<bool> {
        A::known(&self.end)?.queue.push_quickly::<A>(message)
    }

    /// After a push of a sender that is asked for attention. Always `Ok`.
    #[cold]
    #[inline(never)]
    pub(super) fn attend<E>(&self) -> Result<(), E> {
        self.with(|end| end.queue.end_quick_use());
        self.common().sent();
        Ok(())
    }

    /// Sends the message, or leaves it where it is.
    #[inline(always)] // one call is enough
    pub(super) fn offer(&self, message: &mut Message<T>) -> Result<(), TryPushError<()>> {
        let closed = &self.common().closed;
        if self.with(|end| end.queue.push(message, closed))? {
            self.common().sent();
        }
        Ok(())
    }

    /// Sends where a select has reserved room.
    pub(super) fn send_selected(&self, message: &mut Message<T>) -> Sent {
        if self.common().is_closed() {
            self.release(1);
            return Err(SendError(()));
        }
        self.send_reserved(message)
    }

    /// Sends where room is reserved, also if the channel is closed. If all receivers are gone, the
    /// message is dropped.
    pub(super) fn send_reserved(&self, message: &mut Message<T>) -> Sent {
        self.end_reservation(1, message);
        let is_sent = !message.has_item();
        // Both, although a waker may panic.
        call_each([true, false], |is_of_message| match is_of_message {
            false => self.tell_released(1),
            true if is_sent => self.common().sent(),
            true => {}
        });
        if is_sent {
            return Ok(());
        }
        // There was no memory for it.
        self.wait(message, None).unwrap_or(Ok(()))
    }

    /// Reserves room for `n` messages, if there is so much.
    pub(super) fn reserve(&self, n: usize) -> Result<(), TryPushError<()>> {
        if self.common().is_closed() {
            return Err(TryPushError::Closed(()));
        }
        match self.with(|end| end.queue.reserve(n)) {
            None => return Err(TryPushError::Busy(())),
            Some(false) => return Err(TryPushError::Full(())),
            Some(true) => {}
        }
        // Between the reservation and the look. Pairs with the heavy fence in `close`: the thread
        // that has closed the channel knows of the reservation, or this one sees that it is closed.
        self.common().items.light_fence();
        if self.common().is_closed() {
            self.release(n);
            return Err(TryPushError::Closed(()));
        }
        Ok(())
    }

    /// As [`reserve`](Self::reserve). Looks again while another thread's call is in the way.
    pub(super) fn try_reserve(&self, n: usize) -> Result<(), TrySendError<()>> {
        let mut tries = YieldingRetries::patient();
        loop {
            match self.reserve(n) {
                Ok(()) => return Ok(()),
                Err(why) if tries.again(why.is_busy()) => {}
                Err(TryPushError::Closed(())) => return Err(TrySendError::Disconnected(())),
                Err(_) => return Err(TrySendError::Full(())),
            }
        }
    }

    /// Gives back reserved room for `n` messages.
    pub(super) fn release(&self, n: usize) {
        self.end_reservation(n, &mut Message::empty());
        self.tell_released(n);
    }

    /// After the end of the reservation of room for `n` messages.
    fn tell_released(&self, n: usize) {
        // Both, although a waker may panic.
        call_each([true, false], |is_of_room| match is_of_room {
            true => self.ring_for_released(n),
            false => self.common().released(),
        });
    }

    /// Ends the reservation of room for `n` messages, and pushes the message into it, if there is
    /// one. Waits for calls of other threads that are in the way.
    fn end_reservation(&self, n: usize, message: &mut Message<T>) {
        while self.with(|end| end.queue.release(n, message)).is_none() {
            yield_now();
        }
    }

    fn ring_for_released(&self, n: usize) {
        // For a sleeper each, as after pops: the first ones. They pass the wake-up on if they take
        // no room.
        let room = &self.common().room;
        if !room.is_quiet() {
            room.ring_for(n.min(self.common().kind.room()));
        }
    }

    /// One look for room, by a caller that waits. Sends the message if there is some.
    pub(super) fn look(&self, message: &mut Message<T>) -> Look<Sent> {
        match self.offer(message) {
            Ok(()) => {
                if self.common().kind.is_relaxed() {
                    // One receive may have made room for several senders.
                    self.common().room.ring_and_catch();
                }
                Look::Done(Ok(()))
            }
            Err(TryPushError::Closed(())) => Look::Done(Err(SendError(()))),
            Err(TryPushError::Full(())) => Look::NotYet,
            Err(TryPushError::Busy(())) => Look::Busy,
        }
    }

    /// As [`look`](Self::look), by a task that has just looked. Takes no lease while there is no
    /// room.
    pub(super) fn look_again(&self, message: &mut Message<T>) -> Look<Sent> {
        match self.is_ready(None) {
            true => self.look(message),
            false => Look::NotYet,
        }
    }

    /// Sends a message that was not sent at once. `error` makes the error, of the message and of
    /// whether the time is over.
    #[cold]
    #[inline(never)]
    fn wait_to_send<E>(
        &self,
        mut message: Message<T>,
        why: TryPushError<()>,
        until: Option<Instant>,
        error: fn(T, bool) -> E,
    ) -> Result<(), E> {
        let sent = match why {
            TryPushError::Closed(()) => Some(Err(SendError(()))),
            TryPushError::Full(()) | TryPushError::Busy(()) => self.wait(&mut message, until),
        };
        match sent {
            Some(Ok(())) => Ok(()),
            not_sent => Err(error(message.unpack(), not_sent.is_none())),
        }
    }

    /// Sends the message, or leaves it where it is. `None` if the time is over.
    fn wait(&self, message: &mut Message<T>, until: Option<Instant>) -> Option<Sent> {
        if let Some(meeting) = self.common().kind.meeting() {
            return wait_for_receiver(meeting, message, until);
        }
        self.block(&self.common().room, until, || self.look(message))
    }

    /// Blocks the thread until a look finds something. `None` if the time is over.
    pub(super) fn block<R>(
        &self,
        bell: &Bell,
        until: Option<Instant>,
        look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        let mut habit = self.with(|end| end.habit.get());
        let found = habit.wait(bell, until, look);
        self.with(|end| end.habit.set(habit));
        found
    }

    /// Closes the channel: no message can be sent any more. Receivers get the messages that were
    /// sent.
    ///
    /// A message that another thread sends at the same time may be received, or be dropped with the
    /// channel.
    pub fn close(&self) {
        self.common().close();
    }

    /// Whether all receivers are gone, or the channel was closed.
    pub fn is_closed(&self) -> bool {
        self.common().is_closed()
    }

    /// As [`is_closed`](Self::is_closed).
    pub fn is_disconnected(&self) -> bool {
        self.is_closed()
    }

    /// The number of senders.
    pub fn sender_count(&self) -> usize {
        self.common().counts().senders
    }

    /// The number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.common().counts().receivers
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.common().kind.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is no room: all of it is taken, or reserved by a
    /// [`SelectedOperation`](super::SelectedOperation). A channel of capacity 0 is always full.
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
    /// If the channel already has 65,536 local senders and threads that send.
    pub fn local(&self) -> Sender<T, Exclusive> {
        let end = Exclusive::new(Shared::another(&self.end));
        self.common().enter_sender();
        Sender::of_end(end, self.common.0.clone())
    }

    /// A sender that doesn't keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender::new(self.end.clone(), self.common.0.clone())
    }
}

fn refused<T>(mut message: Message<T>, why: TryPushError<()>) -> Result<(), TrySendError<T>> {
    let message = message.unpack();
    match why {
        TryPushError::Closed(()) => Err(TrySendError::Disconnected(message)),
        TryPushError::Full(()) | TryPushError::Busy(()) => Err(TrySendError::Full(message)),
    }
}

/// Waits until a receiver takes the message.
fn wait_for_receiver<T>(
    meeting: &Meeting<T>,
    message: &mut Message<T>,
    until: Option<Instant>,
) -> Option<Sent> {
    let mut waiting = None;
    let sent = meet(until, |waker| meeting.poll_send(message, &mut waiting, waker));
    match waiting {
        Some(waiting) => meeting.cancel_send(waiting, message).then_some(Ok(())),
        None => sent,
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.common().enter_sender();
        Self::of_end(self.end.clone(), self.common.0.clone())
    }
}

impl<T, A: Access> fmt::Debug for Sender<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
