// Above 500 lines: the wait of each side, and all futures, streams and sinks that make it.

//! Sending and receiving in tasks.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::access::{Access, Exclusive, Shared};
use super::alarm::Alarm;
use super::ends::{Item, Kind, Message};
use super::error::{RecvError, SendError};
use super::rendezvous::Waiting;
use super::timer::Timer;
use super::{Receiver, Sender};
use crate::wait::bell::{Look, Sleep};
use crate::wait::budget::{Budget, count_step};

/// A handle that a future borrows or owns. An exclusive one is borrowed exclusively, so that the
/// future can go to another thread.
enum Handle<'a, H: 'a, A: Access> {
    Borrowed(A::Ref<'a, H>),
    Owned(ManuallyDrop<H>),
}

/// Drops a value that is seldom there, by a call: so its destructor is not inlined into the
/// destructors of futures.
#[cold]
#[inline(never)]
fn drop_by_call<T>(value: &mut ManuallyDrop<T>) {
    // SAFETY: only destructors call this, and don't use the value any more.
    unsafe { ManuallyDrop::drop(value) };
}

impl<H, A: Access> Drop for Handle<'_, H, A> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Self::Owned(handle) = self {
            drop_by_call(handle);
        }
    }
}

impl<H: Clone> Clone for Handle<'_, H, Shared> {
    fn clone(&self) -> Self {
        match self {
            Self::Borrowed(handle) => Self::Borrowed(handle),
            Self::Owned(handle) => Self::Owned(handle.clone()),
        }
    }
}

impl<H, A: Access> Deref for Handle<'_, H, A> {
    type Target = H;

    fn deref(&self) -> &H {
        match self {
            Self::Borrowed(handle) => handle,
            Self::Owned(handle) => handle,
        }
    }
}

#[inline(always)] // as `poll`
fn assert_unsent<T>(message: &Message<T>) {
    assert!(message.has_item(), "the future is polled after it was ready");
}

/// One wait for room, or for a partner.
struct SendWait<T> {
    message: Message<T>,
    budget: Budget,
    begun: MayHaveBegun<T>,
}

/// `None` until a look has failed.
struct MayHaveBegun<T>(ManuallyDrop<Option<Begun<T>>>);

impl<T> MayHaveBegun<T> {
    const fn no() -> Self {
        Self(ManuallyDrop::new(None))
    }

    #[inline(always)]
    fn has(&self) -> bool {
        self.0.is_some()
    }

    /// After a look: the wait may be over. Then there is nothing to be dropped.
    fn looked(&mut self) {
        if self.0.as_ref().is_some_and(Begun::is_over) {
            self.0 = ManuallyDrop::new(None);
        }
    }
}

impl<T> Drop for MayHaveBegun<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.has() {
            drop_by_call(&mut self.0);
        }
    }
}

/// A wait that has begun, at a bell or for a partner.
struct Begun<T> {
    sleep: Sleep,
    waiting: Option<Waiting<Item<T>>>,
    alarm: Option<Alarm>,
}

impl<T> Begun<T> {
    fn new() -> Self {
        Self { sleep: Sleep::default(), waiting: None, alarm: None }
    }

    /// Whether it has ended.
    fn is_over(&self) -> bool {
        self.sleep.is_awake() && self.waiting.is_none() && self.alarm.is_none()
    }
}

impl<T> SendWait<T> {
    fn new(message: Message<T>) -> Self {
        Self { message, budget: Budget::default(), begun: MayHaveBegun::no() }
    }

    /// There is a message.
    #[inline]
    fn poll<A: Access>(
        &mut self,
        sender: &Sender<T, A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        if !self.begun.has() && self.message.has_item() && Budget::is_left() {
            match sender.offer_quickly(&mut self.message) {
                Some(false) => {
                    count_step(true);
                    return Poll::Ready(Ok(()));
                }
                Some(true) => {
                    count_step(true);
                    return Poll::Ready(sender.attend());
                }
                None => {}
            }
        }
        self.poll_waiting(sender, context)
    }

    #[cold]
    #[inline(never)]
    fn poll_waiting<A: Access>(
        &mut self,
        sender: &Sender<T, A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let common = sender.common();
        let is_first = !self.begun.has();
        if is_first {
            assert_unsent(&self.message);
            ready!(self.budget.poll_step(context.waker()));
        }
        let Self { message, begun, .. } = self;
        let Begun { sleep, waiting, .. } = begun.0.get_or_insert_with(Begun::new);
        let sent = match common.kind.meeting() {
            Some(meeting) => of_look(meeting.poll_send(message, waiting, context.waker())),
            None => {
                // A poll that has panicked may have sent it.
                assert_unsent(message);
                let look = |is_again| match is_again {
                    true => sender.look_again(message),
                    false => sender.look(message),
                };
                sleep.poll_task(&common.room, context.waker(), look)
            }
        };
        begun.looked();
        count_step(is_first && sent.is_ready());
        sent.map_err(|SendError(())| SendError(message.unpack()))
    }

    /// Gives the wait up. The message is dropped if it was not sent.
    #[inline(always)] // most waits are over at their first look
    fn end<A: Access>(&mut self, sender: &Sender<T, A>) {
        if self.begun.has() {
            self.give_up(sender);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up<A: Access>(&mut self, sender: &Sender<T, A>) {
        let common = sender.common();
        let Some(begun) = &mut *self.begun.0 else { return };
        begun.sleep.end(&common.room);
        if let (Some(meeting), Some(waiting)) = (common.kind.meeting(), begun.waiting.take()) {
            meeting.cancel_send(waiting, &mut self.message);
        }
    }
}

/// Sends a message in a task: see [`Sender::send_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFuture<'a, T, A: Access = Shared> {
    sender: Handle<'a, Sender<T, A>, A>,
    wait: SendWait<T>,
}

impl<T, A: Access> Unpin for SendFuture<'_, T, A> {}

impl<T, A: Access> SendFuture<'_, T, A> {
    /// Gives up a send into a queue that is pending. Returns the message.
    pub(super) fn take_back(mut self) -> T {
        self.wait.message.unpack()
    }
}

impl<T, A: Access> Future for SendFuture<'_, T, A> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { sender, wait } = self.get_mut();
        wait.poll(sender, context)
    }
}

impl<T, A: Access> Drop for SendFuture<'_, T, A> {
    #[inline]
    fn drop(&mut self) {
        self.wait.end(&self.sender);
    }
}

/// The calls of tasks that borrow a handle: shared ones by `&self`, and exclusive ones by `&mut
/// self`.
macro_rules! borrowing {
    ($access:ty, $($reference:tt)+) => {
        impl<T> Sender<T, $access> {
            /// Sends a message, in a task. Waits while the channel is full.
            ///
            /// The future has the message until it is ready. If it is dropped before, the message
            /// is dropped with it, and is not sent. But a channel of capacity 0 may hand the
            /// message over before the future is polled again.
            ///
            /// A future that has waited, and is neither polled nor dropped when there is room,
            /// keeps other waiting senders asleep. It has not reserved the room: a sender that
            /// doesn't sleep takes the room.
            ///
            /// A task that sends again and again without a wait lets others run: see
            /// [`channel`](crate::channel#tasks).
            ///
            /// # Errors
            ///
            /// As [`send`](Self::send).
            pub fn send_async($($reference)+ self, message: T) -> SendFuture<'_, T, $access> {
                SendFuture { sender: Handle::Borrowed(self), wait: SendWait::new(Message::new(message)) }
            }
        }

        impl<T> Receiver<T, $access> {
            /// Receives the oldest message, in a task. Waits while the channel is empty.
            ///
            /// If the future is dropped before it is ready, the message stays for the next call. A
            /// future that is neither polled nor dropped when a message comes keeps other receivers
            /// waiting.
            ///
            /// A task that receives again and again without a wait lets others run: see
            /// [`channel`](crate::channel#tasks).
            ///
            /// # Errors
            ///
            /// As [`recv`](Self::recv).
            pub fn recv_async($($reference)+ self) -> RecvFuture<'_, T, $access> {
                RecvFuture { receiver: Handle::Borrowed(self), wait: RecvWait::new() }
            }
        }
    };
}

borrowing!(Shared, &);
borrowing!(Exclusive, &mut);

impl<T, A: Access> Sender<T, A> {
    /// As [`send_async`](Self::send_async), with the sender in the future.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn into_send_async(self, message: T) -> SendFuture<'static, T, A> {
        SendFuture {
            sender: Handle::Owned(ManuallyDrop::new(self)),
            wait: SendWait::new(Message::new(message)),
        }
    }
}

/// One wait for a message, from a sender or from the clock.
pub(super) struct RecvWait<T> {
    budget: Budget,
    begun: MayHaveBegun<T>,
}

impl<T> RecvWait<T> {
    pub(super) fn new() -> Self {
        Self { budget: Budget::default(), begun: MayHaveBegun::no() }
    }

    #[inline]
    pub(super) fn poll<A: Access>(
        &mut self,
        receiver: &Receiver<T, A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if !self.begun.has() && Budget::is_left() {
            let mut message = Message::empty();
            match receiver.take_quickly(&mut message) {
                Some(false) => {
                    count_step(true);
                    return Poll::Ready(Ok(message.unpack()));
                }
                Some(true) => {
                    count_step(true);
                    return Poll::Ready(receiver.attend(message));
                }
                None => {}
            }
        }
        self.poll_waiting(receiver, context)
    }

    #[cold]
    #[inline(never)]
    fn poll_waiting<A: Access>(
        &mut self,
        receiver: &Receiver<T, A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        let common = receiver.common();
        let mut message = Message::empty();
        let is_first = !self.begun.has();
        if is_first {
            ready!(self.budget.poll_step(context.waker()));
        }
        let Begun { sleep, waiting, alarm } = self.begun.0.get_or_insert_with(Begun::new);
        let received = match &common.kind {
            Kind::Queue { .. } | Kind::Relaxed(_) => {
                let look = |is_again| match is_again {
                    true => receiver.look_again(&mut message),
                    false => receiver.look(&mut message),
                };
                sleep.poll_task(&common.items, context.waker(), look)
            }
            Kind::Rendezvous(meeting) => {
                of_look(meeting.poll_recv(&mut message, waiting, context.waker()))
            }
            Kind::Timer(timer) => wait_until_due(alarm, timer, &mut message, context),
        };
        self.begun.looked();
        count_step(is_first && received.is_ready());
        received.map_ok(|()| message.unpack())
    }

    /// Gives the wait up. No message is lost.
    #[inline(always)] // most waits are over at their first look
    pub(super) fn end<A: Access>(&mut self, receiver: &Receiver<T, A>) {
        if self.begun.has() {
            self.give_up(receiver);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up<A: Access>(&mut self, receiver: &Receiver<T, A>) {
        let common = receiver.common();
        let Some(begun) = &mut *self.begun.0 else { return };
        begun.sleep.end(&common.items);
        if let (Some(meeting), Some(waiting)) = (common.kind.meeting(), begun.waiting.take()) {
            meeting.give_up_recv(waiting);
        }
    }
}

fn wait_until_due<T>(
    alarm: &mut Option<Alarm>,
    timer: &Timer<T>,
    message: &mut Message<T>,
    context: &mut Context<'_>,
) -> Poll<Result<(), RecvError>> {
    // With the waker of this poll.
    *alarm = None;
    if timer.try_recv(message).is_ok() {
        return Poll::Ready(Ok(()));
    }
    *alarm = timer.next().map(|due| Alarm::new(due, context.waker()));
    Poll::Pending
}

/// What a task is told of a look after which the partner wakes it.
fn of_look<R>(found: Look<R>) -> Poll<R> {
    match found {
        Look::Done(found) => Poll::Ready(found),
        Look::NotYet | Look::Busy => Poll::Pending,
    }
}

/// Receives a message in a task: see [`Receiver::recv_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a, T, A: Access = Shared> {
    receiver: Handle<'a, Receiver<T, A>, A>,
    wait: RecvWait<T>,
}

impl<T, A: Access> Unpin for RecvFuture<'_, T, A> {}

impl<T, A: Access> Future for RecvFuture<'_, T, A> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { receiver, wait } = self.get_mut();
        wait.poll(receiver, context)
    }
}

impl<T, A: Access> Drop for RecvFuture<'_, T, A> {
    #[inline]
    fn drop(&mut self) {
        self.wait.end(&self.receiver);
    }
}

impl<T, A: Access> Receiver<T, A> {
    /// As [`recv_async`](Self::recv_async), with the receiver in the future.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn into_recv_async(self) -> RecvFuture<'static, T, A> {
        RecvFuture { receiver: Handle::Owned(ManuallyDrop::new(self)), wait: RecvWait::new() }
    }
}

/// What can be asked of the channel of a future, stream or sink.
macro_rules! questions {
    ($($name:ident: $handle:ident)*) => {$(
        impl<T, A: Access> $name<'_, T, A> {
            /// As that of the handle.
            pub fn is_closed(&self) -> bool {
                self.$handle.is_closed()
            }

            /// As that of the handle.
            pub fn is_disconnected(&self) -> bool {
                self.$handle.is_closed()
            }

            /// As that of the handle.
            pub fn len(&self) -> usize {
                self.$handle.len()
            }

            /// As that of the handle.
            pub fn is_empty(&self) -> bool {
                self.$handle.is_empty()
            }

            /// As that of the handle.
            pub fn is_full(&self) -> bool {
                self.$handle.is_full()
            }

            /// As that of the handle.
            pub fn capacity(&self) -> Option<usize> {
                self.$handle.capacity()
            }

            /// As that of the handle.
            pub fn same_channel<B: Access>(&self, other: &$name<'_, T, B>) -> bool {
                self.$handle.same_channel(&other.$handle)
            }
        }
    )*};
}

questions! { SendFuture: sender RecvFuture: receiver }

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl<T, A: Access> core::fmt::Debug for $name<'_, T, A> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(concat!(stringify!($name), " { .. }"))
            }
        }
    )*};
}

debug! { SendFuture RecvFuture }

/// `Stream` and `Sink`.
#[cfg(feature = "futures")]
mod of_futures {
    use core::mem;

    use futures_core::{FusedStream, Stream};
    use futures_sink::Sink;

    use super::*;

    /// The messages of a channel: see [`Receiver::stream`].
    #[must_use = "a stream does nothing unless it is polled"]
    pub struct RecvStream<'a, T, A: Access = Shared> {
        receiver: Handle<'a, Receiver<T, A>, A>,
        wait: RecvWait<T>,
    }

    impl<T, A: Access> Unpin for RecvStream<'_, T, A> {}

    impl<T, A: Access> Stream for RecvStream<'_, T, A> {
        type Item = T;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
            let Self { receiver, wait } = self.get_mut();
            let received = ready!(wait.poll(receiver, context));
            wait.end(receiver);
            *wait = RecvWait::new();
            Poll::Ready(received.ok())
        }
    }

    impl<T, A: Access> FusedStream for RecvStream<'_, T, A> {
        fn is_terminated(&self) -> bool {
            let meeting = self.receiver.common().kind.meeting();
            self.receiver.is_closed()
                && self.receiver.is_empty()
                && meeting.is_none_or(|meeting| !meeting.has_sender(None))
        }
    }

    impl<T, A: Access> Drop for RecvStream<'_, T, A> {
        fn drop(&mut self) {
            self.wait.end(&self.receiver);
        }
    }

    macro_rules! borrowing {
        ($access:ty, $($reference:tt)+) => {
            impl<T> Receiver<T, $access> {
                /// The messages, until the channel is empty and disconnected, as a `Stream`.
                pub fn stream($($reference)+ self) -> RecvStream<'_, T, $access> {
                    RecvStream { receiver: Handle::Borrowed(self), wait: RecvWait::new() }
                }
            }

            impl<T> Sender<T, $access> {
                /// A `Sink` into the channel.
                pub fn sink($($reference)+ self) -> SendSink<'_, T, $access> {
                    let wait = SendWait::new(Message::empty());
                    SendSink { sender: Handle::Borrowed(self), wait, is_sending: false }
                }
            }
        };
    }

    borrowing!(Shared, &);
    borrowing!(Exclusive, &mut);

    impl<T, A: Access> Receiver<T, A> {
        /// As [`stream`](Self::stream), with the receiver in the stream.
        pub fn into_stream(self) -> RecvStream<'static, T, A> {
            RecvStream { receiver: Handle::Owned(ManuallyDrop::new(self)), wait: RecvWait::new() }
        }
    }

    /// A `Sink` of messages: see [`Sender::sink`].
    ///
    /// It has one message at most that is not in the channel yet: `flush` and `close` wait until it
    /// is.
    #[must_use = "a sink does nothing unless it is used"]
    pub struct SendSink<'a, T, A: Access = Shared> {
        sender: Handle<'a, Sender<T, A>, A>,
        wait: SendWait<T>,
        /// Whether `wait` has a message.
        is_sending: bool,
    }

    impl<T, A: Access> Unpin for SendSink<'_, T, A> {}

    impl<T, A: Access> Sink<T> for SendSink<'_, T, A> {
        type Error = SendError<T>;

        fn poll_ready(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Result<(), SendError<T>>> {
            self.poll_flush(context)
        }

        fn start_send(self: Pin<&mut Self>, message: T) -> Result<(), SendError<T>> {
            let this = self.get_mut();
            assert!(!this.is_sending, "`start_send` without `poll_ready`");
            (this.wait, this.is_sending) = (SendWait::new(Message::new(message)), true);
            Ok(())
        }

        fn poll_flush(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Result<(), SendError<T>>> {
            let Self { sender, wait, is_sending } = self.get_mut();
            if !*is_sending {
                return Poll::Ready(Ok(()));
            }
            let sent = ready!(wait.poll(sender, context));
            *is_sending = false;
            mem::replace(wait, SendWait::new(Message::empty())).end(sender);
            Poll::Ready(sent)
        }

        fn poll_close(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Result<(), SendError<T>>> {
            self.poll_flush(context)
        }
    }

    impl<T, A: Access> Drop for SendSink<'_, T, A> {
        fn drop(&mut self) {
            self.wait.end(&self.sender);
        }
    }

    impl<T, A: Access> Sender<T, A> {
        /// As [`sink`](Self::sink), with the sender in the sink.
        pub fn into_sink(self) -> SendSink<'static, T, A> {
            let wait = SendWait::new(Message::empty());
            SendSink { sender: Handle::Owned(ManuallyDrop::new(self)), wait, is_sending: false }
        }
    }

    /// Another stream of the same channel. Each message goes to one of them.
    impl<T> Clone for RecvStream<'_, T> {
        fn clone(&self) -> Self {
            Self { receiver: self.receiver.clone(), wait: RecvWait::new() }
        }
    }

    /// Another sink into the same channel. A message that this one still has stays there.
    impl<T> Clone for SendSink<'_, T> {
        fn clone(&self) -> Self {
            let wait = SendWait::new(Message::empty());
            Self { sender: self.sender.clone(), wait, is_sending: false }
        }
    }

    questions! { RecvStream: receiver SendSink: sender }
    debug! { RecvStream SendSink }
}

#[cfg(feature = "futures")]
pub use of_futures::{RecvStream, SendSink};
