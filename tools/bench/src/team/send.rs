//! What a producer does. The loop is compiled for each queue and workload, and is the same for all.

use std::hint::black_box;

use corelane::Producer;

use super::account::Tally;
use super::common::{Common, Part, ThreadReport};
use super::effort::{Effort, Who};
use super::probe::Probe;
use crate::clock::Clock;
use crate::goods::{Goods, number};
use crate::pair::Wait;

/// All but the handle. Loops take it apart, so that it can be kept in registers.
struct Sender<E, P> {
    producer: u8,
    effort: E,
    probe: P,
    last: u64,
    /// Items that found no room and were not tried again.
    lost: u64,
    tally: Tally,
}

pub(super) fn work<T, E, P>(tx: T, who: Who, common: &Common) -> ThreadReport
where
    T: Producer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let (clock, wait) = (Clock::get(), common.wait);
    // It came in a box that may share lines with those of others. Now it is on this thread's stack.
    let tx = black_box(tx);
    let sender = Sender::<E, P> {
        producer: who.number,
        effort: E::of(who),
        probe: P::new(),
        last: 0,
        lost: 0,
        tally: Tally::default(),
    };
    common.gate.meet(wait);
    let (tx, sender) = send(tx, sender, &common.warm_up, common);
    let before = sender.tally.items;
    common.gate.meet(wait);
    let sender = Sender { effort: E::of(who), probe: P::new(), lost: 0, ..sender };
    let from = clock.now();
    let (mut tx, sender) = send(tx, sender, &common.measured, common);
    let to = clock.now();
    tx.flush();
    common.account.pushed(sender.tally.items);
    // Nobody's handle goes before all have what they are to get.
    common.gate.meet(Wait::Yield);
    ThreadReport {
        items: sender.tally.items - before,
        lost: sender.lost,
        overwritten: 0,
        from,
        to,
        tally: sender.tally,
        unordered: 0,
        notes: sender.probe.notes(),
    }
}

fn send<T, E, P>(tx: T, sender: Sender<E, P>, part: &Part, common: &Common) -> (T, Sender<E, P>)
where
    T: Producer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    if P::BATCHES && common.batch > 1 {
        send_batches(tx, sender, part, common.batch, common.wait)
    } else {
        send_single(tx, sender, part, common.wait)
    }
}

#[inline(never)]
fn send_single<T, E, P>(tx: T, sender: Sender<E, P>, part: &Part, wait: Wait) -> (T, Sender<E, P>)
where
    T: Producer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let mut tx = tx;
    let Sender { producer, mut effort, mut probe, mut last, mut lost, mut tally } = sender;
    'part: while !part.is_over() {
        let end = tally.items + E::CHUNK;
        while tally.items < end {
            effort.before();
            let count = probe.count(last);
            let number = number(producer, count);
            let item = T::Item::pack(number);
            while probe.call(|| tx.try_push(item).ok()).is_none() {
                if !E::RETRIES || part.is_over() {
                    // SAFETY: the queue didn't take the item.
                    unsafe { item.unpack() };
                    lost += u64::from(!E::RETRIES);
                    continue 'part;
                }
                wait.pause();
            }
            last = count;
            tally.add(number);
        }
    }
    (tx, Sender { producer, effort, probe, last, lost, tally })
}

#[inline(never)]
fn send_batches<T, E, P>(
    tx: T,
    sender: Sender<E, P>,
    part: &Part,
    batch: usize,
    wait: Wait,
) -> (T, Sender<E, P>)
where
    T: Producer<Item: Goods>,
    E: Effort,
    P: Probe,
{
    let mut tx = tx;
    let Sender { producer, mut effort, probe, mut last, lost, mut tally } = sender;
    let mut items = vec![T::Item::blank(); batch];
    while !part.is_over() {
        effort.before();
        for (count, item) in (last + 1..).zip(&mut items) {
            *item = T::Item::pack(number(producer, count));
        }
        let mut pushed = tx.push_slice(&items);
        while pushed < batch && !part.is_over() {
            wait.pause();
            pushed += tx.push_slice(&items[pushed..]);
        }
        for _ in 0..pushed {
            last += 1;
            tally.add(number(producer, last));
        }
        for item in &items[pushed..] {
            // SAFETY: the queue didn't take the item.
            unsafe { item.unpack() };
        }
    }
    (tx, Sender { producer, effort, probe, last, lost, tally })
}
