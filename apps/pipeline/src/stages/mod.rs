//! The stages, each on a thread of its own, and the queues between them.
//!
//! ```text
//!           packets         packets          flows
//!  input ───────────▶ parse ───────▶ flows 0 ──────▶ merge
//!    ▲                       ───────▶ flows 1 ──────▶
//!    └──────────────────────────────────┘ used packets
//! ```

mod flows;
mod input;
mod merge;
mod outlet;
mod parse;
mod progress;

use std::thread::{self, ScopedJoinHandle};

use corelane::CapacityError;
use corelane::wait::{self, Inbox, Strategy};

pub use progress::Progress;

use crate::flow::{SHARDS, Shards};
use crate::parse::Parser;
use crate::queues::Queues;
use crate::report::{Collector, Report};
use crate::source::Source;
use flows::{Flows, added, note};
use input::{Used, input};
use merge::merge;
use outlet::Outlet;
use progress::Counters;

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
    /// Whether packets are only parsed. Then there are no flows.
    pub parse_only: bool,
}

/// Most threads that classify flows.
pub const MOST_THREADS: usize = SHARDS;

impl Default for Settings {
    fn default() -> Self {
        let wait = Strategy::Adaptive;
        Self { batch: 32, capacity: 1024, threads: 1, wait, drops: false, parse_only: false }
    }
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
    let (mut to_flows, mut workers, mut spares) = (Vec::new(), Vec::new(), Used::default());
    for _ in 0..threads {
        let (outlet, from_parse) = packets()?;
        let (to_input, used) = queues.packets(capacity)?;
        to_flows.push(outlet);
        spares.queues.push(used);
        let to_merge = inbox.add(queues.flows(capacity)?).strategy(wait);
        workers.push(Flows { from_parse, to_merge, to_input, settings, counters });
    }
    thread::scope(|s| {
        s.spawn(|| input(source, spares, to_parse, settings));
        let parse = s.spawn(|| parse::parse(parsed, to_flows, settings));
        let flows: Vec<_> = workers.into_iter().map(|worker| s.spawn(|| worker.run())).collect();
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

/// The same work as [`run`] does, in one thread without queues.
pub fn run_inline(source: &mut impl Source) -> Report {
    inline(source, Some(Shards::of_one_in(1)))
}

/// The same work as [`run`] does with [`parse_only`](Settings::parse_only), in one thread without
/// queues.
pub fn parse_inline(source: &mut impl Source) -> Report {
    inline(source, None)
}

fn inline(source: &mut impl Source, mut shards: Option<Shards>) -> Report {
    let (mut parser, mut parsed, mut spare) = (Parser::default(), Vec::new(), None);
    let (mut collector, mut over) = (Collector::default(), Vec::new());
    let (mut packets, mut bytes, mut latency) = (0, 0, None);
    while let Some(mut packet) = source.next_packet(&mut spare) {
        packet.number = packets;
        packets += 1;
        bytes += u64::from(packet.wire);
        parser.take(packet, &mut parsed);
        for packet in parsed.drain(..) {
            if let Some(shards) = &mut shards {
                shards.take(&packet, &mut over);
            }
            note(&mut latency, packet.due);
            spare = Some(packet);
        }
        over.drain(..).for_each(|flow| collector.add(flow));
    }
    parser.finish(&mut parsed);
    if let Some(mut shards) = shards {
        parsed.drain(..).for_each(|packet| shards.take(&packet, &mut over));
        shards.finish(&mut over);
    }
    over.drain(..).for_each(|flow| collector.add(flow));
    Report { packets, bytes, latency_ns: latency, ..collector.report(parser.tally) }
}
