//! What a thread has taken of its core.

use std::iter::Sum;
use std::ops::{Add, Sub};

use crate::sample::Sample;

/// Processor time, and how often the thread slept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) cpu_ns: f64,
    /// Voluntary context switches. A yield is none.
    pub(crate) sleeps: f64,
}

impl Usage {
    /// What this thread has taken so far. Only on Linux.
    pub(crate) fn of_this_thread() -> Option<Self> {
        #[cfg(target_os = "linux")]
        return of(libc::RUSAGE_THREAD);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// What all threads of the program have taken so far. Only on Linux.
    pub(crate) fn of_all_threads() -> Option<Self> {
        #[cfg(target_os = "linux")]
        return of(libc::RUSAGE_SELF);
        #[cfg(not(target_os = "linux"))]
        None
    }
}

#[cfg(target_os = "linux")]
fn of(threads: libc::c_int) -> Option<Usage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes no more than a `rusage`.
    let failed = unsafe { libc::getrusage(threads, usage.as_mut_ptr()) };
    // SAFETY: all zeros are a `rusage`, too.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    let cpu_ns = ns(usage.ru_utime) + ns(usage.ru_stime);
    (failed == 0).then_some(Usage { cpu_ns, sleeps: usage.ru_nvcsw as f64 })
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { cpu_ns: self.cpu_ns - before.cpu_ns, sleeps: self.sleeps - before.sleeps }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { cpu_ns: self.cpu_ns + other.cpu_ns, sleeps: self.sleeps + other.sleeps }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

/// The difference, if both are known.
pub(crate) fn between(before: Option<Usage>, after: Option<Usage>) -> Option<Usage> {
    Some(after? - before?)
}

impl Sample {
    /// The same sample, with what all threads took for `items` items.
    pub(crate) fn with_usage(mut self, used: Option<Usage>, items: f64) -> Self {
        let items = items.max(1.0);
        self.cpu_ns = used.map(|used| used.cpu_ns / items);
        self.sleeps = used.map(|used| used.sleeps / items);
        self
    }

    /// The same sample, with what the threads of each side took for `items` items.
    pub(crate) fn with_sides(self, sides: [Option<Usage>; 2], items: f64) -> Self {
        let [sender, receiver] = sides;
        let cpu_sides = sender
            .zip(receiver)
            .map(|(sender, receiver)| [sender, receiver].map(|side| side.cpu_ns / items.max(1.0)));
        Self { cpu_sides, ..self.with_usage(sides.into_iter().sum(), items) }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_takes_time_and_a_sleep_is_counted() {
        let before = Usage::of_this_thread();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {}
        std::thread::sleep(Duration::from_millis(1));
        let used = between(before, Usage::of_this_thread()).expect("the system tells it");
        assert!(used.cpu_ns > 0.0 && used.sleeps >= 1.0, "{used:?}");
    }
}
