//! An executor of async tasks on corelane's block-based work stealing.
//!
//! ```
//! use corelane_executor::Executor;
//!
//! let executor = Executor::new(2)?;
//! let sum = executor.block_on(async {
//!     let tasks: Vec<_> = (0..10).map(|n| corelane_executor::spawn(async move { n * n })).collect();
//!     let mut sum = 0;
//!     for task in tasks {
//!         sum += task.await.expect("it doesn't panic");
//!     }
//!     sum
//! });
//! assert_eq!(sum, 285);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A [`Socket`] reads and writes, on Unix. With the feature `hyper`, hyper takes it directly.
//! Timers are those of [`async_io`], which is exported as [`io`]; its sockets work on all systems.
//! So libraries for smol work here. A worker without a task waits for the system's events.
//!
//! | | |
//! |---|---|
//! | [`spawn`], [`Executor::spawn`] | a task for the workers |
//! | [`spawn_local`] | a task for this thread, need not be `Send` |
//! | [`spawn_blocking`] | a call that blocks, on a thread of its own |
//! | [`yield_now`], [`step`] | lets other tasks run |
//! | [`JoinHandle`] | a task's output; cancels it |
//! | [`Socket`] | a socket that a task reads and writes |
//!
//! # What holds
//!
//! - A task that wakes itself goes behind all others of its worker.
//! - A panic ends only its task: awaiting the handle says [`JoinError::Panicked`]. So does a panic
//!   of the future's destructor, unless the task is cancelled.
//! - Tasks wait in the queue of the worker on which they were woken. Other workers steal them when
//!   they have nothing else, also while that worker runs a long task.
//! - A task that waits is cancelled, and its future dropped, at the end of its executor.
//! - All calls work in destructors of thread-local values, and an executor may be such a value.

mod blocking;
mod budget;
mod home;
mod join;
mod local;
mod panics;
mod reactor;
#[cfg(unix)]
mod socket;
mod spawned;
mod spawner;
mod watch;
mod worker;

use std::fmt;
use std::future::Future;
use std::io::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corelane::steal::pool::{Counts, Options, Pool};
use corelane::wait::Strategy;

pub use async_io as io;
pub use blocking::spawn_blocking;
pub use budget::{step, yield_now};
pub use corelane::steal::pool;
pub use join::{JoinError, JoinHandle};
pub use local::spawn_local;
#[cfg(unix)]
pub use socket::Socket;

use home::Runnable;
use join::NoTask;
use spawned::Seat;
use spawner::Spawner;
use watch::Watch;

/// Worker threads that run tasks. When it is dropped, it [ends](Self::shutdown). A forked process
/// has none of the threads: there a drop does nothing, and no task runs.
pub struct Executor {
    /// `None` when it has ended.
    pool: Option<Pool<Runnable>>,
    /// One for each worker, and one for all other threads.
    spawners: Arc<[Arc<Spawner>]>,
    /// Workers that are in `block_on` of this executor.
    blocked: AtomicUsize,
}

impl Default for Executor {
    /// An executor with a worker for each core that the process may use.
    ///
    /// # Panics
    ///
    /// If the system refuses a thread, or there is no memory.
    fn default() -> Self {
        Self::new(Options::default().workers()).expect("the system has threads and memory")
    }
}

impl Executor {
    /// An executor with a number of workers.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread, or descriptors for its events, or there is no memory.
    /// `Unsupported` in a process that was forked from one with an executor.
    pub fn new(workers: usize) -> Result<Self> {
        // A worker that sleeps waits for the system's events, so it does that at once.
        Self::with(Options::new(workers).strategy(Strategy::Sleep))
    }

    /// As [`new`](Self::new), with the options of the [pool] except its order: tasks run oldest
    /// first. By default, a worker without a task looks again for some microseconds before it waits
    /// for the system's events. This is for tasks that wake each other often, without sockets.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with(options: Options) -> Result<Self> {
        reactor::start()?;
        let options = options.order(pool::Order::Fifo);
        let workers = options.workers();
        let spawners = Arc::new(worker::Spawners::new());
        let known = Arc::clone(&spawners);
        let run = move |local: &mut pool::Local<Runnable>, runnable| {
            let spawners = known.wait();
            worker::run(local, &spawners[local.worker()], runnable);
        };
        let known = Arc::clone(&spawners);
        let drive = move |work: pool::Work<'_, Runnable>| worker::drive(work, &known);
        let pool = Pool::with_driver(options, run, drive)?;
        let handle = Arc::new(pool.handle());
        let watch = Watch::new(&handle);
        let all: Arc<[_]> =
            (0..=workers).map(|_| Spawner::new(Arc::clone(&handle), Arc::clone(&watch))).collect();
        spawners.set(Arc::clone(&all)).ok().expect("nobody else sets it");
        Ok(Self { pool: Some(pool), spawners: all, blocked: AtomicUsize::new(0) })
    }

    fn outside(&self) -> &Arc<Spawner> {
        self.spawners.last().expect("there is one")
    }

    fn pool(&self) -> &Pool<Runnable> {
        self.pool.as_ref().expect("only its end takes it")
    }

    /// Spawns a task.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        match worker::spawner().filter(|spawner| spawner.is_of_same_executor(self.outside())) {
            Some(spawner) => spawner.spawn(future),
            None => self.outside().spawn(future),
        }
    }

    /// Runs a future on the calling thread until it is ready. What it [spawns](spawn) runs on the
    /// workers. Within another `block_on`, of any executor, the [tasks of this thread](spawn_local)
    /// run, too.
    ///
    /// # Panics
    ///
    /// In a task of this executor, if all other workers are in its `block_on` already, or there are
    /// none: no worker would run the tasks for which the future waits.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _blocked = worker::is_at_work(self.outside()).then(|| self.block_worker());
        local::block_on(self.outside(), future)
    }

    fn block_worker(&self) -> Blocked<'_> {
        let others = self.blocked.fetch_add(1, Ordering::Relaxed);
        let blocked = Blocked(&self.blocked);
        assert!(others + 1 < self.workers(), "`block_on` would leave no worker of its executor");
        blocked
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.pool().workers()
    }

    /// Counts of a worker so far: tasks are polls, sleeps are parks.
    ///
    /// # Panics
    ///
    /// If no worker has this number.
    pub fn counts(&self, worker: usize) -> Counts {
        self.pool().counts(worker)
    }

    /// Tasks that have waited, and are not done.
    pub fn waiting(&self) -> usize {
        self.spawners.iter().map(|spawner| spawner.tasks().len()).sum()
    }

    /// Waits for the polls that run, ends the workers, and cancels all tasks.
    pub fn shutdown(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // A forked process has none of the workers.
        if let Some(pool) = self.pool.take().filter(|_| !reactor::is_of_parent()) {
            // Destructors may spawn tasks.
            worker::enter(self.outside(), None, || {
                pool.cancel();
                self.spawners.iter().for_each(|spawner| spawner.tasks().wake_all());
                self.outside().watch().end();
            });
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// A worker is in `block_on`.
struct Blocked<'a>(&'a AtomicUsize);

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Spawns a task on the executor of the calling thread: that of its task, or of its `block_on`. A
/// worker whose executor has ended cancels it: destructors of thread-local values may spawn.
///
/// # Panics
///
/// If the thread belongs to no executor.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match worker::spawner() {
        Some(spawner) => spawner.spawn(future),
        None if worker::has_ended() => JoinHandle::without_task(NoTask::Cancelled),
        None => panic!("the thread runs no task of an executor, and is not in `block_on`"),
    }
}
