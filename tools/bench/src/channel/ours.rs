//! The channels of corelane.

use corelane::channel::{self, Exclusive, Shared, bounded};
use corelane::wait::{self, Inbox};
use corelane::{CapacityError, Info, Sides, line_ring};

use super::ChannelKernel;
use super::handles::{Channel, Ends, Receiver, Sender, channel, copies};
#[cfg(feature = "peers")]
use super::tasks;
use crate::catalogue::{Entry, EntryKind};
use crate::kinds::{Sharing, Strategy, TeamSize};

channel!(Channels, Shared: channel::Sender<u64>, clone; channel::Receiver<u64>, clone;
         |capacity| bounded(capacity));

/// With exclusive handles.
struct Local;

impl Channel for Local {
    const STRATEGY: Strategy = Strategy::Adaptive;
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = channel::Sender<u64, Exclusive>;
    type Rx = channel::Receiver<u64, Exclusive>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let (tx, rx) = bounded(capacity);
        let txs = (0..size.producers).map(|_| tx.local()).collect();
        Ok((txs, (0..size.consumers).map(|_| rx.local()).collect()))
    }
}

impl Sender for channel::Sender<u64, Exclusive> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        self.send(item).is_ok()
    }
}

impl Receiver for channel::Receiver<u64, Exclusive> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.recv().ok()
    }
}

/// A line ring for each producer, and one consumer of all of them.
struct Inboxes;

impl Channel for Inboxes {
    const STRATEGY: Strategy = Strategy::Adaptive;
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = wait::Producer<line_ring::Producer<u64>>;
    type Rx = Inbox<line_ring::Consumer<u64>>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let mut inbox = Inbox::new();
        let each = capacity.div_ceil(size.producers);
        let txs = (0..size.producers).map(|_| Ok(inbox.add(line_ring::queue(each)?)));
        let txs = txs.collect::<Result<_, CapacityError>>().map_err(|error| error.to_string())?;
        Ok((txs, copies(inbox, size.consumers, |_| None)?))
    }
}

impl Receiver for Inbox<line_ring::Consumer<u64>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.pop()
    }
}

/// Receivers that select from a channel and from a rendezvous, by which nothing comes: it would tell them to stop.
struct Selects;

impl Channel for Selects {
    const STRATEGY: Strategy = Strategy::Adaptive;
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = channel::Sender<u64>;
    type Rx = Selecting<channel::Receiver<u64>, channel::Sender<u64>>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let ((tx, rx), (_stops, stop)) = (bounded(capacity), bounded(0));
        let txs = copies(tx, size.producers, |tx| Some(tx.clone()))?;
        let rx = Selecting { rx, stop, _stops };
        Ok((txs, copies(rx, size.consumers, |rx| Some(rx.clone()))?))
    }
}

/// The handles of a receiver that selects, and one that keeps the rendezvous open.
#[derive(Clone)]
pub(super) struct Selecting<R, S> {
    pub(super) rx: R,
    pub(super) stop: R,
    pub(super) _stops: S,
}

impl Receiver for Selecting<channel::Receiver<u64>, channel::Sender<u64>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        corelane::select! {
            recv(self.rx) -> item => item.ok(),
            recv(self.stop) -> _ => None,
        }
    }
}

#[cfg(feature = "peers")]
impl tasks::Channel for Channels {
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = channel::Sender<u64, Shared>;
    type Rx = channel::Receiver<u64, Shared>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        <Self as Channel>::open(capacity, size)
    }
}

#[cfg(feature = "peers")]
impl tasks::Sender for channel::Sender<u64> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
        self.send_async(item)
    }
}

#[cfg(feature = "peers")]
impl tasks::Receiver for channel::Receiver<u64> {
    #[inline(always)]
    fn get(&mut self) -> impl Future<Output = impl tasks::Received> + Send {
        self.recv_async()
    }
}

#[cfg(feature = "peers")]
impl tasks::Channel for Local {
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = channel::Sender<u64, Exclusive>;
    type Rx = channel::Receiver<u64, Exclusive>;

    fn open(capacity: usize, size: TeamSize) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        <Self as Channel>::open(capacity, size)
    }
}

#[cfg(feature = "peers")]
impl tasks::Sender for channel::Sender<u64, Exclusive> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
        self.send_async(item)
    }
}

#[cfg(feature = "peers")]
impl tasks::Receiver for channel::Receiver<u64, Exclusive> {
    #[inline(always)]
    fn get(&mut self) -> impl Future<Output = impl tasks::Received> + Send {
        self.recv_async()
    }
}

/// The name of a select.
pub(super) const SELECT: &str = "select from a channel and a rendezvous";

pub(super) fn entries() -> [Entry; 4] {
    let info = |id| Info { id, name: "channel, bounded", sides: Sides::ManyToMany, ..Info::RING };
    let kind = || EntryKind::Ours { items: "items of any type" };
    let shared = vec![ChannelKernel::blocking::<Channels>()];
    #[cfg(feature = "peers")]
    let shared = shared.into_iter().chain(ChannelKernel::tasks::<Channels>()).collect();
    let inbox = Info {
        id: "inbox",
        name: "a line ring for each producer",
        sides: Sides::ManyToOne,
        ..Info::RING
    };
    let local = vec![ChannelKernel::blocking::<Local>()];
    #[cfg(feature = "peers")]
    let local = local.into_iter().chain(ChannelKernel::tasks::<Local>()).collect();
    [
        Entry::channel(info("channel"), kind(), shared),
        Entry::channel(info("channel-local"), kind(), local),
        Entry::channel(inbox, kind(), vec![ChannelKernel::blocking::<Inboxes>()]),
        Entry::channel(
            Info { name: SELECT, ..info("channel-select") },
            kind(),
            vec![ChannelKernel::blocking::<Selects>()],
        ),
    ]
}
