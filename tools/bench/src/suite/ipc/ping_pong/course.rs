//! The part of a run that counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use nix::sys::time::TimeValLike;
use nix::time::ClockId;
use rustix::thread::{Pid, gettid};

use super::team::{Phase, Side, Watch};
use crate::params::Length;

/// The round trips of all threads: the warm-up, and those that are measured.
pub(super) struct Course {
    warm_up: Length,
    length: Length,
    trips: AtomicU64,
    /// Threads that send, and threads that receive.
    threads: Mutex<[Vec<Pid>; 2]>,
    begin: OnceLock<Instant>,
    start: OnceLock<Mark>,
    end: OnceLock<Mark>,
}

/// What is known when a round trip has ended.
struct Mark {
    at: Instant,
    /// The number of the round trip.
    trips: u64,
    /// Processor time of each side.
    cpu_ns: Option<[f64; 2]>,
}

/// A measured round trip.
pub(super) struct Trip {
    /// The time of all round trips divided by their number.
    pub(super) ns: f64,
    /// Processor time of the threads that send, and of those that receive.
    pub(super) cpu_ns: Option<[f64; 2]>,
}

impl Course {
    pub(super) fn new(length: Length) -> Self {
        let [warm_up, length] = length.parts();
        let (trips, threads) = (AtomicU64::new(0), Mutex::default());
        let (begin, [start, end]) = (OnceLock::new(), [const { OnceLock::new() }; 2]);
        Self { warm_up, length, trips, threads, begin, start, end }
    }

    /// Processor time of both sides. Threads that look for a message use it before the first one
    /// comes, and after the last one.
    fn cpu_ns(&self) -> Option<[f64; 2]> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |side: &[Pid]| side.iter().map(|&thread| cpu_ns(thread)).sum::<Option<f64>>();
        Some([sum(&threads[0])?, sum(&threads[1])?])
    }

    /// A round trip of those that are measured; `None` before their end.
    pub(super) fn trip(&self) -> Option<Trip> {
        let (start, end) = (self.start.get()?, self.end.get()?);
        let trips = end.trips.saturating_sub(start.trips).max(1) as f64;
        let cpu_ns = start.cpu_ns.zip(end.cpu_ns);
        Some(Trip {
            ns: end.at.duration_since(start.at).as_nanos() as f64 / trips,
            cpu_ns: cpu_ns.map(|(start, end)| [0, 1].map(|side| (end[side] - start[side]) / trips)),
        })
    }
}

impl Watch for Course {
    fn begins(&self, side: Side) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads[side as usize].push(gettid());
    }

    fn arrived(&self) -> Phase {
        let trips = self.trips.fetch_add(1, Ordering::Relaxed) + 1;
        let mark = || Mark { at: Instant::now(), trips, cpu_ns: self.cpu_ns() };
        let Some(start) = self.start.get() else {
            if self.warm_up.is_over(trips, *self.begin.get_or_init(Instant::now)) {
                self.start.get_or_init(mark);
            }
            return Phase::Uncounted;
        };
        // Another thread may have set the start with a later number.
        if !self.length.is_over(trips.saturating_sub(start.trips), start.at) {
            return Phase::Counted;
        }
        self.end.get_or_init(mark);
        Phase::Over
    }
}

/// The processor time of a thread of this process; `None` if it has ended.
fn cpu_ns(thread: Pid) -> Option<f64> {
    // The number of a thread's clock is made of the thread's number. 6 is: of one thread, and only
    // while a processor runs it.
    let clock = (!thread.as_raw_nonzero().get() << 3) | 6;
    Some(ClockId::from_raw(clock).now().ok()?.num_nanoseconds() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::wait::Usage;

    #[test]
    fn trips_after_the_warm_up_count_until_the_end() {
        let course = Course::new(Length::Items(2));
        let phases: Vec<_> = (0..6).map(|_| course.arrived()).collect();
        let expected = [[Phase::Uncounted; 2], [Phase::Counted, Phase::Over], [Phase::Over; 2]];
        assert_eq!(phases, expected.concat());
        assert!(course.trip().is_some_and(|trip| trip.ns >= 0.0 && trip.cpu_ns == Some([0.0; 2])));
        assert!(Course::new(Length::Items(2)).trip().is_none());
    }

    #[test]
    fn another_thread_knows_the_processor_time_of_a_thread() {
        let this = gettid();
        let before = Usage::of_this_thread().expect("the system tells it").cpu_ns;
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 20 {}
        let there = std::thread::spawn(move || cpu_ns(this)).join().expect("it ends");
        assert!(there.is_some_and(|ns| ns >= before && ns > 0.0), "{there:?}");
    }
}
