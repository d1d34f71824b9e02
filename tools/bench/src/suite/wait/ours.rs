//! The channels of corelane.

use corelane::channel::{self, Exclusive, bounded};
use corelane::wait::{self, Inbox};
use corelane::{CapacityError, Info, Sides, line_ring};

use super::handles::{Channel, Ends, Receiver, Sender, Wanted, blocking, channel, copies};
use super::tasks::{self, futures};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::suite::wait::Sharing;

channel!(Bounded, Shared: channel::Sender<u64>, clone; channel::Receiver<u64>, clone;
         |capacity| bounded(capacity));

/// With exclusive handles.
struct Local;

impl Channel for Local {
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = channel::Sender<u64, Exclusive>;
    type Rx = channel::Receiver<u64, Exclusive>;

    fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let (tx, rx) = bounded(capacity);
        let txs = (0..size.producers).map(|_| tx.local()).collect();
        Ok((txs, (0..size.consumers).map(|_| rx.local()).collect()))
    }
}

blocking! {
    channel::Sender<u64>, channel::Receiver<u64>;
    channel::Sender<u64, Exclusive>, channel::Receiver<u64, Exclusive>;
}
futures! {
    channel::Sender<u64>, channel::Receiver<u64>: send_async, recv_async;
    channel::Sender<u64, Exclusive>, channel::Receiver<u64, Exclusive>: send_async, recv_async;
}

/// A line ring for each producer, and one consumer of all of them.
struct Inboxes;

impl Channel for Inboxes {
    const HANDLES: Sharing = Sharing::Exclusive;

    type Tx = wait::Producer<line_ring::Producer<u64>>;
    type Rx = Inbox<line_ring::Consumer<u64>>;

    fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
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

/// Receivers that take messages in runs, with the least code.
struct Many;

impl Channel for Many {
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = channel::Sender<u64>;
    type Rx = Runs;

    fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
        let (tx, rx) = bounded(capacity);
        let txs = copies(tx, size.producers, |tx| Some(tx.clone()))?;
        let rx = Runs { rx, run: Vec::new(), taken: 0 };
        Ok((txs, copies(rx, size.consumers, |rx| Some(rx.clone()))?))
    }
}

/// A receiver, and the run that it has taken.
#[derive(Clone)]
struct Runs {
    rx: channel::Receiver<u64>,
    run: Vec<u64>,
    /// How much of the run is done.
    taken: usize,
}

/// Most messages of a run.
const RUN: usize = 64;

impl Receiver for Runs {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        if self.taken == self.run.len() {
            self.run.clear();
            self.taken = 0;
            self.rx.recv_many(&mut self.run, RUN);
        }
        let item = self.run.get(self.taken).copied();
        self.taken += 1;
        item
    }
}

/// Receivers that select from a channel and from a rendezvous, by which nothing comes: it would
/// tell them to stop.
struct Selects;

impl Channel for Selects {
    const HANDLES: Sharing = Sharing::Shared;

    type Tx = channel::Sender<u64>;
    type Rx = Selecting<channel::Receiver<u64>, channel::Sender<u64>>;

    fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Self::Tx, Self::Rx>, String> {
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

/// The name of a select.
pub(super) const SELECT: &str = "select from a channel and a rendezvous";

pub(super) fn entries() -> [Channels; 5] {
    let ours =
        |id, name, sides| Entry::ours(Info { id, name, sides, ..Info::RING }, "items of any type");
    let bounded = |id| ours(id, "channel, bounded", Sides::ManyToMany);
    [
        bounded("channel").with(ChannelKernel::both::<Bounded>()),
        bounded("channel-local").with(ChannelKernel::both::<Local>()),
        bounded("channel-many").with(ChannelKernel::blocking::<Many>().collect()),
        ours("inbox", "a line ring for each producer", Sides::ManyToOne)
            .with(ChannelKernel::blocking::<Inboxes>().collect()),
        ours("channel-select", SELECT, Sides::ManyToMany)
            .with(ChannelKernel::blocking::<Selects>().collect()),
    ]
}
