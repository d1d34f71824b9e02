//! The work of each side per item besides the queue's calls: emulated load, as in paper 1 §5.1.
//!
//! The paper's programs spin until the timestamp counter has advanced far enough. Reading the
//! counter takes 10 ns on a virtual EPYC, so the smallest load, 10 ns, would take 21. Here the load
//! is a chain of dependent steps with a calibrated pace. It is exact to about a nanosecond, and
//! can't begin before its item has arrived.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use crate::schedule::uniform;

/// Steps of one calibration: about a millisecond.
const CALIBRATION: u64 = 1_000_000;
/// Number of calibrations. The fastest counts: the others were disturbed.
const CALIBRATIONS: usize = 5;

static STEPS_PER_NS: LazyLock<f64> = LazyLock::new(|| {
    let steps = || {
        black_box(chain(black_box(1), black_box(CALIBRATION)));
    };
    CALIBRATION as f64 / fastest_ns(steps)
});

/// Nanoseconds of `work` at its fastest.
fn fastest_ns(mut work: impl FnMut()) -> f64 {
    let mut time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64
    };
    (0..CALIBRATIONS).map(&mut time).fold(f64::INFINITY, f64::min)
}

/// Per-item work of one side.
///
/// Both calls take the item's value. If the load didn't depend on the value, the processor would
/// run the load while it waits for the item's cache line, and the miss would cost nothing.
pub(crate) trait Work: Copy {
    /// The producer's work, done before `value` is known.
    #[inline(always)]
    fn produce(&mut self, value: u64) -> u64 {
        value
    }

    /// The consumer's work, begun when `value` has arrived.
    #[inline(always)]
    fn consume(&mut self, _value: u64) {}
}

/// No load: the queue alone.
#[derive(Clone, Copy)]
pub(crate) struct Free;

impl Work for Free {}

/// A fixed time per item.
#[derive(Clone, Copy)]
pub(crate) struct Busy {
    steps: u64,
    /// The paper's trash variable, which depends on all work so far.
    trash: u64,
    /// Zero, which the compiler can't know: it adds a dependency without changing a value.
    zero: u64,
}

impl Busy {
    pub(crate) fn new(ns: u64) -> Self {
        let steps = steps(ns).round() as u64;
        Self { steps, trash: black_box(1), zero: black_box(0) }
    }

    #[inline(always)]
    fn spin(&mut self) {
        self.trash = black_box(chain(self.trash, self.steps));
    }
}

impl Work for Busy {
    #[inline(always)]
    fn produce(&mut self, value: u64) -> u64 {
        self.spin();
        value + (self.trash & self.zero)
    }

    #[inline(always)]
    fn consume(&mut self, value: u64) {
        self.trash = self.trash.wrapping_add(value);
        self.spin();
    }
}

/// Work of a random time between two bounds.
#[derive(Clone, Copy)]
pub(crate) struct Varied {
    least: f64,
    most: f64,
    random: u64,
    trash: u64,
}

impl Varied {
    pub(crate) fn new(least_ns: u64, most_ns: u64, seed: u64) -> Self {
        let (least, most) = (steps(least_ns), steps(most_ns));
        Self { least, most, random: seed, trash: black_box(1) }
    }

    #[inline]
    pub(crate) fn work(&mut self) {
        self.trash = black_box(chain(self.trash, self.steps() as u64));
    }

    /// The steps of the next time.
    #[inline]
    fn steps(&mut self) -> f64 {
        self.least + (self.most - self.least) * uniform(&mut self.random)
    }
}

/// The steps of a load of `ns` nanoseconds.
fn steps(ns: u64) -> f64 {
    match ns {
        0 => 0.0,
        ns => ns as f64 * *STEPS_PER_NS,
    }
}

/// The real time of a load of `ns` nanoseconds, when repeated: whole steps, and the loop around
/// them.
pub fn actual_load_ns(ns: u64) -> f64 {
    let mut work = Busy::new(ns);
    let rounds = (CALIBRATION / work.steps.max(1)).max(1);
    fastest_ns(|| (0..rounds).for_each(|value| work.consume(value))) / rounds as f64
}

/// Scrambles `seed`. No step can begin before the previous step has ended. Steps aren't linear, so
/// the compiler can't merge them.
#[inline(always)]
fn chain(seed: u64, steps: u64) -> u64 {
    (0..steps).fold(seed, |x, _| (x ^ (x >> 29)).wrapping_mul(0x5851_f42d_4c95_7f2d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_steps_and_does_not_change_the_item() {
        let mut work = Busy::new(10);
        work.consume(3);
        assert_eq!(work.produce(7), 7);
        assert!(Busy::new(90).steps > work.steps);
    }

    #[test]
    fn varied_work_is_between_its_bounds_and_differs() {
        let mut work = Varied::new(1000, 3000, 1);
        let all: Vec<f64> = (0..100).map(|_| work.steps()).collect();
        assert!(all.iter().all(|steps| (work.least..=work.most).contains(steps)), "{all:?}");
        let below = all.iter().filter(|&&steps| steps < 2.0 * work.least).count();
        assert!((25..75).contains(&below), "{below} of 100 are in the lower half");
        assert_eq!(Varied::new(0, 0, 1).steps(), 0.0);
    }
}
