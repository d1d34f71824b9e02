//! Measurements beside the number of items: none, the time that items stay, or the time of calls.

use std::sync::LazyLock;

use hdrhistogram::Histogram;

use crate::clock::Clock;
use crate::sample::histogram;

/// Reads of the clock for measuring its cost.
const READS: usize = 10_000;

/// Nanoseconds between two successive reads of the clock: the measured time of an empty call. On a
/// virtual machine it is as long as some calls.
pub(crate) static CLOCK_COST_NS: LazyLock<f64> = LazyLock::new(|| {
    let clock = Clock::get();
    let mut costs = histogram();
    for _ in 0..READS {
        let from = clock.now_in_order();
        costs.saturating_record(clock.now_in_order().saturating_sub(from));
    }
    typical(&costs) / clock.ticks_per_ns
});

/// The mean of all times except the slowest hundredth, which were interrupted.
///
/// Some processors' clocks advance in steps of 10 ns, as long as a call. A median can only be a
/// whole step. A mean of many times that begin anywhere in a step can be between.
pub(super) fn typical(times: &Histogram<u64>) -> f64 {
    let most = times.value_at_quantile(0.99);
    let (mut sum, mut count) = (0.0, 0.0);
    for time in times.iter_recorded().take_while(|time| time.value_iterated_to() <= most) {
        sum += time.value_iterated_to() as f64 * time.count_at_value() as f64;
        count += time.count_at_value() as f64;
    }
    sum / count
}

/// The notes of a thread.
pub(super) trait Probe: Sized {
    /// Whether items may be moved in batches. Notes on single calls or items need no batches, so
    /// their loops needn't be compiled.
    const BATCHES: bool = false;

    /// A new probe, which ignores all earlier events.
    fn new() -> Self;

    #[inline(always)]
    fn count(&mut self, last: u64) -> u64 {
        last + 1
    }

    #[inline(always)]
    fn call<R>(&mut self, call: impl FnOnce() -> Option<R>) -> Option<R> {
        call()
    }

    #[inline(always)]
    fn popped(&mut self, _count: u64) {}

    fn notes(self) -> Option<Histogram<u64>> {
        None
    }
}

/// Notes nothing.
pub(super) struct Silent;

impl Probe for Silent {
    const BATCHES: bool = true;

    fn new() -> Self {
        Self
    }
}

/// Notes how long items stay in the queue: an item's count is the time at which it was made.
pub(super) struct Stays {
    clock: Clock,
    /// Items from before this time are ignored: they have stayed over the pause after the warm-up.
    since: u64,
    stays: Histogram<u64>,
}

impl Probe for Stays {
    fn new() -> Self {
        let clock = Clock::get();
        Self { clock, since: clock.now(), stays: histogram() }
    }

    #[inline(always)]
    fn count(&mut self, last: u64) -> u64 {
        self.clock.now().max(last + 1)
    }

    #[inline(always)]
    fn popped(&mut self, count: u64) {
        if count >= self.since {
            let stay = self.clock.now().saturating_sub(count);
            self.stays.saturating_record(self.clock.ns(stay) as u64);
        }
    }

    fn notes(self) -> Option<Histogram<u64>> {
        Some(self.stays)
    }
}

/// Notes the time of each successful call, minus the cost of reading the clock.
///
/// Calls are timed one by one, because a percentile of batches would say nothing about a call. The
/// clock is read after all earlier instructions, so that a call counts with its full time. Its last
/// stores don't count: no later instruction waits for them.
pub(super) struct Calls {
    clock: Clock,
    /// In ticks, including the cost of reading the clock.
    times: Histogram<u64>,
}

impl Probe for Calls {
    fn new() -> Self {
        Self { clock: Clock::get(), times: histogram() }
    }

    #[inline(always)]
    fn call<R>(&mut self, call: impl FnOnce() -> Option<R>) -> Option<R> {
        let from = self.clock.now_in_order();
        let result = call();
        let ticks = self.clock.now_in_order().saturating_sub(from);
        if result.is_some() {
            self.times.saturating_record(ticks);
        }
        result
    }

    fn notes(self) -> Option<Histogram<u64>> {
        let mut times = histogram();
        for time in self.times.iter_recorded() {
            let ns = self.clock.ns(time.value_iterated_to()) - *CLOCK_COST_NS;
            times.saturating_record_n(ns.max(0.0).round() as u64, time.count_at_value());
        }
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_time_can_lie_between_clock_steps_and_ignores_interruptions() {
        let mut times = histogram();
        times.record_n(10, 600).expect("in bounds");
        times.record_n(20, 395).expect("in bounds");
        times.record_n(1_000_000, 5).expect("in bounds");
        assert!((typical(&times) - 13.97).abs() < 0.01);
    }
}
