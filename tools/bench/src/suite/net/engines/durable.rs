//! Durable lanes of `corelane-net`: a NATS server keeps the items.

use std::marker::PhantomData;
use std::thread;
use std::time::{Duration, Instant};

use corelane_net::Bytes;
use corelane_net::durable::{Receiver, Sender, Store};

use super::lane::{Item, by_size, window};
use super::server::START;
use super::{Rx, Tx, Way, run, text};
use crate::suite::net::ends::{End, Said, Task, say};
use crate::suite::net::faults::{Confirms, WINDOW, send_until_stopped};

/// Items between two confirmations.
const CONFIRM: u64 = 64;
/// How long a sender waits until all is stored.
const FINISH: Duration = Duration::from_secs(30);
const NAME: &str = "bench";

pub(super) fn durable(end: &End) -> Result<(), String> {
    by_size!(Durable, end)
}

/// The server, which may just start.
fn store(end: &End) -> Result<Store, String> {
    let begin = Instant::now();
    loop {
        // The suite itself has set how the server syncs.
        match Store::at(&end.address).unsynced().connect() {
            Ok(store) => return Ok(store),
            Err(error) if begin.elapsed() > START => return Err(text(error)),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A lane that a server keeps.
pub(super) struct Durable<I>(PhantomData<I>);

impl<I: Item> Way for Durable<I> {
    type Tx = Sends<I>;
    type Rx = Receives<I>;

    async fn sender(end: &End) -> Result<Sends<I>, String> {
        let lane = store(end)?.lane_by::<I, I::Codec>(NAME).window(window(end));
        let tx = lane.sender(NAME).map_err(text)?;
        Ok(Sends { tx: Some(tx), record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Receives<I>, String> {
        let lane = store(end)?.lane_by::<I, I::Codec>(NAME).window(window(end));
        let rx = lane.receiver(NAME).map_err(text)?;
        Ok(Receives { rx, record_bytes: end.record_bytes, items: 0 })
    }
}

pub(super) struct Sends<I> {
    tx: Option<Sender<I>>,
    record_bytes: usize,
}

impl<I: Item> Tx for Sends<I> {
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
    items: u64,
}

impl<I: Item> Rx for Receives<I> {
    #[inline]
    async fn get(&mut self) -> Result<u64, String> {
        let item = self.rx.recv().map_err(text)?;
        self.items += 1;
        if self.items.is_multiple_of(CONFIRM) {
            self.rx.confirm();
        }
        item.number(self.record_bytes)
    }
}

/// An end of a run with faults. A receiver says each number before it confirms it.
pub(super) fn faults(end: &End) -> Result<(), String> {
    let lane = store(end)?.lane::<u64>(NAME).window(WINDOW);
    let Task::SendUntilStopped { first } = end.task else {
        let rx = lane.receiver(NAME).map_err(text)?;
        say(&Said::Ready);
        for (items, number) in (1_u64..).zip(rx.iter()) {
            say(&Said::Taken(number));
            if items.is_multiple_of(CONFIRM) {
                rx.confirm();
            }
        }
        return Err(format!("the lane has ended: {:?}", rx.end()));
    };
    send_until_stopped(lane.sender(NAME).map_err(text)?, first)
}

impl Confirms for Sender<u64> {
    fn put(&self, number: u64) -> Result<(), String> {
        self.send(number).map_err(text)
    }

    fn unconfirmed(&self) -> Option<u64> {
        Some(self.unstored())
    }

    fn finish(self, timeout: Duration) -> Result<(), u64> {
        self.finish(timeout).map_err(|left| left.items)
    }
}
