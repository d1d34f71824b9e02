//! Where the receivers of a lane are, and what the store need not keep any more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Stream;
use futures_util::TryStreamExt as _;

use super::lane::{Names, look};
use super::publishing::Last;
use super::store::answered;
use crate::error::OpenError;

/// Time between two purges, unless the store fills faster.
const PURGE: Duration = Duration::from_secs(1);

/// The positions of all receivers of a lane, and the items that they have confirmed.
pub(super) struct Positions {
    items: Stream,
    positions: Stream,
    names: Names,
    /// Bytes of confirmed messages after which they are purged at once.
    most: u64,
    bytes: u64,
    /// Subjects of senders of whom messages are confirmed, and not purged.
    senders: HashSet<Arc<str>>,
    purged: Instant,
}

impl Positions {
    pub(super) fn new(items: Stream, positions: Stream, names: Names, room: u64) -> Self {
        let (senders, purged) = (HashSet::new(), Instant::now());
        Self { items, positions, names, most: room / 8, bytes: 0, senders, purged }
    }

    pub(super) async fn look(&self, subject: &str) -> Result<Option<Last>, OpenError> {
        look(&self.positions, subject).await
    }

    /// A message is confirmed.
    pub(super) fn confirmed(&mut self, sender: Arc<str>, bytes: u64) {
        self.bytes += bytes;
        self.senders.insert(sender);
    }

    /// Whether to purge now.
    pub(super) fn is_due(&self) -> bool {
        self.purged.elapsed() >= PURGE || self.bytes > self.most
    }

    /// Purges what this receiver has confirmed, and all others have. What slower ones have not, they purge
    /// themselves.
    pub(super) async fn purge(&mut self) {
        (self.purged, self.bytes) = (Instant::now(), 0);
        if self.senders.is_empty() {
            return;
        }
        let Ok(position) = self.least().await else { return };
        for sender in std::mem::take(&mut self.senders) {
            if self.purge_sender(&sender, position).await.is_err() {
                self.senders.insert(sender); // next time
            }
        }
    }

    /// Purges what all receivers have confirmed, of all senders: also what programs have left that were
    /// killed.
    pub(super) async fn purge_all(&self) -> Result<(), OpenError> {
        answered(self.items.purge().filter(self.names.gap())).await?;
        let position = self.least().await?;
        for sender in subjects(&self.items, &self.names.sender("*")).await? {
            self.purge_sender(&sender, position).await?;
        }
        Ok(())
    }

    /// The last message of a sender stays: it has the number at which the next program of that sender's
    /// name begins.
    async fn purge_sender(&self, sender: &str, position: u64) -> Result<(), OpenError> {
        let Some(last) = look(&self.items, sender).await? else { return Ok(()) };
        let first = last.sequence.min(position + 1);
        answered(self.items.purge().filter(sender).sequence(first)).await?;
        Ok(())
    }

    /// The number of the last message that all receivers have confirmed.
    pub(super) async fn least(&self) -> Result<u64, OpenError> {
        let mut least = None;
        for receiver in subjects(&self.positions, &self.names.position("*")).await? {
            if let Some(last) = look(&self.positions, &receiver).await? {
                least = Some(last.head.first.min(least.unwrap_or(u64::MAX)));
            }
        }
        Ok(least.unwrap_or_default())
    }
}

/// The subjects of a stream.
async fn subjects(stream: &Stream, filter: &str) -> Result<Vec<String>, OpenError> {
    let subjects = answered(stream.info_with_subjects(filter)).await?;
    let subjects = answered(subjects.try_collect::<Vec<_>>()).await?;
    Ok(subjects.into_iter().map(|(subject, _)| subject).collect())
}
