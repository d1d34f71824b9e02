//! Lanes of corelane.

use std::marker::PhantomData;
use std::process::Command;

use corelane::Queue;
use corelane::shm::{Consumer, Lane, Producer};
use corelane::{Info, line_ring::LineRing, wait};

use super::{IpcKernel, Link, Record, Rx, Tx, kill};
use crate::catalogue::{Entry, EntryKind};
use crate::kinds::Strategy;

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
}

struct Lanes<S>(PhantomData<S>);

/// The error as text.
pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<const W: usize, S: Waits> Link<W> for Lanes<S> {
    const STRATEGY: Strategy = S::STRATEGY;

    type Tx = Producer<Record<W>>;
    type Rx = Consumer<Record<W>>;

    fn to_child(capacity: usize, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        let lane = Lane::create(capacity).map_err(text)?;
        let number = lane.give(child).map_err(text)?;
        Ok((lane.producer().map_err(text)?.strategy(S::HOW), number))
    }

    fn from_child(capacity: usize, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        let lane = Lane::create(capacity).map_err(text)?;
        let number = lane.give(child).map_err(text)?;
        Ok((lane.consumer().map_err(text)?.strategy(S::HOW), number))
    }

    fn open_tx(_: usize, number: i32) -> Result<Self::Tx, String> {
        let tx = Lane::open_number(number).and_then(|lane| lane.producer());
        tx.map(|tx| tx.strategy(S::HOW)).map_err(text)
    }

    fn open_rx(_: usize, number: i32) -> Result<Self::Rx, String> {
        let rx = Lane::open_number(number).and_then(|lane| lane.consumer());
        rx.map(|rx| rx.strategy(S::HOW)).map_err(text)
    }
}

impl<const W: usize> Tx<W> for Producer<Record<W>> {
    #[inline(always)]
    fn put(&mut self, record: &Record<W>) -> bool {
        self.push(*record).is_ok()
    }
}

impl<const W: usize> Rx<W> for Consumer<Record<W>> {
    #[inline(always)]
    fn get(&mut self) -> Option<Record<W>> {
        self.pop()
    }
}

pub(super) fn entry() -> Entry {
    fn kernels<S: Waits>() -> [IpcKernel; 3] {
        [
            IpcKernel::of::<1, Lanes<S>>(),
            IpcKernel::of::<8, Lanes<S>>(),
            IpcKernel::of::<128, Lanes<S>>(),
        ]
    }
    let kernels = [kernels::<Adapts>(), kernels::<Sleeps>(), kernels::<Spins>()];
    let kernels = kernels.into_iter().flatten().chain([kill::kernel()]).collect();
    let info = Info { id: "linering", ..<LineRing as Queue<u64>>::INFO };
    Entry::between_processes(info, EntryKind::Ours { items: "plain data" }, kernels)
}
