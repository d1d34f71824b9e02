//! Room that is reserved.

use core::fmt;
use core::mem::ManuallyDrop;

use super::super::super::ends::Message;
use super::{Sender, debug};
use crate::channel;

/// Room for one message. Dropped, it gives the room back.
pub struct Permit<'a, T>(pub(super) &'a channel::Sender<T>);

/// Room for one message, with the sender. Dropped, it gives the room back.
pub struct OwnedPermit<T>(pub(super) Sender<T>);

/// Room for several messages: an iterator of [`Permit`]s. Dropped, it gives the rest back.
pub struct PermitIterator<'a, T> {
    sender: &'a channel::Sender<T>,
    /// How much is left.
    pub(super) n: usize,
}

impl<'a, T> PermitIterator<'a, T> {
    pub(super) fn new(sender: &'a channel::Sender<T>, n: usize) -> Self {
        Self { sender, n }
    }
}

debug! { OwnedPermit }

/// Sends into reserved room, whose permit is gone.
fn send_reserved<T>(sender: &channel::Sender<T>, message: T) {
    let mut message = Message::new(message);
    // An error: there was no memory, and then the channel was closed. The message is dropped.
    let _ = sender.send_reserved(&mut message);
}

impl<T> Permit<'_, T> {
    /// Sends a message into the room. Never waits. If the receiver has closed the channel, it still
    /// gets the message; if it is gone, the message is dropped.
    pub fn send(self, message: T) {
        let this = ManuallyDrop::new(self);
        send_reserved(this.0, message);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.0.release(1);
    }
}

impl<T> OwnedPermit<T> {
    /// As [`Permit::send`]. Returns the sender.
    pub fn send(self, message: T) -> Sender<T> {
        let sender = self.into_sender();
        send_reserved(&sender.0, message);
        sender
    }

    /// Gives the room back. Returns the sender.
    pub fn release(self) -> Sender<T> {
        let sender = self.into_sender();
        sender.0.release(1);
        sender
    }

    /// Whether both are of the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }

    /// Whether both are of the same channel.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.0.same_channel(sender)
    }

    /// The sender. The room stays reserved.
    fn into_sender(self) -> Sender<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the permit is neither used nor dropped any more.
        unsafe { core::ptr::read(&this.0) }
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        self.0.0.release(1);
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.n = self.n.checked_sub(1)?;
        Some(Permit(self.sender))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.n, Some(self.n))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> core::iter::FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.n > 0 {
            self.sender.release(self.n);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Permit { .. }")
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator").field("n", &self.n).finish_non_exhaustive()
    }
}
