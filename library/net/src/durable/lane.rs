//! A durable lane, and what the server has of it.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE;
use async_nats::jetstream::context::{
    DeleteStreamError, DeleteStreamErrorKind, GetStreamError, GetStreamErrorKind, PublishAckFuture,
    PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, DiscardPolicy, LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;

use super::message::{Head, VERSION};
use super::positions::Positions;
use super::publishing::{Last, Outcome};
use super::store::{Store, answered, failed, in_time, wait};
use super::{Receiver, Sender, receiver, sender};
use crate::codec::{Codec, Plain};
use crate::error::OpenError;

/// A lane in a [`Store`].
pub struct Lane<T, C = Plain> {
    pub(super) store: Store,
    pub(super) name: String,
    pub(super) window: usize,
    pub(super) room: u64,
    pub(super) gives_up_after: Duration,
    pub(super) of: PhantomData<fn(T, C) -> T>,
}

impl<T, C> fmt::Debug for Lane<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("name", &self.name).field("window", &self.window).finish()
    }
}

impl<T, C> Lane<T, C> {
    /// Items that wait in this program, besides two messages that are under way. If it isn't given: 4 MiB
    /// of items, and not more than 65,536; of items with different lengths, 4096.
    #[must_use]
    pub fn window(mut self, items: usize) -> Self {
        self.window = items;
        self
    }

    /// Most bytes in the store: 1 GiB if it isn't given, and at least four messages of the largest size
    /// that the server takes, which is 1 MiB if it isn't set. When the store is full of items that a
    /// receiver has not confirmed, sends wait. The program that uses the lane first decides.
    ///
    /// The store keeps the last message of each sender's name: a small one if it has ended by
    /// [`Sender::finish`] or by its drop, else of up to 256 KiB.
    #[must_use]
    pub fn room(mut self, bytes: u64) -> Self {
        self.room = bytes;
        self
    }

    /// How long to wait for a server that doesn't answer: 30 seconds if it isn't given.
    #[must_use]
    pub fn gives_up_after(mut self, time: Duration) -> Self {
        self.gives_up_after = time;
        self
    }

    /// Deletes the lane with all of its items. Programs that still use it find it silent.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub fn delete(self) -> Result<(), OpenError> {
        self.check()?;
        let (store, names) = (self.store, Names::of(&self.name));
        wait(async move {
            // The positions first: without their items they are wrong.
            for stream in [&names.positions, &names.items] {
                match in_time(store.context.delete_stream(stream)).await? {
                    Err(error) if !is_not_found(&error) => return Err(failed(error)),
                    _ => {}
                }
            }
            Ok(())
        })
    }

    /// Forgets a receiver that won't come again. The store keeps nothing for it any more.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub fn forget_receiver(&self, name: &str) -> Result<(), OpenError> {
        self.check()?;
        check(name)?;
        let (store, names) = (self.store.clone(), Names::of(&self.name));
        let subject = names.position(name);
        wait(async move {
            let positions = match in_time(store.context.get_stream(&names.positions)).await? {
                Err(error) if is_unknown(&error) => return Ok(()), // no receiver has come yet
                answer => answer.map_err(failed)?,
            };
            let items = answered(store.context.get_stream(&names.items)).await?;
            answered(positions.purge().filter(subject)).await?;
            Positions::new(items, positions, names, 0).purge_all().await
        })
    }

    fn check(&self) -> Result<(), OpenError> {
        if self.window == 0 || self.window > crate::lane::MOST {
            return Err(OpenError::Window);
        }
        check(&self.name)
    }
}

/// Names are parts of the server's subjects.
fn check(name: &str) -> Result<(), OpenError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !name.is_empty() && name.chars().all(is_part);
    if is_name { Ok(()) } else { Err(OpenError::Name(name.into())) }
}

impl<T: Send + 'static, C: Codec<T>> Lane<T, C> {
    /// The sender of this name. A later one takes the name over, and goes on where this one was.
    ///
    /// # Errors
    ///
    /// [`OpenError::Name`], [`OpenError::Window`], [`OpenError::Differs`] if the lane has items of another
    /// type, or [`OpenError::Engine`].
    pub fn sender(self, name: &str) -> Result<Sender<T>, OpenError> {
        self.check()?;
        check(name)?;
        let name = name.to_owned();
        wait(async move { sender::open::<T, C>(&self, &name).await })
    }

    /// The receiver of this name: it gets the items that the ones of this name before it didn't confirm. The
    /// first one of a name gets those that another receiver has not confirmed, or all if there is none.
    ///
    /// # Errors
    ///
    /// As [`sender`](Self::sender).
    pub fn receiver(self, name: &str) -> Result<Receiver<T>, OpenError> {
        self.check()?;
        check(name)?;
        let name = name.to_owned();
        wait(async move { receiver::open::<T, C>(&self, &name).await })
    }

    /// What the server has of this lane. Makes it, if it isn't there.
    pub(super) async fn open(&self) -> Result<(Names, Stream, Stream), OpenError> {
        let names = Names::of(&self.name);
        let largest = self.store.largest_message() as u64;
        let type_of_items = format!("{} of version {VERSION}", C::name());
        let config = stream::Config {
            name: names.items.clone(),
            subjects: vec![names.sender("*"), names.gap()],
            max_bytes: self.room.clamp(4 * largest, i64::MAX as u64) as i64,
            discard: DiscardPolicy::New,
            metadata: [("items".to_owned(), type_of_items.clone())].into(),
            ..Default::default()
        };
        let items = self.get_or_create(config).await?;
        if items.cached_info().config.metadata.get("items") != Some(&type_of_items) {
            return Err(OpenError::Differs);
        }
        let config = stream::Config {
            name: names.positions.clone(),
            subjects: vec![names.position("*")],
            max_messages_per_subject: 1,
            ..Default::default()
        };
        let positions = self.get_or_create(config).await?;
        Ok((names, items, positions))
    }

    async fn get_or_create(&self, config: stream::Config) -> Result<Stream, OpenError> {
        let (context, name) = (&self.store.context, config.name.clone());
        match answered(context.get_or_create_stream(config)).await {
            // Another program may have made it meanwhile, with other settings.
            Err(_) => answered(context.get_stream(name)).await,
            made => made,
        }
    }
}

/// The names of a lane's parts in the server.
#[derive(Debug, Clone)]
pub(super) struct Names {
    lane: String,
    /// The stream of items.
    pub(super) items: String,
    /// The stream of receivers' positions.
    pub(super) positions: String,
}

impl Names {
    fn of(lane: &str) -> Self {
        Self {
            lane: lane.into(),
            items: format!("corelane-items-{lane}"),
            positions: format!("corelane-positions-{lane}"),
        }
    }

    /// The subject of a sender's items.
    pub(super) fn sender(&self, name: &str) -> String {
        format!("corelane.items.{}.{name}", self.lane)
    }

    /// The subject of the messages between two programs of a sender's name.
    pub(super) fn gap(&self) -> String {
        format!("corelane.gap.{}", self.lane)
    }

    /// The subject of a receiver's position.
    pub(super) fn position(&self, name: &str) -> String {
        format!("corelane.positions.{}.{name}", self.lane)
    }
}

/// The last message of a subject.
pub(super) async fn look(stream: &Stream, subject: &str) -> Result<Option<Last>, OpenError> {
    let last = async {
        match stream.get_last_raw_message_by_subject(subject).await {
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            last => last.map(Some),
        }
    };
    let Some(message) = answered(last).await? else { return Ok(None) };
    let (head, _) = Head::split(&message.payload).ok_or(OpenError::Differs)?;
    Ok(Some(Last { sequence: message.sequence, head }))
}

/// Sends a message, which the server stores if `expected` is the number of the subject's last one.
pub(super) async fn publish(
    context: &jetstream::Context,
    subject: String,
    expected: Option<u64>,
    message: Bytes,
) -> Result<PublishAckFuture, PublishError> {
    let mut publication = PublishMessage::build().payload(message);
    if let Some(expected) = expected {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        publication = publication.headers(headers);
    }
    context.send_publish(subject, publication).await
}

/// What became of a message.
pub(super) async fn outcome(sent: Result<PublishAckFuture, PublishError>) -> Outcome {
    let stored = match sent {
        Ok(sent) => sent.await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(stored) => Outcome::Stored(stored.sequence),
        Err(error) => match error.kind() {
            PublishErrorKind::WrongLastSequence => Outcome::Refused,
            PublishErrorKind::MaxPayloadExceeded => Outcome::TooLarge,
            PublishErrorKind::Other if is_full(&error) => Outcome::Full,
            _ => Outcome::Unknown,
        },
    }
}

fn is_full(error: &PublishError) -> bool {
    let source = std::error::Error::source(error);
    source.and_then(|source| source.downcast_ref::<jetstream::Error>()).is_some_and(|error| {
        let full = [
            ErrorCode::STREAM_STORE_FAILED,
            ErrorCode::STORAGE_RESOURCES_EXCEEDED,
            ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
            ErrorCode::INSUFFICIENT_RESOURCES,
        ];
        full.contains(&error.error_code())
    })
}

fn is_not_found(error: &DeleteStreamError) -> bool {
    matches!(error.kind(), DeleteStreamErrorKind::JetStream(error)
        if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

fn is_unknown(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error)
        if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}
