//! Throughput: one thread pushes as fast as it can, the other pops (paper 1 §5.1, §5.2).

use std::ops::Range;
use std::time::Instant;

use corelane::{Consumer, Producer, Queue};

use crate::pair::{self, Cores, Meeting, Wait};
use crate::params::{Length, PairSetting, Trial};
use crate::payload::Payload;
use crate::sample::{PerceivedBatch, Sample};
use crate::work::{Busy, Free, Work};

/// Items that warm caches, branch predictors and adaptive queues up: a dozen laps of a usual ring.
const WARM_UP: u64 = 50_000;

/// Nanoseconds per item from the first push to the last pop.
pub(crate) fn measure<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    pair: &PairSetting,
) -> Result<Sample, u64> {
    let (tx, rx) = Q::with(trial.params.config()).expect("tried before the first round");
    let source = T::source(trial.params.capacity);
    let meeting = &Meeting::default();
    let pace = |load_ns| Pace { load_ns, batch: pair.batch, wait: trial.params.wait };
    let (p, c) = (pace(pair.load_p_ns), pace(pair.load_c_ns));
    // Each handle moves into its thread: side by side here, their private halves would share lines.
    let (sent, received) = pair::run(
        Cores::of(trial.cores),
        move || produce(tx, source, trial.length, meeting, p),
        move || consume(rx, source, trial.length, meeting, c),
    );
    if received.wrong > 0 {
        return Err(received.wrong);
    }
    let items = received.items as f64;
    Ok(Sample {
        value: received.end.duration_since(sent.start).as_nanos() as f64 / items,
        perceived_batch: Some(PerceivedBatch {
            producer: items / sent.stalls.max(1) as f64,
            consumer: items / received.stalls.max(1) as f64,
        }),
        ..Sample::default()
    })
}

/// How a side moves items.
#[derive(Debug, Clone, Copy)]
struct Pace {
    load_ns: u64,
    batch: usize,
    wait: Wait,
}

/// What the producer saw.
struct Sent {
    start: Instant,
    stalls: u64,
}

/// What the consumer saw.
struct Received {
    end: Instant,
    items: u64,
    stalls: u64,
    /// Items with another number than the expected one.
    wrong: u64,
}

fn produce<T: Producer<Item: Payload>>(
    tx: T,
    source: <T::Item as Payload>::Source,
    length: Length,
    meeting: &Meeting,
    pace: Pace,
) -> Sent {
    let warm_up = length.warm_up(WARM_UP);
    meeting.ready(pace.wait);
    let (tx, _) = send(tx, 0..warm_up, source, pace);
    let items = meeting.hear(pace.wait);
    let start = Instant::now();
    let (_tx, stalls) = send(tx, warm_up..warm_up + items, source, pace);
    Sent { start, stalls }
}

fn consume<R: Consumer<Item: Payload>>(
    rx: R,
    source: <R::Item as Payload>::Source,
    length: Length,
    meeting: &Meeting,
    pace: Pace,
) -> Received {
    let warm_up = length.warm_up(WARM_UP);
    meeting.ready(pace.wait);
    let start = Instant::now();
    let (rx, warmed) = receive(rx, 0..warm_up, source, pace);
    let items = length.items(warm_up, start.elapsed());
    meeting.announce(items, pace.wait);
    let (_rx, counts) = receive(rx, warm_up..warm_up + items, source, pace);
    let end = Instant::now();
    Received { end, items, stalls: counts.stalls, wrong: warmed.wrong + counts.wrong }
}

/// Pushes items `range`; returns the number of runs of failed pushes, and the handle.
///
/// The loops own their handles, as a thread that was given one does. Behind a reference the compiler
/// must keep a handle's fields in memory.
fn send<T: Producer<Item: Payload>>(
    tx: T,
    range: Range<u64>,
    source: <T::Item as Payload>::Source,
    Pace { load_ns, batch, wait }: Pace,
) -> (T, u64) {
    let (mut tx, stalls) = match (load_ns, batch) {
        (0, 1) => send_single(tx, range, source, Free, wait),
        (0, _) => send_batches(tx, range, source, Free, batch, wait),
        (ns, 1) => send_single(tx, range, source, Busy::new(ns), wait),
        (ns, _) => send_batches(tx, range, source, Busy::new(ns), batch, wait),
    };
    tx.flush();
    (tx, stalls)
}

#[inline(never)]
fn send_single<T: Producer<Item: Payload>>(
    mut tx: T,
    range: Range<u64>,
    source: <T::Item as Payload>::Source,
    mut work: impl Work,
    wait: Wait,
) -> (T, u64) {
    let mut stalls = 0;
    for sequence in range {
        let item = T::Item::make(source, work.produce(sequence));
        if tx.try_push(item).is_err() {
            stalls += 1;
            wait.until(|| tx.try_push(item).ok());
        }
    }
    (tx, stalls)
}

#[inline(never)]
fn send_batches<T: Producer<Item: Payload>>(
    mut tx: T,
    mut range: Range<u64>,
    source: <T::Item as Payload>::Source,
    mut work: impl Work,
    batch: usize,
    wait: Wait,
) -> (T, u64) {
    let mut items = vec![T::Item::blank(source); batch];
    let mut stalls = 0;
    while !range.is_empty() {
        let filled = items.iter_mut().zip(range.by_ref()).map(|(item, sequence)| {
            *item = T::Item::make(source, work.produce(sequence));
        });
        let filled = filled.count();
        let mut pushed = tx.push_slice(&items[..filled]);
        while pushed < filled {
            stalls += 1;
            pushed += wait.until(|| some(tx.push_slice(&items[pushed..filled])));
        }
    }
    (tx, stalls)
}

/// What the consumer counts.
#[derive(Default)]
struct Counts {
    stalls: u64,
    wrong: u64,
}

fn receive<R: Consumer<Item: Payload>>(
    rx: R,
    range: Range<u64>,
    source: <R::Item as Payload>::Source,
    Pace { load_ns, batch, wait }: Pace,
) -> (R, Counts) {
    match (load_ns, batch) {
        (0, 1) => receive_single(rx, range, Free, wait),
        (0, _) => receive_batches(rx, range, source, Free, batch, wait),
        (ns, 1) => receive_single(rx, range, Busy::new(ns), wait),
        (ns, _) => receive_batches(rx, range, source, Busy::new(ns), batch, wait),
    }
}

#[inline(never)]
fn receive_single<R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    mut work: impl Work,
    wait: Wait,
) -> (R, Counts) {
    let mut counts = Counts::default();
    for sequence in range {
        let item = rx.try_pop().unwrap_or_else(|_| {
            counts.stalls += 1;
            wait.until(|| rx.try_pop().ok())
        });
        let value = item.read();
        counts.wrong += u64::from(!R::Item::is(value, sequence));
        work.consume(value);
    }
    (rx, counts)
}

#[inline(never)]
fn receive_batches<R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    source: <R::Item as Payload>::Source,
    mut work: impl Work,
    batch: usize,
    wait: Wait,
) -> (R, Counts) {
    let mut items = vec![R::Item::blank(source); batch];
    let mut counts = Counts::default();
    let mut sequence = range.start;
    while sequence < range.end {
        let popped = some(rx.pop_slice(&mut items)).unwrap_or_else(|| {
            counts.stalls += 1;
            wait.until(|| some(rx.pop_slice(&mut items)))
        });
        for item in &items[..popped] {
            let value = item.read();
            counts.wrong += u64::from(!R::Item::is(value, sequence));
            work.consume(value);
            sequence += 1;
        }
    }
    (rx, counts)
}

fn some(count: usize) -> Option<usize> {
    (count > 0).then_some(count)
}
