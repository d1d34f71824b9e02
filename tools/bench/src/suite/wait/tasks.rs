//! Channels whose calls return futures, between tasks on a runtime of Tokio. Its threads aren't
//! pinned.

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use corelane::{Consumer, Producer, wait};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::handles::Channel;
use super::ping_pong::{self, Asked, PAUSE};
use super::stream::{self, Mark, Report};
use super::usage::{Usage, between};
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::{Sample, histogram};
use crate::suite::mpmc::account::{Checks, Counts, Tally, number};
use crate::suite::mpmc::parts::Part;
use crate::suite::wait::WaitSetting;

/// Threads of the runtime `tokio`.
const THREADS: usize = 2;

/// The handle of a task that sends.
///
/// Its future is that of the handle's own call, as users await it, and not one around it.
pub(super) trait Sender: Send + 'static {
    /// Waits for room.
    fn put(&mut self, item: u64) -> impl Future<Output = impl Sent> + Send;
}

/// The handle of a task that receives. Its future is as that of a [`Sender`].
pub(super) trait Receiver: Send + 'static {
    /// Waits for an item.
    fn get(&mut self) -> impl Future<Output = impl Received> + Send;
}

/// Handles whose calls `$send` and `$recv` return futures.
macro_rules! futures {
    ($($tx:ty, $rx:ty: $send:ident, $recv:ident;)*) => {$(
        impl tasks::Sender for $tx {
            #[inline(always)]
            fn put(&mut self, item: u64) -> impl Future<Output = impl tasks::Sent> + Send {
                self.$send(item)
            }
        }

        impl tasks::Receiver for $rx {
            #[inline(always)]
            fn get(&mut self) -> impl Future<Output = impl tasks::Received> + Send {
                self.$recv()
            }
        }
    )*};
}

pub(super) use futures;

/// The answer of a call that sends.
pub(super) trait Sent {
    /// False if all receivers are gone.
    fn taken(self) -> bool;
}

impl<E> Sent for Result<(), E> {
    #[inline(always)]
    fn taken(self) -> bool {
        self.is_ok()
    }
}

/// The answer of a call that receives.
pub(super) trait Received {
    /// `None` if all senders are gone and no item is left.
    fn item(self) -> Option<u64>;
}

impl Received for Option<u64> {
    #[inline(always)]
    fn item(self) -> Option<u64> {
        self
    }
}

impl<E> Received for Result<u64, E> {
    #[inline(always)]
    fn item(self) -> Option<u64> {
        self.ok()
    }
}

impl<P: Producer<Item = u64> + Send + 'static> Sender for wait::Producer<P> {
    #[inline(always)]
    fn put(&mut self, item: u64) -> impl Future<Output = impl Sent> + Send {
        self.push_async(item)
    }
}

impl<C: Consumer<Item = u64> + Send + 'static> Receiver for wait::Consumer<C> {
    #[inline(always)]
    fn get(&mut self) -> impl Future<Output = impl Received> + Send {
        self.pop_async()
    }
}

pub(super) fn measure<C: Channel<Tx: Sender, Rx: Receiver>>(
    test: Test,
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let runtime = match setting.way.runtime {
        super::Runtime::TokioCurrent => Builder::new_current_thread().build(),
        _ => Builder::new_multi_thread().worker_threads(THREADS).build(),
    };
    let runtime = runtime.map_err(|error| format!("it has no runtime: {error}"))?;
    match test {
        Test::Stream => stream::<C>(&runtime, trial, setting),
        _ => ping_pong::<C>(&runtime, trial, setting),
    }
}

fn stream<C: Channel<Tx: Sender, Rx: Receiver>>(
    runtime: &Runtime,
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let size = setting.size;
    let (txs, rxs) = C::open(setting.wanted(trial.params.capacity))?;
    let parts = Arc::new(Part::both(trial.length, size.consumers));
    // Tasks can't meet at a gate: there may be more of them than threads.
    let timed = Arc::clone(&parts);
    let keeper = thread::spawn(move || {
        let [warm_up, measured] = &*timed;
        warm_up.keep_time();
        let before = Usage::of_all_threads();
        measured.keep_time();
        between(before, Usage::of_all_threads())
    });
    let sides = runtime.block_on(async {
        let producers = (0..).zip(txs);
        let producers: Vec<_> = producers
            .map(|(number, tx)| tokio::spawn(produce(tx, number, Arc::clone(&parts))))
            .collect();
        let consumers: Vec<_> =
            rxs.into_iter().map(|rx| tokio::spawn(consume(rx, Arc::clone(&parts)))).collect();
        [all(producers).await, all(consumers).await]
    });
    let used = keeper.join().expect("it only keeps time");
    let (sample, items) = stream::sample(&sides, C::TO_ALL)?;
    Ok(sample.with_usage(used, items))
}

async fn all<R>(tasks: Vec<JoinHandle<R>>) -> Vec<R> {
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("no task panics"));
    }
    results
}

/// As the producer that is a thread.
async fn produce<S: Sender>(mut tx: S, producer: u8, parts: Arc<[Part; 2]>) -> Report {
    let mut tally = Tally::default();
    let mut marks = [Mark::of_task(0, 0); 2];
    for part in parts.iter() {
        let from = Mark::of_task(tally.items, 0);
        while !part.is_over() {
            for _ in 0..stream::CHUNK {
                let number = number(producer, tally.items + 1);
                let sent = tx.put(number).await.taken();
                assert!(sent, "the channel is closed, and all receivers are there");
                tally.add(number);
            }
        }
        marks = [from, Mark::of_task(tally.items, 0)];
    }
    let [from, to] = marks;
    Report { from, to, counts: Counts { tally, ..Counts::default() } }
}

/// As the consumer that is a thread.
async fn consume<R: Receiver>(mut rx: R, parts: Arc<[Part; 2]>) -> Report {
    let mut checks = Checks::new();
    let mut marks = [Mark::of_task(0, 0); 2];
    for part in parts.iter() {
        let from = Mark::of_task(checks.tally.items, checks.runs);
        let (mut is_open, mut popped) = (true, 0);
        while is_open && !part.is_over() {
            for _ in 0..stream::CHUNK {
                let Some(item) = rx.get().await.item() else {
                    is_open = false;
                    break;
                };
                checks.see(item);
                popped += 1;
            }
            part.popped(popped);
        }
        marks = [from, Mark::of_task(checks.tally.items, checks.runs)];
    }
    while let Some(item) = rx.get().await.item() {
        checks.see(item);
    }
    let ([from, to], Checks { tally, unordered, runs, .. }) = (marks, checks);
    Report { from, to, counts: Counts { tally, unordered, runs, ..Counts::default() } }
}

/// The only handle.
fn only<H>(handles: Vec<H>) -> H {
    handles.into_iter().next().expect("there is one thread on each side")
}

fn ping_pong<C: Channel<Tx: Sender, Rx: Receiver>>(
    runtime: &Runtime,
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let open = || C::open(setting.wanted(trial.params.capacity));
    let ((asks, asked), (answers, answered)) = (open()?, open()?);
    let (sleeps, length) = (setting.sleeps == Some(true), trial.length);
    let asked = runtime.block_on(async {
        let answer = tokio::spawn(answer(only(asked), only(answers)));
        let asked = match sleeps {
            true => tokio::spawn(ask_rarely(only(asks), only(answered), length)).await,
            false => tokio::spawn(ask(only(asks), only(answered), length)).await,
        };
        answer.await.expect("no task panics");
        asked.expect("no task panics")
    });
    let (usage, trips) = (asked.usage, asked.trips as f64);
    Ok(asked.sample()?.with_usage(usage, trips))
}

async fn ask<S: Sender, R: Receiver>(mut tx: S, mut rx: R, length: Length) -> Asked {
    let mut asked = Asked::default();
    for length in length.parts() {
        let (from, usage, begin) = (asked.questions.items, Usage::of_all_threads(), Instant::now());
        while !length.is_over(asked.questions.items - from, begin) {
            for _ in 0..ping_pong::CHUNK {
                ask_once(&mut tx, &mut rx, &mut asked).await;
            }
        }
        asked.trips = asked.questions.items - from;
        asked.ns = begin.elapsed().as_nanos() as f64;
        asked.usage = between(usage, Usage::of_all_threads());
    }
    asked
}

async fn ask_once<S: Sender, R: Receiver>(tx: &mut S, rx: &mut R, asked: &mut Asked) {
    let question = asked.questions.items + 1;
    asked.questions.add(question);
    let _ = tx.put(question).await.taken();
    asked.answers.add(rx.get().await.item().unwrap_or_default());
}

/// Blocks its thread before each question: the other one sleeps, unless there is only one.
async fn ask_rarely<S: Sender, R: Receiver>(mut tx: S, mut rx: R, length: Length) -> Asked {
    let (mut times, mut asked) = (histogram(), Asked::default());
    let (usage, begin) = (Usage::of_all_threads(), Instant::now());
    while asked.trips == 0 || !length.is_over(asked.trips, begin) {
        asked.trips += 1;
        thread::sleep(PAUSE);
        let from = Instant::now();
        ask_once(&mut tx, &mut rx, &mut asked).await;
        times.saturating_record(from.elapsed().as_nanos() as u64);
    }
    let usage = between(usage, Usage::of_all_threads());
    Asked { times: Some(times), usage, ..asked }
}

async fn answer<R: Receiver, S: Sender>(mut rx: R, mut tx: S) {
    while let Some(question) = rx.get().await.item() {
        let _ = tx.put(question).await.taken();
    }
}
