//! How a thread waits.

use core::cell::Cell;
use std::time::{Duration, Instant};

use super::bell::{Bell, Look, Wait};
use super::sealed::Rings;
use crate::memory::{Parker, limit, pause, timed_yield, yield_now};

/// How a thread of a handle waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Looks and yields for some microseconds, less if that has failed lately, and then sleeps. If
    /// a yield costs more than a sleep, as on a machine that other processes keep busy, it pauses
    /// instead.
    #[default]
    Adaptive,
    /// Looks all the time. It takes a whole core.
    Spin,
    /// Looks for a while, and then yields before each look. It takes a core that no other thread
    /// wants.
    Yield,
    /// Looks this number of times, pauses before each look, and then sleeps.
    SpinThenSleep(u32),
    /// Sleeps at once.
    Sleep,
}

/// The cost of a handle's waits so far: see [`Producer::waits`](super::Producer::waits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Waits {
    /// Calls that had to wait.
    pub waits: u64,
    /// Looks that found no room, or no item.
    pub looks: u64,
    /// Looks that found a call of another thread in the way.
    pub busy: u64,
    /// How often the thread slept.
    pub sleeps: u64,
    /// For how long it slept.
    pub asleep: Duration,
}

/// How the threads of a handle wait, and the cost of their waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habit {
    pub(super) strategy: Strategy,
    /// Yields before a sleep. It adapts to the waits so far.
    yields: u64,
    /// Sleeps until the next trial.
    trial_in: u64,
    /// Sleeps between two trials.
    between: u64,
    /// Waits in a row that were over before a sleep.
    awake: u64,
    /// Until this time the thread doesn't yield, because a yield has cost more than a sleep.
    no_yields_until: Option<Instant>,
    pub(super) waits: Waits,
}

/// Looks with a pause before each: about as long as two far lines need for a round trip.
const PAUSES: u64 = limit(20, 0);
/// Most yields: some ten microseconds if no other thread wants the core.
const MOST: u64 = limit(20, 0);
/// Fewest yields.
const FEWEST: u64 = limit(1, 0);
/// Yields of a trial: they take longer than a wake-up of another thread, also between virtual
/// cores. If two threads wait for each other, and both sleep, their waits are long only because
/// they sleep. If one of them stays awake once, both waits become short. A successful trial is
/// followed by another.
const TRIAL: u64 = limit(200, 0);
/// Looks from one check of the bell to the next.
const CHECK: u64 = 64;
/// Least and most sleeps between two trials. A failed trial doubles their number.
const SLEEPS: u64 = 32;
const MOST_SLEEPS: u64 = 1024;
/// After this number of waits in a row without a sleep, a sleep is taken for an accident: the next
/// wait is a trial.
const A_ROW: u64 = 16;

/// A yield that takes longer than this has cost more than a sleep: another process got its time
/// slice. In a shorter yield another thread of this program may have filled or emptied the queue.
const SLEEP: Duration = Duration::from_micros(150);
/// A long yield is followed by a time without yields, which is 10 times as long. So long yields
/// take an eleventh of the thread's time at most.
const WITHOUT_YIELDS: u32 = 10;
/// Pauses in place of a yield in this time. They take about as long as a yield in which no other
/// thread runs.
const PAUSES_FOR_A_YIELD: u64 = limit(20, 0);

impl Habit {
    pub(crate) fn new() -> Self {
        Self::by(Strategy::Adaptive)
    }

    pub(crate) fn by(strategy: Strategy) -> Self {
        Self {
            strategy,
            yields: MOST,
            trial_in: SLEEPS,
            between: SLEEPS,
            awake: 0,
            no_yields_until: None,
            waits: Waits::default(),
        }
    }

    /// The looks of a wait before it sleeps.
    pub(crate) fn begin(&self) -> BeforeSleep {
        let (pauses, yields) = match self.strategy {
            Strategy::Adaptive => self.adapted(),
            Strategy::Spin => (u64::MAX, 0),
            Strategy::Yield => (PAUSES, u64::MAX),
            Strategy::SpinThenSleep(looks) => (looks.into(), 0),
            Strategy::Sleep => (0, 0),
        };
        BeforeSleep { pauses, yields, adapts: self.strategy == Strategy::Adaptive, lost: None }
    }

    /// Pauses and yields before a sleep.
    fn adapted(&self) -> (u64, u64) {
        let yields = if self.trial_in == 0 { TRIAL } else { self.yields };
        match self.no_yields_until.is_some_and(|until| Instant::now() < until) {
            true => (PAUSES + PAUSES_FOR_A_YIELD * yields, 0),
            false => (PAUSES, yields),
        }
    }

    /// Adapts to a wait. `is_over` says whether it ended before a sleep, and `awake` how far its
    /// looks went.
    pub(crate) fn end(&mut self, awake: &BeforeSleep, is_over: bool) {
        if let Some(lost) = awake.lost {
            let time = lost.saturating_mul(WITHOUT_YIELDS);
            self.no_yields_until = Instant::now().checked_add(time);
        }
        let was_trial = self.trial_in == 0;
        let yields = if is_over { 2 * self.yields } else { self.yields / 2 };
        self.yields = yields.clamp(FEWEST, MOST);
        if is_over {
            self.awake += 1;
            if was_trial {
                self.between = SLEEPS;
            }
            return;
        }
        if was_trial {
            self.between = (2 * self.between).min(MOST_SLEEPS);
        }
        let next = self.trial_in.checked_sub(1).unwrap_or(self.between);
        self.trial_in = if self.awake >= A_ROW { 0 } else { next };
        self.awake = 0;
    }

    /// Whether the thread only looks again and again. Then this call was the pause before a look,
    /// which the caller makes. `looks` is the number of looks so far in this wait.
    #[inline]
    pub(crate) fn pause_to_spin(&mut self, bell: &impl Rings, looks: u64) -> bool {
        if self.strategy != Strategy::Spin {
            return false;
        }
        self.waits.waits += u64::from(looks == 0);
        if looks % CHECK == CHECK - 1 {
            bell.check();
        }
        pause(1);
        true
    }

    /// Blocks the thread until a look finds something. `None` if no look did before `until`.
    ///
    /// The caller has already made the first look, which found nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait<R>(
        &mut self,
        bell: &impl Rings,
        until: Option<Instant>,
        mut look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        self.waits.waits += 1;
        let (mut awake, mut looks) = (self.begin(), 0_u64);
        while !is_over(until) {
            if !awake.again() {
                self.end(&awake, false);
                let found = bell.sleep(&mut self.waits, until, &mut look);
                // The wake-up may have come in time, but the thread got a core only now.
                return found.or_else(|| match look() {
                    Look::Done(found) => Some(found),
                    Look::NotYet => None,
                    Look::Busy => {
                        // The item or room for which this thread was woken may still be there.
                        bell.ring();
                        None
                    }
                });
            }
            if let Look::Done(found) = self.waits.count(look()) {
                self.end(&awake, true);
                return Some(found);
            }
            looks += 1;
            if looks % CHECK == 0 {
                bell.check();
            }
        }
        None
    }
}

impl Rings for Bell {
    #[inline(always)] // the price of each push and pop
    fn ring(&self) {
        Self::ring(self);
    }

    #[inline]
    fn ring_for(&self, n: usize) {
        Self::ring_for(self, n);
    }

    #[inline(always)] // as `ring`
    fn ring_and_catch(&self) {
        Self::ring_and_catch(self);
    }

    #[inline]
    fn ring_for_and_catch(&self, n: usize) {
        Self::ring_for_and_catch(self, n);
    }

    fn sleep<R>(
        &self,
        waits: &mut Waits,
        until: Option<Instant>,
        mut look: impl FnMut() -> Look<R>,
    ) -> Option<R> {
        let parker = Parker::new();
        let mut wait = Wait::at(self);
        while !is_over(until) {
            match waits.count(wait.poll(parker.waker(), &mut look)) {
                Look::Done(found) => return Some(found),
                Look::NotYet => {
                    let begin = Instant::now();
                    parker.park(until);
                    waits.sleeps += 1;
                    waits.asleep += begin.elapsed();
                }
                Look::Busy => yield_now(),
            }
        }
        None
    }
}

/// The looks that a thread still makes before it sleeps: with a pause before each, and then with a
/// yield.
#[derive(Debug)]
pub(crate) struct BeforeSleep {
    pauses: u64,
    yields: u64,
    /// Whether a yield that takes longer than a sleep is the last one.
    adapts: bool,
    /// The time of a yield that took longer than a sleep. It was the last yield.
    lost: Option<Duration>,
}

impl BeforeSleep {
    /// Pauses or yields, unless it is time to sleep.
    #[inline]
    pub(crate) fn again(&mut self) -> bool {
        if self.pauses > 0 {
            self.pauses -= 1;
            pause(1);
            return true;
        }
        let is_awake = self.yields > 0;
        if is_awake {
            self.yields -= 1;
            // Another thread may need this core to make the item or room.
            self.has_yielded(timed_yield());
        }
        is_awake
    }

    fn has_yielded(&mut self, time: Duration) {
        if self.adapts && time > SLEEP {
            (self.yields, self.lost) = (0, Some(time));
        }
    }
}

std::thread_local! {
    /// How a thread looks where no handle remembers it.
    static OF_THREAD: Cell<Option<Habit>> = const { Cell::new(None) };
}

/// The looks of one wait of the calling thread, where no handle remembers how it looks.
pub(crate) struct ThreadWait {
    habit: Habit,
    /// `None` when it was time to sleep.
    awake: Option<BeforeSleep>,
}

impl ThreadWait {
    pub(crate) fn begin() -> Self {
        let habit = OF_THREAD.try_with(Cell::get).ok().flatten().unwrap_or_else(Habit::new);
        let awake = Some(habit.begin());
        Self { habit, awake }
    }

    /// Pauses or yields, unless it is time to sleep.
    pub(crate) fn again(&mut self) -> bool {
        let is_awake = self.awake.as_mut().is_some_and(BeforeSleep::again);
        if !is_awake {
            self.end(false);
        }
        is_awake
    }

    /// The wait is over.
    pub(crate) fn found(mut self) {
        self.end(true);
    }

    fn end(&mut self, is_over: bool) {
        if let Some(awake) = self.awake.take() {
            self.habit.end(&awake, is_over);
            // A thread that ends has no next wait.
            let _ = OF_THREAD.try_with(|kept| kept.set(Some(self.habit)));
        }
    }
}

impl Waits {
    pub(crate) fn count<R>(&mut self, found: Look<R>) -> Look<R> {
        match found {
            Look::Done(_) => {}
            Look::NotYet => self.looks += 1,
            Look::Busy => self.busy += 1,
        }
        found
    }
}

/// Whether this time has come.
pub(crate) fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yield_that_costs_more_than_a_sleep_is_the_last_one_for_a_while() {
        let mut habit = Habit::new();
        let mut awake = habit.begin();
        awake.has_yielded(SLEEP);
        assert_eq!((awake.yields, awake.lost), (MOST, None));
        awake.has_yielded(100 * SLEEP);
        awake.pauses = 0;
        assert!(!awake.again(), "it is time to sleep");
        habit.end(&awake, true);
        let next = habit.begin();
        assert_eq!((next.pauses, next.yields), (PAUSES + PAUSES_FOR_A_YIELD * MOST, 0));
        habit.no_yields_until = Some(Instant::now());
        assert_eq!((habit.begin().pauses, habit.begin().yields), (PAUSES, MOST));
    }

    #[test]
    fn other_strategies_go_on_as_they_were_told() {
        let mut awake = Habit::by(Strategy::Yield).begin();
        awake.has_yielded(100 * SLEEP);
        awake.pauses = 0;
        assert!(awake.again());
    }

    #[test]
    fn trials_in_vain_become_rare() {
        let mut habit = Habit::new();
        let sleeps_before_trial = |habit: &mut Habit| {
            let mut sleeps = 0;
            while habit.trial_in > 0 {
                habit.end(&habit.begin(), false);
                sleeps += 1;
            }
            sleeps
        };
        assert_eq!(sleeps_before_trial(&mut habit), SLEEPS);
        habit.end(&habit.begin(), false);
        assert_eq!(sleeps_before_trial(&mut habit), 2 * SLEEPS);
        habit.end(&habit.begin(), false);
        assert_eq!(sleeps_before_trial(&mut habit), 4 * SLEEPS);
        // A successful trial is followed by another, and this one fails.
        habit.end(&habit.begin(), true);
        habit.end(&habit.begin(), false);
        assert_eq!(sleeps_before_trial(&mut habit), 2 * SLEEPS);
    }
}
