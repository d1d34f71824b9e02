//! Two pinned threads that meet.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use clap::ValueEnum;
use core_affinity::CoreId;
use serde::Serialize;

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

    /// What a side does here while it waits: as `wanted`, unless both share a core.
    pub(crate) fn wait(self, wanted: Wait) -> Wait {
        if self.same() { Wait::Yield } else { wanted }
    }
}

/// What a side does between two looks at a queue that had no room or no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Looks again at once, as in paper 1 of the README.
    Greedy,
    /// Looks again after a pause instruction (`std::hint::spin_loop`).
    ///
    /// Without one the processor has loads of the awaited line in flight when the line is taken
    /// away, and discards them all: on an EPYC a flag's round trip takes 125 ns without and 105 ns
    /// with it.
    Pause,
    /// Lets the other thread run; always used when both share a core.
    Yield,
}

impl Wait {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Greedy => "waiting greedily",
            Self::Pause => "waiting with pauses",
            Self::Yield => "waiting by yielding",
        }
    }

    #[inline(always)]
    pub(crate) fn pause(self) {
        match self {
            Self::Greedy => {}
            Self::Pause => spin_loop(),
            Self::Yield => thread::yield_now(),
        }
    }

    #[inline(always)]
    pub(crate) fn until<T>(self, mut attempt: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(result) = attempt() {
                return result;
            }
            self.pause();
        }
    }
}

/// Where threads meet; can be used again and again.
#[derive(Debug)]
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

    /// Returns when all threads are here. What one did before, the others see after.
    pub(crate) fn meet(&self, wait: Wait) {
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        let complete = arrived.next_multiple_of(self.threads);
        wait.until(|| (self.arrived.load(Ordering::Acquire) >= complete).then_some(()));
    }
}

/// What both sides of a warmed-up measurement share: where they meet, and how many items follow.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    gate: Gate,
    items: AtomicU64,
}

impl Meeting {
    pub(crate) fn ready(&self, wait: Wait) {
        self.gate.meet(wait);
    }

    /// Ends the warm-up and tells the other side how many items to measure.
    pub(crate) fn announce(&self, items: u64, wait: Wait) {
        self.items.store(items, Ordering::Relaxed);
        self.gate.meet(wait);
    }

    /// Ends the warm-up and hears how many items to measure.
    pub(crate) fn hear(&self, wait: Wait) -> u64 {
        self.gate.meet(wait);
        self.items.load(Ordering::Relaxed)
    }
}

/// Runs both sides at once, each on its core, and returns what they return.
pub(crate) fn run<A: Send, B: Send>(
    cores: Cores,
    producer: impl FnOnce() -> A + Send,
    consumer: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut produced, mut consumed) = (None, None);
    // Boxes of tasks may share lines. So each handle moves to the stack of its thread.
    all(vec![
        (cores.consumer, Box::new(|| consumed = Some(black_box(consumer)()))),
        (cores.producer, Box::new(|| produced = Some(black_box(producer)()))),
    ]);
    (produced.expect("its thread is done"), consumed.expect("its thread is done"))
}

/// What a thread is to do, and on which core. In a box, and without a result of its own, so that starting threads is compiled
/// once and not for each measurement of each queue.
pub(crate) type Task<'a> = (CoreId, Box<dyn FnOnce() + Send + 'a>);

/// Runs all tasks at once, each in a thread of its own.
pub(crate) fn all(tasks: Vec<Task<'_>>) {
    thread::scope(|scope| {
        let start = |(core, task)| scope.spawn(move || pinned(core, task));
        let threads: Vec<_> = tasks.into_iter().map(start).collect();
        threads.into_iter().for_each(joined);
    });
}

pub(crate) fn pinned<T>(core: CoreId, side: impl FnOnce() -> T) -> T {
    // The core was checked when the command line was read. Should it go away later, an unpinned
    // measurement shows in the spread.
    core_affinity::set_for_current(core);
    side()
}

pub(crate) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
