//! The part of a run that counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::params::Length;

/// The round trips of all threads: the warm-up, and those that are measured.
pub(super) struct Course {
    warm_up: Length,
    length: Length,
    trips: AtomicU64,
    begin: OnceLock<Mark>,
    start: OnceLock<Mark>,
    end: OnceLock<Mark>,
}

/// A time, and the number of the round trip that has ended then.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    trips: u64,
}

/// What to do with a message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Uncounted,
    Counted,
    /// No more messages are sent.
    Over,
}

impl Course {
    pub(super) fn new(length: Length) -> Self {
        let [warm_up, length] = length.parts();
        let [begin, start, end] = [const { OnceLock::new() }; 3];
        Self { warm_up, length, trips: AtomicU64::new(0), begin, start, end }
    }

    /// A round trip has ended.
    pub(super) fn phase(&self) -> Phase {
        let trips = self.trips.fetch_add(1, Ordering::Relaxed) + 1;
        let mark = || Mark { at: Instant::now(), trips };
        // Another thread may have set a mark with a later number.
        let is_over =
            |length: Length, from: &Mark| length.is_over(trips.saturating_sub(from.trips), from.at);
        let Some(start) = self.start.get() else {
            if is_over(self.warm_up, self.begin.get_or_init(mark)) {
                self.start.get_or_init(mark);
            }
            return Phase::Uncounted;
        };
        if !is_over(self.length, start) {
            return Phase::Counted;
        }
        self.end.get_or_init(mark);
        Phase::Over
    }

    /// The time of the measured round trips divided by their number; `None` before their end.
    pub(super) fn ns_of_a_trip(&self) -> Option<f64> {
        let (start, end) = (self.start.get()?, self.end.get()?);
        let trips = end.trips.saturating_sub(start.trips).max(1);
        Some(end.at.duration_since(start.at).as_nanos() as f64 / trips as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trips_after_the_warm_up_count_until_the_end() {
        let course = Course::new(Length::Items(2));
        let phases: Vec<_> = (0..7).map(|_| course.phase()).collect();
        let (warm_up, counted) = ([Phase::Uncounted; 3], [Phase::Counted]);
        assert_eq!(phases[..4], [&warm_up[..], &counted].concat());
        assert_eq!(phases[4..], [Phase::Over; 3]);
        assert!(course.ns_of_a_trip().is_some_and(|ns| ns >= 0.0));
        assert!(Course::new(Length::Items(2)).ns_of_a_trip().is_none());
    }
}
