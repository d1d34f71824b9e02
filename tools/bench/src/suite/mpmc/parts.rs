//! The shared state of the threads of a measurement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::account::Account;
use crate::kinds::TeamSize;
use crate::params::Length;
use crate::suite::mpmc::MpmcSetting;
use crate::threads::{Gate, Wait};

/// How long the time-keeper waits at most for the first popped item, when the time is over.
const FIRST_ITEM: Duration = Duration::from_secs(10);

/// The warm-up, or the measured part. On a cache line of its own, because all threads read it again
/// and again.
#[repr(align(128))]
pub(crate) struct Part {
    over: AtomicBool,
    begun: AtomicBool,
    length: Length,
    /// The first consumer that has popped so many items ends the part.
    share: u64,
}

impl Part {
    /// The warm-up and the measured part of a measurement of this length.
    pub(crate) fn both(length: Length, consumers: usize) -> [Self; 2] {
        length.parts().map(|length| Self::of(length, consumers))
    }

    fn of(length: Length, consumers: usize) -> Self {
        let share = match length {
            Length::Time(_) => u64::MAX,
            Length::Items(items) => items.div_ceil(consumers.max(1) as u64),
        };
        // Without consumers no item is popped.
        Self { over: AtomicBool::new(false), begun: AtomicBool::new(consumers == 0), length, share }
    }

    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn popped(&self, items: u64) {
        if !self.begun.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
        if items >= self.share {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the part when its time is over and an item was popped: a time per item needs one.
    pub(crate) fn keep_time(&self) {
        let Length::Time(length) = self.length else { return };
        thread::sleep(length);
        let since = Instant::now();
        while !self.begun.load(Ordering::Relaxed) && since.elapsed() < FIRST_ITEM {
            thread::sleep(Duration::from_micros(200));
        }
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The shared state of the threads of a measurement.
pub(super) struct Common {
    pub(super) gate: Gate,
    pub(super) warm_up: Part,
    pub(super) measured: Part,
    pub(super) account: Account,
    pub(super) batch: usize,
}

impl Common {
    pub(super) fn of(team: &MpmcSetting, length: Length) -> Self {
        let TeamSize { producers, consumers } = team.size;
        let [warm_up, measured] = Part::both(length, consumers);
        Self {
            gate: Gate::of(producers + consumers + 1),
            warm_up,
            measured,
            account: Account::of(producers),
            batch: team.batch,
        }
    }

    /// Ends both parts in time. Called by the thread that started the others. It has no core of its
    /// own, so it mostly sleeps.
    pub(super) fn keep_time(&self) {
        for part in [&self.warm_up, &self.measured] {
            self.gate.meet(Wait::Yield);
            part.keep_time();
        }
        self.gate.meet(Wait::Yield);
    }
}
