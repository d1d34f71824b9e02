//! The receiving end of a durable lane.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{Context, Message};
use corelane::channel::{self, TrySendError};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::lane::{Lane, Names, outcome, publish};
use super::message::Head;
use super::positions::Positions;
use super::publishing::{Last, Outcome};
use super::status::Status;
use super::store::{answered, runtime};
use crate::codec::{Codec, split};
use crate::error::{End, OpenError};
use crate::pump;

/// Bytes that the server sends ahead, besides a message of the largest size. The server never sends a
/// message for which they don't suffice.
const AHEAD: usize = 64 << 10;
/// The time between two positions that the server is told.
const GATHER: Duration = Duration::from_millis(25);
/// The longest time between two looks at the position, which another program may have taken over.
const LOOK: Duration = Duration::from_secs(3);
/// The time after which a failed request is made again.
const AGAIN: Duration = Duration::from_millis(50);
/// Time between looks at a full channel, if nothing is confirmed meanwhile.
const FULL: Duration = Duration::from_millis(1);

/// The receiving end of a durable lane. It has the calls of [`channel::Receiver`]; its clones are, too.
pub struct Receiver<T> {
    behind: channel::Receiver<T>,
    shared: Arc<Shared>,
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("unconfirmed", &self.unconfirmed()).finish_non_exhaustive()
    }
}

impl<T> Deref for Receiver<T> {
    type Target = channel::Receiver<T>;

    fn deref(&self) -> &channel::Receiver<T> {
        &self.behind
    }
}

impl<T> Receiver<T> {
    /// Confirms all items that this handle and its clones have given until now, also those that another
    /// thread is still at: they don't come again. The server hears it within about 25 ms.
    pub fn confirm(&self) {
        let mut known = self.shared.status.lock();
        known.0.confirmed = known.0.given - self.behind.len() as u64;
        drop(known);
        self.shared.confirmed.notify_one();
    }

    /// The number of items that were taken and not confirmed.
    pub fn unconfirmed(&self) -> u64 {
        let known = self.shared.status.lock();
        known.0.given - self.behind.len() as u64 - known.0.confirmed
    }

    /// Why the calls say that the lane is disconnected. `None` as long as they don't.
    pub fn end(&self) -> Option<End> {
        self.shared.status.end()
    }

    /// Says after a loop over the items why no more came. Doesn't wait: it is `Ok` also as long as the
    /// lane is open.
    ///
    /// # Errors
    ///
    /// Why the lane has ended.
    pub fn ended(&self) -> Result<(), End> {
        End::result(self.end())
    }

    /// Takes no more, and waits until the server knows what was confirmed. Without it the last 25 ms may
    /// come again to the next program.
    ///
    /// # Errors
    ///
    /// Why the server doesn't know it.
    pub fn finish(self, timeout: Duration) -> Result<(), End> {
        self.close();
        match self.shared.status.wait_for_end(timeout) {
            Some(End::Closed) => Ok(()),
            end => Err(end.unwrap_or(End::TimedOut)),
        }
    }

    fn close(&self) {
        self.shared.status.lock().0.is_closed = true;
        self.shared.confirmed.notify_one();
        self.shared.room.notify_one();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a receiver's task and its handle share.
#[derive(Default)]
struct Shared {
    status: Status<Given>,
    /// Something was confirmed, or the handle is closed.
    confirmed: Notify,
    /// As above, for a task that waits for room in the channel.
    room: Notify,
}

/// What was given to the program. Items are counted from the beginning of the first message that was not
/// confirmed as a whole when this receiver began.
#[derive(Debug, Default)]
struct Given {
    given: u64,
    confirmed: u64,
    /// Items of messages that are confirmed as a whole.
    whole: u64,
    /// The messages that are not confirmed.
    messages: VecDeque<Delivered>,
    is_closed: bool,
}

/// A message, and the number of items that were given when its last one was.
#[derive(Debug)]
struct Delivered {
    end: u64,
    sequence: u64,
    subject: Arc<str>,
    bytes: u64,
}

pub(super) async fn open<T: Send + 'static, C: Codec<T>>(
    lane: &Lane<T, C>,
    name: &str,
) -> Result<Receiver<T>, OpenError> {
    let (names, items, positions) = lane.open().await?;
    let context = lane.store.context.clone();
    let positions = Positions::new(items.clone(), positions, names.clone(), lane.room);
    let mut last = take_over(&context, &positions, &names, name, lane.gives_up_after).await?;
    if last.head.first > answered(items.get_info()).await?.state.last_sequence {
        // The lane was deleted and made again, but for the position.
        let head = Head { first: 0, count: 0, ..last.head };
        let (subject, expected) = (names.position(name), Some(last.sequence));
        match outcome(publish(&context, subject, expected, head.with(&[])).await).await {
            Outcome::Stored(sequence) => last = Last { sequence, head },
            _ => return Err(OpenError::Engine("the server doesn't store positions".into())),
        }
    }
    let (behind, rx) = channel::bounded(lane.window);
    let shared = Arc::<Shared>::default();
    let known = Given { given: last.head.count.into(), ..Given::default() };
    shared.status.lock().0 = Given { confirmed: known.given, ..known };
    let reads = Reads {
        items,
        ahead: lane.store.largest_message() + AHEAD,
        next: HashMap::new(),
        filter: names.sender("*"),
        connections: lane.store.connections.clone(),
        gives_up_after: lane.gives_up_after,
        read: last.head.first,
        known: last.head.count,
        behind: behind.clone(),
        shared: shared.clone(),
    };
    let confirms = Confirms {
        context,
        subject: names.position(name),
        last,
        positions,
        gives_up_after: lane.gives_up_after,
        shared: shared.clone(),
    };
    let status = shared.clone();
    runtime().spawn(async move {
        let works = async {
            tokio::select! {
                end = reads.run::<C>() => end,
                end = confirms.run() => end,
            }
        };
        let end = AssertUnwindSafe(works).catch_unwind().await;
        let panicked = |_| End::Engine("the lane's task has panicked".into());
        status.status.ended(end.unwrap_or_else(panicked), || behind.close());
    });
    Ok(Receiver { behind: rx, shared })
}

/// Takes a receiver's name over. Returns the position, which is this program's now.
async fn take_over(
    context: &Context,
    positions: &Positions,
    names: &Names,
    name: &str,
    gives_up_after: Duration,
) -> Result<Last, OpenError> {
    let (writer, subject) = (pump::id(), names.position(name));
    let begin = Instant::now();
    loop {
        let last = positions.look(&subject).await?;
        if let Some(last) = last.filter(|last| last.head.writer == writer) {
            return Ok(last); // the answer was lost
        }
        let (first, count) = match last {
            Some(last) => (last.head.first, last.head.count),
            // What any other receiver has not confirmed.
            None => (positions.least().await?, 0),
        };
        let head = Head { writer, first, count };
        let expected = last.map_or(0, |last| last.sequence);
        let sent = publish(context, subject.clone(), Some(expected), head.with(&[])).await;
        if let Outcome::Stored(sequence) = outcome(sent).await {
            return Ok(Last { sequence, head });
        }
        if begin.elapsed() > gives_up_after {
            return Err(OpenError::Engine("the server doesn't store positions".into()));
        }
        sleep(AGAIN).await;
    }
}

/// Gives the program what the server has.
struct Reads<T> {
    items: Stream,
    filter: String,
    /// Bytes that the server may send.
    ahead: usize,
    /// Of each sender, the number of the next item.
    next: HashMap<Arc<str>, u64>,
    connections: watch::Receiver<u64>,
    gives_up_after: Duration,
    /// The number of the last message that was given.
    read: u64,
    /// Items of the next one that were confirmed before this receiver began.
    known: u32,
    behind: channel::Sender<T>,
    shared: Arc<Shared>,
}

impl<T: Send + 'static> Reads<T> {
    async fn run<C: Codec<T>>(mut self) -> End {
        let mut heard = Instant::now();
        loop {
            if let Ok(consumer) = self.consumer().await {
                if let Err(end) = self.read_from::<C>(&consumer).await {
                    return end;
                }
                heard = Instant::now();
            } else if heard.elapsed() > self.gives_up_after {
                return End::Silent;
            }
            sleep(AGAIN).await;
        }
    }

    /// What sends the messages from the next one on. The server forgets it when nothing is asked of it.
    async fn consumer(&self) -> Result<Consumer<pull::Config>, OpenError> {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.read + 1 },
            ack_policy: AckPolicy::None,
            filter_subject: self.filter.clone(),
            memory_storage: true,
            inactive_threshold: 2 * LOOK,
            ..Default::default()
        };
        answered(self.items.create_consumer(config)).await
    }

    /// Returns when a message is missing, or the connection was another one meanwhile.
    async fn read_from<C: Codec<T>>(
        &mut self,
        consumer: &Consumer<pull::Config>,
    ) -> Result<(), End> {
        let stream = consumer.stream().max_bytes_per_batch(self.ahead).heartbeat(LOOK / 2);
        let Ok(mut messages) = stream.expires(10 * LOOK).messages().await else { return Ok(()) };
        self.connections.mark_unchanged();
        let mut number = 0;
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                _ = self.connections.changed() => return Ok(()),
            };
            let Some(Ok(message)) = message else { return Ok(()) };
            number += 1;
            let Ok(info) = message.info() else { return Ok(()) };
            if info.consumer_sequence != number {
                return Ok(());
            }
            let sequence = info.stream_sequence;
            self.give::<C>(&message, sequence).await?;
            (self.read, self.known) = (sequence, 0);
        }
    }

    async fn give<C: Codec<T>>(&mut self, message: &Message, sequence: u64) -> Result<(), End> {
        let (head, mut bytes) = Head::split(&message.payload).ok_or(End::Malformed)?;
        let subject = self.follows(&message.subject, head)?;
        let mut items = VecDeque::new();
        for number in 0..head.count {
            let item = split::<T, C>(&mut bytes).map_err(|_| End::Malformed)?;
            if number >= self.known {
                let item = C::decode_shared(item, &message.payload);
                items.push_back(item.map_err(|_| End::Malformed)?);
            }
        }
        while !self.give_some(&mut items)? {
            let _ = timeout(FULL, self.shared.room.notified()).await;
        }
        let mut known = self.shared.status.lock();
        let delivered = Delivered {
            end: known.0.given,
            sequence,
            subject,
            bytes: message.payload.len() as u64,
        };
        known.0.messages.push_back(delivered);
        Ok(())
    }

    /// The sender's subject. Its items must follow those of its message before.
    fn follows(&mut self, sender: &str, head: Head) -> Result<Arc<str>, End> {
        let known = self.next.get_key_value(sender).map(|(sender, &next)| (sender.clone(), next));
        let (sender, next) = known.unwrap_or_else(|| (sender.into(), head.first));
        self.next.insert(sender.clone(), head.end());
        if next == head.first { Ok(sender) } else { Err(End::Malformed) }
    }

    /// Gives what there is room for. Returns whether that is all.
    fn give_some(&self, items: &mut VecDeque<T>) -> Result<bool, End> {
        let mut known = self.shared.status.lock();
        while let Some(item) = items.pop_front() {
            match self.behind.try_send(item) {
                Ok(()) => known.0.given += 1,
                Err(TrySendError::Full(item)) => {
                    items.push_front(item);
                    return Ok(false);
                }
                // The program takes no more. What it has confirmed is still told.
                Err(TrySendError::Disconnected(_)) => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Tells the server what is confirmed.
struct Confirms {
    context: Context,
    subject: String,
    /// The position that is stored: the last message that is confirmed as a whole, and the number of items of
    /// the next one that are confirmed.
    last: Last,
    positions: Positions,
    gives_up_after: Duration,
    shared: Arc<Shared>,
}

impl Confirms {
    async fn run(mut self) -> End {
        let mut told = Instant::now();
        // What the programs of this name and others have left.
        let _ = self.positions.purge_all().await;
        loop {
            let _ = timeout(LOOK, self.shared.confirmed.notified()).await;
            self.shared.room.notify_one();
            if !self.shared.status.lock().0.is_closed {
                sleep_until(told + GATHER).await;
            }
            told = Instant::now();
            let (messages, count, is_closed) = self.confirmed();
            let first = messages.last().map_or(self.last.head.first, |last| last.sequence);
            let head = Head { first, count, ..self.last.head };
            let is_new = head != self.last.head;
            let result = if is_new { self.store(head).await } else { self.is_ours().await };
            if let Err(end) = result {
                return end;
            }
            for message in messages {
                self.positions.confirmed(message.subject, message.bytes);
            }
            if is_closed || self.positions.is_due() {
                self.positions.purge().await;
            }
            if is_closed {
                return End::Closed;
            }
        }
    }

    /// The messages all of whose items are confirmed, the number of items of the next one that are, and
    /// whether no more will be.
    fn confirmed(&self) -> (Vec<Delivered>, u32, bool) {
        let mut known = self.shared.status.lock();
        let Given { confirmed, whole, messages, is_closed, .. } = &mut known.0;
        let count = messages.partition_point(|message| message.end <= *confirmed);
        let messages: Vec<_> = messages.drain(..count).collect();
        *whole = messages.last().map_or(*whole, |last| last.end);
        (messages, (*confirmed - *whole) as u32, *is_closed)
    }

    /// Stores the position, as this program's.
    async fn store(&mut self, head: Head) -> Result<(), End> {
        let begin = Instant::now();
        loop {
            let (subject, expected) = (self.subject.clone(), Some(self.last.sequence));
            let sent = publish(&self.context, subject, expected, head.with(&[])).await;
            if let Outcome::Stored(sequence) = outcome(sent).await {
                self.last = Last { sequence, head };
                return Ok(());
            }
            self.is_ours().await?;
            if self.last.head == head {
                return Ok(()); // the answer was lost
            }
            if begin.elapsed() > self.gives_up_after {
                return Err(End::Silent);
            }
            sleep(AGAIN).await;
        }
    }

    /// Looks whether another program has taken this one's name over.
    async fn is_ours(&mut self) -> Result<(), End> {
        match self.positions.look(&self.subject).await {
            Ok(Some(last)) if last.head.writer == self.last.head.writer => self.last = last,
            Ok(_) => return Err(End::Taken),
            Err(_) => {} // the reading side gives up
        }
        Ok(())
    }
}
