//! Work of the threads besides their calls: the workloads `simple`, `complex` and `profiling`.

use std::hint::black_box;

use crate::clock::Clock;
use crate::threads::Wait;

/// Most turns of the busy loop of `complex`.
const MOST_SPINS: u64 = 100;
/// Operations per second of a producer of `profiling`.
const PRODUCER_RATE: u64 = 10_000;
/// Operations per second of a consumer of `profiling`.
const CONSUMER_RATE: u64 = 1_000;

/// A thread.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) produces: bool,
    pub(super) number: u8,
    pub(super) wait: Wait,
    /// Whether its operations have a fixed rate.
    pub(super) has_timetable: bool,
}

/// A thread's work before each operation.
pub(super) trait Effort: Sized {
    /// Operations between two checks whether the time is over: so few that they take no time, and
    /// so many that the checks cost nothing.
    const CHUNK: u64;

    fn of(member: Member) -> Self;

    /// Whether a failed operation is retried. Otherwise the item of a failed push is lost.
    #[inline(always)]
    fn retries(&self) -> bool {
        true
    }

    /// Called before an operation, but not before a retry.
    #[inline(always)]
    fn before(&mut self) {}
}

/// No work.
pub(super) struct NoEffort;

impl Effort for NoEffort {
    const CHUNK: u64 = 64;

    fn of(_: Member) -> Self {
        Self
    }
}

/// A busy loop, of a length that is random but the same in all runs.
pub(super) struct Spins {
    state: u64,
}

impl Effort for Spins {
    const CHUNK: u64 = 16;

    fn of(member: Member) -> Self {
        Self { state: 2 * u64::from(member.number) + u64::from(member.produces) }
    }

    #[inline(always)]
    fn before(&mut self) {
        for turn in 0..self.next() {
            black_box(turn);
        }
    }
}

impl Spins {
    /// Turns of the next loop, from Knuth's linear congruential generator.
    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.state >> 33) * (MOST_SPINS + 1)) >> 31
    }
}

/// No work, or operations at a fixed rate: in one loop, where a call is timed by itself.
pub(super) struct MayWait(Option<Timetable>);

impl Effort for MayWait {
    const CHUNK: u64 = 1;

    fn of(member: Member) -> Self {
        Self(member.has_timetable.then(|| Timetable::of(member)))
    }

    #[inline(always)]
    fn retries(&self) -> bool {
        self.0.is_none()
    }

    #[inline(always)]
    fn before(&mut self) {
        self.0.iter_mut().for_each(Timetable::before);
    }
}

/// Operations at a fixed rate.
struct Timetable {
    clock: Clock,
    due: u64,
    interval: u64,
    wait: Wait,
}

impl Timetable {
    fn of(member: Member) -> Self {
        let clock = Clock::get();
        let rate = if member.produces { PRODUCER_RATE } else { CONSUMER_RATE };
        let interval = clock.ticks(1_000_000_000 / rate);
        // Spread evenly: if all threads' operations were due at the same times, they would always
        // collide.
        let share = (f64::from(member.number) * 0.618_034).fract();
        let due = clock.now() + (interval as f64 * share) as u64;
        Self { clock, due, interval, wait: member.wait }
    }

    /// Waits until the next operation is due.
    #[inline(never)]
    fn before(&mut self) {
        let mut failed = 0;
        while self.clock.now() < self.due {
            self.wait.pause(&mut failed);
        }
        self.due += self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_are_random_bounded_and_the_same_in_all_runs() {
        let member = Member { produces: true, number: 3, wait: Wait::Spin, has_timetable: false };
        let lengths = || {
            let mut spins = Spins::of(member);
            (0..10_000).map(move |_| spins.next())
        };
        assert!(lengths().eq(lengths()));
        assert_eq!((lengths().min(), lengths().max()), (Some(0), Some(MOST_SPINS)));
    }
}
