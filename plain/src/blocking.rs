//! Producers and consumers whose calls wait: two of each, on two cores that each have one thread of
//! both sides; or two producers and one consumer, for what has only one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use corelane::channel as channels;
use corelane::{mpmc, wait};
use crossbeam::channel;

use crate::pair::{Gate, pin};
use crate::several::{LENGTHS, Part, Report, Seen, number, per_item};
use crate::{Case, Row, four};

/// Items between two looks at the clock's flag. A thread may sleep before each of them.
pub const CHUNK: u64 = 16;

/// `send` says whether the item was taken; `recv` returns an item, or nothing if all senders are
/// gone.
fn run<T: Send, R: Send>(
    (txs, rxs): (Vec<T>, Vec<R>),
    send: impl Fn(&mut T, u64) -> bool + Copy + Send,
    recv: impl Fn(&mut R) -> Option<u64> + Copy + Send,
) -> f64 {
    let gate = &Gate::of(txs.len() + rxs.len() + 1);
    let (parts, sum) = (&<[Part; 2]>::default(), &AtomicU64::new(0));
    let reports = thread::scope(|scope| {
        let producers = txs.into_iter().enumerate().map(|(number, tx)| {
            scope.spawn(move || {
                pin(number);
                produce(tx, number, send, gate, parts, sum)
            })
        });
        let mut threads: Vec<_> = producers.collect();
        threads.extend(rxs.into_iter().enumerate().map(|(number, rx)| {
            scope.spawn(move || {
                pin(1 - number);
                consume(rx, recv, gate, parts, sum)
            })
        }));
        gate.meet(thread::yield_now);
        for (part, length) in parts.iter().zip(LENGTHS) {
            part.end_after(length);
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect::<Vec<_>>()
    });
    assert_eq!(sum.load(Ordering::Relaxed), 0, "other items were received than sent");
    per_item(&reports)
}

#[inline(never)]
fn produce<T>(
    mut tx: T,
    producer: usize,
    send: impl Fn(&mut T, u64) -> bool,
    gate: &Gate,
    parts: &[Part; 2],
    total: &AtomicU64,
) -> Report {
    let (mut sent, mut sum) = (0, 0_u64);
    let mut report = None;
    gate.meet(thread::yield_now);
    for part in parts {
        let begin = Instant::now();
        while !part.is_over() {
            for _ in 0..CHUNK {
                let item = number(producer, sent + 1);
                assert!(send(&mut tx, item), "all receivers are there");
                sent += 1;
                sum = sum.wrapping_add(item);
            }
        }
        report = Some(Report { begin, end: Instant::now(), items: 0 });
    }
    total.fetch_add(sum, Ordering::Relaxed);
    report.expect("there were two parts")
}

#[inline(never)]
fn consume<R>(
    mut rx: R,
    recv: impl Fn(&mut R) -> Option<u64>,
    gate: &Gate,
    parts: &[Part; 2],
    total: &AtomicU64,
) -> Report {
    let mut seen = Seen::nothing();
    let mut report = None;
    gate.meet(thread::yield_now);
    for part in parts {
        let (begin, before, mut is_open) = (Instant::now(), seen.items, true);
        while is_open && !part.is_over() {
            for _ in 0..CHUNK {
                let Some(item) = recv(&mut rx) else {
                    is_open = false;
                    break;
                };
                seen.see(item);
            }
        }
        report = Some(Report { begin, end: Instant::now(), items: seen.items - before });
    }
    while let Some(item) = recv(&mut rx) {
        seen.see(item);
    }
    seen.check();
    total.fetch_sub(seen.sum, Ordering::Relaxed);
    report.expect("there were two parts")
}

const CAPACITY: usize = 4096;
const BLOCKING: Case = "blocking";
const TO_ONE: Case = "blocking-2x1";

pub const ROWS: &[Row] = &[
    (BLOCKING, "leased", || {
        let queue = wait::pair(mpmc::queue::<u64>(CAPACITY).expect("there is memory"));
        run(four(queue), |tx, item| tx.push(item).is_ok(), |rx| rx.pop())
    }),
    (BLOCKING, "channel", || {
        run(
            four(channels::bounded(CAPACITY)),
            |tx, item| tx.send(item).is_ok(),
            |rx| rx.recv().ok(),
        )
    }),
    (BLOCKING, "crossbeam-channel", || {
        run(four(channel::bounded(CAPACITY)), |tx, item| tx.send(item).is_ok(), |rx| rx.recv().ok())
    }),
    (BLOCKING, "kanal", || {
        run(four(kanal::bounded(CAPACITY)), |tx, item| tx.send(item).is_ok(), |rx| rx.recv().ok())
    }),
    (BLOCKING, "flume", || {
        run(four(flume::bounded(CAPACITY)), |tx, item| tx.send(item).is_ok(), |rx| rx.recv().ok())
    }),
    (BLOCKING, "crossfire", || {
        let queue = crossfire::mpmc::bounded_blocking::<u64>(CAPACITY);
        run(four(queue), |tx, item| tx.send(item).is_ok(), |rx| rx.recv().ok())
    }),
    (TO_ONE, "std-channel", || {
        let (tx, rx) = mpsc::sync_channel(CAPACITY);
        run((vec![tx.clone(), tx], vec![rx]), |tx, item| tx.send(item).is_ok(), |rx| rx.recv().ok())
    }),
];
