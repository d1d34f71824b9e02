//! Lanes of corelane.

use std::marker::PhantomData;
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
use super::{IpcKernel, Link, Links, Record, Rx, Tx, kill, kill_many, number, record};
use crate::catalogue::{Entry, EntryKind};
use crate::kinds::{Strategy, Test};

/// A way to wait.
trait Waits: 'static {
    const STRATEGY: Strategy;
    const HOW: wait::Strategy;
}

/// Ways to wait.
macro_rules! ways {
    ($($name:ident: $strategy:ident, $how:expr;)*) => {$(
        struct $name;

        impl Waits for $name {
            const STRATEGY: Strategy = Strategy::$strategy;
            const HOW: wait::Strategy = $how;
        }
    )*};
}

ways! {
    Adapts: Adaptive, wait::Strategy::Adaptive;
    Sleeps: Sleep, wait::Strategy::Sleep;
    Spins: Spin, wait::Strategy::Spin;
    Yields: Spin, wait::Strategy::Yield;
}

/// Items are moved one by one.
struct Lanes<S>(PhantomData<S>);

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
struct Records<S>(PhantomData<S>);

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
struct Each<S>(PhantomData<S>);

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

impl<S: Waits> Crowd for Each<S> {
    const STRATEGY: Strategy = S::STRATEGY;

    type Tx = ManyProducer<Record<1>>;
    type Rx = ManyConsumer<Record<1>>;

    fn to_child(threads: usize, n: usize, child: &mut Command) -> ping_pong::Many<Self::Tx> {
        let lanes = SideBySide::create_for_producers(threads, n).map_err(text)?;
        Ok((txs::<S>(&lanes, threads)?, lanes.give(child).map_err(text)?))
    }

    fn from_child(threads: usize, n: usize, child: &mut Command) -> ping_pong::Many<Self::Rx> {
        let lanes = SideBySide::create_for_producers(threads, n).map_err(text)?;
        Ok((rxs::<S>(&lanes, threads)?, lanes.give(child).map_err(text)?))
    }

    fn open_tx(threads: usize, number: i32) -> Result<Vec<Self::Tx>, String> {
        txs::<S>(&SideBySide::open_number(number).map_err(text)?, threads)
    }

    fn open_rx(threads: usize, number: i32) -> Result<Vec<Self::Rx>, String> {
        rxs::<S>(&SideBySide::open_number(number).map_err(text)?, threads)
    }
}

type Words = SideBySide<Record<1>>;

fn txs<S: Waits>(lanes: &Words, n: usize) -> Result<Vec<ManyProducer<Record<1>>>, String> {
    (0..n).map(|_| Ok(lanes.producer().map_err(text)?.strategy(S::HOW))).collect()
}

fn rxs<S: Waits>(lanes: &Words, n: usize) -> Result<Vec<ManyConsumer<Record<1>>>, String> {
    (0..n).map(|_| Ok(lanes.consumer().map_err(text)?.strategy(S::HOW))).collect()
}

/// Items of a broadcast are moved one by one.
struct Heard<S>(PhantomData<S>);

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

impl<const W: usize, S: Waits> Link<W> for Heard<S> {
    const STRATEGY: Strategy = S::STRATEGY;

    type Tx = Meets<W>;
    type Rx = Subscriber<Record<W>>;

    fn to_child(capacity: usize, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        let feed = Broadcast::create(capacity).map_err(text)?;
        let number = feed.give(child).map_err(text)?;
        let tx = feed.producer().map_err(text)?.strategy(S::HOW);
        Ok((Meets { tx, has_met: false }, number))
    }

    fn from_child(capacity: usize, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        let feed = Broadcast::create(capacity).map_err(text)?;
        let number = feed.give(child).map_err(text)?;
        Ok((feed.consumer().map_err(text)?.strategy(S::HOW), number))
    }

    fn open_tx(_: usize, number: i32) -> Result<Self::Tx, String> {
        let tx = Broadcast::open_number(number).and_then(|feed| feed.producer());
        Ok(Meets { tx: tx.map_err(text)?.strategy(S::HOW), has_met: false })
    }

    fn open_rx(_: usize, number: i32) -> Result<Self::Rx, String> {
        let rx = Broadcast::open_number(number).and_then(|feed| feed.consumer());
        Ok(rx.map_err(text)?.strategy(S::HOW))
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

/// The measurements of lanes that carry `$carried`, which `$create` makes for a number of records of `W` words.
macro_rules! links {
    ($link:ident carries $carried:ty, $tx:ty, $rx:ty, $create:expr) => {
        impl<const W: usize, S: Waits> Link<W> for $link<S> {
            const STRATEGY: Strategy = S::STRATEGY;

            type Tx = $tx;
            type Rx = $rx;

            fn to_child(capacity: usize, child: &mut Command) -> Result<(Self::Tx, i32), String> {
                let lane: Lane<$carried> = $create(capacity, W).map_err(text)?;
                let number = lane.give(child).map_err(text)?;
                Ok((lane.producer().map_err(text)?.strategy(S::HOW), number))
            }

            fn from_child(capacity: usize, child: &mut Command) -> Result<(Self::Rx, i32), String> {
                let lane: Lane<$carried> = $create(capacity, W).map_err(text)?;
                let number = lane.give(child).map_err(text)?;
                Ok((lane.consumer().map_err(text)?.strategy(S::HOW), number))
            }

            fn open_tx(_: usize, number: i32) -> Result<Self::Tx, String> {
                let tx = Lane::<$carried>::open_number(number).and_then(|lane| lane.producer());
                tx.map(|tx| tx.strategy(S::HOW)).map_err(text)
            }

            fn open_rx(_: usize, number: i32) -> Result<Self::Rx, String> {
                let rx = Lane::<$carried>::open_number(number).and_then(|lane| lane.consumer());
                rx.map(|rx| rx.strategy(S::HOW)).map_err(text)
            }
        }
    };
}

links!(Lanes carries Record<W>, Producer<Record<W>>, Consumer<Record<W>>, |items, _| {
    Lane::create(items)
});
links!(Records carries [u8], RecordProducer, RecordConsumer, |records, words| {
    Lane::create_for_records(8 * words, records)
});

links!(Each carries Many<Record<W>>, ManyProducer<Record<W>>, ManyConsumer<Record<W>>, |items, _| {
    Lane::create_for_producers(1, items)
});

pub(super) fn entries() -> Vec<Entry> {
    let broadcast = [
        IpcKernel::each::<Heard<Adapts>>(),
        IpcKernel::each::<Heard<Sleeps>>(),
        IpcKernel::each::<Heard<Spins>>(),
    ];
    let items = Info { id: "linering", ..<LineRing as Queue<u64>>::INFO };
    vec![
        entry::<Lanes<Adapts>, Lanes<Sleeps>, Lanes<Spins>>(
            items,
            "plain data",
            vec![kill::kernel::<kill::Items>()],
        ),
        entry::<Records<Adapts>, Records<Sleeps>, Records<Spins>>(
            record_ring::INFO,
            "byte records",
            vec![kill::kernel::<kill::Records>()],
        ),
        entry::<Each<Adapts>, Each<Sleeps>, Each<Spins>>(
            lanes::INFO,
            "plain data",
            vec![
                ping_pong::kernel::<Each<Adapts>>(),
                ping_pong::kernel::<Each<Sleeps>>(),
                // Several threads have a core.
                ping_pong::kernel::<Each<Yields>>(),
                kill_many::kernel(),
            ],
        ),
        Entry::between_processes(
            <SeqRing as Queue<u64>>::INFO,
            EntryKind::Ours { items: "plain data" },
            // As a stream it would overwrite what is not popped in time.
            broadcast
                .into_iter()
                .flatten()
                .map(|kernel| kernel.only(&[Test::Rtt, Test::Cpu]))
                .collect(),
        ),
    ]
}

fn entry<A: Links, B: Links, C: Links>(
    info: Info,
    items: &'static str,
    more: Vec<IpcKernel>,
) -> Entry {
    let kernels = [IpcKernel::each::<A>(), IpcKernel::each::<B>(), IpcKernel::each::<C>()];
    let kernels = kernels.into_iter().flatten().chain(more).collect();
    Entry::between_processes(info, EntryKind::Ours { items }, kernels)
}
