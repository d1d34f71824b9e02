//! The loops of producers and consumers. They are compiled for each queue and workload.

use std::hint::black_box;
use std::time::Duration;

use corelane::{Consumer, Producer};
use hdrhistogram::Histogram;

use super::account::{Checks, Counts, Tally, number};
use super::effort::{Effort, Member};
use super::parts::{Common, Part};
use super::probe::Probe;
use crate::clock::Clock;
use crate::payload::{NO_POOL, Payload};
use crate::threads::Wait;

/// If no consumer finds an item for this time, the missing items count as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// A handle, and the counts of its thread.
pub(super) trait Worker: Sized {
    /// Pushes or pops single items until the part is over.
    ///
    /// Loops destructure the worker, so that the handle can be kept in registers.
    fn single<E: Effort, P: Probe>(self, member: Member, probe: P, part: &Part) -> (Self, P);

    /// The same with up to `batch` items a call.
    fn batches<E: Effort>(self, member: Member, part: &Part, batch: usize) -> Self;

    /// Called when the time is over.
    fn settle(self, common: &Common) -> Self;

    fn counts(&self) -> Counts;
}

/// The results of a thread.
pub(super) struct ThreadReport {
    /// Items of the measured part.
    pub(super) items: u64,
    /// Items of the measured part that found no room and were not retried.
    pub(super) refused: u64,
    /// Calls of the measured part that failed and were retried, and runs of items from one
    /// producer.
    pub(super) failed: u64,
    pub(super) runs: u64,
    /// When the measured part began and ended for this thread, in ticks.
    pub(super) from: u64,
    pub(super) to: u64,
    /// All counts of the thread, including the warm-up.
    pub(super) counts: Counts,
    pub(super) notes: Option<Histogram<u64>>,
}

pub(super) fn run<W: Worker, E: Effort, P: Probe>(
    worker: W,
    member: Member,
    common: &Common,
) -> ThreadReport {
    let clock = Clock::get();
    let work = |worker: W, part| {
        common.gate.meet(member.wait);
        let probe = P::new();
        let from = clock.now();
        let (worker, probe) = if P::BATCHES && common.batch > 1 {
            (worker.batches::<E>(member, part, common.batch), probe)
        } else {
            worker.single::<E, P>(member, probe, part)
        };
        (worker, probe, from, clock.now())
    };
    // The worker came in a box that may share lines with other boxes. Now it is on this thread's
    // stack.
    let worker = black_box(worker);
    let (worker, ..) = work(worker, &common.warm_up);
    let before = worker.counts();
    let (worker, probe, from, to) = work(worker, &common.measured);
    let after = worker.counts();
    let worker = worker.settle(common);
    // No handle is dropped before all threads have got their items.
    common.gate.meet(Wait::Yield);
    ThreadReport {
        items: after.tally.items - before.tally.items,
        refused: after.refused - before.refused,
        failed: after.failed - before.failed,
        runs: after.runs - before.runs,
        from,
        to,
        counts: worker.counts(),
        notes: probe.notes(),
    }
}

pub(super) struct Sender<T> {
    tx: T,
    producer: u8,
    last: u64,
    refused: u64,
    failed: u64,
    tally: Tally,
}

impl<T: Producer<Item: Payload>> Sender<T> {
    pub(super) fn of(tx: T, producer: u8) -> Self {
        Self { tx, producer, last: 0, refused: 0, failed: 0, tally: Tally::default() }
    }
}

impl<T: Producer<Item: Payload>> Worker for Sender<T> {
    #[inline(never)]
    fn single<E: Effort, P: Probe>(self, member: Member, mut probe: P, part: &Part) -> (Self, P) {
        let (mut effort, wait) = (E::of(member), member.wait);
        let Self { mut tx, producer, mut last, mut refused, failed: mut vain, mut tally } = self;
        'part: while !part.is_over() {
            let end = tally.items + E::CHUNK;
            while tally.items < end {
                effort.before();
                let count = probe.count(last);
                let number = number(producer, count);
                let item = T::Item::make(NO_POOL, number);
                let mut failed = 0;
                while probe.call(|| tx.try_push(item).ok()).is_none() {
                    if !effort.retries() || part.is_over() {
                        // SAFETY: the queue didn't take the item.
                        unsafe { item.free() };
                        refused += u64::from(!effort.retries());
                        continue 'part;
                    }
                    vain += 1;
                    wait.pause(&mut failed);
                }
                last = count;
                tally.add(number);
            }
        }
        (Self { tx, producer, last, refused, failed: vain, tally }, probe)
    }

    #[inline(never)]
    fn batches<E: Effort>(self, member: Member, part: &Part, batch: usize) -> Self {
        let (mut effort, wait) = (E::of(member), member.wait);
        let Self { mut tx, producer, mut last, refused, failed: mut vain, mut tally } = self;
        let mut items = vec![T::Item::blank(NO_POOL); batch];
        while !part.is_over() {
            effort.before();
            for (count, item) in (last + 1..).zip(&mut items) {
                *item = T::Item::make(NO_POOL, number(producer, count));
            }
            let (mut pushed, mut failed) = (tx.push_slice(&items), 0);
            while pushed < batch && !part.is_over() {
                vain += 1;
                wait.pause(&mut failed);
                pushed += tx.push_slice(&items[pushed..]);
            }
            for _ in 0..pushed {
                last += 1;
                tally.add(number(producer, last));
            }
            for item in &items[pushed..] {
                // SAFETY: the queue didn't take the item.
                unsafe { item.free() };
            }
        }
        Self { tx, producer, last, refused, failed: vain, tally }
    }

    fn settle(mut self, common: &Common) -> Self {
        self.tx.flush();
        common.account.pushed(self.tally.items);
        self
    }

    fn counts(&self) -> Counts {
        Counts {
            tally: self.tally,
            refused: self.refused,
            failed: self.failed,
            ..Counts::default()
        }
    }
}

pub(super) struct Receiver<R> {
    rx: R,
    failed: u64,
    checks: Checks,
}

impl<R: Consumer<Item: Payload>> Receiver<R> {
    pub(super) fn of(rx: R) -> Self {
        Self { rx, failed: 0, checks: Checks::new() }
    }
}

impl<R: Consumer<Item: Payload>> Worker for Receiver<R> {
    #[inline(never)]
    fn single<E: Effort, P: Probe>(self, member: Member, mut probe: P, part: &Part) -> (Self, P) {
        let (mut effort, wait) = (E::of(member), member.wait);
        let Self { mut rx, failed: mut vain, mut checks } = self;
        let before = checks.tally.items;
        'part: while !part.is_over() {
            let end = checks.tally.items + E::CHUNK;
            while checks.tally.items < end {
                effort.before();
                let mut failed = 0;
                let item = loop {
                    if let Some(item) = probe.call(|| rx.try_pop().ok()) {
                        break item;
                    }
                    if !effort.retries() || part.is_over() {
                        continue 'part;
                    }
                    vain += 1;
                    wait.pause(&mut failed);
                };
                // SAFETY: a queue returns each item once. A broken queue is found with items that
                // own no memory.
                let count = checks.see(unsafe { item.take() });
                probe.popped(count);
            }
            part.popped(checks.tally.items - before);
        }
        (Self { rx, failed: vain, checks }, probe)
    }

    #[inline(never)]
    fn batches<E: Effort>(self, member: Member, part: &Part, batch: usize) -> Self {
        let (mut effort, wait) = (E::of(member), member.wait);
        let Self { mut rx, failed: mut vain, mut checks } = self;
        let before = checks.tally.items;
        let mut buffer = vec![R::Item::blank(NO_POOL); batch];
        'part: while !part.is_over() {
            effort.before();
            let mut failed = 0;
            let popped = loop {
                let popped = rx.pop_slice(&mut buffer);
                if popped > 0 {
                    break popped;
                }
                if part.is_over() {
                    continue 'part;
                }
                vain += 1;
                wait.pause(&mut failed);
            };
            for item in &buffer[..popped] {
                // SAFETY: as in `single`.
                checks.see(unsafe { item.take() });
            }
            part.popped(checks.tally.items - before);
        }
        Self { rx, failed: vain, checks }
    }

    fn settle(self, common: &Common) -> Self {
        let Self { mut rx, failed, mut checks } = self;
        let mut items = vec![R::Item::blank(NO_POOL); common.batch];
        common.account.popped(checks.tally.items + rx.lost());
        common.account.settle(PATIENCE, || {
            let lost = rx.lost();
            let popped = rx.pop_slice(&mut items);
            for item in &items[..popped] {
                // SAFETY: as in `single`.
                checks.see(unsafe { item.take() });
            }
            popped as u64 + rx.lost() - lost
        });
        Self { rx, failed, checks }
    }

    fn counts(&self) -> Counts {
        let Checks { tally, unordered, runs, .. } = self.checks;
        let (failed, overwritten) = (self.failed, self.rx.lost());
        // Items of relaxed queues may overtake each other.
        let unordered = if self.rx.relaxation() > 1 { 0 } else { unordered };
        Counts { tally, unordered, runs, failed, overwritten, refused: 0 }
    }
}
