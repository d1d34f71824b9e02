//! What a consumer does. The loop is compiled for each queue and workload, and is the same for all.

use std::hint::black_box;

use corelane::Consumer;

use super::account::Checks;
use super::common::{Common, Part, ThreadReport};
use super::effort::{Effort, Who};
use super::probe::Probe;
use crate::clock::Clock;
use crate::goods::Goods;
use crate::pair::Wait;

/// All but the handle. Loops take it apart, so that it can be kept in registers.
struct Receiver<E, P> {
    effort: E,
    probe: P,
    checks: Checks,
}

#[inline(always)]
fn take(item: impl Goods, checks: &mut Checks, probe: &mut impl Probe) {
    // SAFETY: a queue gives each item once. One that doesn't is found with items that own nothing.
    let number = unsafe { item.unpack() };
    let count = checks.see(number);
    probe.popped(count);
}

pub(super) fn work<R, E, P>(rx: R, who: Who, common: &Common) -> ThreadReport
where
    R: Consumer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let (clock, wait) = (Clock::get(), common.wait);
    // It came in a box that may share lines with those of others. Now it is on this thread's stack.
    let rx = black_box(rx);
    let receiver = Receiver::<E, P> { effort: E::of(who), probe: P::new(), checks: Checks::new() };
    common.gate.meet(wait);
    let (rx, receiver) = receive(rx, receiver, &common.warm_up, common);
    let before = receiver.checks.tally.items;
    common.gate.meet(wait);
    let receiver = Receiver { effort: E::of(who), probe: P::new(), ..receiver };
    let from = clock.now();
    let (rx, receiver) = receive(rx, receiver, &common.measured, common);
    let to = clock.now();
    let (items, notes) = (receiver.checks.tally.items - before, receiver.probe.notes());
    let (rx, checks) = settle(rx, receiver.checks, common);
    // Nobody's handle goes before all have what they are to get.
    common.gate.meet(Wait::Yield);
    let overwritten = rx.lost();
    ThreadReport {
        items,
        lost: 0,
        overwritten,
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
    R: Consumer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    if P::BATCHES && common.batch > 1 {
        receive_batches(rx, receiver, part, common.batch, common.wait)
    } else {
        receive_single(rx, receiver, part, common.wait)
    }
}

#[inline(never)]
fn receive_single<R, E, P>(
    rx: R,
    receiver: Receiver<E, P>,
    part: &Part,
    wait: Wait,
) -> (R, Receiver<E, P>)
where
    R: Consumer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let Receiver { mut effort, mut probe, mut checks } = receiver;
    let (mut rx, before) = (rx, checks.tally.items);
    'part: while !part.is_over() {
        let end = checks.tally.items + E::CHUNK;
        while checks.tally.items < end {
            effort.before();
            let item = loop {
                if let Some(item) = probe.call(|| rx.try_pop().ok()) {
                    break item;
                }
                if !E::RETRIES || part.is_over() {
                    continue 'part;
                }
                wait.pause();
            };
            take(item, &mut checks, &mut probe);
        }
        part.popped(checks.tally.items - before);
    }
    (rx, Receiver { effort, probe, checks })
}

#[inline(never)]
fn receive_batches<R, E, P>(
    rx: R,
    receiver: Receiver<E, P>,
    part: &Part,
    batch: usize,
    wait: Wait,
) -> (R, Receiver<E, P>)
where
    R: Consumer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let Receiver { mut effort, mut probe, mut checks } = receiver;
    let (mut rx, before) = (rx, checks.tally.items);
    let mut buffer = vec![R::Item::blank(); batch];
    'part: while !part.is_over() {
        effort.before();
        let popped = loop {
            let popped = rx.pop_slice(&mut buffer);
            if popped > 0 {
                break popped;
            }
            if part.is_over() {
                continue 'part;
            }
            wait.pause();
        };
        buffer[..popped].iter().for_each(|item| take(*item, &mut checks, &mut probe));
        part.popped(checks.tally.items - before);
    }
    (rx, Receiver { effort, probe, checks })
}

pub(super) fn leftovers<R: Consumer<Item: Goods>>(rx: R, common: &Common) -> ThreadReport {
    let (rx, checks) = settle(rx, Checks::new(), common);
    ThreadReport {
        items: 0,
        lost: 0,
        overwritten: rx.lost(),
        // It bounds no time.
        from: u64::MAX,
        to: u64::MAX,
        tally: checks.tally,
        unordered: checks.unordered,
        notes: None,
    }
}

fn settle<R: Consumer<Item: Goods>>(mut rx: R, mut checks: Checks, common: &Common) -> (R, Checks) {
    let mut items = vec![R::Item::blank(); common.batch];
    common.account.popped(checks.tally.items + rx.lost());
    common.account.settle(|| {
        let lost = rx.lost();
        let popped = rx.pop_slice(&mut items);
        for item in &items[..popped] {
            // SAFETY: as in `take`.
            checks.see(unsafe { item.unpack() });
        }
        popped as u64 + rx.lost() - lost
    });
    (rx, checks)
}
