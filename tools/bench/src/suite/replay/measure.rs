//! The threads of a replay.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::ends::{Ends, Get, Put};
use super::setting::ReplaySetting;
use super::workload::{Step, Workload};
use crate::clock::Clock;
use crate::cores;
use crate::kinds::Placement;
use crate::params::{Length, Trial};
use crate::sample::{Sample, histogram, merged};
use crate::suite::mpmc::account::{Checks, Counts, Tally, check, number, producer};
use crate::suite::wait::{Usage, between};
use crate::threads::{self, Gate, Task, Wait};
use crate::work::{Busy, Work};

/// What the last producer sends to each consumer.
const END: u64 = u64::MAX;
/// Pause before another end is sent: a consumer may have taken several.
const PAUSE: Duration = Duration::from_micros(200);
/// Most memory for the contents of a producer's items, in words.
const MOST_WORDS: usize = 1 << 20;

/// What the threads share.
struct Common<'a> {
    workload: &'a Workload,
    batch: usize,
    /// Items of a producer after which it stops.
    most: u64,
    gate: Gate,
    is_over: AtomicBool,
    /// Producers and consumers that have not ended.
    left: [AtomicUsize; 2],
    /// Of each producer.
    contents: Vec<Contents>,
}

/// The times and contents of a producer's items.
struct Contents {
    /// When each item was ready, in ticks.
    ready: Vec<AtomicU64>,
    words: Vec<AtomicU64>,
    /// Words of the longest item.
    longest: usize,
}

impl Contents {
    /// For `inside` items at a time.
    fn new(inside: usize, longest_bytes: usize) -> Self {
        let zeros = |n: usize| (0..n).map(|_| AtomicU64::new(0)).collect();
        let (len, longest) = (inside.next_power_of_two(), longest_bytes.div_ceil(8));
        // An item of a word is its number.
        let words = if longest > 1 { (len * longest).min(MOST_WORDS.max(longest)) } else { 0 };
        Self { ready: zeros(len), words: zeros(words), longest }
    }

    fn ready(&self, count: u64) -> &AtomicU64 {
        &self.ready[count as usize & (self.ready.len() - 1)]
    }

    /// The words of an item, if it has any. The first one says how many bytes are used.
    fn words(&self, count: u64) -> &[AtomicU64] {
        match self.words.len().checked_div(self.longest) {
            Some(items) if items > 0 => {
                &self.words[count as usize % items * self.longest..][..self.longest]
            }
            _ => &[],
        }
    }

    fn write(&self, count: u64, bytes: usize, ready: u64) {
        self.ready(count).store(ready, Ordering::Relaxed);
        let words = self.words(count).iter().take(bytes.div_ceil(8));
        words.for_each(|word| word.store(bytes as u64, Ordering::Relaxed));
    }

    /// When the item was ready, and a value that depends on all of its bytes.
    fn read(&self, count: u64) -> (u64, u64) {
        let words = self.words(count);
        let bytes = words.first().map_or(0, |bytes| bytes.load(Ordering::Relaxed));
        let used = words.iter().take((bytes as usize).div_ceil(8));
        let sum = used.fold(0, |sum, word| sum ^ word.load(Ordering::Relaxed));
        (self.ready(count).load(Ordering::Relaxed), sum)
    }
}

/// Nanoseconds an item, the latency of items, and what both sides took.
pub(super) fn measure(
    trial: &Trial<'_>,
    (txs, rxs): Ends,
    workload: &Workload,
    setting: &ReplaySetting,
) -> Result<Sample, String> {
    let (size, batch) = (setting.size, setting.batch);
    let inside = 2 * (trial.params.capacity + batch * size.threads()) + 1024;
    let contents = |steps: &Vec<Step>| {
        Contents::new(inside, steps.iter().map(|step| step.bytes).max().unwrap_or(0))
    };
    let common = &Common {
        workload,
        batch,
        most: match trial.length {
            Length::Time(_) => u64::MAX,
            Length::Items(items) => items.div_ceil(size.producers as u64),
        },
        gate: Gate::of(size.threads() + 1),
        is_over: AtomicBool::new(false),
        left: [size.producers, size.consumers].map(AtomicUsize::new),
        contents: workload.producers.iter().map(contents).collect(),
    };
    let placement = if size.threads() == 2 { Placement::Apart } else { Placement::Free };
    let mut seats = cores::seats(size, placement, trial.cores).into_iter();
    let mut tasks = Vec::<Task<'_, Report>>::new();
    for ((at, tx), core) in (0..).zip(txs).zip(&mut seats) {
        tasks.push((core, Box::new(move || produce(tx, at, common))));
    }
    for ((at, rx), core) in (0..).zip(rxs).zip(&mut seats) {
        tasks.push((core, Box::new(move || consume(rx, at, common))));
    }
    let before = Usage::of_all_threads();
    let mut reports = threads::all(tasks, &|| common.keep_time(trial.length));
    let used = between(before, Usage::of_all_threads());
    let consumers = reports.split_off(size.producers);
    let counts = |side: &[Report]| side.iter().map(|report| report.counts).collect::<Vec<_>>();
    check(&counts(&reports), &counts(&consumers))?;
    let ns = consumers.iter().map(|report| report.ns).fold(1.0, f64::max);
    let items: u64 = consumers.iter().map(|report| report.counts.tally.items).sum();
    let items = items.max(1) as f64;
    let latency = merged(consumers.iter().map(|report| &report.latency));
    Ok(Sample { latency, ..Sample::of(ns / items) }.with_usage(used, items))
}

impl Common<'_> {
    /// Ends the producers in time. Called by the thread that started the others.
    fn keep_time(&self, length: Length) {
        self.gate.meet(Wait::Yield);
        if let Length::Time(length) = length {
            thread::sleep(length);
            self.is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// The results of a thread.
struct Report {
    counts: Counts,
    ns: f64,
    latency: Histogram<u64>,
}

/// The own time of a step.
#[derive(Clone, Copy)]
struct Own {
    work: Busy,
    asleep: Duration,
}

impl Own {
    fn new(step: &Step) -> Self {
        Self { work: Busy::new(step.own_ns), asleep: Duration::from_nanos(step.asleep_ns) }
    }

    fn pass(mut self, value: u64) {
        if !self.asleep.is_zero() {
            thread::sleep(self.asleep);
        }
        self.work.consume(value);
    }
}

/// A thread sleeps until a packet is due in such a time.
const FAR_NS: u64 = 100_000;

/// Waits until a packet is due, which may be long ago.
fn wait_until(due: u64, clock: Clock) {
    loop {
        let left = clock.ns(due.saturating_sub(clock.now())) as u64;
        match left {
            0 => return,
            FAR_NS.. => thread::sleep(Duration::from_nanos(left - FAR_NS / 2)),
            _ => std::hint::spin_loop(),
        }
    }
}

fn produce(mut tx: Box<dyn Put>, at: usize, common: &Common<'_>) -> Report {
    let (steps, contents) = (&common.workload.producers[at], &common.contents[at]);
    let owns: Vec<_> = steps.iter().map(Own::new).collect();
    let (clock, has_times) = (Clock::get(), common.workload.has_times);
    let (mut tally, mut ready) = (Tally::default(), Vec::with_capacity(common.batch));
    common.gate.meet(Wait::Yield);
    let begin = Instant::now();
    let mut due = clock.now();
    for (taken, (step, own)) in steps.iter().zip(&owns).cycle().enumerate() {
        // A thread that gets no core in a short time takes one step: no round is without items.
        let is_over = taken > 0 && common.is_over.load(Ordering::Relaxed);
        if is_over || tally.items >= common.most {
            break;
        }
        if has_times {
            due += clock.ticks(step.own_ns);
            wait_until(due, clock);
        } else {
            own.pass(tally.items);
            due = clock.now();
        }
        for _ in 0..step.items {
            let count = tally.items + 1;
            contents.write(count, step.bytes, due);
            let number = number(at as u8, count);
            tally.add(number);
            ready.push(number);
            if ready.len() == common.batch {
                tx.put(&ready);
                ready.clear();
            }
        }
    }
    tx.put(&ready);
    // Release ↔ Acquire: the pushes of the other producers are over when the last one sends ends.
    if common.left[0].fetch_sub(1, Ordering::AcqRel) == 1 {
        tx.put(&vec![END; common.workload.consumers.len()]);
        while common.left[1].load(Ordering::Relaxed) > 0 {
            thread::sleep(PAUSE);
            tx.put(&[END]);
        }
    }
    let counts = Counts { tally, ..Counts::default() };
    Report { counts, ns: begin.elapsed().as_nanos() as f64, latency: histogram() }
}

fn consume(mut rx: Box<dyn Get>, at: usize, common: &Common<'_>) -> Report {
    let owns: Vec<_> = common.workload.consumers[at].iter().map(Own::new).collect();
    let mut owns = owns.iter().cycle();
    let (clock, mut checks) = (Clock::get(), Checks::new());
    let (mut numbers, mut latency) = (vec![0; common.batch], histogram());
    common.gate.meet(Wait::Yield);
    let begin = Instant::now();
    let mut is_open = true;
    while is_open {
        let popped = rx.get(&mut numbers);
        let now = clock.now();
        for &number in &numbers[..popped] {
            if number == END {
                is_open = false;
                continue;
            }
            let count = checks.see(number);
            let (ready, value) = common.contents[producer(number)].read(count);
            latency.saturating_record(clock.ns(now.saturating_sub(ready)) as u64);
            if let Some(own) = owns.next() {
                own.pass(value);
            }
        }
    }
    common.left[1].fetch_sub(1, Ordering::Relaxed);
    let Checks { tally, unordered, runs, .. } = checks;
    let counts = Counts { tally, unordered, runs, ..Counts::default() };
    Report { counts, ns: begin.elapsed().as_nanos() as f64, latency }
}
