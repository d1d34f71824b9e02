//! Two producers and two consumers that try: 16 times with a `spin_loop` after each failure, then
//! with a yield after each. Each core has one thread of both sides.

use std::hint::{black_box, spin_loop};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use concurrent_queue::ConcurrentQueue;
use corelane::mpmc;
use crossbeam::channel;
use crossbeam::queue::ArrayQueue;
use thingbuf::ThingBuf;

use crate::pair::{Gate, nanoseconds, pin};
use crate::{Case, Leave, Row, both, four};

/// Items of a producer between two looks at the clock's flag.
const CHUNK: u64 = 64;
/// The number of an item of a producer.
pub fn number(producer: usize, count: u64) -> u64 {
    (producer as u64) << 56 | count
}

/// The checks of a consumer, and its items.
pub struct Seen {
    pub items: u64,
    pub sum: u64,
    /// How often an item came from another producer than the one before.
    runs: u64,
    producer: u8,
    late: u64,
    last: Box<Last>,
}

/// The last item of each possible producer.
#[repr(align(128))]
struct Last([u64; 256]);

impl Seen {
    pub fn nothing() -> Self {
        let last = Box::new(Last([0; 256]));
        Self { items: 0, sum: 0, runs: 0, producer: 0, late: 0, last }
    }

    #[inline(always)]
    pub fn see(&mut self, item: u64) {
        let (producer, count) = ((item >> 56) as u8, item & ((1 << 56) - 1));
        self.runs += u64::from(producer != self.producer);
        self.producer = producer;
        let last = &mut self.last.0[usize::from(producer)];
        if count <= *last {
            self.late = one_more(self.late);
        }
        *last = count;
        self.items += 1;
        self.sum = self.sum.wrapping_add(item);
    }

    pub fn check(&self) {
        black_box(self.runs);
        assert_eq!(self.late, 0, "items came after later ones of the same producer");
    }
}

/// Counts what never happens in a correct queue.
#[cold]
#[inline(never)]
fn one_more(count: u64) -> u64 {
    count + 1
}

/// What all threads look at: whether the warm-up, and the measurement, are over.
#[repr(align(128))]
#[derive(Default)]
pub struct Part(AtomicBool);

impl Part {
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn end_after(&self, time: Duration) {
        thread::sleep(time);
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Length of the warm-up and of the measurement.
pub const LENGTHS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// A measured part of a thread.
pub struct Report {
    pub begin: Instant,
    pub end: Instant,
    /// Items that were received in it.
    pub items: u64,
}

/// Nanoseconds an item that was received, from the first begin to the first end.
pub fn per_item(reports: &[Report]) -> f64 {
    let begin = reports.iter().map(|report| report.begin).min().expect("there are threads");
    let end = reports.iter().map(|report| report.end).min().expect("there are threads");
    let items: u64 = reports.iter().map(|report| report.items).sum();
    nanoseconds(end.duration_since(begin)) / items.max(1) as f64
}

/// Called after a failed try.
#[inline(always)]
fn pause(failed: &mut u32) {
    if *failed < 16 {
        *failed += 1;
        spin_loop();
    } else {
        thread::yield_now();
    }
}

/// What all threads have at the end.
#[derive(Default)]
struct Total {
    producers: AtomicU64,
    missing: AtomicI64,
    sum: AtomicU64,
}

fn run<T: Send, R: Send>(
    (txs, rxs): (Vec<T>, Vec<R>),
    push: impl Fn(&mut T, u64) -> bool + Copy + Send,
    pop: impl Fn(&mut R) -> Option<u64> + Copy + Send,
) -> f64 {
    let (gate, parts, total) = (&Gate::of(5), &<[Part; 2]>::default(), &Total::default());
    let reports = thread::scope(|scope| {
        let producers = txs.into_iter().enumerate().map(|(number, tx)| {
            scope.spawn(move || {
                pin(number);
                produce(tx, number, push, gate, parts, total)
            })
        });
        let mut threads: Vec<_> = producers.collect();
        threads.extend(rxs.into_iter().enumerate().map(|(number, rx)| {
            scope.spawn(move || {
                pin(1 - number);
                consume(rx, pop, gate, parts, total)
            })
        }));
        for (part, length) in parts.iter().zip(LENGTHS) {
            gate.meet(thread::yield_now);
            part.end_after(length);
        }
        gate.meet(thread::yield_now);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect::<Vec<_>>()
    });
    assert_eq!(total.sum.load(Ordering::Relaxed), 0, "other items were popped than pushed");
    per_item(&reports)
}

#[inline(never)]
fn produce<T>(
    mut tx: T,
    producer: usize,
    push: impl Fn(&mut T, u64) -> bool,
    gate: &Gate,
    parts: &[Part; 2],
    total: &Total,
) -> Report {
    let (mut sent, mut sum) = (0, 0_u64);
    let mut report = None;
    for part in parts {
        gate.meet(thread::yield_now);
        let begin = Instant::now();
        'part: while !part.is_over() {
            let end = sent + CHUNK;
            while sent < end {
                let item = number(producer, sent + 1);
                let mut failed = 0;
                while !push(&mut tx, item) {
                    if part.is_over() {
                        continue 'part;
                    }
                    pause(&mut failed);
                }
                sent += 1;
                sum = sum.wrapping_add(item);
            }
        }
        report = Some(Report { begin, end: Instant::now(), items: 0 });
    }
    total.sum.fetch_add(sum, Ordering::Relaxed);
    total.missing.fetch_add(sent as i64, Ordering::Relaxed);
    total.producers.fetch_add(1, Ordering::Release);
    gate.meet(thread::yield_now);
    report.expect("there were two parts")
}

#[inline(never)]
fn consume<R>(
    mut rx: R,
    pop: impl Fn(&mut R) -> Option<u64>,
    gate: &Gate,
    parts: &[Part; 2],
    total: &Total,
) -> Report {
    let mut seen = Seen::nothing();
    let mut report = None;
    for part in parts {
        gate.meet(thread::yield_now);
        let (begin, before) = (Instant::now(), seen.items);
        'part: while !part.is_over() {
            let end = seen.items + CHUNK;
            while seen.items < end {
                let mut failed = 0;
                let item = loop {
                    if let Some(item) = pop(&mut rx) {
                        break item;
                    }
                    if part.is_over() {
                        continue 'part;
                    }
                    pause(&mut failed);
                };
                seen.see(item);
            }
        }
        report = Some(Report { begin, end: Instant::now(), items: seen.items - before });
    }
    total.missing.fetch_sub(seen.items as i64, Ordering::Relaxed);
    let all_sent = || total.producers.load(Ordering::Acquire) == 2;
    while !(all_sent() && total.missing.load(Ordering::Relaxed) <= 0) {
        match pop(&mut rx) {
            Some(item) => {
                seen.see(item);
                total.missing.fetch_sub(1, Ordering::Relaxed);
            }
            None => thread::yield_now(),
        }
    }
    seen.check();
    total.sum.fetch_sub(seen.sum, Ordering::Relaxed);
    gate.meet(thread::yield_now);
    report.expect("there were two parts")
}

const CAPACITY: usize = 4096;
const SEVERAL: Case = "several";

pub const ROWS: &[Row] = &[
    (SEVERAL, "leased", || {
        let queue = mpmc::queue::<u64>(CAPACITY).expect("there is memory");
        run(four(queue), |tx, item| tx.try_push(item).is_ok(), |rx| rx.try_pop().ok())
    }),
    (SEVERAL, "crossbeam-array", || {
        let queue = both(ArrayQueue::new(CAPACITY));
        run(four(queue), |tx, item| tx.push(item).is_ok(), |rx| rx.pop())
    }),
    (SEVERAL, "crossbeam-channel", || {
        let queue = channel::bounded(CAPACITY);
        run(four(queue), |tx, item| tx.try_send(item).is_ok(), |rx| rx.try_recv().ok())
    }),
    (SEVERAL, "concurrent-queue", || {
        let queue = both(ConcurrentQueue::bounded(CAPACITY));
        run(four(queue), |tx, item| tx.push(item).is_ok(), |rx| rx.pop().ok())
    }),
    (SEVERAL, "thingbuf", || {
        let queue = both(ThingBuf::with_recycle(CAPACITY, Leave));
        run(
            four(queue),
            |tx, item| tx.push_with(|slot| *slot = NonZeroU64::new(item + 1)).is_ok(),
            |rx| rx.pop_with(|slot| *slot).flatten().map(|item| item.get() - 1),
        )
    }),
    (SEVERAL, "kanal", || {
        let queue = kanal::bounded(CAPACITY);
        run(
            four(queue),
            |tx, item| tx.try_send(item) == Ok(true),
            |rx| rx.try_recv().ok().flatten(),
        )
    }),
    (SEVERAL, "crossfire", || {
        let queue = crossfire::mpmc::bounded_blocking::<u64>(CAPACITY);
        run(four(queue), |tx, item| tx.try_send(item).is_ok(), |rx| rx.try_recv().ok())
    }),
    (SEVERAL, "flume", || {
        let queue = flume::bounded(CAPACITY);
        run(four(queue), |tx, item| tx.try_send(item).is_ok(), |rx| rx.try_recv().ok())
    }),
];
