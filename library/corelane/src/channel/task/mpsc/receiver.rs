//! The receiving sides.

use alloc::vec::Vec;
use core::fmt;
use core::future::poll_fn;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::task::{Context, Poll, ready};

use super::super::super::future::RecvWait;
use super::debug;
use super::error::TryRecvError;
use crate::channel;

/// The receiving side of a channel that may be full.
pub struct Receiver<T> {
    queue: channel::mpsc::Receiver<T>,
    /// The wait of the task that has polled last.
    wait: RecvWait<T>,
}

/// The receiving side of a channel that is never full.
pub struct UnboundedReceiver<T> {
    queue: channel::mpsc::Receiver<T>,
    /// As that of [`Receiver`].
    wait: RecvWait<T>,
}

/// What both kinds of receivers have.
macro_rules! receiver {
    ($receiver:ident) => {
        impl<T> $receiver<T> {
            pub(super) fn new(queue: channel::mpsc::Receiver<T>) -> Self {
                Self { queue, wait: RecvWait::new() }
            }

            /// Receives the oldest message. Waits while the channel is empty. `None` if it is empty and
            /// disconnected, and no room is reserved.
            ///
            /// If the future is dropped before it is ready, no message is lost.
            #[inline]
            pub async fn recv(&mut self) -> Option<T> {
                poll_fn(|context| self.poll_recv(context)).await
            }

            /// As [`recv`](Self::recv). The task of the last call is woken.
            #[inline]
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                let received = ready!(self.wait.poll(&self.queue, context));
                self.end_wait();
                Poll::Ready(received.ok())
            }

            #[inline]
            fn end_wait(&mut self) {
                self.wait.end(&self.queue);
                self.wait = RecvWait::new();
            }

            /// Moves up to `limit` messages to the end of `buffer`, and returns their number. Waits for the
            /// first one, and then takes what is there. 0 if the channel is empty and disconnected, or if
            /// `limit` is 0.
            ///
            /// If the future is dropped before it is ready, no message is lost.
            pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                poll_fn(|context| self.poll_recv_many(context, buffer, limit)).await
            }

            /// As [`recv_many`](Self::recv_many). The task of the last call is woken.
            pub fn poll_recv_many(
                &mut self,
                context: &mut Context<'_>,
                buffer: &mut Vec<T>,
                limit: usize,
            ) -> Poll<usize> {
                if limit == 0 {
                    return Poll::Ready(0);
                }
                let Some(first) = ready!(self.poll_recv(context)) else { return Poll::Ready(0) };
                buffer.push(first);
                // There is one less to be had than before: it doesn't wait.
                Poll::Ready(1 + self.queue.take_many(buffer, limit - 1))
            }

            /// Receives the oldest message if there is one now.
            ///
            /// # Errors
            ///
            /// If the channel is empty, or as [`recv`](Self::recv) without a message.
            #[inline]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.queue.try_recv()
            }

            /// As [`recv`](Self::recv), in a thread.
            #[inline]
            pub fn blocking_recv(&mut self) -> Option<T> {
                // The thread is to be woken, and not the task.
                self.end_wait();
                self.queue.recv().ok()
            }

            /// As [`recv_many`](Self::recv_many), in a thread.
            pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                self.end_wait();
                self.queue.recv_many(buffer, limit)
            }

            /// Lets nothing be sent any more, but into room that is reserved. The receiver gets what was
            /// sent.
            pub fn close(&mut self) {
                self.queue.close();
            }

            /// Whether all senders are gone, or the channel was closed. Messages may still be there.
            pub fn is_closed(&self) -> bool {
                self.queue.is_closed()
            }

            /// The number of messages in the channel.
            pub fn len(&self) -> usize {
                self.queue.len()
            }

            /// Whether no message is in the channel.
            pub fn is_empty(&self) -> bool {
                self.queue.is_empty()
            }

            /// The number of senders that keep the channel open.
            pub fn sender_strong_count(&self) -> usize {
                self.queue.sender_count()
            }

            /// The number of weak senders.
            pub fn sender_weak_count(&self) -> usize {
                self.queue.common().counts().weak_senders
            }
        }

        impl<T> Drop for $receiver<T> {
            fn drop(&mut self) {
                self.wait.end(&self.queue);
            }
        }

        // SAFETY: what takes `&self` reads only what all handles share.
        unsafe impl<T: Send> Sync for $receiver<T> {}
        // As for `Receiver` of `channel`.
        impl<T> UnwindSafe for $receiver<T> {}
        impl<T> RefUnwindSafe for $receiver<T> {}
        impl<T> Unpin for $receiver<T> {}

        debug! { $receiver }
    };
}

receiver!(Receiver);
receiver!(UnboundedReceiver);

impl<T> Receiver<T> {
    /// The number of messages for which there is room that is not reserved.
    pub fn capacity(&self) -> usize {
        self.queue.common().kind.room()
    }

    /// The number of messages for which there is room while the channel is empty.
    pub fn max_capacity(&self) -> usize {
        self.queue.common().kind.capacity()
    }
}
