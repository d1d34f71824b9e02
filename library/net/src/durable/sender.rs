//! The sending end of a durable lane.

use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use corelane::channel::{self, RecvError, TryRecvError};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::lane::{Lane, Names, look, outcome, publish};
use super::message::Head;
use super::publishing::{Last, Outcome, Publishing};
use super::status::Status;
use super::store::{answered, runtime};
use crate::codec::{Codec, put};
use crate::error::{End, OpenError, Unconfirmed};
use crate::protocol::Id;
use crate::pump;

/// Bytes of items in a message, and one item more.
const MESSAGE: usize = 256 << 10;
/// Bytes of a message besides its items.
const BESIDES: usize = 256;
/// Most items of a message: they may have no bytes.
const MOST: u32 = 1 << 20;
/// The time after which a message is sent again for which there was no room, or no server.
const AGAIN: Duration = Duration::from_millis(20);

/// The sending end of a durable lane. It has the calls of [`channel::Sender`]; its clones are, too.
#[derive(Debug)]
pub struct Sender<T> {
    front: channel::Sender<T>,
    /// To count what is left in it.
    rest: channel::Receiver<T>,
    status: Arc<Status<u64>>,
    stored: u64,
}

impl<T> Deref for Sender<T> {
    type Target = channel::Sender<T>;

    fn deref(&self) -> &channel::Sender<T> {
        &self.front
    }
}

impl<T> Sender<T> {
    /// The number of items of this name that were stored when this sender was made: a program that starts
    /// anew sends those that come after them.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// The number of items that were sent, and are not known to be stored.
    pub fn unstored(&self) -> u64 {
        let known = self.status.lock();
        self.rest.len() as u64 + known.0
    }

    /// Why the calls say that the lane is disconnected. `None` as long as they don't.
    pub fn end(&self) -> Option<End> {
        self.status.end()
    }

    /// Sends no more, and waits until all is stored. Clones of the channel's sender can send until then.
    ///
    /// A sender that is only dropped doesn't wait: what it has sent goes on as long as this program lives.
    ///
    /// # Errors
    ///
    /// The number of items of which it isn't known that they are stored, and why. After a time-out they go
    /// on as above.
    pub fn finish(self, timeout: Duration) -> Result<(), Unconfirmed> {
        let Self { front, rest, status, .. } = self;
        drop(front);
        let end = status.wait_for_end(timeout);
        let known = status.lock();
        match rest.len() as u64 + known.0 {
            0 => Ok(()),
            items => Err(Unconfirmed { items, end: end.unwrap_or(End::TimedOut) }),
        }
    }
}

pub(super) async fn open<T: Send + 'static, C: Codec<T>>(
    lane: &Lane<T, C>,
    name: &str,
) -> Result<Sender<T>, OpenError> {
    let (names, items, _) = lane.open().await?;
    let context = lane.store.context.clone();
    let state = take_over(&context, &items, &names, name, lane.gives_up_after).await?;
    let (tx, front) = channel::bounded(lane.window);
    let status = Arc::<Status<u64>>::default();
    let (stored, rest) = (state.head.first, front.clone());
    let pump = Pump {
        context,
        items,
        subject: names.sender(name),
        connections: lane.store.connections.clone(),
        gives_up_after: lane.gives_up_after,
        largest: lane.store.largest_message().saturating_sub(BESIDES),
        state: Publishing::new(state),
        front,
        status: status.clone(),
    };
    runtime().spawn(pump.run::<C>());
    Ok(Sender { front: tx, rest, status, stored })
}

/// Stores a message of a new program under a sender's name: see [`publishing`](super::publishing).
async fn take_over(
    context: &Context,
    items: &Stream,
    names: &Names,
    name: &str,
    gives_up_after: Duration,
) -> Result<Last, OpenError> {
    let (writer, subject) = (pump::id(), names.sender(name));
    let begin = Instant::now();
    let taken = loop {
        let is_full = match try_to_take_over(context, items, names, &subject, writer).await {
            Ok(Ok(last)) => break Ok(last),
            Ok(Err(outcome)) => outcome == Outcome::Full,
            Err(error) => break Err(error),
        };
        if begin.elapsed() > gives_up_after {
            break Err(OpenError::Engine(if is_full {
                "the lane is full: a receiver must confirm items, or be forgotten".into()
            } else {
                "another sender of this name is at work: end it, or take another name".into()
            }));
        }
        sleep(AGAIN).await;
    };
    // If that fails, a receiver does it.
    let _ = answered(items.purge().filter(names.gap())).await;
    taken
}

async fn try_to_take_over(
    context: &Context,
    items: &Stream,
    names: &Names,
    subject: &str,
    writer: Id,
) -> Result<Result<Last, Outcome>, OpenError> {
    let last = look(items, subject).await?;
    if let Some(last) = last.filter(|last| last.head.writer == writer) {
        return Ok(Ok(last)); // the answer was lost
    }
    let gap = outcome(publish(context, names.gap(), None, Bytes::new()).await).await;
    if !matches!(gap, Outcome::Stored(_)) {
        return Ok(Err(gap));
    }
    let head = Head { writer, first: last.map_or(0, |last| last.head.end()), count: 0 };
    let expected = last.map_or(0, |last| last.sequence);
    let sent = publish(context, subject.to_owned(), Some(expected), head.with(&[])).await;
    Ok(match outcome(sent).await {
        Outcome::Stored(sequence) => Ok(Last { sequence, head }),
        outcome => Err(outcome),
    })
}

/// Moves items from a program to the server.
struct Pump<T> {
    context: Context,
    items: Stream,
    subject: String,
    connections: watch::Receiver<u64>,
    gives_up_after: Duration,
    /// Bytes of items that a message may have.
    largest: usize,
    state: Publishing,
    front: channel::Receiver<T>,
    status: Arc<Status<u64>>,
}

impl<T: Send + 'static> Pump<T> {
    async fn run<C: Codec<T>>(mut self) {
        let end = AssertUnwindSafe(self.publish_all::<C>()).catch_unwind().await;
        let end = end.unwrap_or_else(|_| End::Engine("the lane's task has panicked".into()));
        self.status.ended(end, || self.front.close());
    }

    async fn publish_all<C: Codec<T>>(&mut self) -> End {
        let mut under_way = FuturesUnordered::new();
        let mut has_ended = false;
        let mut next = None;
        // When something was stored last, or nothing was left to store.
        let mut stored = Instant::now();
        loop {
            while self.state.must_look() {
                under_way.clear();
                let before = self.state.unstored();
                match look(&self.items, &self.subject).await {
                    Ok(last) if self.state.looked(last).is_err() => return End::Taken,
                    Ok(_) if self.state.unstored() < before => stored = Instant::now(),
                    // The server answers, but stores nothing.
                    _ if stored.elapsed() > self.gives_up_after => return End::Silent,
                    _ => sleep(AGAIN).await,
                }
                self.note();
            }
            while self.state.has_place() {
                if self.state.unstored() == 0 && next.is_none() {
                    stored = Instant::now();
                }
                if !self.state.has_waiting() && !self.fill::<C>(&mut next, &mut has_ended) {
                    break;
                }
                let Some(publication) = self.state.poll() else { break };
                let (id, expected) = (publication.id, Some(publication.expected));
                let subject = self.subject.clone();
                let sent = publish(&self.context, subject, expected, publication.message).await;
                under_way.push(async move { (id, outcome(sent).await) });
            }
            if has_ended && self.state.unstored() == 0 {
                self.close().await;
                return End::Closed;
            }
            let takes = self.state.has_place() && !has_ended && next.is_none();
            tokio::select! {
                Some((id, result)) = under_way.next() => {
                    self.state.came_out(id, result);
                    self.note();
                    match result {
                        Outcome::Stored(_) => stored = Instant::now(),
                        Outcome::TooLarge => return End::Engine(
                            "an item is larger than the server's max_payload".into(),
                        ),
                        Outcome::Full => {
                            stored = Instant::now(); // the server is there
                            sleep(AGAIN).await;
                        }
                        Outcome::Refused | Outcome::Unknown => {}
                    }
                }
                item = take(&self.front, &self.status), if takes => match item {
                    Ok(item) => (next, stored) = (Some(item), Instant::now()),
                    Err(RecvError) => has_ended = true,
                },
                Ok(()) = self.connections.changed() => self.state.lost(),
                () = sleep_until(stored + self.gives_up_after), if self.state.unstored() > 0 => {
                    return End::Silent;
                }
            }
        }
    }

    /// Stores a message without items, so that the last message of this name, which is kept, is small.
    /// Nothing depends on it.
    async fn close(&self) {
        if let Some((expected, message)) = self.state.closing() {
            let sent = publish(&self.context, self.subject.clone(), Some(expected), message).await;
            outcome(sent).await;
        }
    }

    /// The program sees how many items are not stored.
    fn note(&self) {
        self.status.lock().0 = self.state.unstored();
    }

    /// Takes what the program has sent, as a message. Returns whether there was anything.
    fn fill<C: Codec<T>>(&mut self, next: &mut Option<T>, has_ended: &mut bool) -> bool {
        let (mut items, mut count) = (Vec::new(), 0);
        if let Some(item) = next.take() {
            put::<T, C>(&item, &mut items);
            count += 1;
        }
        let mut known = self.status.lock();
        while items.len() < MESSAGE && count < MOST {
            match self.front.try_recv() {
                Ok(item) => {
                    known.0 += 1; // before the codec, which may panic
                    let before = items.len();
                    put::<T, C>(&item, &mut items);
                    if items.len() > self.largest && count > 0 {
                        // The server takes only smaller messages.
                        self.state.push(&items[..before], count);
                        items.drain(..before);
                        count = 0;
                    }
                }
                Err(TryRecvError::Disconnected) => {
                    *has_ended = true;
                    break;
                }
                Err(_) => break,
            }
            count += 1;
        }
        if count > 0 {
            self.state.push(&items, count);
        }
        known.0 = self.state.unstored();
        count > 0
    }
}

/// Takes an item, and counts it in the same step.
async fn take<T>(front: &channel::Receiver<T>, status: &Status<u64>) -> Result<T, RecvError> {
    let mut item = pin!(front.recv_async());
    poll_fn(|context| {
        let mut known = status.lock();
        let taken = item.as_mut().poll(context);
        if let Poll::Ready(Ok(_)) = taken {
            known.0 += 1;
        }
        taken
    })
    .await
}
