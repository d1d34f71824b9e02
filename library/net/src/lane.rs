//! A lane, and its handles.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel;

use crate::codec::{Codec, Plain};
use crate::engine::Engine;
use crate::error::{End, OpenError, Unconfirmed};
use crate::fill::{Fill, Key, ToOne, ToSeveral};
use crate::protocol::{
    Distributing, Distribution, Guarantee, Id, Receive, Receiving, Sending, Several, Terms, Times,
};
use crate::pump::{self, Pump};

/// A lane between two programs, of which this one takes an end.
pub struct Lane<T, C = Plain> {
    engine: Arc<Engine>,
    name: String,
    window: usize,
    times: Times,
    gives_up_after: Duration,
    is_confirmed: bool,
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
            window: window::<T, C>(),
            times: Times::default(),
            gives_up_after: Duration::from_secs(30),
            is_confirmed: false,
            of: PhantomData,
        }
    }

    /// At a sender: most items that are sent and not yet received, of 1 to 16,777,216. 1 is as good as 2.
    /// Half of them wait in the sender. The others are on their way or at the receiver, which holds at
    /// most half of its own window.
    ///
    /// If it isn't given: 4 MiB of items, and not more than 65,536; of items with different lengths, 4096.
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
    ///
    /// An end whose place another program has, and that hears so for more than twice this time, gives up:
    /// [`End::Taken`].
    #[must_use]
    pub fn patience(mut self, time: Duration) -> Self {
        let time = time.clamp(Duration::from_millis(8), Duration::from_secs(1 << 32));
        self.times = Times { patience: time, again: self.times.again.min(time / 8) };
        self
    }

    /// For a receiver: its program [confirms](Receiver::confirm) the items that it has done with. If it
    /// dies before, they go to the next receiver. In other lanes, an item is the receiver's as soon as
    /// its program takes it. Confirm at the latest after half of the window: no more items come before.
    #[must_use]
    pub fn confirmed(mut self) -> Self {
        self.is_confirmed = true;
        self
    }

    fn terms(&self, guarantee: Guarantee) -> Terms {
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
        let is_known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_part = |part: &str| !part.is_empty() && part.chars().all(is_known);
        let is_name = self.name.split('/').all(is_part);
        if is_name { Ok(()) } else { Err(OpenError::Name(self.name.clone())) }
    }
}

/// The window that isn't given.
pub(crate) fn window<T, C: Codec<T>>() -> usize {
    C::LEN.map_or(4096, |len| (WINDOW / len.max(1)).clamp(64, 65_536))
}

/// Its bytes.
const WINDOW: usize = 4 << 20;
/// The largest window.
pub(crate) const MOST: usize = 1 << 24;

impl<T: Send + 'static, C: Codec<T>> Lane<T, C> {
    /// The sending end. The receiving one may come later.
    ///
    /// # Errors
    ///
    /// [`OpenError::Name`], [`OpenError::Window`], or [`OpenError::Engine`].
    pub fn sender(self) -> Result<Sender<T>, OpenError> {
        self.sender_to_one(Guarantee::Ordered)
    }

    /// The receiving end. The sending one may come later.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn receiver(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(Guarantee::Ordered, Receiving::new)
    }

    /// A receiving end for any number of senders, such as clients of a server. Items of one sender
    /// come in its order. Each sender has the whole window. The lane stays open when senders end; it
    /// gives up when there is none for too long.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn receiver_of_several(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(Guarantee::Ordered, Several::new)
    }

    /// The sending end to any number of receivers that share the work: each item goes to one of
    /// them, the one that has the most room. With a small window, few items wait at a receiver while
    /// another one has nothing to do.
    ///
    /// The receivers are those of [`receiver`](Self::receiver), which belong to this sender until it
    /// ends, or of [`receiver_of_several`](Self::receiver_of_several), which several senders share.
    /// They may come and go at any time.
    ///
    /// Items that a receiver has not taken when it dies, is dropped, or is cut off for longer than
    /// the [`patience`](Self::patience) go to others, before newer ones. The last ones that it had
    /// taken may go there again: at least once. Otherwise, each item comes exactly once, and a
    /// receiver gets its items in the order in which they were sent.
    ///
    /// A second sharing sender of receivers that belong to this one gives up: [`End::Taken`]. So does
    /// a second receiver of a plain [`sender`](Self::sender) of this name.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn sharing_sender(self) -> Result<Sender<T>, OpenError> {
        self.sender_to_several(Distribution::Share, |_| 0)
    }

    /// The sending end to any number of receivers that get all items, each from the moment when this
    /// sender hears of it. The slowest one bounds the rate. Sends wait while there is no receiver.
    ///
    /// The receivers are those of [`sharing_sender`](Self::sharing_sender). One that is cut off for
    /// longer than the [`patience`](Self::patience) misses what was sent meanwhile. Otherwise, each
    /// item comes to each receiver exactly once, in order.
    ///
    /// [`Sender::finish`] waits for the receivers that are there. Items that the last one of them had
    /// not taken when it left are unconfirmed.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn broadcast_sender(self) -> Result<Sender<T>, OpenError> {
        self.sender_to_several(Distribution::Broadcast, |_| 0)
    }

    /// The sending end to any number of receivers, of which each gets the items of some keys: items
    /// with the same key come to the same receiver, in the order in which they were sent, as long as
    /// it lives. An item whose receiver has no room stops those behind it.
    ///
    /// When a receiver comes, the sender waits until all that it has sent is taken: then the newcomer
    /// gets its part of the keys. The keys of one that goes, and the items that it had not taken, go
    /// to the others.
    ///
    /// The receivers, and what happens to the items of one that dies, are as with a
    /// [`sharing_sender`](Self::sharing_sender).
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn sender_by_key(
        self,
        key: impl Fn(&T) -> u64 + Send + 'static,
    ) -> Result<Sender<T>, OpenError> {
        self.sender_to_several(Distribution::ByKey, key)
    }

    /// The sending end of a lane that sends each item once: it comes in order and never twice, also
    /// not to the next receiver. It is lost if the network loses it, or if the receiver dies before
    /// it has taken it. The window holds as in other lanes. The other end is an
    /// [`at_most_once_receiver`](Self::at_most_once_receiver).
    ///
    /// [`Sender::finish`] waits until all items are received or lost.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn at_most_once_sender(self) -> Result<Sender<T>, OpenError> {
        self.sender_to_one(Guarantee::AtMostOnce)
    }

    /// The receiving end for an [`at_most_once_sender`](Self::at_most_once_sender). It counts what
    /// doesn't come: see [`Receiver::lost`].
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn at_most_once_receiver(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(Guarantee::AtMostOnce, Receiving::new)
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
        self.sender_by(Guarantee::Latest, tx, front, to_one::<T, C>)
    }

    /// The receiving end for a [`latest_sender`](Self::latest_sender).
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn latest_receiver(self) -> Result<Receiver<T>, OpenError> {
        self.receiver_by(Guarantee::Latest, Receiving::new)
    }

    /// Items of the window that are on their way, or with the receiver.
    fn inside(&self) -> usize {
        (self.window / 2).max(1)
    }

    /// Items of the window that wait for the lane's thread.
    fn outside(&self) -> usize {
        self.window.min(MOST).saturating_sub(self.inside()).max(1)
    }

    fn sender_to_one(self, guarantee: Guarantee) -> Result<Sender<T>, OpenError> {
        let (tx, front) = channel::bounded(self.outside());
        self.sender_by(guarantee, tx, front, to_one::<T, C>)
    }

    fn sender_to_several(
        self,
        distribution: Distribution,
        key: impl Fn(&T) -> u64 + Send + 'static,
    ) -> Result<Sender<T>, OpenError> {
        let (tx, front) = channel::bounded(self.outside());
        let key: Key<T> = Box::new(key);
        self.sender_by(Guarantee::Ordered, tx, front, |id, terms, times, window| {
            ToSeveral::<T, C>::new(Distributing::new(id, terms, times, window, distribution), key)
        })
    }

    fn sender_by<S, F: Fill<T> + Send + 'static>(
        self,
        guarantee: Guarantee,
        front: S,
        rest: channel::Receiver<T>,
        outbox: impl FnOnce(Id, Terms, Times, u64) -> F,
    ) -> Result<Sender<T, S>, OpenError> {
        self.check()?;
        let (id, inside) = (pump::id(), self.inside() as u64);
        let outbox = outbox(id, self.terms(guarantee), self.times, inside);
        let items = rest.clone();
        let pump =
            Pump::start(&self.engine, &self.name, id, true, self.gives_up_after, move |pump| {
                pump::send(pump, outbox, &items)
            })?;
        Ok(Sender { front, rest, pump })
    }

    fn receiver_by<R: Receive + Send + 'static>(
        self,
        guarantee: Guarantee,
        state: impl FnOnce(Id, Terms, Times, u64) -> R,
    ) -> Result<Receiver<T>, OpenError> {
        self.check()?;
        let (id, inside) = (pump::id(), self.inside());
        // When there is room in it, items were taken.
        let (behind, rx) = channel::bounded((inside * 3 / 4).max(1));
        let state = state(id, self.terms(guarantee), self.times, inside as u64);
        let pump =
            Pump::start(&self.engine, &self.name, id, false, self.gives_up_after, move |pump| {
                pump::receive::<T, C>(pump, state, behind, self.is_confirmed)
            })?;
        Ok(Receiver { behind: rx, pump })
    }
}

fn to_one<T, C: Codec<T>>(id: Id, terms: Terms, times: Times, window: u64) -> ToOne<T, C> {
    ToOne::new(Sending::new(id, terms, times, window))
}

/// The sending end of a lane. It has the calls of [`channel::Sender`]: [`send`](channel::Sender::send),
/// [`try_send`](channel::Sender::try_send), [`send_timeout`](channel::Sender::send_timeout),
/// [`send_async`](channel::Sender::send_async) and the others.
///
/// `clone()` gives a [`channel::Sender`], which sends and can't [`finish`](Self::finish).
///
/// A program ends its lane by [`finish`](Self::finish). If it only drops the sender, and then ends, items are
/// lost.
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
    /// A sender that is only dropped doesn't wait: its items go on as long as this program lives. So a
    /// program that ends calls `finish` before.
    ///
    /// # Errors
    ///
    /// The number of items of which it isn't known that they were received, and why. After a
    /// time-out they go on as above.
    pub fn finish(self, timeout: Duration) -> Result<(), Unconfirmed> {
        let Self { front, rest, pump } = self;
        drop(front);
        let _awaits = pump.awaits();
        let end = pump.wait_for_end(timeout);
        match rest.len() as u64 + pump.untaken() {
            0 => Ok(()),
            items => Err(Unconfirmed { items, end }),
        }
    }

    /// Why the calls say that the lane is disconnected. `None` as long as they don't.
    pub fn end(&self) -> Option<End> {
        self.pump.end()
    }

    /// The number of items that were sent, and of which it isn't known that they were received.
    pub fn untaken(&self) -> u64 {
        self.rest.len() as u64 + self.pump.untaken()
    }

    /// Waits until all that was sent is received. Returns whether it is. Receivers tell it at once:
    /// within about a millisecond besides the network's time.
    pub fn wait_until_received(&self, timeout: Duration) -> bool {
        let _awaits = self.pump.awaits();
        let begin = Instant::now();
        while self.untaken() > 0 && begin.elapsed() < timeout && self.end().is_none() {
            thread::sleep(Duration::from_micros(200));
        }
        self.untaken() == 0
    }

    /// Waits until a receiver is there. Returns whether one is.
    pub fn wait_for_receiver(&self, timeout: Duration) -> bool {
        self.wait_for_receivers(1, timeout)
    }

    /// Waits until `number` receivers are there. Returns whether they are.
    pub fn wait_for_receivers(&self, number: usize, timeout: Duration) -> bool {
        self.pump.wait_for_others(number, timeout)
    }
}

/// The receiving end of a lane. It has the calls of [`channel::Receiver`]: [`recv`](channel::Receiver::recv),
/// [`try_recv`](channel::Receiver::try_recv), [`recv_timeout`](channel::Receiver::recv_timeout),
/// [`recv_async`](channel::Receiver::recv_async), [`iter`](channel::Receiver::iter) and the others.
///
/// `clone()` gives a [`channel::Receiver`], which receives and can't [`confirm`](Self::confirm).
///
/// ```
/// # use std::time::Duration;
/// use corelane_net::{Node, channel, select};
///
/// let node = Node::listen("127.0.0.1:0")?;
/// let rx = node.lane::<u64>("numbers").receiver()?;
/// let (stop, stopped) = channel::bounded::<()>(1);
/// stop.send(())?;
/// select! {
///     recv(rx) -> n => println!("{}", n?),
///     recv(stopped) -> _ => println!("told to stop"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Receiver<T> {
    behind: channel::Receiver<T>,
    pump: Pump,
}

/// Ends the lane at this side, also for clones of the channel's receiver. Waits up to 0.2 seconds until
/// the sender knows what was received.
impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.pump.drop_receiver(&self.behind);
    }
}

impl<T> Deref for Receiver<T> {
    type Target = channel::Receiver<T>;

    fn deref(&self) -> &channel::Receiver<T> {
        &self.behind
    }
}

impl<T> Receiver<T> {
    /// Why the calls say that the lane is disconnected. `None` as long as they don't, and in a lane that is
    /// [`confirmed`](Lane::confirmed) until the last items are.
    pub fn end(&self) -> Option<End> {
        self.pump.end()
    }

    /// Says after a loop over the items whether the sender has ended, or why else no more came.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use corelane_net::{End, Node};
    /// # let node = Node::listen("127.0.0.1:0")?;
    /// # let lane = node.lane::<u64>("numbers").gives_up_after(Duration::from_millis(10));
    /// let rx = lane.receiver()?;
    /// for n in rx.iter() {
    ///     println!("{n}");
    /// }
    /// assert_eq!(rx.ended(), Err(End::Silent)); // there was no sender
    /// # Ok::<(), corelane_net::OpenError>(())
    /// ```
    ///
    /// Doesn't wait: it is `Ok` also as long as the lane is open.
    ///
    /// # Errors
    ///
    /// Why the lane has ended, if it isn't [`End::Closed`].
    pub fn ended(&self) -> Result<(), End> {
        End::result(self.end())
    }

    /// Confirms all items that this handle and its clones have given until now, in a lane that is
    /// [`confirmed`](Lane::confirmed): also those that another thread is still at. The sender hears of
    /// it within 25 ms.
    pub fn confirm(&self) {
        self.pump.confirm(&self.behind);
    }

    /// The number of items that an [`at_most_once_sender`](Lane::at_most_once_sender) has sent to
    /// this receiver, and that don't come. It grows when the receiver hears of a later item, or of
    /// the end. What was sent to an earlier receiver doesn't count. 0 in other lanes.
    pub fn lost(&self) -> u64 {
        self.pump.lost()
    }

    /// Waits until a sender is there. Returns whether one is.
    pub fn wait_for_sender(&self, timeout: Duration) -> bool {
        self.pump.wait_for_others(1, timeout)
    }
}
