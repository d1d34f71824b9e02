//! A clock that is the same for all threads, and takes a few nanoseconds to read.
//!
//! On x86 it is the timestamp counter, as in paper 1 §5.1, calibrated once against [`Instant`]. On
//! other machines, and if the counter stops in sleep states, it is [`Instant`] itself.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::host;
use crate::stats::median;

/// How long the counter is compared with the system's clock. 20 ms leave an error below 10⁻⁴.
const CALIBRATION: Duration = Duration::from_millis(20);

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);

/// The clock of this run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Instant,
    has_counter: bool,
    pub(crate) ticks_per_ns: f64,
}

impl Clock {
    pub(crate) fn get() -> Self {
        *CLOCK
    }

    fn calibrated() -> Self {
        let has_counter = cfg!(target_arch = "x86_64")
            && host::cpu_has("constant_tsc")
            && host::cpu_has("nonstop_tsc");
        let clock = Self { epoch: Instant::now(), has_counter, ticks_per_ns: 1.0 };
        if !has_counter {
            return clock;
        }
        let (from, ticks) = (Instant::now(), clock.now());
        while from.elapsed() < CALIBRATION {}
        let ticks = clock.now().wrapping_sub(ticks);
        Self { ticks_per_ns: ticks as f64 / from.elapsed().as_nanos() as f64, ..clock }
    }

    #[inline(always)]
    pub(crate) fn now(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.has_counter {
            // SAFETY: every x86-64 processor has this counter, and reading it touches no memory.
            return unsafe { core::arch::x86_64::_rdtsc() };
        }
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Now, in ticks, after all earlier instructions and before all later ones: for times so short
    /// that the processor would reorder them with the reading. Stores may still be on their way.
    #[inline(always)]
    pub(crate) fn now_in_order(self) -> u64 {
        fence_instructions();
        let now = self.now();
        fence_instructions();
        now
    }

    pub(crate) fn ticks(self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns).round() as u64
    }

    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns
    }
}

/// Waits for all earlier instructions. On other machines than x86 the system's clock waits itself.
#[inline(always)]
fn fence_instructions() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
}

/// Nanoseconds of `work`: the median of several calls, which a lost time slice does not change.
pub(crate) fn median_ns(calls: usize, mut work: impl FnMut()) -> f64 {
    let clock = Clock::get();
    let time = |_| {
        let from = clock.now();
        work();
        clock.ns(clock.now().saturating_sub(from))
    };
    median((0..calls).map(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_conversion_and_do_not_go_back() {
        let clock = Clock::get();
        let ns = clock.ns(clock.ticks(1_000_000));
        assert!((ns - 1e6).abs() < 10.0, "1 ms became {ns} ns");
        let before = clock.now();
        assert!(clock.now() >= before);
    }
}
