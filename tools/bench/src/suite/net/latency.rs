//! Latency of items that are sent at random times, from the time at which an item should be sent.
//!
//! The number of an item is this time.

use std::time::Duration;

use super::Cell;
use super::ends::{Begin, Part, Received, Sent, Task};
use super::engines::{Rx, Tx};
use super::record::{END, now, wait_until};
use super::stream::lost;
use crate::params::Length;
use crate::sample::{Sample, histogram};
use crate::schedule::arrivals;

/// Time for the sender to get ready.
const LEAD: u64 = 1_000_000;
/// A sender stops when its delay is more than the measured time, multiplied by this.
const LATEST: u64 = 2;

impl Cell {
    /// The latencies of all items; the value is their median.
    pub(super) fn latency(&self) -> Result<Sample, String> {
        let time = match self.length {
            Length::Time(time) => time,
            Length::Items(_) => unreachable!("the plan has a time"),
        };
        let offered = self.offered()?;
        let warm_up = time / 4;
        let sends = Task::SendOnTime { per_s: offered.per_s, time: time + warm_up };
        let mut ends = self.start(Task::ReceiveOnTime { warm_up }, sends)?;
        let received = ends.receiver.received(time * (LATEST as u32 + 1))?;
        let sent = ends.sender.sent()?;
        if received.items != sent.items && !self.one.kernel.may_lose {
            return Err(format!("{} items were sent, and {} came", sent.items, received.items));
        }
        let mut latency = histogram();
        for (ns, items) in received.latencies {
            latency.saturating_record_n(ns, items);
        }
        if latency.is_empty() {
            return Err("no item came to measure its latency: raise --load or --duration".into());
        }
        let value = latency.value_at_quantile(0.5) as f64;
        let lost = self.one.kernel.may_lose.then(|| lost(sent.items, received.items));
        let offered = Some(offered);
        Ok(Sample { lost, offered, latency: Some(latency), ..Sample::of(value) })
    }
}

/// Sends items at their times. A late sender doesn't wait, and ends if it is far too late.
pub(super) async fn send(tx: &mut impl Tx, per_s: f64, time: Duration) -> Result<Sent, String> {
    let begin = now() + LEAD;
    let stop = begin + (1 + LATEST) * time.as_nanos() as u64;
    let measured = Begin::after(0);
    let (mut items, mut last, mut at) = (0, 0, now());
    for arrival in arrivals(per_s, time) {
        let due = (begin + arrival.at_ns).max(last + 1);
        if at < due {
            at = now();
        }
        if at < due {
            tx.idle().await?;
            wait_until(due);
            at = now();
        }
        if items % 64 == 0 && now() > stop {
            break;
        }
        tx.put(due).await?;
        (items, last) = (items + 1, due);
    }
    tx.put(END).await?;
    tx.finish().await?;
    Ok(Sent { items, measured: measured.until(items) })
}

/// Receives until the sender ends, and records how late each item is after the warm-up; during it,
/// if the sender was too late to end it.
pub(super) async fn receive(rx: &mut impl Rx, warm_up: Duration) -> Result<Received, String> {
    let (mut early, mut latency, mut items, mut last) = (histogram(), histogram(), 0, 0);
    let mut from = u64::MAX;
    loop {
        let due = rx.get().await?;
        if due == END {
            break;
        }
        if due <= last {
            return Err("an item came twice, or out of order".into());
        }
        (items, last, from) = (items + 1, due, from.min(due));
        let is_early = due - from < warm_up.as_nanos() as u64;
        let histogram = if is_early { &mut early } else { &mut latency };
        histogram.saturating_record(now().saturating_sub(due));
    }
    let latency = if latency.is_empty() { early } else { latency };
    let latencies = latency.iter_recorded();
    let latencies =
        latencies.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
    Ok(Received { items, measured: Part::default(), latencies })
}
