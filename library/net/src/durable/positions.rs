//! Where the receivers of a lane are, and what the store need not keep any more.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt as _;

use super::lane::{Names, look};
use super::publishing::Last;
use super::receiver::Delivered;
use super::store::failed;
use crate::error::OpenError;

/// Time between two purges, unless the store fills faster.
const PURGE: Duration = Duration::from_secs(1);
/// Marks that a slower receiver has not come by.
const MARKS: usize = 64;

/// What a receiver has confirmed, and what the others have.
pub(super) struct Positions {
    items: Stream,
    positions: Stream,
    all: String,
    room: u64,
    /// Since the last mark.
    mark: Mark,
    bytes: u64,
    marks: VecDeque<Mark>,
    purged: Instant,
}

/// Messages that this receiver has confirmed.
#[derive(Default)]
struct Mark {
    position: u64,
    /// Of each sender, the last one.
    last: HashMap<String, u64>,
}

impl Positions {
    pub(super) fn new(items: Stream, positions: Stream, names: &Names, room: u64) -> Self {
        Self {
            items,
            positions,
            all: names.position("*"),
            room,
            mark: Mark::default(),
            bytes: 0,
            marks: VecDeque::new(),
            purged: Instant::now(),
        }
    }

    pub(super) async fn look(&self, subject: &str) -> Result<Option<Last>, OpenError> {
        look(&self.positions, subject).await
    }

    /// More messages are confirmed. What no receiver needs is purged now and then, but for each sender's last
    /// message: it tells the next program of that name where to go on.
    pub(super) async fn confirmed(&mut self, messages: Vec<Delivered>) {
        for message in messages {
            self.mark.position = message.sequence;
            self.bytes += message.bytes;
            self.mark.last.insert(message.subject, message.sequence);
        }
        if self.purged.elapsed() < PURGE && self.bytes < self.room / 8 {
            return;
        }
        (self.purged, self.bytes) = (Instant::now(), 0);
        if !self.mark.last.is_empty() {
            self.marks.push_back(std::mem::take(&mut self.mark));
        }
        if self.marks.len() > MARKS {
            self.join_newest();
        }
        if self.marks.is_empty() {
            return;
        }
        // It is tried again when more is confirmed.
        let Ok(all) = positions(&self.positions, &self.all).await else { return };
        let behind_all = all.into_iter().min().unwrap_or_default();
        let needless = self.marks.partition_point(|mark| mark.position <= behind_all);
        for mark in self.marks.drain(..needless) {
            for (sender, last) in mark.last {
                let _ = self.items.purge().filter(sender).sequence(last).await;
            }
        }
    }

    fn join_newest(&mut self) {
        if let (Some(newest), Some(before)) = (self.marks.pop_back(), self.marks.back_mut()) {
            before.position = newest.position;
            before.last.extend(newest.last);
        }
    }
}

/// Where a receiver begins whose name is new: behind what all others have confirmed.
pub(super) async fn start(stream: &Stream, names: &Names) -> Result<u64, OpenError> {
    Ok(positions(stream, &names.position("*")).await?.into_iter().min().unwrap_or_default())
}

/// The positions of all receivers.
async fn positions(stream: &Stream, all: &str) -> Result<Vec<u64>, OpenError> {
    let mut subjects = stream.info_with_subjects(all).await.map_err(failed)?;
    let mut positions = Vec::new();
    while let Some(subject) = subjects.next().await {
        let (subject, _) = subject.map_err(failed)?;
        if let Some(last) = look(stream, &subject).await? {
            positions.push(last.head.first);
        }
    }
    Ok(positions)
}
