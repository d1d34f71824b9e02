//! Two pinned threads that meet.

use std::hint::{black_box, spin_loop};
use std::mem;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::ValueEnum;
use core_affinity::CoreId;
use corelane::Producer;
use serde::{Deserialize, Serialize};

use crate::params::Trial;

/// The cores of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// Where the producer runs.
    pub producer: CoreId,
    /// Where the consumer runs.
    pub consumer: CoreId,
}

impl Cores {
    pub(crate) fn of(cores: &[CoreId]) -> Self {
        Self { producer: cores[0], consumer: *cores.get(1).unwrap_or(&cores[0]) }
    }

    /// Whether both sides share one core and so must yield to each other.
    pub(crate) fn same(self) -> bool {
        self.producer == self.consumer
    }

    /// How a side waits here: as `wanted`, unless both share a core.
    pub(crate) fn wait(self, wanted: Wait) -> Wait {
        wanted.on(self.same())
    }
}

/// What a side does before it retries at a full or empty queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Retries after a pause instruction: one `std::hint::spin_loop` after each failure, as in the
    /// loops that people write.
    ///
    /// Without a pause the processor has loads of the awaited line in flight when the line is taken
    /// away, and discards them all: on an EPYC a flag's round trip takes 125 ns without a pause and
    /// 105 ns with a pause.
    // Results are kept from times when a stream tried twice before its first pause.
    #[serde(alias = "pause")]
    Spin,
    /// Retries at once, as in the first paper.
    Greedy,
    /// Lets another thread run.
    Yield,
    /// Pauses after each of 16 failed tries in a row, and yields after each further one.
    PauseYield,
    /// The calls wait themselves.
    #[default]
    #[value(skip)]
    Within,
}

/// Failed tries in a row after which [`Wait::PauseYield`] yields.
const PAUSES: u32 = 16;

impl Wait {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Greedy => "waiting greedily",
            Self::Spin => "waiting with pauses",
            Self::Yield => "waiting by yielding",
            Self::PauseYield => "waiting with pauses, then by yielding",
            Self::Within => "waiting calls",
        }
    }

    pub(crate) fn is_within(&self) -> bool {
        *self == Self::Within
    }

    /// How a thread waits. If threads share a core, a thread that never yields would wait for
    /// threads that don't run.
    pub(crate) fn on(self, is_shared: bool) -> Self {
        match self {
            Self::Greedy | Self::Spin if is_shared => Self::Yield,
            _ => self,
        }
    }

    /// Called after each failed try. `failed` is how many tries in a row failed before.
    #[inline(always)]
    pub(crate) fn pause(self, failed: &mut u32) {
        match self {
            Self::Greedy => {}
            Self::Spin => spin_loop(),
            Self::PauseYield if *failed < PAUSES => {
                *failed += 1;
                spin_loop();
            }
            Self::PauseYield | Self::Yield | Self::Within => thread::yield_now(),
        }
    }

    #[inline(always)]
    pub(crate) fn until<T>(self, attempt: impl FnMut() -> Option<T>) -> T {
        self.until_counted(&mut 0, attempt)
    }

    /// The same. Counts in `stalls` if the first try fails. The code has one try, as in the loops
    /// that people write.
    #[inline(always)]
    pub(crate) fn until_counted<T>(
        self,
        stalls: &mut u64,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> T {
        let (mut failed, mut stall) = (0, 1);
        loop {
            if let Some(result) = attempt() {
                return result;
            }
            *stalls += mem::take(&mut stall);
            self.pause(&mut failed);
        }
    }

    /// Pushes and flushes, so that the item is visible at once.
    #[inline(always)]
    pub(crate) fn send<T: Producer<Item: Copy>>(self, tx: &mut T, item: T::Item) {
        self.until(|| tx.try_push(item).ok());
        tx.flush();
    }
}

/// A barrier for threads, which can be reused.
pub(crate) struct Gate {
    arrived: AtomicUsize,
    threads: usize,
}

impl Default for Gate {
    fn default() -> Self {
        Self::of(2)
    }
}

impl Gate {
    pub(crate) fn of(threads: usize) -> Self {
        Self { arrived: AtomicUsize::new(0), threads }
    }

    /// Returns when all threads are here. Afterwards each thread sees what the others did before.
    pub(crate) fn meet(&self, wait: Wait) {
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        let complete = arrived.next_multiple_of(self.threads);
        wait.until(|| (self.arrived.load(Ordering::Acquire) >= complete).then_some(()));
    }
}

/// The barrier of both sides of a measurement, and the number of items after the warm-up.
#[derive(Default)]
pub(crate) struct Meeting {
    gate: Gate,
    items: AtomicU64,
}

/// The counts of a side.
#[derive(Default)]
pub(crate) struct Counts {
    /// Runs of successive failed calls.
    pub(crate) stalls: u64,
    /// Items with another number than the expected one.
    pub(crate) wrong: u64,
}

/// The results of a side after the warm-up. Only the wrong items include the warm-up.
pub(crate) struct Side {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) items: u64,
    pub(crate) counts: Counts,
}

impl Meeting {
    /// Moves at most `warm_up` items, and then the measured items. The side that `leads` estimates
    /// their number.
    ///
    /// `work` moves a range of items. It owns the handles, as a thread does. Behind a reference the
    /// compiler must keep a handle's fields in memory.
    pub(crate) fn side<H>(
        &self,
        trial: &Trial<'_>,
        warm_up: u64,
        leads: bool,
        handles: H,
        work: impl Fn(H, Range<u64>) -> (H, Counts),
    ) -> Side {
        let (length, wait) = (trial.length, trial.params.wait);
        let warm_up = length.warm_up(warm_up);
        self.gate.meet(wait);
        let start = Instant::now();
        let (handles, warmed) = work(handles, 0..warm_up);
        if leads {
            self.items.store(length.items(warm_up, start.elapsed()), Ordering::Relaxed);
        }
        self.gate.meet(wait);
        let items = self.items.load(Ordering::Relaxed);
        let start = Instant::now();
        let (_handles, mut counts) = work(handles, warm_up..warm_up + items);
        let end = Instant::now();
        counts.wrong += warmed.wrong;
        Side { start, end, items, counts }
    }
}

/// Runs both sides at the same time, each on its core, and returns their results.
pub(crate) fn run<A: Send, B: Send>(
    cores: Cores,
    producer: impl FnOnce() -> A + Send,
    consumer: impl FnOnce() -> B + Send,
) -> (A, B) {
    run_on([Some(cores.producer), Some(cores.consumer)], producer, consumer)
}

/// The same; a side without a core isn't pinned.
pub(crate) fn run_on<A: Send, B: Send>(
    [produces, consumes]: [Option<CoreId>; 2],
    producer: impl FnOnce() -> A + Send,
    consumer: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut produced, mut consumed) = (None, None);
    // Boxes of tasks may share lines. So each handle moves to the stack of its thread.
    let tasks: Vec<Task<'_, ()>> = vec![
        (consumes, Box::new(|| consumed = Some(black_box(consumer)()))),
        (produces, Box::new(|| produced = Some(black_box(producer)()))),
    ];
    all(tasks, &|| ());
    (produced.expect("its thread is done"), consumed.expect("its thread is done"))
}

/// A thread's core, unless it isn't pinned, and its work. In a box, so that starting threads is
/// compiled once and not for each measurement of each queue.
pub(crate) type Task<'a, R> = (Option<CoreId>, Box<dyn FnOnce() -> R + Send + 'a>);

/// Runs all tasks at the same time, each in a thread of its own, and returns their results. This
/// thread runs `meanwhile`.
pub(crate) fn all<R: Send>(tasks: Vec<Task<'_, R>>, meanwhile: &dyn Fn()) -> Vec<R> {
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (core, task) in tasks {
            threads.push(scope.spawn(move || {
                // The core was checked when the command line was read. If it goes away later, the
                // thread isn't pinned, which the spread shows.
                core.map(core_affinity::set_for_current);
                task()
            }));
        }
        meanwhile();
        let results = threads.into_iter().map(|thread| thread.join());
        results.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_in_yields_and_begin_again_after_a_success() {
        let (mut failed, mut tries) = (0, 0);
        let wait = Wait::PauseYield;
        (0..PAUSES + 5).for_each(|_| wait.pause(&mut failed));
        assert_eq!(failed, PAUSES, "the rest were yields, which are not counted");
        assert_eq!(
            wait.until(|| {
                tries += 1;
                (tries > 40).then_some(tries)
            }),
            41
        );
        for (wanted, shared) in [
            (Wait::Greedy, Wait::Yield),
            (Wait::Spin, Wait::Yield),
            (Wait::Yield, Wait::Yield),
            (Wait::PauseYield, Wait::PauseYield),
        ] {
            assert_eq!([wanted.on(false), wanted.on(true)], [wanted, shared]);
        }
    }
}
