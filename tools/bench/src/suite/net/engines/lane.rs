//! Lanes of `corelane-net`.

use std::marker::PhantomData;
use std::time::Duration;

use corelane_net::{Bytes, Codec, Lane, LatestSender, Node, Plain, Receiver, Records, Sender};

use super::{Rx, Tx, Way, run, text};
use crate::suite::net::ends::{End, Said, Task, say};
use crate::suite::net::faults::{self, Confirms, receive_all, send_until_stopped};
use crate::suite::net::record;

/// Bytes of a lane. The library has the same for items of one length.
const WINDOW_BYTES: usize = 4 << 20;
/// Most items of a lane of which the latest count.
const FRESH: usize = 256;

/// How long a sender waits until all is received.
const FINISH: Duration = Duration::from_secs(30);

/// The numbers and arrays of a size are plain data. Larger ones are byte records.
macro_rules! by_size {
    ($way:ident, $end:expr) => {
        match $end.record_bytes {
            8 => run::<$way<[u64; 1]>>($end),
            64 => run::<$way<[u64; 8]>>($end),
            256 => run::<$way<[u64; 32]>>($end),
            1024 => run::<$way<[u64; 128]>>($end),
            _ => run::<$way<Bytes>>($end),
        }
    };
}
pub(super) use by_size;

pub(super) fn ordered(end: &End) -> Result<(), String> {
    by_size!(Ordered, end)
}

/// Through memory that both processes share.
pub(super) fn ordered_shm(end: &End) -> Result<(), String> {
    by_size!(OrderedShm, end)
}

pub(super) fn latest(end: &End) -> Result<(), String> {
    by_size!(Latest, end)
}

/// An item of a lane.
pub(super) trait Item: Send + Sized + 'static {
    type Codec: Codec<Self>;

    fn of(number: u64, len: usize) -> Self;
    fn number(&self, len: usize) -> Result<u64, String>;
}

impl<const W: usize> Item for [u64; W] {
    type Codec = Plain;

    #[inline]
    fn of(number: u64, _: usize) -> Self {
        [number; W]
    }

    #[inline]
    fn number(&self, _: usize) -> Result<u64, String> {
        let is_whole = self[0] == self[W - 1];
        is_whole.then_some(self[0]).ok_or_else(|| "an item is damaged".into())
    }
}

impl Item for Bytes {
    type Codec = Records;

    #[inline]
    fn of(number: u64, len: usize) -> Self {
        record::of(number, len).into()
    }

    #[inline]
    fn number(&self, len: usize) -> Result<u64, String> {
        record::number(self, len)
    }
}

/// The time after which an end of a run with faults may have a successor.
const PATIENCE: Duration = Duration::from_millis(300);

/// An end of a run with faults.
pub(super) fn faults_of_ordered(end: &End) -> Result<(), String> {
    match end.task {
        Task::SendUntilStopped { first } => {
            let tx = faulty(&Node::connect(&end.address).map_err(text)?).sender();
            send_until_stopped(tx.map_err(text)?, first)
        }
        _ => {
            listen_to(&faulty(&Node::listen(&end.address).map_err(text)?).receiver().map_err(text)?)
        }
    }
}

/// The same.
pub(super) fn faults_of_latest(end: &End) -> Result<(), String> {
    match end.task {
        Task::SendUntilStopped { first } => {
            let tx = faulty(&Node::connect(&end.address).map_err(text)?).latest_sender();
            send_until_stopped(tx.map_err(text)?, first)
        }
        _ => listen_to(
            &faulty(&Node::listen(&end.address).map_err(text)?).latest_receiver().map_err(text)?,
        ),
    }
}

fn faulty(node: &Node) -> Lane<u64> {
    node.lane("faults").window(faults::WINDOW).patience(PATIENCE)
}

fn listen_to(rx: &Receiver<u64>) -> Result<(), String> {
    say(&Said::Ready);
    receive_all(rx);
    Ok(())
}

impl Confirms for Sender<u64> {
    fn put(&self, number: u64) -> Result<(), String> {
        self.send(number).map_err(text)
    }

    fn unconfirmed(&self) -> Option<u64> {
        Some(self.untaken())
    }

    fn finish(self, timeout: Duration) -> Result<(), u64> {
        self.finish(timeout).map_err(|left| left.items)
    }
}

impl Confirms for LatestSender<u64> {
    fn put(&self, number: u64) -> Result<(), String> {
        self.send(number).map_err(text)
    }

    /// It doesn't say which items it has dropped.
    fn unconfirmed(&self) -> Option<u64> {
        None
    }

    fn finish(self, timeout: Duration) -> Result<(), u64> {
        self.finish(timeout).map_err(|left| left.items)
    }
}

/// Most items of a lane.
pub(super) fn window(end: &End) -> usize {
    (WINDOW_BYTES / end.record_bytes).clamp(64, 65_536)
}

fn lane<I: Item>(node: &Node, end: &End) -> Lane<I, I::Codec> {
    node.lane_by("bench").window(window(end))
}

/// A lane that loses nothing, over TCP or through memory.
pub(super) struct Ordered<I, const SHM: bool = false>(PhantomData<I>);

type OrderedShm<I> = Ordered<I, true>;

impl<I: Item, const SHM: bool> Way for Ordered<I, SHM> {
    type Tx = Sends<Sender<I>>;
    type Rx = Receives<I>;

    async fn sender(end: &End) -> Result<Self::Tx, String> {
        let connect = if SHM { Node::connect_shm } else { Node::connect };
        let node = connect(&end.address).map_err(text)?;
        let tx = lane(&node, end).sender().map_err(text)?;
        Ok(Sends { tx: Some(tx), record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Self::Rx, String> {
        let listen = if SHM { Node::listen_shm } else { Node::listen };
        let node = listen(&end.address).map_err(text)?;
        let rx = lane(&node, end).receiver().map_err(text)?;
        Ok(Receives { rx, record_bytes: end.record_bytes })
    }
}

/// A lane whose sender drops its oldest items.
pub(super) struct Latest<I>(PhantomData<I>);

impl<I: Item> Way for Latest<I> {
    type Tx = Sends<LatestSender<I>>;
    type Rx = Receives<I>;

    async fn sender(end: &End) -> Result<Self::Tx, String> {
        let node = Node::connect(&end.address).map_err(text)?;
        let tx = lane(&node, end).window(FRESH).latest_sender().map_err(text)?;
        // What is sent before is dropped.
        tx.wait_for_receiver(FINISH);
        Ok(Sends { tx: Some(tx), record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Self::Rx, String> {
        let node = Node::listen(&end.address).map_err(text)?;
        let rx = lane(&node, end).window(FRESH).latest_receiver().map_err(text)?;
        Ok(Receives { rx, record_bytes: end.record_bytes })
    }
}

pub(super) struct Sends<S> {
    tx: Option<S>,
    record_bytes: usize,
}

impl<I: Item> Tx for Sends<Sender<I>> {
    #[inline]
    async fn put(&mut self, number: u64) -> Result<(), String> {
        let tx = self.tx.as_ref().ok_or("it is finished")?;
        tx.send(I::of(number, self.record_bytes)).map_err(text)
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.tx.take().map_or(Ok(()), |tx| tx.finish(FINISH)).map_err(text)
    }
}

impl<I: Item> Tx for Sends<LatestSender<I>> {
    #[inline]
    async fn put(&mut self, number: u64) -> Result<(), String> {
        let tx = self.tx.as_ref().ok_or("it is finished")?;
        tx.send(I::of(number, self.record_bytes)).map_err(text)
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.tx.take().map_or(Ok(()), |tx| tx.finish(FINISH)).map_err(text)
    }
}

pub(super) struct Receives<I> {
    rx: Receiver<I>,
    record_bytes: usize,
}

impl<I: Item> Rx for Receives<I> {
    #[inline]
    async fn get(&mut self) -> Result<u64, String> {
        self.rx.recv().map_err(text)?.number(self.record_bytes)
    }
}
