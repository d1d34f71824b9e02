//! As many items as both sides can move in a fixed time.

use std::hint::black_box;

use super::handles::{Blocking, Receiver, Sender};
use super::usage::{Usage, between};
use crate::clock::Clock;
use crate::cores;
use crate::kinds::TeamSize;
use crate::params::Trial;
use crate::sample::Sample;
use crate::suite::mpmc::account::{Checks, Counts, Tally, check, number};
use crate::suite::mpmc::evenness;
use crate::suite::mpmc::parts::Part;
use crate::suite::wait::WaitSetting;
use crate::threads::{self, Gate, Task, Wait};

/// Items between two checks whether the time is over. A thread may sleep before each of them.
pub(super) const CHUNK: u64 = 16;

/// The shared state of the threads of a measurement.
struct Common {
    gate: Gate,
    /// The warm-up, and the measured part. Threads go from one to the other without meeting: some
    /// may be asleep.
    parts: [Part; 2],
}

impl Common {
    /// Ends both parts in time. Called by the thread that started the others.
    fn keep_time(&self) {
        self.gate.meet(Wait::Yield);
        self.parts.iter().for_each(Part::keep_time);
    }
}

/// The counts of a thread or a task at one time.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    ticks: u64,
    items: u64,
    runs: u64,
    /// Of a thread.
    usage: Option<Usage>,
}

impl Mark {
    fn now(items: u64, runs: u64) -> Self {
        Self { usage: Usage::of_this_thread(), ..Self::of_task(items, runs) }
    }

    pub(super) fn of_task(items: u64, runs: u64) -> Self {
        Self { ticks: Clock::get().now(), items, runs, usage: None }
    }
}

/// The results of a thread or a task.
pub(super) struct Report {
    /// Begin and end of the measured part.
    pub(super) from: Mark,
    pub(super) to: Mark,
    /// All counts, also of the time before and after.
    pub(super) counts: Counts,
}

impl Report {
    fn items(&self) -> u64 {
        self.to.items - self.from.items
    }

    fn runs(&self) -> u64 {
        self.to.runs - self.from.runs
    }
}

pub(super) fn measure<C: Blocking>(
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let TeamSize { producers, consumers } = setting.size;
    let parts = Part::both(trial.length, consumers);
    let common = &Common { gate: Gate::of(producers + consumers + 1), parts };
    let (txs, rxs) = C::open(setting.wanted(trial.params.capacity))?;
    let mut seats = cores::seats(setting.size, setting.placement, trial.cores).into_iter();
    let mut tasks = Vec::<Task<'_, Report>>::new();
    for ((producer, tx), core) in (0..).zip(txs).zip(&mut seats) {
        tasks.push((core, Box::new(move || produce(black_box(tx), producer, common))));
    }
    for (rx, core) in rxs.into_iter().zip(&mut seats) {
        tasks.push((core, Box::new(move || consume(black_box(rx), common))));
    }
    let mut reports = threads::all(tasks, &|| common.keep_time());
    let consumers = reports.split_off(producers);
    let sides = [reports, consumers];
    let used = sides
        .each_ref()
        .map(|side| side.iter().map(|report| between(report.from.usage, report.to.usage)).sum());
    let (sample, items) = sample(&sides, C::TO_ALL)?;
    Ok(sample.with_sides(used, items))
}

/// Checks the reports of the producers and of the consumers. Returns the result and the number of
/// items that were received.
///
/// Time runs from the first thread's begin to the first thread's end, as in `lane bench mpmc`.
pub(super) fn sample(sides: &[Vec<Report>; 2], to_all: bool) -> Result<(Sample, f64), String> {
    let counts = |side: &Vec<Report>| side.iter().map(|report| report.counts).collect();
    let [pushed, popped]: [Vec<_>; 2] = sides.each_ref().map(counts);
    let times = if to_all { popped.len() } else { 1 };
    check(&pushed.repeat(times), &popped)?;
    let all = || sides.iter().flatten();
    let from = all().map(|report| report.from.ticks).min().unwrap_or(0);
    let to = all().map(|report| report.to.ticks).min().unwrap_or(0);
    let ns = Clock::get().ns(to.saturating_sub(from).max(1));
    let [producers, consumers] = sides;
    // If no item was received, an item takes at least this time.
    let items = consumers.iter().map(Report::items).sum::<u64>().max(1) as f64;
    let run = items / consumers.iter().map(Report::runs).sum::<u64>().max(1) as f64;
    let sample = Sample {
        fairness: Some(sides.each_ref().map(|side| evenness(side.iter().map(Report::items)))),
        run: (producers.len() > 1).then_some(run),
        ..Sample::of(ns / items)
    };
    Ok((sample, items))
}

#[inline(never)]
fn produce<S: Sender>(mut tx: S, producer: u8, common: &Common) -> Report {
    let mut tally = Tally::default();
    common.gate.meet(Wait::Yield);
    let mut marks = [Mark::now(0, 0); 2];
    for part in &common.parts {
        let from = Mark::now(tally.items, 0);
        while !part.is_over() {
            for _ in 0..CHUNK {
                let number = number(producer, tally.items + 1);
                assert!(tx.put(number), "the channel is closed, and all receivers are there");
                tally.add(number);
            }
        }
        marks = [from, Mark::now(tally.items, 0)];
    }
    let [from, to] = marks;
    Report { from, to, counts: Counts { tally, ..Counts::default() } }
}

#[inline(never)]
fn consume<R: Receiver>(mut rx: R, common: &Common) -> Report {
    let mut checks = Checks::new();
    common.gate.meet(Wait::Yield);
    let mut marks = [Mark::now(0, 0); 2];
    for part in &common.parts {
        let from = Mark::now(checks.tally.items, checks.runs);
        let mut is_open = true;
        while is_open && !part.is_over() {
            for _ in 0..CHUNK {
                let Some(item) = rx.get() else {
                    is_open = false;
                    break;
                };
                checks.see(item);
            }
            part.popped(checks.tally.items - from.items);
        }
        marks = [from, Mark::now(checks.tally.items, checks.runs)];
    }
    while let Some(item) = rx.get() {
        checks.see(item);
    }
    let ([from, to], Checks { tally, unordered, runs, .. }) = (marks, checks);
    Report { from, to, counts: Counts { tally, unordered, runs, ..Counts::default() } }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use core_affinity::CoreId;

    use super::super::handles::{Ends, Wanted};
    use super::super::{ChannelKernel, Test};
    use super::*;
    use crate::kinds::Placement;
    use crate::params::{Length, Params};
    use crate::suite::Setting;
    use crate::suite::wait::Sharing;
    use crate::suite::wait::handles::Channel;

    /// What a sender does instead of sending its tenth item.
    type Fault = fn(&Broken, u64);

    /// A channel of the standard library.
    struct Broken {
        tx: mpsc::SyncSender<u64>,
        sent: u64,
        fault: Fault,
    }

    impl Sender for Broken {
        fn put(&mut self, item: u64) -> bool {
            self.sent += 1;
            if self.sent == 10 {
                (self.fault)(self, item)
            } else {
                self.next(item)
            }
            true
        }
    }

    impl Broken {
        fn next(&self, item: u64) {
            self.tx.send(item).expect("the receiver is there");
        }
    }

    const FAULTS: [Fault; 4] = [
        |tx, item| tx.next(item),
        |_, _| {},
        |tx, item| [item, item].into_iter().for_each(|item| tx.next(item)),
        |tx, item| tx.next(item + 1),
    ];

    struct Channels<const FAULT: usize>;

    impl<const FAULT: usize> Channel for Channels<FAULT> {
        const HANDLES: Sharing = Sharing::Shared;

        type Tx = Broken;
        type Rx = mpsc::Receiver<u64>;

        fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Broken, Self::Rx>, String> {
            let (tx, rx) = mpsc::sync_channel(capacity);
            let fault = FAULTS[FAULT];
            let tx = |_| Broken { tx: tx.clone(), sent: 0, fault };
            Ok(((0..size.producers).map(tx).collect(), vec![rx]))
        }
    }

    fn run<const FAULT: usize>(test: Test, producers: usize) -> Result<Sample, String> {
        let kernel = ChannelKernel::blocking::<Channels<FAULT>>().next().expect("one way to wait");
        let sleeps = (test == Test::PingPong).then_some(false);
        let size = TeamSize { producers, consumers: 1 };
        let (placement, way) = (Placement::Mixed, kernel.way);
        let setting =
            WaitSetting { size, placement, way, sleeps, rate: Some(100_000), beside: None };
        let params =
            Params { capacity: 16, wait: Wait::Within, setting: Setting::Wait(setting.clone()) };
        let length = match test {
            Test::OpenLoop => Length::Time(std::time::Duration::from_millis(5)),
            _ => Length::Items(500),
        };
        let cores = &[CoreId { id: 0 }];
        kernel.measure(test, &Trial { params: &params, length, cores, schedule: &[] }, &setting)
    }

    #[test]
    fn a_right_channel_passes() {
        for sample in [run::<0>(Test::Stream, 3), run::<0>(Test::PingPong, 1)] {
            assert!(sample.expect("it is right").value > 0.0);
        }
        let latency = run::<0>(Test::OpenLoop, 64).expect("it is right").latency;
        assert!(latency.is_some_and(|latency| latency.len() > 100));
    }

    #[test]
    fn lost_doubled_and_changed_items_are_found() {
        for test in [Test::Stream, Test::OpenLoop] {
            let faults = [run::<1>(test, 2), run::<2>(test, 2), run::<3>(test, 2)];
            let faults = faults.map(|result| result.expect_err("it is wrong"));
            assert!(faults[..2].iter().all(|fault| fault.contains("items were pushed and")));
            assert!(faults[2].contains("ones of the same producer"), "{faults:?}");
        }
        let wrong = run::<3>(Test::PingPong, 1).expect_err("it is wrong");
        assert!(wrong.contains("the answers were not those"), "{wrong}");
    }
}
