//! A clock that both threads read alike and that costs a few nanoseconds to read.
//!
//! On x86 it is the timestamp counter, as in paper 1 §5.1, calibrated once against
//! [`Instant`]. Elsewhere, and where the counter stops in sleep states, it is [`Instant`] itself.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::host;

/// How long the counter is compared with the system's clock. 20 ms leave an error below 10⁻⁴.
const CALIBRATION: Duration = Duration::from_millis(20);

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);

/// The clock of this run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Instant,
    source: Source,
    ticks_per_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    TimestampCounter,
    System,
}

impl Clock {
    pub(crate) fn get() -> Self {
        *CLOCK
    }

    fn calibrated() -> Self {
        let clock = Self { epoch: Instant::now(), source: Source::best(), ticks_per_ns: 1.0 };
        if clock.source == Source::System {
            return clock;
        }
        let (from, ticks) = (Instant::now(), clock.now());
        while from.elapsed() < CALIBRATION {}
        let ticks = clock.now().wrapping_sub(ticks);
        Self { ticks_per_ns: ticks as f64 / from.elapsed().as_nanos() as f64, ..clock }
    }

    #[inline(always)]
    pub(crate) fn now(self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every x86-64 processor has this counter, and reading it touches no memory.
            Source::TimestampCounter => unsafe { core::arch::x86_64::_rdtsc() },
            Source::System => self.epoch.elapsed().as_nanos() as u64,
        }
    }

    /// Now, in ticks, with all earlier instructions done and no later one begun: for times so short that
    /// the processor would move them past the reading. Stores may still be on their way.
    #[inline(always)]
    pub(crate) fn now_in_order(self) -> u64 {
        fence_instructions();
        let now = self.now();
        fence_instructions();
        now
    }

    pub(crate) fn ticks_per_ns(self) -> f64 {
        self.ticks_per_ns
    }

    pub(crate) fn ticks(self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns).round() as u64
    }

    #[inline]
    pub(crate) fn ns(self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns
    }
}

/// Waits for all earlier instructions. Elsewhere than on x86 the system's clock does so itself.
#[inline(always)]
fn fence_instructions() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
}

impl Source {
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if host::cpu_has("constant_tsc") && host::cpu_has("nonstop_tsc") {
            return Self::TimestampCounter;
        }
        Self::System
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_survives_conversion() {
        let clock = Clock::get();
        let ns = clock.ns(clock.ticks(1_000_000));
        assert!((ns - 1e6).abs() < 10.0, "1 ms became {ns} ns");
    }

    #[test]
    fn time_does_not_go_back() {
        let clock = Clock::get();
        let before = clock.now();
        assert!(clock.now() >= before);
    }
}
