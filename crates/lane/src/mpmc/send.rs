//! What a producer does. The loop is compiled for each queue and workload, and is the same for all.

use super::account::Tally;
use super::effort::{Effort, Who};
use super::goods::{Goods, number};
use super::probe::Probe;
use super::team::{Common, Part, Report};
use crate::clock::Clock;
use crate::link::Tx;
use crate::pair::Wait;

/// All but the handle. Loops own it, as they own their handle, so that it can be kept in registers.
struct Sender<E, P> {
    producer: u8,
    effort: E,
    probe: P,
    /// Count of the last item.
    last: u64,
    /// Pushes that failed.
    failed: u64,
    tally: Tally,
}

/// A producer's whole life.
pub(super) fn work<T, E, P>(tx: T, who: Who, common: &Common) -> Report
where
    T: Tx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let (clock, wait) = (Clock::get(), common.wait);
    let sender = Sender::<E, P> {
        producer: who.number,
        effort: E::of(who),
        probe: P::new(),
        last: 0,
        failed: 0,
        tally: Tally::default(),
    };
    common.gate.meet(wait);
    let (tx, sender) = send(tx, sender, &common.warm_up, common);
    let before = sender.tally.items;
    common.gate.meet(wait);
    let sender = Sender { effort: E::of(who), probe: P::new(), failed: 0, ..sender };
    let from = clock.now();
    let (mut tx, sender) = send(tx, sender, &common.measured, common);
    let to = clock.now();
    tx.flush();
    common.account.pushed(sender.tally.items);
    // Nobody's handle goes before all have what they are to get.
    common.gate.meet(Wait::Yield);
    Report {
        items: sender.tally.items - before,
        failed: sender.failed,
        from,
        to,
        tally: sender.tally,
        unordered: 0,
        notes: sender.probe.notes(),
    }
}

fn send<T, E, P>(tx: T, sender: Sender<E, P>, part: &Part, common: &Common) -> (T, Sender<E, P>)
where
    T: Tx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    match common.batch {
        1 => send_single(tx, sender, part, common.wait),
        batch => send_batches(tx, sender, part, batch, common.wait),
    }
}

#[inline(never)]
fn send_single<T, E, P>(
    mut tx: T,
    mut sender: Sender<E, P>,
    part: &Part,
    wait: Wait,
) -> (T, Sender<E, P>)
where
    T: Tx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    'part: while !part.is_over() {
        for _ in 0..E::CHUNK {
            sender.effort.before();
            let count = sender.probe.count(sender.last);
            let number = number(sender.producer, count);
            let item = T::Item::pack(number);
            while sender.probe.call(|| tx.try_push(item).then_some(())).is_none() {
                sender.failed += 1;
                if !E::RETRIES || part.is_over() {
                    // SAFETY: the queue didn't take the item.
                    unsafe { item.unpack() };
                    continue 'part;
                }
                wait.pause();
            }
            sender.last = count;
            sender.tally.add(number);
        }
    }
    (tx, sender)
}

#[inline(never)]
fn send_batches<T, E, P>(
    mut tx: T,
    mut sender: Sender<E, P>,
    part: &Part,
    batch: usize,
    wait: Wait,
) -> (T, Sender<E, P>)
where
    T: Tx<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let mut items = vec![T::Item::blank(); batch];
    while !part.is_over() {
        sender.effort.before();
        for (count, item) in (sender.last + 1..).zip(&mut items) {
            *item = T::Item::pack(number(sender.producer, count));
        }
        let mut pushed = tx.push_batch(&items);
        while pushed < batch && !part.is_over() {
            sender.failed += 1;
            wait.pause();
            pushed += tx.push_batch(&items[pushed..]);
        }
        for _ in 0..pushed {
            sender.last += 1;
            sender.tally.add(number(sender.producer, sender.last));
        }
        for item in &items[pushed..] {
            // SAFETY: the queue didn't take the item.
            unsafe { item.unpack() };
        }
    }
    (tx, sender)
}
