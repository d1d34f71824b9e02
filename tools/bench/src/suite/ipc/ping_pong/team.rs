//! The threads of one process.

use std::thread::{self, ScopedJoinHandle};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::turns::Turns;
use crate::sample::histogram;
use crate::suite::ipc::pause::Pause;
use crate::suite::ipc::{Rx, Tx};
use crate::suite::wait::{Usage, between};
use crate::threads::{Gate, Wait};
use crate::work::Varied;

/// What the threads of a process have in common.
pub(super) struct Team<'a> {
    turns: Turns,
    /// The pauses of each thread: first of those that send.
    pauses: Vec<Varied>,
    /// All threads begin at the same time.
    gate: Gate,
    watch: &'a dyn Watch,
}

/// What looks at the threads of a process.
pub(super) trait Watch: Sync {
    /// Called by each thread before it begins.
    fn begins(&self, _: Side) {}

    /// Called for each message that has arrived.
    fn arrived(&self) -> Phase;
}

/// What a thread does.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Sends,
    Receives,
}

/// What to do with a message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Uncounted,
    Counted,
    /// No more messages are sent.
    Over,
}

/// What the threads of a process have done.
pub(super) struct Done {
    pub(super) counts: Counts,
    /// How often a receiving thread slept, for each message.
    pub(super) sleeps: Option<f64>,
    /// From the send to the receipt of a message.
    pub(super) latency: Histogram<u64>,
}

/// Messages of both directions.
#[derive(Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) sent: Count,
    pub(super) received: Count,
}

/// How many messages there were, and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) messages: u64,
    sum: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl From<u64> for Count {
    fn from(message: u64) -> Self {
        Self { messages: 1, sum: message }
    }
}

/// What a thread has done, with its handle: handles are dropped when all threads have ended,
/// because with some queues this ends the calls of the other process.
struct Part<H> {
    count: Count,
    usage: Option<Usage>,
    latency: Option<Histogram<u64>>,
    handle: H,
}

impl<'a> Team<'a> {
    /// A team of `threads` that send and as many that receive. It begins with `turns` to send.
    pub(super) fn new(threads: usize, turns: usize, pause: Pause, watch: &'a dyn Watch) -> Self {
        let all = 2 * threads;
        let pauses = (0..all as u64).map(|seed| Varied::new(pause.0, pause.1, seed)).collect();
        Self { turns: Turns::new(turns, threads), pauses, gate: Gate::of(all), watch }
    }

    /// Sends and receives, with a thread for each handle, until the other process ends.
    pub(super) fn run<T: Tx<1> + Send, R: Rx<1> + Send>(&self, txs: Vec<T>, rxs: Vec<R>) -> Done {
        let (send_pauses, receive_pauses) = self.pauses.split_at(txs.len());
        thread::scope(|scope| {
            let send = |(tx, &pauses)| scope.spawn(move || self.send(tx, pauses));
            let sending: Vec<_> = txs.into_iter().zip(send_pauses).map(send).collect();
            let receive = |(rx, &pauses)| scope.spawn(move || self.receive(rx, pauses));
            let receiving: Vec<_> = rxs.into_iter().zip(receive_pauses).map(receive).collect();
            let mut latency = histogram();
            let (sent, _) = together(sending, &mut latency);
            let (received, usage) = together(receiving, &mut latency);
            let sleeps = usage.map(|usage| usage.sleeps / received.messages.max(1) as f64);
            Done { counts: Counts { sent, received }, sleeps, latency }
        })
    }

    fn send<T: Tx<1>>(&self, mut handle: T, mut pauses: Varied) -> Part<T> {
        let mut count = Count::default();
        self.watch.begins(Side::Sends);
        self.gate.meet(Wait::Yield);
        while self.turns.take() {
            let now = now_ns();
            if !handle.put(now) {
                break;
            }
            count.add(now.into());
            pauses.work();
        }
        Part { count, usage: None, latency: None, handle }
    }

    fn receive<R: Rx<1>>(&self, mut handle: R, mut pauses: Varied) -> Part<R> {
        let (mut count, mut latency) = (Count::default(), histogram());
        self.watch.begins(Side::Receives);
        self.gate.meet(Wait::Yield);
        let before = Usage::of_this_thread();
        while let Some(sent) = handle.get() {
            let age = now_ns().saturating_sub(sent);
            count.add(sent.into());
            let phase = self.watch.arrived();
            if phase == Phase::Counted {
                latency.saturating_record(age);
            }
            pauses.work();
            match phase {
                Phase::Over => self.turns.close(),
                _ => self.turns.give(),
            }
        }
        self.turns.leave();
        let usage = between(before, Usage::of_this_thread());
        Part { count, usage, latency: Some(latency), handle }
    }
}

/// Waits for the threads of one side, and then drops their handles.
fn together<H>(
    threads: Vec<ScopedJoinHandle<'_, Part<H>>>,
    latency: &mut Histogram<u64>,
) -> (Count, Option<Usage>) {
    let (mut all, mut usage) = (Count::default(), Some(Usage::default()));
    let mut handles = Vec::new();
    for thread in threads {
        let part = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        all.add(part.count);
        usage = usage.zip(part.usage).map(|(all, usage)| all + usage);
        if let Some(latencies) = part.latency {
            *latency += latencies;
        }
        handles.push(part.handle);
    }
    (all, usage)
}

/// Nanoseconds by the clock that all processes share.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
