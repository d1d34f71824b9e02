//! Items that are sent on a schedule: their latency, and the processor time that they take.
//!
//! The sender looks at the clock until an item is due, so that no item is late because its sender
//! woke late. This takes a core, which doesn't count: of the sender, only the time of its calls
//! counts.

use std::sync::atomic::{AtomicU64, Ordering};

use corelane_report::interrupt;
use hdrhistogram::Histogram;

use super::handles::{Blocking, Receiver, Sender};
use super::usage::{Usage, between};
use crate::clock::Clock;
use crate::cores;
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::{Sample, histogram};
use crate::schedule::{self, Arrival};
use crate::suite::mpmc::account::{Checks, Counts, Tally, check, number};
use crate::suite::mpmc::probe::CLOCK_COST_NS;
use crate::suite::wait::WaitSetting;
use crate::threads::{self, Gate, Wait};

/// Time for both sides to get ready after they have met.
const LEAD_NS: u64 = 20_000;

/// The side that receives.
struct Received {
    checks: Checks,
    latency: Histogram<u64>,
    usage: Option<Usage>,
}

/// The median latency, or the processor time of an item. Each handle of the sending side is a lane;
/// one thread sends the items of all lanes, so that all but one are idle.
///
/// A receiver that selects from a queue for each lane belongs into [`Channel::open`], as a channel
/// of its own.
pub(super) fn measure<C: Blocking>(
    test: Test,
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let schedule = &arrivals(setting, trial.length);
    let (mut txs, rxs) = C::open(setting.wanted(trial.params.capacity))?;
    let wait = if cores::are_shared(2, trial.cores) { Wait::Yield } else { Wait::Spin };
    let seats = cores::seats(setting.size, setting.placement, trial.cores);
    let seats = [seats[0], *seats.last().expect("it has both sides")];
    let (gate, start) = (&Gate::default(), &AtomicU64::new(0));
    let ((sent, calls_ns), received) = threads::run_on(
        seats,
        move || {
            let clock = Clock::get();
            let begin = clock.now() + clock.ticks(LEAD_NS);
            start.store(begin, Ordering::Relaxed);
            gate.meet(Wait::Yield);
            send(&mut txs, schedule, begin, wait)
        },
        move || {
            gate.meet(Wait::Yield);
            rxs.into_iter().map(|rx| receive(rx, schedule, start.load(Ordering::Relaxed))).next()
        },
    );
    let Received { checks, latency, usage } = received.expect("there is one receiver");
    let items = checks.tally.items.max(1) as f64;
    let Checks { tally, unordered, .. } = checks;
    let popped = Counts { tally, unordered, ..Counts::default() };
    check(&[Counts { tally: sent, ..Counts::default() }], &[popped])?;
    let sending = usage.map(|_| Usage { cpu_ns: calls_ns, sleeps: 0.0 });
    let p50 = latency.value_at_quantile(0.5) as f64;
    let mut sample = Sample::of(p50).with_sides([sending, usage], items);
    if test == Test::Cpu {
        sample.value = sample.cpu_ns.unwrap_or(f64::NAN);
    }
    Ok(Sample { latency: Some(latency), ..sample })
}

fn arrivals(setting: &WaitSetting, length: Length) -> Vec<Arrival> {
    let Length::Time(time) = length else { unreachable!("planned with a time") };
    schedule::poisson(setting.rate.unwrap_or(1) as f64, time)
}

/// The lane of an item: random, but the same in all runs.
fn lane(sequence: u64, lanes: usize) -> usize {
    (sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % lanes
}

/// Sends each item at its time. Stops early when the run is interrupted. Returns what was sent, and
/// the time of the calls.
fn send<S: Sender>(txs: &mut [S], schedule: &[Arrival], begin: u64, wait: Wait) -> (Tally, f64) {
    let (clock, mut tally, mut calls) = (Clock::get(), Tally::default(), 0);
    for (sequence, arrival) in (0..).zip(schedule) {
        if !reaches(begin + clock.ticks(arrival.at_ns), wait) {
            break;
        }
        let lane = lane(sequence, txs.len());
        let item = number(lane as u8, sequence + 1);
        let from = clock.now_in_order();
        txs[lane].put(item);
        calls += clock.now_in_order().saturating_sub(from);
        tally.add(item);
    }
    let clock_ns = *CLOCK_COST_NS * tally.items as f64;
    (tally, (clock.ns(calls) - clock_ns).max(0.0))
}

/// Waits for a time. False if the run is interrupted.
fn reaches(due: u64, wait: Wait) -> bool {
    let (clock, mut failed) = (Clock::get(), 0);
    while clock.now() < due {
        if interrupt::requested() {
            return false;
        }
        wait.pause(&mut failed);
    }
    true
}

/// Receives until the channel is closed, and records how late each item was.
fn receive<R: Receiver>(mut rx: R, schedule: &[Arrival], begin: u64) -> Received {
    let (clock, mut latency, mut checks) = (Clock::get(), histogram(), Checks::new());
    let before = Usage::of_this_thread();
    while let Some(item) = rx.get() {
        let now = clock.now();
        let sequence = checks.see(item).wrapping_sub(1) as usize;
        if let Some(arrival) = schedule.get(sequence) {
            let late = now.saturating_sub(begin + clock.ticks(arrival.at_ns));
            latency.saturating_record(clock.ns(late) as u64);
        }
    }
    Received { checks, latency, usage: between(before, Usage::of_this_thread()) }
}
