//! A pool of worker threads that steal each other's tasks.
//!
//! A task is a value: a path, a node, a closure, a request. One function runs all tasks. It gets
//! the [`Local`] of the worker that runs the task, into which it pushes further tasks.
//!
//! [`run`] borrows what it needs, runs tasks until there are no more, and returns:
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use corelane::steal::pool::{self, Options};
//!
//! let sum = AtomicU64::new(0);
//! pool::run(Options::new(4), [1..=1000_u64], |local, range| {
//!     let (start, end) = range.into_inner();
//!     if end - start < 10 {
//!         sum.fetch_add((start..=end).sum(), Ordering::Relaxed);
//!     } else {
//!         let middle = (start + end) / 2;
//!         local.push(start..=middle);
//!         local.push(middle + 1..=end);
//!     }
//! })?;
//! assert_eq!(sum.into_inner(), 500_500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Pool`] stays, and takes tasks from outside:
//!
//! ```
//! use corelane::steal::pool::{Local, Options, Pool};
//!
//! type Task = Box<dyn FnOnce() + Send>;
//! let pool = Pool::new(Options::new(2), |_: &mut Local<Task>, task| task())?;
//! let (tx, rx) = std::sync::mpsc::channel();
//! for n in 0..10 {
//!     let tx = tx.clone();
//!     pool.push(Box::new(move || tx.send(n).expect("the receiver is there")));
//! }
//! pool.finish();
//! assert_eq!(rx.try_iter().count(), 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds
//!
//! - Each task runs once, or is dropped if the pool is [cancelled](Pool::cancel) before.
//! - While a worker runs a long task, no task waits in its queue if another worker sleeps: before a
//!   worker sleeps, it [seizes](super::bwos) such a task, unless another worker is about to. So
//!   tasks may wait for each other, as long as fewer tasks wait than there are workers.
//! - A worker looks for tasks from outside after 61 of its own, at the latest.
//! - While no worker sleeps, a push costs a load more than that of the plain queue. A push wakes
//!   one worker, unless a worker searches. The woken worker wakes the next one if there are more
//!   tasks.
//! - A task that panics ends alone. The first panic comes out of [`run`] or [`Pool::finish`] when
//!   all other tasks are done.

mod cores;
pub(super) mod crew;
/// Public for the models, which use it without a pool; not for use, and not stable.
#[doc(hidden)]
pub mod idle;
mod injector;
pub(super) mod panics;
mod queue;
mod victims;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll};
use core::{fmt, mem};
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::{format, io, process};

pub use crew::Local;
pub use victims::Policy;
/// For the program that measures policies; not stable.
#[doc(hidden)]
pub use {cores::domains, victims::Victims};

use crate::memory::Parker;
pub(super) use crate::unwind::PanicPayload;
use crate::wait::{Closed, Strategy};
use crew::Crew;

/// Which of its own tasks a worker runs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest: no task waits for ever.
    #[default]
    Fifo,
    /// The newest: for computations that fork and join. Other workers steal the oldest, one at a
    /// time.
    Lifo,
}

/// How a pool is made.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    workers: usize,
    order: Order,
    capacity: usize,
    policy: Policy,
    samples: bool,
    strategy: Strategy,
    domains: Vec<usize>,
    cores: Vec<usize>,
}

impl Default for Options {
    /// A worker for each core that the process may use.
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Options {
    /// A number of workers, at least one.
    pub fn new(workers: usize) -> Self {
        let (order, policy) = (Order::default(), Policy::default());
        Self {
            workers: workers.max(1),
            order,
            capacity: 2048,
            policy,
            samples: false,
            strategy: Strategy::default(),
            domains: Vec::new(),
            cores: Vec::new(),
        }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Which of its own tasks a worker runs next. Default: the oldest.
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Tasks that fit into the queue of each worker. Further ones go to the list for tasks from
    /// outside, which grows; a [`join`](super::fork_join::Fork::join) makes both of its calls then,
    /// one after the other. Default: 2048.
    pub fn capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// How a worker without a task waits. Default: it looks again for some microseconds, and then
    /// sleeps.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }

    /// From which queue a worker tries to steal first. Default: from one at random.
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Whether a worker first tries to steal from a random block of each queue: so it steals more
    /// likely from longer queues, and many thieves of one queue don't meet at its oldest block. For
    /// many workers, [oldest first](Order::Fifo), with many tasks in their queues; with few tasks,
    /// a worker only makes a useless look. Default: no.
    pub fn sample(self, samples: bool) -> Self {
        Self { samples, ..self }
    }

    /// The core of each worker, by the system's numbers; in turn, if there are more workers. A
    /// thread that the pool starts runs on its core only; the calling thread of [`run`] and of
    /// [`fork_join::Pool::run`](super::fork_join::Pool::run) keeps its cores. Workers whose cores
    /// share the last cache steal from each other first. Only on Linux; on other systems workers
    /// with cores can't be started. Default: the system decides.
    pub fn cores(self, cores: impl IntoIterator<Item = usize>) -> Self {
        Self { cores: cores.into_iter().collect(), ..self }
    }

    /// The domain of each worker, such as a NUMA node: a worker steals from the other workers of
    /// its domain first. Default: workers that share a cache, if their [cores](Self::cores) are
    /// set.
    pub fn domains(self, domains: impl IntoIterator<Item = usize>) -> Self {
        Self { domains: domains.into_iter().collect(), ..self }
    }

    /// The core of a worker.
    fn core(&self, worker: usize) -> Option<usize> {
        self.cores.get(worker % self.cores.len().max(1)).copied()
    }

    /// `domains[n]` is the domain of worker n. Empty if all are in one.
    fn domains_of_workers(&self) -> Vec<usize> {
        match self.domains.is_empty() {
            true => cores::domains((0..self.workers).map_while(|worker| self.core(worker))),
            false => self.domains.clone(),
        }
    }

    /// Starts the thread of a worker by `start`.
    pub(super) fn start<R>(
        &self,
        worker: usize,
        start: impl FnOnce(thread::Builder) -> io::Result<R>,
    ) -> io::Result<R> {
        let builder = thread::Builder::new().name(format!("worker {worker}"));
        match self.core(worker) {
            Some(core) => cores::on(core, || start(builder)),
            None => start(builder),
        }
    }
}

/// What a worker has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Tasks that it has run.
    pub tasks: u64,
    /// Tasks that it has stolen.
    pub stolen: u64,
    /// Tasks that it has stolen from the block in which another worker works.
    pub seized: u64,
    /// Tasks that it has taken from outside, or from those for which a queue had no room.
    pub injected: u64,
    /// How often it went to sleep.
    pub sleeps: u64,
}

/// Runs tasks, and those that they push, until there are no more. The calling thread is one of the
/// workers.
///
/// # Errors
///
/// If there is no memory for the queues, or the system refuses a thread or a
/// [core](Options::cores): then no task has been run.
///
/// # Panics
///
/// If a task panics, after all others are done.
pub fn run<T: Send>(
    options: Options,
    tasks: impl IntoIterator<Item = T>,
    run: impl Fn(&mut Local<T>, T) + Sync,
) -> io::Result<()> {
    let (crew, locals) = Crew::new(&options)?;
    let tasks: Vec<T> = tasks.into_iter().collect();
    let mut locals = locals.into_iter();
    let own = locals.next().expect("there is one worker at least");
    let run = &run;
    thread::scope(|scope| {
        for local in locals {
            let worker = local.worker();
            let start = |thread: thread::Builder| {
                thread.spawn_scoped(scope, move || work(local, run, sleep))
            };
            if let Err(refused) = options.start(worker, start) {
                crew.end_now();
                return Err(refused);
            }
        }
        tasks.into_iter().for_each(|task| crew.injector.overflow(task));
        crew.end_when_done();
        work(own, run, sleep);
        Ok(())
    })?;
    match crew.take_panic() {
        Some(payload) => resume_unwind(payload),
        None => Ok(()),
    }
}

/// Runs a worker on the calling thread.
fn work<T>(mut local: Local<T>, run: &impl Fn(&mut Local<T>, T), drive: impl Fn(Work<'_, T>)) {
    drive(Work { local: &mut local, run });
}

/// Polls a worker, and lets the thread sleep while it is not woken.
fn sleep<T>(mut work: Work<'_, T>) {
    let parker = Parker::new();
    let mut context = Context::from_waker(parker.waker());
    while work.poll(&mut context).is_pending() {
        parker.park(None);
    }
}

/// A worker, as its thread sees it.
pub struct Work<'a, T> {
    local: &'a mut Local<T>,
    run: &'a dyn Fn(&mut Local<T>, T),
}

impl<T> Work<'_, T> {
    /// Runs up to 256 tasks. Ready when the pool ends; pending, it must be polled again when the
    /// context's waker is woken.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.local.poll(context, self.run)
    }

    /// The worker's number, from 0.
    pub fn worker(&self) -> usize {
        self.local.worker()
    }

    /// Pushes a task between polls. Then it must be polled again.
    pub fn push(&mut self, task: T) {
        self.local.push_between(task);
    }
}

impl<T> fmt::Debug for Work<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("worker", &self.local.worker()).finish_non_exhaustive()
    }
}

/// Worker threads that take tasks from outside, too. When it is dropped, it
/// [finishes](Self::finish), but doesn't panic. A forked process has none of the threads: there a
/// drop does nothing, and drops no task.
pub struct Pool<T> {
    crew: Arc<Crew<T>>,
    threads: Vec<JoinHandle<()>>,
    /// The process whose threads they are.
    process: u32,
}

impl<T: Send + 'static> Pool<T> {
    /// Starts the workers. Each task is run by `run`.
    ///
    /// # Errors
    ///
    /// If there is no memory for the queues, or the system refuses a thread or a
    /// [core](Options::cores).
    pub fn new(
        options: Options,
        run: impl Fn(&mut Local<T>, T) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::with_driver(options, run, sleep)
    }

    /// As [`new`](Self::new). The thread of each worker calls `drive`, which must
    /// [poll](Work::poll) the worker until it is ready, and may do something else between, such as
    /// to wait for the system's events.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_driver(
        options: Options,
        run: impl Fn(&mut Local<T>, T) + Send + Sync + 'static,
        drive: impl Fn(Work<'_, T>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (crew, locals) = Crew::new(&options)?;
        let mut pool = Self { crew, threads: Vec::new(), process: process::id() };
        let run = Arc::new((run, drive));
        for local in locals {
            let run = Arc::clone(&run);
            let worker = local.worker();
            let start = |thread: thread::Builder| thread.spawn(move || work(local, &run.0, &run.1));
            match options.start(worker, start) {
                Ok(thread) => pool.threads.push(thread),
                Err(refused) => {
                    pool.cancel();
                    return Err(refused);
                }
            }
        }
        Ok(pool)
    }
}

impl<T> Pool<T> {
    /// Pushes a task. Workers take those from outside in order.
    pub fn push(&self, task: T) {
        let pushed = self.crew.inject(task);
        debug_assert!(pushed.is_ok(), "only a pool that is no more is closed");
    }

    /// A handle through which other threads push tasks.
    pub fn handle(&self) -> Handle<T> {
        Handle { crew: Arc::clone(&self.crew) }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.crew.workers()
    }

    /// What a worker has done so far.
    ///
    /// # Panics
    ///
    /// If no worker has this number.
    pub fn counts(&self, worker: usize) -> Counts {
        self.crew.counts(worker)
    }

    /// Tasks from outside that no worker has taken yet.
    pub fn waiting(&self) -> usize {
        self.crew.injector.len()
    }

    /// Blocks the thread until all tasks that were pushed before, and those that they have pushed,
    /// are done, and all workers sleep. If a task of the pool calls this, it waits for itself.
    pub fn wait_until_idle(&self) {
        self.crew.wait_until_quiet();
    }

    /// Accepts no more tasks from outside, runs all tasks that are there, and ends the workers.
    ///
    /// # Panics
    ///
    /// If a task has panicked.
    pub fn finish(mut self) {
        self.end(Crew::end_when_done);
        if let Some(payload) = self.crew.take_panic() {
            resume_unwind(payload);
        }
    }

    /// Accepts no more tasks, lets the workers end the tasks that they run, and drops all others.
    pub fn cancel(mut self) {
        self.end(Crew::end_now);
    }

    fn end(&mut self, end: fn(&Crew<T>)) {
        if self.process != process::id() {
            return mem::forget(mem::take(&mut self.threads));
        }
        end(&self.crew);
        let own = thread::current().id();
        // A task of the pool may own the pool: then this doesn't wait for the workers, which may
        // wait for that task.
        let is_own = self.threads.iter().any(|thread| thread.thread().id() == own);
        for thread in self.threads.drain(..).filter(|_| !is_own) {
            // A worker catches the panics of its tasks.
            let ended = thread.join();
            debug_assert!(ended.is_ok());
        }
        if !is_own {
            self.crew.drop_injected();
        }
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.end(Crew::end_when_done);
        }
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Pushes tasks to a [`Pool`] from outside.
pub struct Handle<T> {
    crew: Arc<Crew<T>>,
}

impl<T> Handle<T> {
    /// Pushes a task.
    ///
    /// # Errors
    ///
    /// If the pool has ended. The error has the task.
    pub fn push(&self, task: T) -> Result<(), Closed<T>> {
        self.crew.inject(task).map_err(Closed)
    }

    /// Wakes a sleeping worker, if there is one, and there is a task that no worker runs: for tasks
    /// that were [pushed last](Local::push_last).
    pub fn wake(&self) {
        self.crew.wake();
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Self { crew: Arc::clone(&self.crew) }
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
