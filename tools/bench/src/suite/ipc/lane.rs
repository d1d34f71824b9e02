//! Lanes of corelane.

use std::process::Command;
use std::time::Duration;

use corelane::Queue;
use corelane::shm::{
    Broadcast, Consumer, Lane, Lanes as SideBySide, Many, ManyConsumer, ManyProducer, Producer,
    Publisher, RecordConsumer, RecordProducer, Subscriber,
};
use corelane::{Info, lanes, line_ring::LineRing, record_ring, seq_ring::SeqRing, wait};
use zerocopy::FromBytes;

use super::ping_pong::{self, Crowd};
use super::{
    IpcKernel, Link, Linked, Links, Record, Rx, Tx, Wanted, kill, kill_many, number, record,
};
use crate::catalogue::Entry;
use crate::kinds::Test;
use crate::suite::wait::Strategy;

/// How one thread of a process waits: a process that spins has a core of its own.
fn alone(strategy: Strategy) -> wait::Strategy {
    strategy.of_handles().unwrap_or(wait::Strategy::Spin)
}

/// How one of several threads waits: they have one core.
pub(super) fn among(strategy: Strategy) -> wait::Strategy {
    match alone(strategy) {
        wait::Strategy::Spin => wait::Strategy::Yield,
        other => other,
    }
}

/// Items are moved one by one.
struct Items;

/// The error as text.
pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<const W: usize> Tx<W> for Producer<Record<W>> {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        self.push(record(number)).is_ok()
    }
}

impl<const W: usize> Rx<W> for Consumer<Record<W>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        number(&self.pop()?)
    }
}

/// Records are written and read in place.
struct Records;

impl<const W: usize> Tx<W> for RecordProducer {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        let Ok(mut claim) = self.claim(8 * W) else { return false };
        words_mut(&mut claim).fill(number);
        claim.commit();
        true
    }
}

impl<const W: usize> Rx<W> for RecordConsumer {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        number(words(&self.pop()?))
    }
}

/// Items of several producers are moved one by one.
struct Each;

impl<const W: usize> Tx<W> for ManyProducer<Record<W>> {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        self.push(record(number)).is_ok()
    }
}

impl<const W: usize> Rx<W> for ManyConsumer<Record<W>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        number(&self.pop()?)
    }
}

impl Crowd for Each {
    const STRATEGIES: &'static [Strategy] = &Strategy::OF_IPC;

    type Tx = ManyProducer<Record<1>>;
    type Rx = ManyConsumer<Record<1>>;

    fn to_child(of: Wanted, child: &mut Command) -> ping_pong::Many<Self::Tx> {
        let lanes = SideBySide::create_for_producers(of.threads, of.capacity).map_err(text)?;
        Ok((txs(&lanes, of)?, lanes.give(child).map_err(text)?))
    }

    fn from_child(of: Wanted, child: &mut Command) -> ping_pong::Many<Self::Rx> {
        let lanes = SideBySide::create_for_producers(of.threads, of.capacity).map_err(text)?;
        Ok((rxs(&lanes, of)?, lanes.give(child).map_err(text)?))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Vec<Self::Tx>, String> {
        txs(&SideBySide::open_number(number).map_err(text)?, of)
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Vec<Self::Rx>, String> {
        rxs(&SideBySide::open_number(number).map_err(text)?, of)
    }
}

type Words = SideBySide<Record<1>>;

fn txs(lanes: &Words, of: Wanted) -> Result<Vec<ManyProducer<Record<1>>>, String> {
    (0..of.threads)
        .map(|_| Ok(lanes.producer().map_err(text)?.strategy(among(of.strategy))))
        .collect()
}

fn rxs(lanes: &Words, of: Wanted) -> Result<Vec<ManyConsumer<Record<1>>>, String> {
    (0..of.threads)
        .map(|_| Ok(lanes.consumer().map_err(text)?.strategy(among(of.strategy))))
        .collect()
}

/// Items of a broadcast are moved one by one.
struct Heard;

/// The first record waits for a process that gets it.
struct Meets<const W: usize> {
    tx: Publisher<Record<W>>,
    has_met: bool,
}

impl<const W: usize> Tx<W> for Meets<W> {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        if !self.has_met {
            self.has_met = self.tx.wait_for_peer(Duration::from_secs(10));
        }
        self.tx.push(record(number)).is_ok()
    }
}

impl<const W: usize> Rx<W> for Subscriber<Record<W>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        number(&self.pop()?)
    }
}

impl<const W: usize> Link<W> for Heard {
    const STRATEGIES: &'static [Strategy] = &Strategy::OF_IPC;

    type Tx = Meets<W>;
    type Rx = Subscriber<Record<W>>;

    fn to_child(of: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        let feed = Broadcast::create(of.capacity).map_err(text)?;
        let number = feed.give(child).map_err(text)?;
        let tx = feed.producer().map_err(text)?.strategy(alone(of.strategy));
        Ok((Meets { tx, has_met: false }, number))
    }

    fn from_child(of: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        let feed = Broadcast::create(of.capacity).map_err(text)?;
        let number = feed.give(child).map_err(text)?;
        Ok((feed.consumer().map_err(text)?.strategy(alone(of.strategy)), number))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Self::Tx, String> {
        let tx = Broadcast::open_number(number).and_then(|feed| feed.producer());
        Ok(Meets { tx: tx.map_err(text)?.strategy(alone(of.strategy)), has_met: false })
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Self::Rx, String> {
        let rx = Broadcast::open_number(number).and_then(|feed| feed.consumer());
        Ok(rx.map_err(text)?.strategy(alone(of.strategy)))
    }
}

/// The words of a record in place, which is aligned to them.
#[inline(always)]
pub(super) fn words(record: &[u8]) -> &[u64] {
    FromBytes::ref_from_bytes(record).unwrap_or_default()
}

/// As [`words`], to be written.
#[inline(always)]
pub(super) fn words_mut(record: &mut [u8]) -> &mut [u64] {
    FromBytes::mut_from_bytes(record).unwrap_or_default()
}

/// The measurements of lanes that carry `$carried`, which `$create` makes for a number of records
/// of `W` words.
macro_rules! links {
    ($link:ident carries $carried:ty, $tx:ty, $rx:ty, $create:expr) => {
        impl<const W: usize> Link<W> for $link {
            const STRATEGIES: &'static [Strategy] = &Strategy::OF_IPC;

            type Tx = $tx;
            type Rx = $rx;

            fn to_child(of: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String> {
                let lane: Lane<$carried> = $create(of.capacity, W).map_err(text)?;
                let number = lane.give(child).map_err(text)?;
                Ok((lane.producer().map_err(text)?.strategy(alone(of.strategy)), number))
            }

            fn from_child(of: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String> {
                let lane: Lane<$carried> = $create(of.capacity, W).map_err(text)?;
                let number = lane.give(child).map_err(text)?;
                Ok((lane.consumer().map_err(text)?.strategy(alone(of.strategy)), number))
            }

            fn open_tx(of: Wanted, number: i32) -> Result<Self::Tx, String> {
                let tx = Lane::<$carried>::open_number(number).and_then(|lane| lane.producer());
                tx.map(|tx| tx.strategy(alone(of.strategy))).map_err(text)
            }

            fn open_rx(of: Wanted, number: i32) -> Result<Self::Rx, String> {
                let rx = Lane::<$carried>::open_number(number).and_then(|lane| lane.consumer());
                rx.map(|rx| rx.strategy(alone(of.strategy))).map_err(text)
            }
        }
    };
}

links!(Items carries Record<W>, Producer<Record<W>>, Consumer<Record<W>>, |items, _| {
    Lane::create(items)
});
links!(Records carries [u8], RecordProducer, RecordConsumer, |records, words| {
    Lane::create_for_records(8 * words, records)
});

links!(Each carries Many<Record<W>>, ManyProducer<Record<W>>, ManyConsumer<Record<W>>, |items, _| {
    Lane::create_for_producers(1, items)
});

pub(super) fn entries() -> Vec<Linked> {
    let items = Info { id: "linering", ..<LineRing as Queue<u64>>::INFO };
    vec![
        entry::<Items>(items, "plain data", vec![kill::kernel::<kill::Items>()]),
        entry::<Records>(record_ring::INFO, "byte records", vec![kill::kernel::<kill::Records>()]),
        entry::<Each>(
            lanes::INFO,
            "plain data",
            vec![ping_pong::kernel::<Each>(), kill_many::kernel()],
        ),
        // As a stream it would overwrite what is not popped in time.
        Entry::ours(<SeqRing as Queue<u64>>::INFO, "plain data").with(
            IpcKernel::each::<Heard>().map(|kernel| kernel.only(&[Test::Rtt, Test::Cpu])).into(),
        ),
    ]
}

fn entry<L: Links>(info: Info, items: &'static str, more: Vec<IpcKernel>) -> Linked {
    Entry::ours(info, items).with(IpcKernel::each::<L>().into_iter().chain(more).collect())
}
