//! The stages, each on a thread of its own, and the queues between them.
//!
//! ```text
//!           packets         packets          flows
//!  input ───────────▶ parse ───────▶ flows 0 ──────▶ merge
//!                           ───────▶ flows 1 ──────▶
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use corelane::wait::{self, Inbox, Strategy};
use corelane::{CapacityError, Consumer, Producer, TryPopError, TryPushError};
use hdrhistogram::Histogram;

use crate::flow::{SHARDS, Shards};
use crate::packet::Packet;
use crate::parse::{Parser, Tally};
use crate::queues::Queues;
use crate::report::{Collector, FlowRecord, Report};
use crate::source::Source;

/// How the stages work together.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Packets that a stage takes at once, at most.
    pub batch: usize,
    /// Items that a queue must hold.
    pub capacity: usize,
    /// Threads that classify flows: 1 to [`MOST_THREADS`].
    pub threads: usize,
    /// How a thread waits at a queue.
    pub wait: Strategy,
    /// Whether packets are lost where a queue is full.
    pub drops: bool,
}

/// Most threads that classify flows.
pub const MOST_THREADS: usize = SHARDS;

impl Default for Settings {
    fn default() -> Self {
        Self { batch: 32, capacity: 1024, threads: 1, wait: Strategy::Adaptive, drops: false }
    }
}

/// What has been seen so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Packets that were read.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that the stages have finished.
    pub classified: u64,
    /// Packets lost because a queue was full.
    pub dropped: u64,
    /// Flows that are over.
    pub flows: u64,
}

/// From one progress report to the next.
const TICK: Duration = Duration::from_secs(1);

/// Counters that one stage writes and the merging thread reads now and then.
#[derive(Debug, Default)]
struct Counters {
    packets: AtomicU64,
    bytes: AtomicU64,
    classified: AtomicU64,
    dropped: AtomicU64,
}

impl Counters {
    fn progress(&self, flows: u64) -> Progress {
        // Relaxed: numbers to be shown.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            packets: read(&self.packets),
            bytes: read(&self.bytes),
            classified: read(&self.classified),
            dropped: read(&self.dropped),
            flows,
        }
    }
}

/// Adds to a counter that is only shown, and read when the threads have ended.
fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// Runs the packets of `source` through all stages. About once a second, `tick` gets what has been
/// seen so far.
///
/// # Errors
///
/// If a queue can't be made.
///
/// # Panics
///
/// If the number of threads is not from 1 to [`MOST_THREADS`], or the batch is 0.
pub fn run<Q: Queues>(
    queues: &Q,
    source: &mut impl Source,
    settings: &Settings,
    mut tick: impl FnMut(Progress),
) -> Result<Report, CapacityError> {
    let &Settings { batch, capacity, threads, wait, .. } = settings;
    assert!((1..=MOST_THREADS).contains(&threads) && batch > 0, "the settings are wrong");
    let counters = &Counters::default();
    let packets = || {
        queues.packets(capacity).map(wait::pair).map(|(tx, rx)| {
            (Outlet { tx: tx.strategy(wait), settings, counters }, rx.strategy(wait))
        })
    };
    let mut inbox = Inbox::new().strategy(wait);
    let (to_parse, parsed) = packets()?;
    let (mut to_flows, mut workers) = (Vec::new(), Vec::new());
    for _ in 0..threads {
        let (outlet, from_parse) = packets()?;
        to_flows.push(outlet);
        workers.push((from_parse, inbox.add(queues.flows(capacity)?).strategy(wait)));
    }
    thread::scope(|s| {
        s.spawn(|| input(source, to_parse, settings));
        let parse = s.spawn(|| parse(parsed, to_flows, settings));
        let flows: Vec<_> = workers
            .into_iter()
            .map(|(rx, tx)| s.spawn(move || flows(rx, tx, settings, counters)))
            .collect();
        let collector = merge(inbox, |flows| tick(counters.progress(flows)));
        let mut report = collector.report(joined(parse));
        report.latency_ns = flows.into_iter().map(joined).reduce(added).flatten();
        let Progress { packets, bytes, dropped, .. } = counters.progress(0);
        (report.packets, report.bytes, report.dropped) = (packets, bytes, dropped);
        Ok(report)
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The sending side of a queue of packets.
struct Outlet<'a, P> {
    tx: wait::Producer<P>,
    settings: &'a Settings,
    counters: &'a Counters,
}

impl<P: Producer<Item = Box<Packet>>> Outlet<'_, P> {
    /// Sends all packets, or as many as there is room for.
    fn send(&mut self, packets: &mut Vec<Box<Packet>>) {
        let packets = packets.drain(..);
        match self.settings.drops {
            true => packets.for_each(|packet| self.try_send(packet)),
            // The next stage ends before this one only if it panics, which ends all.
            false => drop(self.tx.push_all(packets)),
        }
        self.tx.flush();
    }

    fn try_send(&mut self, mut packet: Box<Packet>) {
        loop {
            match self.tx.try_push(packet) {
                Ok(()) => return,
                Err(TryPushError::Busy(back)) => packet = back,
                Err(TryPushError::Full(lost) | TryPushError::Closed(lost)) => {
                    return count(&self.counters.dropped, lost.segment.packets.max(1));
                }
            }
            thread::yield_now();
        }
    }
}

/// Reads packets, and numbers them.
fn input<P>(source: &mut impl Source, mut outlet: Outlet<'_, P>, settings: &Settings)
where
    P: Producer<Item = Box<Packet>>,
{
    let (mut number, mut batch) = (0, Vec::with_capacity(settings.batch));
    loop {
        let mut bytes = 0;
        while batch.len() < settings.batch && (batch.is_empty() || source.is_ready()) {
            let Some(mut packet) = source.next_packet() else { break };
            packet.number = number;
            number += 1;
            bytes += u64::from(packet.wire);
            batch.push(packet);
        }
        if batch.is_empty() {
            return;
        }
        count(&outlet.counters.packets, batch.len() as u64);
        count(&outlet.counters.bytes, bytes);
        outlet.send(&mut batch);
    }
}

/// Parses packets, and sends each one to the thread that has its flow.
fn parse<C, P>(
    mut rx: wait::Consumer<C>,
    mut outlets: Vec<Outlet<'_, P>>,
    settings: &Settings,
) -> Tally
where
    C: Consumer<Item = Box<Packet>>,
    P: Producer<Item = Box<Packet>>,
{
    let (mut parser, mut batch, mut parsed) = (Parser::default(), Vec::new(), Vec::new());
    let mut split: Vec<Vec<_>> = outlets.iter().map(|_| Vec::new()).collect();
    loop {
        let is_end = rx.pop_many(&mut batch, settings.batch) == 0;
        batch.drain(..).for_each(|packet| parser.take(packet, &mut parsed));
        if is_end {
            parser.finish(&mut parsed);
        }
        for packet in parsed.drain(..) {
            split[Shards::thread_of(&packet, outlets.len())].push(packet);
        }
        for (outlet, packets) in outlets.iter_mut().zip(&mut split) {
            if !packets.is_empty() {
                outlet.send(packets);
            }
        }
        if is_end {
            return parser.tally;
        }
    }
}

/// Adds packets to their flows. Returns how long they took, if they had a time to be here.
fn flows<C, P>(
    mut rx: wait::Consumer<C>,
    mut tx: wait::Producer<P>,
    settings: &Settings,
    counters: &Counters,
) -> Option<Histogram<u64>>
where
    C: Consumer<Item = Box<Packet>>,
    P: Producer<Item = Box<FlowRecord>>,
{
    let mut shards = Shards::of_one_in(settings.threads);
    let (mut latency, mut batch, mut over) = (None, Vec::new(), Vec::new());
    loop {
        let is_end = rx.pop_many(&mut batch, settings.batch) == 0;
        count(&counters.classified, batch.len() as u64);
        for packet in batch.drain(..) {
            shards.take(&packet, &mut over);
            note(&mut latency, packet.due);
        }
        if is_end {
            shards.finish(&mut over);
        }
        if !over.is_empty() {
            // The merging thread ends before this one only if it panics, which ends all.
            let _ = tx.push_all(over.drain(..));
            tx.flush();
        }
        if is_end {
            return latency;
        }
    }
}

fn note(latency: &mut Option<Histogram<u64>>, due: Option<Instant>) {
    let Some(due) = due else { return };
    let ns = due.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
    latency.get_or_insert_with(histogram).saturating_record(ns);
}

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are possible")
}

fn added(one: Option<Histogram<u64>>, other: Option<Histogram<u64>>) -> Option<Histogram<u64>> {
    let (Some(mut sum), Some(other)) = (one.clone(), &other) else { return one.or(other) };
    sum.add(other).expect("it grows");
    Some(sum)
}

/// Collects the flows of all threads.
fn merge<C: Consumer<Item = Box<FlowRecord>>>(
    mut inbox: Inbox<C>,
    mut tick: impl FnMut(u64),
) -> Collector {
    let mut collector = Collector::default();
    let mut next = Instant::now() + TICK;
    loop {
        match inbox.pop_deadline(next) {
            Ok(flow) => collector.add(flow),
            Err(TryPopError::Closed) => return collector,
            Err(_) => {}
        }
        if Instant::now() >= next {
            tick(collector.flows);
            next += TICK;
        }
    }
}

/// The same work as [`run`] does, in one thread without queues.
pub fn run_inline(source: &mut impl Source) -> Report {
    let (mut parser, mut shards) = (Parser::default(), Shards::of_one_in(1));
    let (mut collector, mut parsed, mut over) = (Collector::default(), Vec::new(), Vec::new());
    let (mut packets, mut bytes, mut latency) = (0, 0, None);
    while let Some(mut packet) = source.next_packet() {
        packet.number = packets;
        packets += 1;
        bytes += u64::from(packet.wire);
        parser.take(packet, &mut parsed);
        for packet in parsed.drain(..) {
            shards.take(&packet, &mut over);
            note(&mut latency, packet.due);
        }
        over.drain(..).for_each(|flow| collector.add(flow));
    }
    parser.finish(&mut parsed);
    parsed.drain(..).for_each(|packet| shards.take(&packet, &mut over));
    shards.finish(&mut over);
    over.drain(..).for_each(|flow| collector.add(flow));
    Report { packets, bytes, latency_ns: latency, ..collector.report(parser.tally) }
}
