//! Producers and consumers that are tasks, on a runtime of Tokio with two threads: two of each, or
//! two producers and one consumer, for what has only one.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use corelane::channel as channels;
use corelane::{mpmc, wait};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use crate::blocking::CHUNK;
use crate::several::{LENGTHS, Part, Report, Seen, number, per_item};
use crate::{Case, Row, four};

type Parts = Arc<[Part; 2]>;

/// Runs the tasks until their time is over. Each has a report, and the sum of its items.
fn run(
    producers: impl FnOnce(&Parts) -> Vec<JoinHandle<(Report, u64)>>,
    consumers: impl FnOnce(&Parts) -> Vec<JoinHandle<(Report, u64)>>,
) -> f64 {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("there are threads");
    let parts = Parts::default();
    let timed = Arc::clone(&parts);
    let keeper = thread::spawn(move || {
        for (part, length) in timed.iter().zip(LENGTHS) {
            part.end_after(length);
        }
    });
    let (mut reports, mut sums) = (Vec::new(), [0_u64; 2]);
    runtime.block_on(async {
        let sides = [producers(&parts), consumers(&parts)];
        for (tasks, total) in sides.into_iter().zip(&mut sums) {
            for task in tasks {
                let (report, sum) = task.await.expect("no task panics");
                reports.push(report);
                *total = total.wrapping_add(sum);
            }
        }
    });
    keeper.join().expect("it only keeps time");
    assert_eq!(sums[0], sums[1], "other items were received than sent");
    per_item(&reports)
}

/// `$send` says whether the item was taken; `$recv` returns an item, or nothing if all senders are
/// gone.
macro_rules! tasks {
    ($open:expr, |$tx:ident, $item:ident| $send:expr, |$rx:ident| $recv:expr) => {{
        let (txs, rxs) = $open;
        run(
            |parts| {
                let producers = txs.into_iter().enumerate().map(|(producer, mut handle)| {
                    let parts = Arc::clone(parts);
                    tokio::spawn(async move {
                        let $tx = &mut handle;
                        let (mut sent, mut sum) = (0, 0_u64);
                        let mut report = None;
                        for part in parts.iter() {
                            let begin = Instant::now();
                            while !part.is_over() {
                                for _ in 0..CHUNK {
                                    let $item = number(producer, sent + 1);
                                    assert!($send, "all receivers are there");
                                    sent += 1;
                                    sum = sum.wrapping_add($item);
                                }
                            }
                            report = Some(Report { begin, end: Instant::now(), items: 0 });
                        }
                        (report.expect("there were two parts"), sum)
                    })
                });
                producers.collect()
            },
            |parts| {
                let consumers = rxs.into_iter().map(|mut handle| {
                    let parts = Arc::clone(parts);
                    tokio::spawn(async move {
                        let $rx = &mut handle;
                        let (mut seen, mut report) = (Seen::nothing(), None);
                        for part in parts.iter() {
                            let begin = Instant::now();
                            let (before, mut is_open) = (seen.items, true);
                            while is_open && !part.is_over() {
                                for _ in 0..CHUNK {
                                    let Some(item) = $recv else {
                                        is_open = false;
                                        break;
                                    };
                                    seen.see(item);
                                }
                            }
                            let items = seen.items - before;
                            report = Some(Report { begin, end: Instant::now(), items });
                        }
                        while let Some(item) = $recv {
                            seen.see(item);
                        }
                        seen.check();
                        (report.expect("there were two parts"), seen.sum)
                    })
                });
                consumers.collect()
            },
        )
    }};
}

/// Two producers and one consumer.
fn three<T: Clone, R>((tx, rx): (T, R)) -> (Vec<T>, Vec<R>) {
    (vec![tx.clone(), tx], vec![rx])
}

const CAPACITY: usize = 4096;
const TASKS: Case = "tasks";
const TO_ONE: Case = "tasks-2x1";

pub const ROWS: &[Row] = &[
    (TASKS, "leased", || {
        let queue = wait::pair(mpmc::queue::<u64>(CAPACITY).expect("there is memory"));
        tasks!(four(queue), |tx, item| tx.push_async(item).await.is_ok(), |rx| rx.pop_async().await)
    }),
    (TASKS, "channel", || {
        tasks!(
            four(channels::bounded::<u64>(CAPACITY)),
            |tx, item| tx.send_async(item).await.is_ok(),
            |rx| rx.recv_async().await.ok()
        )
    }),
    (TASKS, "kanal", || {
        tasks!(
            four(kanal::bounded_async::<u64>(CAPACITY)),
            |tx, item| tx.send(item).await.is_ok(),
            |rx| rx.recv().await.ok()
        )
    }),
    (TASKS, "flume", || {
        tasks!(
            four(flume::bounded::<u64>(CAPACITY)),
            |tx, item| tx.send_async(item).await.is_ok(),
            |rx| rx.recv_async().await.ok()
        )
    }),
    (TASKS, "crossfire", || {
        tasks!(
            four(crossfire::mpmc::bounded_async::<u64>(CAPACITY)),
            |tx, item| tx.send(item).await.is_ok(),
            |rx| rx.recv().await.ok()
        )
    }),
    (TASKS, "async-channel", || {
        tasks!(
            four(async_channel::bounded::<u64>(CAPACITY)),
            |tx, item| tx.send(item).await.is_ok(),
            |rx| rx.recv().await.ok()
        )
    }),
    (TO_ONE, "tokio-mpsc", || {
        tasks!(
            three(tokio::sync::mpsc::channel::<u64>(CAPACITY)),
            |tx, item| tx.send(item).await.is_ok(),
            |rx| rx.recv().await
        )
    }),
    (TO_ONE, "thingbuf-mpsc", || {
        tasks!(
            three(thingbuf::mpsc::channel::<u64>(CAPACITY)),
            |tx, item| tx.send(item).await.is_ok(),
            |rx| rx.recv().await
        )
    }),
];
