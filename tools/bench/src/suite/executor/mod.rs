//! `lane bench executor`: tasks that are spawned, wake each other, yield, fan out, and follow each
//! other; computations that fork and join.
//!
//! To add an executor: implement [`Executor`], and add a line to [`entries`].

mod args;
mod fork_join;
#[cfg(all(feature = "http", target_os = "linux"))]
pub(crate) mod http;
mod plan;
mod runtimes;
mod setting;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Instant;

use corelane::{Info, Sides};

pub use self::args::ExecutorArgs;
#[cfg(all(feature = "http", target_os = "linux"))]
pub(crate) use self::setting::HttpLoad;
pub(crate) use self::setting::{Computation, ExecutorSetting};
use crate::catalogue::{Entry, EntryKind, Measured};
use crate::kinds::Test;
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::work::{Busy, Work};

/// All entries.
pub(crate) fn entries() -> &'static [Measurable] {
    static ENTRIES: LazyLock<Vec<Measurable>> =
        LazyLock::new(|| runtimes::entries().into_iter().chain(fork_join::entries()).collect());
    &ENTRIES
}

/// What runs tasks. Dropped, it ends.
pub(crate) trait Executor: Sized {
    type Tasks: Tasks;

    fn start(workers: usize) -> Self;
    fn tasks(&self) -> Self::Tasks;
    /// Runs a task, and waits for it.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static);
}

/// Spawns tasks. Used by tasks only.
pub(crate) trait Tasks: Clone + Send + Sync + 'static {
    type Join: Future<Output = ()> + Send;

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Join;
    /// Lets the task go on.
    fn detach(join: Self::Join);
}

/// How an executor is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExecutorKernel {
    #[cfg_attr(
        not(all(feature = "http", target_os = "linux")),
        expect(dead_code, reason = "for servers")
    )]
    id: &'static str,
    measure: Measure,
    fits: fn(&ExecutorSetting) -> bool,
}

impl ExecutorKernel {
    pub(crate) fn fits(&self, setting: &ExecutorSetting) -> bool {
        (self.fits)(setting)
    }

    pub(crate) fn measure(
        &self,
        test: Test,
        trial: &Trial<'_>,
        setting: &ExecutorSetting,
    ) -> Result<Sample, String> {
        #[cfg(all(feature = "http", target_os = "linux"))]
        if let Some(connections) = setting.connections {
            return http::measure(self.id, trial.length, setting, connections);
        }
        Ok((self.measure)(test, trial.length, setting))
    }
}

/// An executor, and how it is measured.
pub(crate) type Measurable = Measured<ExecutorKernel>;

type Measure = fn(Test, Length, &ExecutorSetting) -> Sample;

fn entry(
    (id, name): (&'static str, &'static str),
    kind: EntryKind,
    measure: Measure,
    fits: fn(&ExecutorSetting) -> bool,
) -> Measurable {
    let info = Info { id, name, sides: Sides::ManyToMany, bounded: true, ..Info::RING };
    Entry::other(info, kind).with(ExecutorKernel { id, measure, fits })
}

/// Nanoseconds for each task, round trip, or yield.
fn measure<E: Executor>(test: Test, length: Length, setting: &ExecutorSetting) -> Sample {
    let executor = E::start(setting.workers);
    let grain = setting.task_ns.map(Grain::of);
    let done = Arc::new(Mutex::new(0.0));
    let (tasks, result) = (executor.tasks(), Arc::clone(&done));
    executor.run(async move {
        let mut value = 0.0;
        for part in length.parts() {
            let (begin, mut items) = (Instant::now(), 0);
            while !part.is_over(items, begin) {
                items += batch(test, &tasks, grain).await;
            }
            value = begin.elapsed().as_nanos() as f64 / items as f64;
        }
        *lock(&result) = value;
    });
    let value = *lock(&done);
    Sample::of(value)
}

/// Runs some of them, and returns how many.
async fn batch<T: Tasks>(test: Test, tasks: &T, grain: Option<Grain>) -> u64 {
    if let Some(grain) = grain {
        return grains(tasks, grain).await;
    }
    match test {
        Test::SpawnJoin => spawn_join(tasks).await,
        Test::PingPong => ping_pong(tasks).await,
        Test::Yield => yields(tasks).await,
        Test::FanOut => fan_out(tasks).await,
        _ => chain(tasks).await,
    }
}

/// Tasks of a batch.
const TASKS: u64 = 256;

/// Spawns empty tasks, and awaits them all.
async fn spawn_join<T: Tasks>(tasks: &T) -> u64 {
    let joins: Vec<_> = (0..TASKS).map(|_| tasks.spawn(async {})).collect();
    for join in joins {
        join.await;
    }
    TASKS
}

/// Tasks that take a while.
#[derive(Clone, Copy)]
struct Grain {
    work: Busy,
    /// Of a batch, which takes some milliseconds on one core, but not less than a few tasks.
    tasks: u64,
}

impl Grain {
    fn of(ns: u64) -> Self {
        Self { work: Busy::new(ns), tasks: (4_000_000 / ns.max(1)).clamp(16, TASKS) }
    }

    fn run(mut self) {
        self.work.consume(1);
    }
}

/// Spawns tasks that take a while, and awaits them all.
async fn grains<T: Tasks>(tasks: &T, grain: Grain) -> u64 {
    let joins: Vec<_> = (0..grain.tasks).map(|_| tasks.spawn(async move { grain.run() })).collect();
    for join in joins {
        join.await;
    }
    grain.tasks
}

/// Two tasks wake each other.
async fn ping_pong<T: Tasks>(tasks: &T) -> u64 {
    let (there, back) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
    let (ask, answer) = (Arc::clone(&there), Arc::clone(&back));
    let other = tasks.spawn(async move {
        for _ in 0..TASKS {
            ask.wait().await;
            answer.set();
        }
    });
    for _ in 0..TASKS {
        there.set();
        back.wait().await;
    }
    other.await;
    TASKS
}

/// Tasks that do nothing but let each other run.
async fn yields<T: Tasks>(tasks: &T) -> u64 {
    const EACH: u64 = 64;
    let yields = || async {
        for _ in 0..EACH {
            yield_now().await;
        }
    };
    let joins: Vec<_> = (0..TASKS).map(|_| tasks.spawn(yields())).collect();
    for join in joins {
        join.await;
    }
    TASKS * EACH
}

/// Tasks that nobody awaits; the last one wakes the task that has spawned them.
async fn fan_out<T: Tasks>(tasks: &T) -> u64 {
    let left = Arc::new((AtomicU64::new(TASKS), Signal::default()));
    for _ in 0..TASKS {
        let left = Arc::clone(&left);
        T::detach(tasks.spawn(async move {
            if left.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                left.1.set();
            }
        }));
    }
    left.1.wait().await;
    TASKS
}

/// Each task spawns the next one.
async fn chain<T: Tasks>(tasks: &T) -> u64 {
    const LONG: u64 = 1000;
    fn next<T: Tasks>(tasks: &T, left: u64, end: Arc<Signal>) {
        let others = tasks.clone();
        let task: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            match left {
                0 => end.set(),
                _ => next(&others, left - 1, end),
            }
        });
        T::detach(tasks.spawn(task));
    }
    let end = Arc::new(Signal::default());
    next(tasks, LONG, Arc::clone(&end));
    end.wait().await;
    LONG
}

/// Lets other tasks run, on any executor.
async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// One task sets it, and another one waits for it. Of no runtime.
#[derive(Default)]
struct Signal(Mutex<State>);

#[derive(Default)]
struct State {
    is_set: bool,
    waker: Option<Waker>,
}

impl Signal {
    fn set(&self) {
        let mut state = lock(&self.0);
        state.is_set = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until it is set, and takes that back.
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = lock(&self.0);
            if state.is_set {
                state.is_set = false;
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
