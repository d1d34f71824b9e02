//! NATS with its store, as one writes it by hand for speed: items that wait are gathered into
//! messages of 64 KiB, and many messages are under way before the first is known to be stored.

use std::collections::VecDeque;
use std::mem;

use async_nats::jetstream::consumer::pull::{self, Stream};
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::{self, Context, stream};
use bytes::Bytes;
use futures_lite::StreamExt;

use super::server::connect;
use super::{Rx, Tx, Way, in_tokio, text};
use crate::suite::net::ends::End;
use crate::suite::net::record;

const SUBJECT: &str = "bench";
/// Most bytes of items that wait and are gathered into a message.
const MESSAGE: usize = 64 << 10;
/// Most messages of which it isn't known whether they are stored.
const UNDER_WAY: usize = 256;

pub(super) enum JetStream {}

impl Way for JetStream {
    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        Ok(Sends {
            context: jetstream::new(connect(&end.address).await?),
            record_bytes: end.record_bytes,
            waiting: Vec::new(),
            under_way: VecDeque::new(),
        })
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        let context = jetstream::new(connect(&end.address).await?);
        let config = stream::Config {
            name: SUBJECT.into(),
            subjects: vec![SUBJECT.into()],
            retention: stream::RetentionPolicy::WorkQueue,
            ..Default::default()
        };
        let stream = context.create_stream(config).await.map_err(text)?;
        let config = pull::Config { durable_name: Some(SUBJECT.into()), ..Default::default() };
        let consumer = stream.create_consumer(config).await.map_err(text)?;
        let messages = consumer.messages().await.map_err(text)?;
        Ok(Receives { messages, record_bytes: end.record_bytes, items: Bytes::new() })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        in_tokio(work)
    }
}

pub(super) struct Sends {
    context: Context,
    record_bytes: usize,
    /// Items of the next message.
    waiting: Vec<u8>,
    under_way: VecDeque<PublishAckFuture>,
}

impl Sends {
    async fn publish(&mut self) -> Result<(), String> {
        let message = mem::replace(&mut self.waiting, Vec::with_capacity(MESSAGE));
        let stored = self.context.publish(SUBJECT, message.into()).await.map_err(text)?;
        self.under_way.push_back(stored);
        self.wait_for_all_but(UNDER_WAY).await
    }

    async fn wait_for_all_but(&mut self, most: usize) -> Result<(), String> {
        while self.under_way.len() > most {
            if let Some(stored) = self.under_way.pop_front() {
                stored.await.map_err(text)?;
            }
        }
        Ok(())
    }
}

impl Tx for Sends {
    async fn put(&mut self, number: u64) -> Result<(), String> {
        record::append_with_length(number, self.record_bytes, &mut self.waiting);
        if self.waiting.len() >= MESSAGE { self.publish().await } else { Ok(()) }
    }

    async fn idle(&mut self) -> Result<(), String> {
        if self.waiting.is_empty() { Ok(()) } else { self.publish().await }
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.idle().await?;
        self.wait_for_all_but(0).await
    }
}

pub(super) struct Receives {
    messages: Stream,
    record_bytes: usize,
    /// What is left of the last message.
    items: Bytes,
}

impl Rx for Receives {
    async fn get(&mut self) -> Result<u64, String> {
        while self.items.is_empty() {
            let message = self.messages.next().await.ok_or("the server has gone")?;
            let message = message.map_err(text)?;
            message.ack().await.map_err(text)?;
            self.items = message.payload.clone();
        }
        let (item, _) = record::split(&self.items).ok_or("a message is damaged")?;
        let (number, len) = (record::number(item, self.record_bytes), item.len());
        let _ = self.items.split_to(4 + len);
        number
    }
}
