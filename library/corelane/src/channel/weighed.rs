//! A channel that is bounded by the weight of its messages, such as their bytes.

use alloc::sync::Arc;
use core::fmt;
use core::mem;
use core::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use super::common::Extra;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::task::wait_at;
use super::turn::{Turn, Turns};
use super::{Receiver, ends, open_with, unlimited};
use crate::memory::{AtomicU64, Ordering};
use crate::wait::bell::{Bell, Look};

/// A channel for messages whose weights are `limit` together: `weigh` says a message's weight.
///
/// A receiver gets [`Weighed`] messages, which can be used as the messages themselves. The room of
/// a message comes back when it is dropped, or taken out by [`Weighed::into_inner`]. So the limit
/// also counts messages that receivers are at work on. Receivers are those of all channels: with
/// `select!`, timeouts and tasks.
///
/// A message that is heavier than the limit is sent when no other one has room. Senders that wait
/// take turns: no other message overtakes that of the sender that has the turn. Between two turns a
/// sender that has just come may be first. The number of messages of weight 0 has no bound.
///
/// ```
/// use corelane::channel;
///
/// let (tx, rx) = channel::weighed(1 << 20, Vec::len); // a mebibyte
/// std::thread::spawn(move || {
///     for file in [vec![1; 700_000], vec![2; 700_000]] {
///         tx.send(file).unwrap(); // the second one waits until the first one is dropped
///     }
/// });
/// for file in rx {
///     assert_eq!(file.len(), 700_000);
/// }
/// ```
///
/// # Panics
///
/// If there is no memory.
pub fn weighed<T>(limit: usize, weigh: fn(&T) -> usize) -> (Sender<T>, Receiver<Weighed<T>>) {
    let weights = Arc::new(Weights::new(limit as u64));
    let (tx, rx) = open_with(ends::unbounded(), Extra::Weights(weights.clone()));
    (Sender { tx, weigh, weights }, rx)
}

/// The weight in a channel, and the bells of senders that wait for room.
pub(super) struct Weights {
    limit: u64,
    /// Weight of all messages whose room has not come back.
    weight: AtomicU64,
    pub(super) turns: Turns,
    /// The sender that has the turn sleeps here.
    pub(super) room: Bell,
}

impl Weights {
    fn new(limit: u64) -> Self {
        let (turns, room) = (Turns::default(), Bell::default());
        Self { limit, weight: AtomicU64::new(0), turns, room }
    }

    /// Room for a message of this weight, if there is some.
    fn take(self: &Arc<Self>, weight: u64) -> Option<Room> {
        // Relaxed, all: only counted. The queue orders messages, and a sleeper looks after a fence.
        let mut before = self.weight.load(Ordering::Relaxed);
        loop {
            let after = before.checked_add(weight)?;
            if before != 0 && after > self.limit {
                return None;
            }
            let taken =
                self.weight.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
            match taken {
                Ok(_) => return Some(Room { weight, weights: self.clone() }),
                Err(found) => before = found,
            }
        }
    }
}

/// Room for a message. It comes back when this is dropped.
struct Room {
    weight: u64,
    weights: Arc<Weights>,
}

impl Drop for Room {
    fn drop(&mut self) {
        // Relaxed: only counted. The bell has a fence.
        self.weights.weight.fetch_add(self.weight.wrapping_neg(), Ordering::Relaxed);
        // A waker's panic would lose a message that is taken out.
        self.weights.room.ring_and_catch();
    }
}

/// A message from a [`weighed`] channel. It has room there until it is dropped.
pub struct Weighed<T> {
    message: T,
    /// Dropped after the message.
    room: Room,
}

impl<T> Weighed<T> {
    /// The message. Its room comes back.
    pub fn into_inner(self) -> T {
        self.message
    }

    /// The weight with which the message was sent.
    pub fn weight(&self) -> usize {
        self.room.weight as usize
    }
}

impl<T> Deref for Weighed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T> DerefMut for Weighed<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

/// The sending side of a [`weighed`] channel.
///
/// It can be cloned and shared. When all are dropped, receivers get what is there, and then find
/// the channel disconnected.
pub struct Sender<T> {
    tx: super::Sender<Weighed<T>>,
    weigh: fn(&T) -> usize,
    weights: Arc<Weights>,
}

/// All receivers are gone, or the channel was closed.
struct Closed;

/// What a sender that waits gets first.
enum Begun<'a> {
    Room(Room),
    Turn(Turn<'a>),
}

impl<T> Sender<T> {
    /// Sends a message. Waits while there is no room for its weight.
    ///
    /// # Errors
    ///
    /// If all receivers are gone, or the channel was closed. The error has the message.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.send_by(message, None).map_err(|error| SendError(error.into_inner()))
    }

    /// Sends a message if there is room for its weight now, and no sender has the turn to wait for
    /// room.
    ///
    /// # Errors
    ///
    /// If there is no room, or as [`send`](Self::send). The error has the message.
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.look_quickly(self.weigh(&message)) {
            Look::Done(Ok(room)) => Ok(self.send_into(room, message)?),
            Look::Done(Err(Closed)) => Err(TrySendError::Disconnected(message)),
            _ => Err(TrySendError::Full(message)),
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
        match self.wait_for_room(self.weigh(&message), until) {
            Some(Ok(room)) => Ok(self.send_into(room, message)?),
            Some(Err(Closed)) => Err(SendTimeoutError::Disconnected(message)),
            None => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// `None` if the time is over.
    fn wait_for_room(&self, weight: u64, until: Option<Instant>) -> Option<Result<Room, Closed>> {
        if let Look::Done(room) = self.look_quickly(weight) {
            return Some(room);
        }
        let turns = &self.weights.turns;
        let turn = self.tx.block(&turns.bell, until, || self.look_at(|| turns.look()))?;
        let turn = match turn {
            Ok(turn) => turn,
            Err(closed) => return Some(Err(closed)),
        };
        let room = match self.look(weight) {
            Look::Done(room) => Some(room),
            _ => self.tx.block(&self.weights.room, until, || self.look(weight)),
        };
        turn.end_and_catch();
        room
    }

    /// Sends a message, in a task. Waits while there is no room for its weight.
    ///
    /// If the future is dropped before it is ready, the message is dropped, and is not sent. A future
    /// that waits may have the turn: while it is neither polled nor dropped, other senders wait.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn send_async(&self, message: T) -> Result<(), SendError<T>> {
        match self.room(self.weigh(&message)).await {
            Ok(room) => self.send_into(room, message),
            Err(Closed) => Err(SendError(message)),
        }
    }

    async fn room(&self, weight: u64) -> Result<Room, Closed> {
        let turns = &self.weights.turns;
        let mut is_first = true;
        let begun = wait_at(&turns.bell, || match mem::take(&mut is_first) {
            true => self.look_quickly(weight).map(|room| room.map(Begun::Room)),
            // A sender that was woken takes the turn: the end of the turn wakes the next sender.
            false => self.look_at(|| turns.look()).map(|turn| turn.map(Begun::Turn)),
        });
        match begun.await? {
            Begun::Room(room) => Ok(room),
            Begun::Turn(turn) => {
                let room = wait_at(&self.weights.room, || self.look(weight)).await;
                turn.end_and_catch();
                room
            }
        }
    }

    /// A look of a sender that has not waited: only if no other one waits.
    fn look_quickly(&self, weight: u64) -> Look<Result<Room, Closed>> {
        match self.weights.turns.is_free() || self.is_closed() {
            true => self.look(weight),
            false => Look::NotYet,
        }
    }

    /// A look for room.
    fn look(&self, weight: u64) -> Look<Result<Room, Closed>> {
        self.look_at(|| self.weights.take(weight).map_or(Look::NotYet, Look::Done))
    }

    fn look_at<R>(&self, look: impl FnOnce() -> Look<R>) -> Look<Result<R, Closed>> {
        match self.is_closed() {
            true => Look::Done(Err(Closed)),
            false => look().map(Ok),
        }
    }

    fn weigh(&self, message: &T) -> u64 {
        (self.weigh)(message) as u64
    }

    fn send_into(&self, room: Room, message: T) -> Result<(), SendError<T>> {
        let sent = self.tx.send(Weighed { message, room });
        sent.map_err(|SendError(message)| SendError(message.into_inner()))
    }

    /// Weight of all messages in the channel, and of those that receivers have not dropped.
    pub fn weight(&self) -> usize {
        // Relaxed: only counted.
        self.weights.weight.load(Ordering::Relaxed) as usize
    }

    /// The weight that the channel has room for.
    pub fn limit(&self) -> usize {
        self.weights.limit as usize
    }

    /// Lets nothing be sent any more. Receivers get what was sent.
    pub fn close(&self) {
        self.tx.close();
    }

    /// Whether all receivers are gone, or the channel was closed.
    pub fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }

    /// The number of messages in the channel.
    pub fn len(&self) -> usize {
        self.tx.len()
    }

    /// Whether no message is in the channel.
    pub fn is_empty(&self) -> bool {
        self.tx.is_empty()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone(), weigh: self.weigh, weights: self.weights.clone() }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}

impl<T: fmt::Debug> fmt::Debug for Weighed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
