//! What a consumer does. The loop is compiled for each queue and workload, and is the same for all.

use super::account::Checks;
use super::effort::{Effort, Who};
use super::goods::Goods;
use super::probe::Probe;
use super::team::{Common, Part, Report};
use crate::clock::Clock;
use crate::link::Rx;
use crate::pair::Wait;

/// All but the handle. Loops own it, as they own their handle, so that it can be kept in registers.
struct Receiver<E, P> {
    effort: E,
    probe: P,
    /// Pops that failed.
    failed: u64,
    /// Items of this part.
    items: u64,
    checks: Checks,
}

impl<E, P: Probe> Receiver<E, P> {
    /// Takes an item that was popped.
    #[inline(always)]
    fn take(&mut self, item: impl Goods) {
        // SAFETY: a queue gives each item once. One that doesn't is found with items that own nothing.
        let number = unsafe { item.unpack() };
        let count = self.checks.see(number);
        self.probe.popped(count);
        self.items += 1;
    }
}

/// A consumer's whole life.
pub(super) fn work<R, E, P>(rx: R, who: Who, common: &Common) -> Report
where
    R: Rx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let (clock, wait) = (Clock::get(), common.wait);
    let receiver = Receiver::<E, P> {
        effort: E::of(who),
        probe: P::new(),
        failed: 0,
        items: 0,
        checks: Checks::new(),
    };
    common.gate.meet(wait);
    let (rx, receiver) = receive(rx, receiver, &common.warm_up, common);
    common.gate.meet(wait);
    let receiver =
        Receiver { effort: E::of(who), probe: P::new(), failed: 0, items: 0, ..receiver };
    let from = clock.now();
    let (rx, receiver) = receive(rx, receiver, &common.measured, common);
    let to = clock.now();
    let (items, notes) = (receiver.items, receiver.probe.notes());
    let (_rx, checks) = settle(rx, receiver.checks, common);
    // Nobody's handle goes before all have what they are to get.
    common.gate.meet(Wait::Yield);
    Report {
        items,
        failed: receiver.failed,
        from,
        to,
        tally: checks.tally,
        unordered: checks.unordered,
        notes,
    }
}

fn receive<R, E, P>(
    rx: R,
    receiver: Receiver<E, P>,
    part: &Part,
    common: &Common,
) -> (R, Receiver<E, P>)
where
    R: Rx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    match common.batch {
        1 => receive_single(rx, receiver, part, common.wait),
        batch => receive_batches(rx, receiver, part, batch, common.wait),
    }
}

#[inline(never)]
fn receive_single<R, E, P>(
    mut rx: R,
    mut receiver: Receiver<E, P>,
    part: &Part,
    wait: Wait,
) -> (R, Receiver<E, P>)
where
    R: Rx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    'part: while !part.is_over() {
        for _ in 0..E::CHUNK {
            receiver.effort.before();
            let item = loop {
                if let Some(item) = receiver.probe.call(|| rx.try_pop()) {
                    break item;
                }
                receiver.failed += 1;
                if !E::RETRIES || part.is_over() {
                    continue 'part;
                }
                wait.pause();
            };
            receiver.take(item);
        }
        part.popped(receiver.items);
    }
    (rx, receiver)
}

#[inline(never)]
fn receive_batches<R, E, P>(
    mut rx: R,
    mut receiver: Receiver<E, P>,
    part: &Part,
    batch: usize,
    wait: Wait,
) -> (R, Receiver<E, P>)
where
    R: Rx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let mut items = vec![R::Item::blank(); batch];
    'part: while !part.is_over() {
        receiver.effort.before();
        let popped = loop {
            let popped = rx.pop_batch(&mut items);
            if popped > 0 {
                break popped;
            }
            receiver.failed += 1;
            if part.is_over() {
                continue 'part;
            }
            wait.pause();
        };
        items[..popped].iter().for_each(|item| receiver.take(*item));
        part.popped(receiver.items);
    }
    (rx, receiver)
}

/// Pops what is left when the time is over.
fn settle<R: Rx<Item: Goods>>(mut rx: R, mut checks: Checks, common: &Common) -> (R, Checks) {
    let mut items = vec![R::Item::blank(); common.batch];
    common.account.popped(checks.tally.items);
    common.account.settle(|| {
        let popped = rx.pop_batch(&mut items);
        for item in &items[..popped] {
            // SAFETY: as in `take`.
            checks.see(unsafe { item.unpack() });
        }
        popped as u64
    });
    (rx, checks)
}
