//! NATS: publish and subscribe. Its server drops items of a subscriber that is too slow.

use async_nats::{Client, Subscriber};
use futures_lite::StreamExt;

use super::server::connect;
use super::{Rx, Tx, Way, in_tokio, text};
use crate::suite::net::ends::End;
use crate::suite::net::record;

const SUBJECT: &str = "bench";

pub(super) enum Nats {}

impl Way for Nats {
    const REPEATS_END: bool = true;

    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        Ok(Sends { client: connect(&end.address).await?, record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        let client = connect(&end.address).await?;
        let items = client.subscribe(SUBJECT).await.map_err(text)?;
        // Then the server knows it.
        client.flush().await.map_err(text)?;
        Ok(Receives { _client: client, items, record_bytes: end.record_bytes })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        in_tokio(work)
    }
}

pub(super) struct Sends {
    client: Client,
    record_bytes: usize,
}

impl Tx for Sends {
    async fn put(&mut self, number: u64) -> Result<(), String> {
        let item = record::of(number, self.record_bytes);
        self.client.publish(SUBJECT, item.into()).await.map_err(text)
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.client.flush().await.map_err(text)
    }
}

pub(super) struct Receives {
    _client: Client,
    items: Subscriber,
    record_bytes: usize,
}

impl Rx for Receives {
    async fn get(&mut self) -> Result<u64, String> {
        let item = self.items.next().await.ok_or("the server has gone")?;
        record::number(&item.payload, self.record_bytes)
    }
}
