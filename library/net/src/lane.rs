//! A lane, and its handles.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use corelane::channel;

use crate::codec::{Codec, Plain};
use crate::engine::Engine;
use crate::error::{End, OpenError, Unconfirmed};
use crate::protocol::{Id, Receive, Receiving, Sending, Several, Terms, Times};
use crate::pump::{self, Pump};

/// A lane between two programs, of which this one takes an end.
pub struct Lane<T, C = Plain> {
    engine: Arc<Engine>,
    name: String,
    window: usize,
    times: Times,
    gives_up_after: Duration,
    of: PhantomData<fn(T, C) -> T>,
}

impl<T, C> fmt::Debug for Lane<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("name", &self.name).field("window", &self.window).finish()
    }
}

impl<T, C: Codec<T>> Lane<T, C> {
    pub(crate) fn new(engine: Arc<Engine>, name: &str) -> Self {
        Self {
            engine,
            name: name.into(),
            window: 4096,
            times: Times::default(),
            gives_up_after: Duration::from_secs(30),
            of: PhantomData,
        }
    }

    /// Most items that are sent and not yet received: 4096 if it isn't given, and at least 2. The
    /// smaller one of both ends counts.
    #[must_use]
    pub fn window(mut self, items: usize) -> Self {
        self.window = items;
        self
    }

    /// How long an end waits for another one that doesn't answer, or isn't there yet: 30 seconds if
    /// it isn't given.
    #[must_use]
    pub fn gives_up_after(mut self, time: Duration) -> Self {
        self.gives_up_after = time;
        self
    }

    /// The time without a sign of life after which another program may have the other end's place:
    /// 3 seconds if it isn't given. Give both ends the same.
    #[must_use]
    pub fn patience(mut self, time: Duration) -> Self {
        let time = time.clamp(Duration::from_millis(8), Duration::from_secs(1 << 32));
        self.times = Times { patience: time, again: self.times.again.min(time / 8) };
        self
    }

    fn terms(&self, guarantee: u8) -> Terms {
        // FNV: the same on all machines.
        let hash = C::name().bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Terms::new(guarantee, hash)
    }

    fn check(&self) -> Result<(), OpenError> {
        if self.window == 0 || self.window > MOST {
            return Err(OpenError::Window);
        }
        let is_name = !self.name.is_empty()
            && self
                .name
                .split('/')
                .all(|part| !part.is_empty() && !part.contains(['*', '$', '?', '#']));
        if is_name { Ok(()) } else { Err(OpenError::Name(self.name.clone())) }
    }
}

/// The largest window.
pub(crate) const MOST: usize = 1 << 24;

/// The guarantees, as the ends tell them.
const LATEST: u8 = 0;
const ORDERED: u8 = 2;

impl<T: Send + 'static, C: Codec<T>> Lane<T, C> {
    /// The sending end. The receiving one may come later.
    ///
    /// # Errors
    ///
    /// [`OpenError::Name`], [`OpenError::Window`], or [`OpenError::Engine`].
    pub fn sender(self) -> Result<Sender<T>, OpenError> {
        let (tx, front) = channel::bounded(self.outside());
        self.sender_by(ORDERED, tx, front)
    }

    /// The receiving end. The sending one may come later.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn receiver(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(ORDERED, Receiving::new)
    }

    /// A receiving end for any number of senders, such as clients of a server. Items of one sender
    /// come in its order. Each sender has the whole window. The lane stays open when senders end; it
    /// gives up when there is none for too long.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn receiver_of_several(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(ORDERED, Several::new)
    }

    /// The sending end of a lane whose sends never wait: when the window is full, a send drops the
    /// oldest item that hasn't left this program. What has left comes in order, as in other lanes. So
    /// take a small window for what must be fresh. The other end is a
    /// [`latest_receiver`](Self::latest_receiver).
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn latest_sender(self) -> Result<LatestSender<T>, OpenError> {
        let (tx, front) = channel::latest(self.outside());
        self.sender_by(LATEST, tx, front)
    }

    /// The receiving end for a [`latest_sender`](Self::latest_sender).
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn latest_receiver(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(LATEST, Receiving::new)
    }

    /// Items of the window that are on their way, or with the receiver.
    fn inside(&self) -> usize {
        (self.window / 2).max(1)
    }

    /// Items of the window that wait for the lane's thread.
    fn outside(&self) -> usize {
        self.window.min(MOST).saturating_sub(self.inside()).max(1)
    }

    fn sender_by<S>(
        self,
        guarantee: u8,
        front: S,
        rest: channel::Receiver<T>,
    ) -> Result<Sender<T, S>, OpenError> {
        self.check()?;
        let (id, inside) = (pump::id(), self.inside() as u64);
        let state = Sending::new(id, self.terms(guarantee), self.times, inside);
        let items = rest.clone();
        let pump =
            Pump::start(&self.engine, &self.name, id, true, self.gives_up_after, move |pump| {
                pump::send::<T, C>(pump, state, &items)
            })?;
        Ok(Sender { front, rest, pump })
    }

    fn receiver_by<R: Receive + Send + 'static>(
        self,
        guarantee: u8,
        state: impl FnOnce(Id, Terms, Times, u64) -> R,
    ) -> Result<Receiver<T>, OpenError> {
        self.check()?;
        let (id, inside) = (pump::id(), self.inside());
        // When there is room in it, items were taken.
        let (behind, rx) = channel::bounded((inside * 3 / 4).max(1));
        let state = state(id, self.terms(guarantee), self.times, inside as u64);
        let pump =
            Pump::start(&self.engine, &self.name, id, false, self.gives_up_after, move |pump| {
                pump::receive::<T, C>(pump, state, behind)
            })?;
        Ok(Receiver { behind: rx, pump })
    }
}

/// The sending end of a lane. It has the calls of [`channel::Sender`]; its clones are, too.
#[derive(Debug)]
pub struct Sender<T, S = channel::Sender<T>> {
    front: S,
    /// To count what is left in it.
    rest: channel::Receiver<T>,
    pump: Pump,
}

/// The sending end of a lane that drops the oldest items. It has the calls of
/// [`channel::latest::Sender`].
pub type LatestSender<T> = Sender<T, channel::latest::Sender<T>>;

impl<T, S> Deref for Sender<T, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.front
    }
}

impl<T, S> Sender<T, S> {
    /// Sends no more, and waits until the receiving program has received all. Clones of the
    /// channel's sender can send until then.
    ///
    /// A sender that is only dropped doesn't wait: what it has sent goes on as long as this program
    /// lives.
    ///
    /// # Errors
    ///
    /// The number of items of which it isn't known that they were received, and why. After a
    /// time-out they go on as above.
    pub fn finish(self, timeout: Duration) -> Result<(), Unconfirmed> {
        let Self { front, rest, pump } = self;
        drop(front);
        pump.wait_for_end(timeout);
        match pump.end() {
            Some((0, _)) => Ok(()),
            Some((items, end)) => Err(Unconfirmed { items, end }),
            None => {
                Err(Unconfirmed { items: rest.len() as u64 + pump.untaken(), end: End::TimedOut })
            }
        }
    }

    /// Why the calls say that the lane is disconnected. `None` as long as they don't.
    pub fn end(&self) -> Option<End> {
        self.pump.end().map(|(_, end)| end)
    }

    /// The number of items that were sent, and of which it isn't known that they were received.
    pub fn untaken(&self) -> u64 {
        self.rest.len() as u64 + self.pump.untaken()
    }

    /// Waits until a receiver is there. Returns whether one is.
    pub fn wait_for_receiver(&self, timeout: Duration) -> bool {
        self.pump.wait_until_bound(timeout)
    }
}

/// The receiving end of a lane. It has the calls of [`channel::Receiver`]; its clones are, too.
#[derive(Debug)]
pub struct Receiver<T> {
    behind: channel::Receiver<T>,
    pump: Pump,
}

impl<T> Deref for Receiver<T> {
    type Target = channel::Receiver<T>;

    fn deref(&self) -> &channel::Receiver<T> {
        &self.behind
    }
}

impl<T> Receiver<T> {
    /// Why the calls say that the lane is disconnected. `None` as long as they don't.
    pub fn end(&self) -> Option<End> {
        self.pump.end().map(|(_, end)| end)
    }

    /// Waits until a sender is there. Returns whether one is.
    pub fn wait_for_sender(&self, timeout: Duration) -> bool {
        self.pump.wait_until_bound(timeout)
    }
}
