//! Threads on chosen cores, and how they wait for each other.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The cores on which the threads of a queue run.
#[derive(Debug, Clone, Copy)]
pub enum Cores {
    /// On two cores in turn, if the machine has two.
    Two,
    /// On one core.
    One,
}

impl Cores {
    /// Pins the calling thread, which has this number. If that is not possible, the thread runs
    /// anywhere.
    fn pin(self, thread: usize) {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let index = match self {
            Self::Two => thread % cores.len().clamp(1, 2),
            Self::One => 0,
        };
        if let Some(&core) = cores.get(index) {
            core_affinity::set_for_current(core);
        }
    }
}

/// Runs `a` and `b` at the same time, each in a thread of its own.
pub fn both<A: Send, B: Send>(
    cores: Cores,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut of_a, mut of_b) = (None, None);
    let tasks: Vec<Task<()>> = vec![Box::new(|| of_a = Some(a())), Box::new(|| of_b = Some(b()))];
    all(cores, tasks);
    (of_a.expect("`a` has returned"), of_b.expect("`b` has returned"))
}

/// A thread's work.
pub type Task<'a, R> = Box<dyn FnOnce() -> R + Send + 'a>;

/// Runs all tasks at the same time, each in a thread of its own.
pub fn all<R: Send>(cores: Cores, tasks: Vec<Task<'_, R>>) -> Vec<R> {
    let start = &Start::of(tasks.len(), cores);
    thread::scope(|scope| {
        let tasks = tasks.into_iter().enumerate();
        let threads: Vec<_> = tasks
            .map(|(number, task)| scope.spawn(move || (start.wait(number), task()).1))
            .collect();
        // Waits for all threads before it propagates a panic: one thread's panic may be caused by
        // another's.
        let results: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// The start that all threads wait for.
#[derive(Debug)]
struct Start {
    threads: usize,
    cores: Cores,
    ready: AtomicUsize,
}

impl Start {
    fn of(threads: usize, cores: Cores) -> Self {
        Self { threads, cores, ready: AtomicUsize::new(0) }
    }

    /// Waits for the others, on the core of the thread with this number.
    fn wait(&self, thread: usize) {
        self.cores.pin(thread);
        self.ready.fetch_add(1, Ordering::Relaxed);
        Patience::until(|| (self.ready.load(Ordering::Relaxed) == self.threads).then_some(()));
    }
}

/// The numbers of steps of several threads.
#[derive(Debug)]
pub struct Progress(Vec<Step>);

/// A thread's number of steps, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Step(AtomicU64);

impl Progress {
    /// The progress of `threads` threads, which have made no step yet.
    pub fn of(threads: usize) -> Self {
        Self((0..threads).map(|_| Step::default()).collect())
    }

    /// The patience of the thread with this number.
    pub fn patience(&self, thread: usize) -> Together<'_> {
        Together { progress: self, thread, seen: 0, patience: Patience::default() }
    }

    fn steps(&self) -> u64 {
        self.0.iter().map(|step| step.0.load(Ordering::Relaxed)).sum()
    }
}

/// The patience of one of several threads, which lasts as long as any of them makes progress.
#[derive(Debug)]
pub struct Together<'a> {
    progress: &'a Progress,
    thread: usize,
    /// The steps of all threads when this thread last looked.
    seen: u64,
    patience: Patience,
}

impl Together<'_> {
    /// Called after progress.
    pub fn moved(&mut self) {
        let own = &self.progress.0[self.thread].0;
        own.store(own.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.patience = Patience::default();
    }

    /// Called when no progress was possible. Waits a little longer than the last time.
    pub fn wait(&mut self) {
        if self.patience.naps() > 0 {
            let steps = self.progress.steps();
            if steps != self.seen {
                (self.seen, self.patience) = (steps, Patience::default());
            }
        }
        self.patience.wait();
    }

    /// Calls [`moved`](Self::moved), or [`wait`](Self::wait) if `moved` is 0.
    pub fn after(&mut self, moved: usize) {
        match moved {
            0 => self.wait(),
            _ => self.moved(),
        }
    }
}

/// How a thread waits: it spins for a short time, then yields, then sleeps, and in the end gives
/// up.
#[derive(Debug, Default)]
pub struct Patience(u32);

impl Patience {
    /// Spins before the thread yields.
    const SPINS: u32 = 64;
    /// Attempts before the thread sleeps between them.
    const AWAKE: u32 = Self::SPINS + 1_000;
    /// Most attempts. Each of the last ones takes a millisecond at least.
    const MOST: u32 = Self::AWAKE + 3_000;

    /// Waits a little longer than the last time.
    pub fn wait(&mut self) {
        self.0 += 1;
        assert!(self.0 <= Self::MOST, "nothing has moved in {} attempts", Self::MOST);
        if self.0 <= Self::SPINS {
            std::hint::spin_loop();
        } else if self.0 <= Self::AWAKE {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// How often the thread has slept.
    pub fn naps(&self) -> u32 {
        self.0.saturating_sub(Self::AWAKE)
    }

    /// Calls `try_it` until it returns a value. Panics after too many attempts.
    pub fn until<R>(mut try_it: impl FnMut() -> Option<R>) -> R {
        let mut patience = Self::default();
        loop {
            match try_it() {
                Some(result) => return result,
                None => patience.wait(),
            }
        }
    }
}

/// `n` operations, scaled by the environment variable `CORELANE_STRESS`.
pub fn scaled(n: u64) -> u64 {
    let scale = std::env::var("CORELANE_STRESS")
        .map_or(1.0, |text| text.parse::<f64>().expect("CORELANE_STRESS is a number, such as 0.1"));
    ((n as f64 * scale) as u64).max(1)
}
