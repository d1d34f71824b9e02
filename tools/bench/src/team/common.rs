//! What the threads of a measurement share, and what they report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::account::{Account, Fault, Tally};
use crate::kinds::TeamSize;
use crate::pair::{Gate, Wait};
use crate::params::{Length, Params, TeamSetting};

/// Longest warm-up.
const WARM_UP: Duration = Duration::from_millis(5);
/// Items of a warm-up of which there are not to be many.
const WARM_UP_ITEMS: u64 = 1000;
/// How long the time-keeper waits at most for the first item to be popped, when the time is over.
const FIRST_ITEM: Duration = Duration::from_secs(10);

/// The warm-up, or what is measured. On a line of its own: all threads read it again and again.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Part {
    over: AtomicBool,
    begun: AtomicBool,
    length: Length,
    /// Items after which the first consumer that has popped them ends the part.
    share: u64,
}

impl Part {
    fn of(length: Length, consumers: usize) -> Self {
        let share = match length {
            Length::Time(_) => u64::MAX,
            Length::Items(items) => items.div_ceil(consumers.max(1) as u64),
        };
        // Without consumers nothing is popped.
        Self { over: AtomicBool::new(false), begun: AtomicBool::new(consumers == 0), length, share }
    }

    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn popped(&self, items: u64) {
        if !self.begun.load(Ordering::Relaxed) {
            self.begun.store(true, Ordering::Relaxed);
        }
        if items >= self.share {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the part when its time is over, and something was popped: nobody could say how long nothing
    /// takes.
    fn keep_time(&self) {
        let Length::Time(length) = self.length else { return };
        thread::sleep(length);
        let nap = Duration::from_micros(200);
        let mut naps = FIRST_ITEM.as_micros() / nap.as_micros();
        while !self.begun.load(Ordering::Relaxed) && naps > 0 {
            thread::sleep(nap);
            naps -= 1;
        }
        self.over.store(true, Ordering::Relaxed);
    }
}

/// What the threads of a measurement share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) gate: Gate,
    pub(super) warm_up: Part,
    pub(super) measured: Part,
    pub(super) account: Account,
    pub(super) batch: usize,
    pub(super) wait: Wait,
}

impl Common {
    pub(super) fn of(params: &Params, team: &TeamSetting, length: Length) -> Self {
        let TeamSize { producers, consumers } = team.size;
        let warm_up = match length {
            Length::Time(time) => Length::Time((time / 4).min(WARM_UP)),
            Length::Items(items) => Length::Items(items.min(WARM_UP_ITEMS)),
        };
        Self {
            gate: Gate::of(producers + consumers + 1),
            warm_up: Part::of(warm_up, consumers),
            measured: Part::of(length, consumers),
            account: Account::of(producers),
            batch: team.batch,
            wait: params.wait,
        }
    }

    /// What the thread does that started the others: it has no core of its own, so it mostly sleeps.
    pub(super) fn keep_time(&self) {
        for part in [&self.warm_up, &self.measured] {
            self.gate.meet(Wait::Yield);
            part.keep_time();
        }
        self.gate.meet(Wait::Yield);
    }
}

/// What a thread did.
#[derive(Debug)]
pub(super) struct ThreadReport {
    pub(super) items: u64,
    /// Items of the measured part that found no room and were not tried again.
    pub(super) lost: u64,
    /// All items that this thread found overwritten, those of the warm-up included.
    pub(super) overwritten: u64,
    /// When the measured part began and ended for this thread, in ticks.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) tally: Tally,
    pub(super) unordered: u64,
    pub(super) notes: Option<Histogram<u64>>,
}

/// What all threads did.
#[derive(Debug)]
pub(super) struct TeamReport {
    pub(super) producers: Vec<ThreadReport>,
    pub(super) consumers: Vec<ThreadReport>,
}

impl TeamReport {
    /// Ticks of the measured part, from the first thread that went through the gate to the first that
    /// saw that the time was over. All others that were running saw it within a moment, and those that
    /// weren't did nothing more.
    pub(super) fn ticks(&self) -> u64 {
        let all = || self.producers.iter().chain(&self.consumers);
        let from = all().map(|report| report.from).min().unwrap_or(0);
        let to = all().map(|report| report.to).min().unwrap_or(0);
        to.saturating_sub(from).max(1)
    }

    pub(super) fn check(self) -> Result<Self, Fault> {
        let tally = |side: &[ThreadReport]| Tally::total(side.iter().map(|report| report.tally));
        let unordered = self.consumers.iter().map(|report| report.unordered).sum();
        let overwritten = self.consumers.iter().map(|report| report.overwritten).sum();
        Fault::find(tally(&self.producers), tally(&self.consumers), overwritten, unordered)?;
        Ok(self)
    }
}
