//! Channels that overwrite, with the calls of queues.

use corelane::channel::task::broadcast::{self, error::TryRecvError};
use corelane::channel::{self, TryRecvError as Failed, latest};
use corelane::{Built, Config, Consumer, Info, Producer, Queue, Sides, TryPopError, TryPushError};

use super::plan::Way;
use super::record::Recorder;

const MANY: Info = Info { sides: Sides::ManyToMany, overwrites: true, ..Info::RING };

/// [`channel::latest`].
pub(super) struct Latest;

impl Queue<u64> for Latest {
    const INFO: Info = Info { id: "latest", ..MANY };
    type Producer = LatestTx;
    type Consumer = LatestRx;

    fn with(config: Config) -> Built<LatestTx, LatestRx> {
        let (tx, rx) = channel::latest(config.capacity);
        Ok((LatestTx(tx), LatestRx(rx)))
    }
}

#[derive(Clone)]
pub(super) struct LatestTx(latest::Sender<u64>);

impl Producer for LatestTx {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        self.0.send(item).map_err(|error| TryPushError::Closed(error.0))
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[derive(Clone)]
pub(super) struct LatestRx(channel::Receiver<u64>);

impl Consumer for LatestRx {
    type Item = u64;

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        self.0.try_recv().map_err(|error| match error {
            Failed::Empty => TryPopError::Empty,
            Failed::Disconnected => TryPopError::Closed,
        })
    }

    fn capacity(&self) -> usize {
        self.0.capacity().expect("it is bounded")
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// [`broadcast`].
pub(super) struct Broadcast;

impl Queue<u64> for Broadcast {
    const INFO: Info = Info { id: "broadcast", ..MANY };
    type Producer = BroadcastTx;
    type Consumer = BroadcastRx;

    fn with(config: Config) -> Built<BroadcastTx, BroadcastRx> {
        let capacity = config.capacity.next_power_of_two();
        let (tx, rx) = broadcast::channel(capacity);
        Ok((BroadcastTx(tx, capacity), BroadcastRx(rx, capacity)))
    }
}

/// A sender, and the capacity.
pub(super) struct BroadcastTx(broadcast::Sender<u64>, usize);

impl Producer for BroadcastTx {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        self.0.send(item).map(drop).map_err(|error| TryPushError::Closed(error.0))
    }

    fn capacity(&self) -> usize {
        self.1
    }

    fn is_closed(&self) -> bool {
        self.0.receiver_count() == 0
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self(self.0.clone(), self.1))
    }
}

/// A receiver, and the capacity.
pub(super) struct BroadcastRx(broadcast::Receiver<u64>, usize);

/// Why no item came. `None` if some were missed.
fn end_of(error: TryRecvError) -> Option<TryPopError> {
    match error {
        TryRecvError::Empty => Some(TryPopError::Empty),
        TryRecvError::Closed => Some(TryPopError::Closed),
        TryRecvError::Lagged(_) => None,
    }
}

/// Its pops don't tell what was missed: [`pop_or_miss`] does.
impl Consumer for BroadcastRx {
    type Item = u64;

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        loop {
            match self.0.try_recv().map_err(end_of) {
                Ok(item) => return Ok(item),
                Err(Some(end)) => return Err(end),
                Err(None) => {}
            }
        }
    }

    fn capacity(&self) -> usize {
        self.1
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self(self.0.resubscribe(), self.1))
    }
}

/// Pops up to `n` items, and notes them and what the consumer has missed. Returns how many it
/// popped, and why not more.
pub(super) fn pop_or_miss(
    rx: &mut BroadcastRx,
    recorder: &mut Recorder,
    _: Way,
    n: usize,
) -> (usize, Option<TryPopError>) {
    let mut moved = 0;
    while moved < n {
        let received = rx.0.try_recv();
        match received {
            Ok(number) => recorder.popped(number),
            Err(TryRecvError::Lagged(missed)) => recorder.missed(missed),
            Err(_) => recorder.empty(),
        }
        recorder.done();
        match received.map_err(end_of) {
            Ok(_) => moved += 1,
            Err(None) => {}
            Err(end) => return (moved, end),
        }
    }
    (n, None)
}
