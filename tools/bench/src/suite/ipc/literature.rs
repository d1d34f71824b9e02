//! The queues of paper 5 in shared memory, for processes that trust each other.

use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::process::Command;

use corelane::list::pooled::MsqPool;
use corelane::ring::{InOrder, Ring};
use corelane::rings::pooled::LcrqPool;
use corelane::shm::Lane;
use corelane::shm::literature::{Consumer, Of, Placed, Producer};
use corelane::shm::parts::SharedBells;
use corelane::{Info, Queue, wait};

use super::lane::{among, text};
use super::ping_pong::{self, Crowd, Many};
use super::{IpcKernel, Linked, Rx, Tx, Wanted};
use crate::catalogue::Entry;
use crate::payload::{NO_POOL, Payload};
use crate::suite::wait::Strategy;

impl<P: corelane::Producer<Item: Payload>> Tx<1> for wait::Producer<P, SharedBells> {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        self.push(Payload::make(NO_POOL, number)).is_ok()
    }
}

impl<C: corelane::Consumer<Item: Payload>> Rx<1> for wait::Consumer<C, SharedBells> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        // SAFETY: the other process has made the item by `make`, and nothing is freed.
        self.pop().map(|item| unsafe { item.read() })
    }
}

/// The queue `Q`, whose items are `T`.
struct Shared<Q, T>(PhantomData<fn(Q, T)>);

impl<Q, T: Payload> Crowd for Shared<Q, T>
where
    Q: Placed<T, Producer: Send, Consumer: Send> + 'static,
{
    const STRATEGIES: &'static [Strategy] = &Strategy::OF_IPC;

    type Tx = Producer<Q, T>;
    type Rx = Consumer<Q, T>;

    fn to_child(of: Wanted, child: &mut Command) -> Many<Self::Tx> {
        let lane = Lane::<Of<Q, T>>::create(of.capacity).map_err(text)?;
        Ok((txs(&lane, of)?, lane.give(child).map_err(text)?))
    }

    fn from_child(of: Wanted, child: &mut Command) -> Many<Self::Rx> {
        let lane = Lane::<Of<Q, T>>::create(of.capacity).map_err(text)?;
        Ok((rxs(&lane, of)?, lane.give(child).map_err(text)?))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Vec<Self::Tx>, String> {
        txs(&Lane::<Of<Q, T>>::open_number(number).map_err(text)?, of)
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Vec<Self::Rx>, String> {
        rxs(&Lane::<Of<Q, T>>::open_number(number).map_err(text)?, of)
    }
}

fn txs<Q: Placed<T>, T: Payload>(
    lane: &Lane<Of<Q, T>>,
    of: Wanted,
) -> Result<Vec<Producer<Q, T>>, String> {
    (0..of.threads)
        .map(|_| Ok(lane.producer().map_err(text)?.strategy(among(of.strategy))))
        .collect()
}

fn rxs<Q: Placed<T>, T: Payload>(
    lane: &Lane<Of<Q, T>>,
    of: Wanted,
) -> Result<Vec<Consumer<Q, T>>, String> {
    (0..of.threads)
        .map(|_| Ok(lane.consumer().map_err(text)?.strategy(among(of.strategy))))
        .collect()
}

/// How the paper's eLCRQ and eLCRQ-spin wait.
const OF_ELCRQ: [Strategy; 2] = [Strategy::Sleep, Strategy::SpinThenSleep];

pub(super) fn entries() -> Vec<Linked> {
    let ring = <Ring<InOrder> as Queue<u64>>::INFO;
    let msq = Info { id: "msq", ..<MsqPool as Queue<u64>>::INFO };
    let elcrq = Info { id: "elcrq", ..<LcrqPool as Queue<NonZeroU64>>::INFO };
    vec![
        entry::<Ring<InOrder>, u64>(ring, "plain data", &Strategy::OF_IPC),
        entry::<MsqPool, u64>(msq, "plain data", &Strategy::OF_IPC),
        entry::<LcrqPool, NonZeroU64>(elcrq, "tokens", &OF_ELCRQ),
    ]
}

fn entry<Q, T: Payload>(info: Info, items: &'static str, strategies: &'static [Strategy]) -> Linked
where
    Q: Placed<T, Producer: Send, Consumer: Send> + 'static,
{
    let kernel = IpcKernel { strategies, ..ping_pong::kernel::<Shared<Q, T>>() };
    Entry::ours(info, items).with(vec![kernel])
}
