//! As many items as the sender can send.

use std::time::{Duration, Instant};

use super::Cell;
use super::ends::{Begin, Part, Received, Sent, Task};
use super::engines::{Rx, Tx};
use super::load;
use super::record::END;
use crate::params::Length;
use crate::sample::Sample;

/// Items between two looks at the clock.
const CHUNK: u64 = 64;

impl Cell {
    /// Nanoseconds of an item, and what both processes take for it.
    pub(super) fn stream(&self, length: Length) -> Result<Sample, String> {
        let (warm_up, time, items) = match length {
            Length::Time(time) => (time / 4, time, None),
            Length::Items(items) => (Duration::ZERO, Duration::ZERO, Some(items)),
        };
        let may_lose = self.one.kernel.may_lose;
        let receives = Task::Receive { warm_up, may_lose };
        let mut ends = self.start(receives, Task::Send { warm_up, time, items })?;
        let received = ends.receiver.received(warm_up + time)?;
        let sent = ends.sender.sent()?;
        let measured = received.measured;
        if measured.items == 0 {
            return Err("too few items came to measure a stream: choose a longer --duration".into());
        }
        // A server may hold items back, and then pass them on faster than the sender sends. What is
        // dropped says nothing about the way.
        let ns = match may_lose {
            true => measured.ns_of_item(),
            false => measured.ns_of_item().max(sent.measured.ns_of_item()),
        };
        load::note(&self.setting, self.queue(), 1e9 / ns);
        let sides = [sent.measured, measured].map(|part| Some(part.usage_of_item()));
        let lost = may_lose.then(|| lost(sent.items, received.items));
        Ok(Sample { lost, ..Sample::of(ns).with_sides(sides, 1.0) })
    }
}

/// The share of the items that did not come.
pub(super) fn lost(sent: u64, received: u64) -> f64 {
    1.0 - received as f64 / sent.max(1) as f64
}

/// Sends until the time is over, or a number of items.
pub(super) async fn send(
    tx: &mut impl Tx,
    warm_up: Duration,
    time: Duration,
    items: Option<u64>,
) -> Result<Sent, String> {
    let mut number = 0;
    let parts = match items {
        Some(items) => vec![Length::Items(items)],
        None => vec![Length::Time(warm_up), Length::Time(time)],
    };
    let mut begin = Begin::after(0);
    for part in parts {
        begin = Begin::after(number);
        let (first, from) = (number, Instant::now());
        while !part.is_over(number - first, from) {
            for _ in 0..CHUNK {
                tx.put(number).await?;
                number += 1;
            }
        }
    }
    tx.put(END).await?;
    tx.finish().await?;
    Ok(Sent { items: number, measured: begin.until(number) })
}

/// Receives until the sender ends. Each item is checked.
pub(super) async fn receive(
    rx: &mut impl Rx,
    warm_up: Duration,
    may_lose: bool,
) -> Result<Received, String> {
    let (mut next, mut items, mut from, mut begin) = (0, 0, None, None);
    loop {
        let number = rx.get().await?;
        if number == END {
            break;
        }
        if number < next || (number > next && !may_lose) {
            return Err(format!("item {number} came and not {next}"));
        }
        next = number + 1;
        items += 1;
        if begin.is_none() && items % CHUNK == 1 {
            let from = from.get_or_insert_with(Instant::now);
            begin = (from.elapsed() >= warm_up).then(|| Begin::after(items));
        }
    }
    let measured = begin.map_or_else(Part::default, |begin| begin.until(items));
    Ok(Received { items, measured, latencies: Vec::new() })
}
