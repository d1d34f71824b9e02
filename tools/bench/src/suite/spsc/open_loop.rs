//! Latency under a schedule: items are sent at fixed times, not when there is room.
//!
//! Latency counts from the *intended* send time. A late producer sends at once, and its delay is
//! included in the numbers.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use corelane::{BoxedConsumer, BoxedProducer, Consumer, Producer, Queue};
use corelane_report::interrupt;
use hdrhistogram::Histogram;

use crate::clock::Clock;
use crate::params::Trial;
use crate::payload::{Payload, Pool};
use crate::sample::{Sample, histogram};
use crate::threads::{self, Cores, Gate};

/// Time for both sides to get ready after they have met.
const LEAD_NS: u64 = 20_000;
/// The value of `sent` while the producer is still sending.
const SENDING: u64 = u64::MAX;

/// The latencies of all items of the schedule; the value is their median.
///
/// Handles are in boxes: a call costs little beside what is measured.
pub(crate) fn measure<T: Payload, Q: Queue<T> + 'static>(trial: &Trial<'_>) -> Sample {
    latencies(trial, Q::boxed(trial.params.config()).expect("tried before the first round"))
}

fn latencies<T: Payload>(
    trial: &Trial<'_>,
    (tx, rx): (BoxedProducer<T>, BoxedConsumer<T>),
) -> Sample {
    let clock = Clock::get();
    let (gate, start) = (&Gate::default(), &AtomicU64::new(0));
    let sent = &AtomicU64::new(SENDING);
    let (pool, wait) = (T::pool(trial.params.capacity), trial.params.wait);
    let ((), (latency, wrong)) = threads::run(
        Cores::of(trial.cores),
        move || {
            let begin = clock.now() + clock.ticks(LEAD_NS);
            start.store(begin, Ordering::Relaxed);
            gate.meet(wait);
            sent.store(send(tx, trial, pool, begin), Ordering::Release);
        },
        move || {
            gate.meet(wait);
            receive(rx, trial, start.load(Ordering::Relaxed), sent)
        },
    );
    let value = latency.value_at_quantile(0.5) as f64;
    Sample { wrong, latency: Some(latency), ..Sample::of(value) }
}

/// Sends each item at its time; stops early when the run is interrupted. Returns how many it sent.
fn send<T: Producer<Item: Payload>>(mut tx: T, trial: &Trial<'_>, pool: Pool, begin: u64) -> u64 {
    let (clock, schedule, wait) = (Clock::get(), trial.schedule, trial.params.wait);
    for (sequence, arrival) in schedule.iter().enumerate() {
        let due = begin + clock.ticks(arrival.at_ns);
        let mut failed = 0;
        while clock.now() < due {
            if interrupt::requested() {
                return sequence as u64;
            }
            wait.pause(&mut failed);
        }
        let item = T::Item::make(pool, sequence as u64);
        item.fill(arrival.bytes);
        wait.send(&mut tx, item);
    }
    schedule.len() as u64
}

/// Receives all items that were sent, and records how late each item was.
fn receive<R: Consumer<Item: Payload>>(
    mut rx: R,
    trial: &Trial<'_>,
    begin: u64,
    sent: &AtomicU64,
) -> (Histogram<u64>, u64) {
    let (clock, schedule, wait) = (Clock::get(), trial.schedule, trial.params.wait);
    let (mut latency, mut wrong) = (histogram(), 0);
    for (sequence, arrival) in (0..).zip(schedule) {
        let item = wait.until(|| match rx.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(_) => (sent.load(Ordering::Acquire) == sequence).then_some(None),
        });
        let Some(item) = item else { break };
        let late = clock.now().saturating_sub(begin + clock.ticks(arrival.at_ns));
        latency.saturating_record(clock.ns(late) as u64);
        // SAFETY: the producer made the item, and items are not freed.
        wrong += u64::from(!R::Item::is(unsafe { item.read() }, sequence));
        black_box(item.sum(arrival.bytes));
    }
    (latency, wrong)
}
