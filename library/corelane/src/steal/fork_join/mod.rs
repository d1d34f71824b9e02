//! Computations that fork and join: a task calls two others, which may run at the same time, and
//! continues when both are done.
//!
//! ```
//! use corelane::steal::fork_join::{Fork, Options, Pool};
//!
//! fn sum(fork: &Fork, numbers: &[u64]) -> u64 {
//!     if numbers.len() < 1000 {
//!         return numbers.iter().sum();
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = fork.join(|fork| sum(fork, left), |fork| sum(fork, right));
//!     left + right
//! }
//!
//! let numbers: Vec<u64> = (1..=100_000).collect();
//! let pool = Pool::new(Options::new(4))?;
//! assert_eq!(pool.run(|fork| sum(fork, &numbers)), 5_000_050_000);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`join`](Fork::join) pushes its second call into the worker's [LIFO queue](super::lifo), runs
//! the first one, and pops the second one. If another worker has stolen the second call, the worker
//! runs other tasks until that call is done. A task is on the stack of its `join`; nothing is on
//! the heap. [`scope`](Fork::scope) is for any number of tasks, which are on the heap.
//!
//! # What holds
//!
//! - Calls may borrow whatever outlives the `join` or the scope.
//! - The thread that calls [`Pool::run`] is one of the workers, unless another thread is in such a
//!   call. So a small computation waits for no other thread.
//! - A worker that waits runs tasks of its pool meanwhile, also of other computations, on top of
//!   its stack.
//! - Tasks must not wait for each other by other means: there may be one worker for all of them.
//!   Don't hold a lock across a `join`: a task that runs on top of the `join` may want the lock,
//!   and its thread would wait for itself.
//! - A panic comes out of the `join`, the scope and the `run` in which it happened, when all calls
//!   of these are done.

mod job;
/// Public for the models, which use it without a pool; not for use, and not stable.
#[doc(hidden)]
pub mod latch;
mod scope;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::task::Poll;
use core::{fmt, iter, mem};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{self, JoinHandle};
use std::{io, process};

pub use super::pool::{Counts, Options, Policy};
pub use scope::Scope;

use super::pool::Order;
use super::pool::crew::{Crew, Local};
use crate::memory::{Mutex, Parker};
use crate::unwind::quietly;
use job::{OnStack, Task};
use latch::Latch;

/// Worker threads for computations that fork and join. Dropped, it ends them. A forked process has
/// none of the threads: there, its end does nothing.
pub struct Pool {
    crew: Arc<Crew<Task>>,
    /// The worker of the thread that calls `run`. `None` while a thread has it.
    seat: Mutex<Option<Fork>>,
    threads: Vec<JoinHandle<()>>,
    options: Options,
    /// The process whose threads they are.
    process: u32,
}

thread_local! {
    /// The worker of this thread: the innermost, if it is of several pools.
    static CURRENT: Cell<*const Fork> = const { Cell::new(core::ptr::null()) };
}

/// A worker, as its tasks see it.
pub struct Fork {
    local: UnsafeCell<Local<Task>>,
    parker: Parker,
    /// The worker of another pool, if one of its tasks waits for this worker.
    outer: *const Self,
}

// SAFETY: `outer` is set only while a thread uses the worker.
unsafe impl Send for Fork {}

impl Pool {
    /// Starts the workers, one less than `options` say: the thread that calls [`run`](Self::run) is
    /// the other one. A worker runs its own tasks newest first, whatever the order of `options` is.
    ///
    /// # Errors
    ///
    /// If there is no memory for the queues, or the system refuses a thread or a
    /// [core](Options::cores).
    pub fn new(options: Options) -> io::Result<Self> {
        let options = options.order(Order::Lifo);
        let (crew, locals) = Crew::new(&options)?;
        let mut locals = locals.into_iter();
        let seat = Mutex::new(locals.next().map(Fork::new));
        let mut pool = Self { crew, seat, threads: Vec::new(), options, process: process::id() };
        for local in locals {
            let worker = local.worker();
            // Until the pool ends.
            let work = move || Fork::new(local).enter(|fork| fork.help_until(|| false));
            // If the system refuses a thread, the drop of the pool ends the other threads.
            let thread = pool.options.start(worker, |thread| thread.spawn(work))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs a computation, on the calling thread unless that is a worker of another pool, or
    /// another thread is in a call of `run`. Then one of the other workers runs it. If the pool has
    /// no other workers, the calling thread runs it alone, on a pool that is made for it. A task of
    /// this pool makes a plain call.
    ///
    /// # Panics
    ///
    /// If `call` panics.
    pub fn run<R: Send>(&self, call: impl FnOnce(&Fork) -> R + Send) -> R {
        if let Some(fork) = self.current() {
            return call(fork);
        }
        let has_others = !self.threads.is_empty();
        let own = Fork::of_several();
        // A thread is a worker of one pool with several workers at most. It helps that pool while
        // it waits. In a pool with one worker it never waits.
        if own.is_none() || !has_others {
            if let Some(mut seated) = Seated::take(self) {
                return seated.fork().enter(call);
            }
        }
        if has_others {
            return self.run_elsewhere(call, own);
        }
        let another = Self::new(self.options.clone()).expect("there is memory for one queue");
        another.run(call)
    }

    /// Gives a computation to the workers, and waits: as a worker of another pool, if it is one.
    #[cold]
    fn run_elsewhere<R: Send>(
        &self,
        call: impl FnOnce(&Fork) -> R + Send,
        own: Option<&Fork>,
    ) -> R {
        let job = OnStack::new(call);
        let pushed = self.crew.inject(job.task());
        assert!(pushed.is_ok(), "only a pool that is no more is closed");
        match own {
            Some(fork) => fork.help_until_set(job.latch()),
            None => {
                let parker = Parker::new();
                // SAFETY: no thread has called it before.
                unsafe { job.latch().sleep(parker.waker()) };
                while !job.latch().is_set() {
                    parker.park(None);
                }
            }
        }
        job.into_output().unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The calling thread's worker of this pool.
    fn current(&self) -> Option<&Fork> {
        // SAFETY: as in `Fork::with`.
        let is_own = |fork: &&Fork| unsafe { (*fork.local.get()).is_of(&self.crew) };
        Fork::of_thread().find(is_own)
    }

    /// Number of workers, with the thread that calls `run`.
    pub fn workers(&self) -> usize {
        self.crew.workers()
    }

    /// Counts of a worker. Tasks are those of scopes, and stolen ones; a call that its own `join`
    /// makes doesn't count. Worker 0 is the thread that calls `run`.
    ///
    /// # Panics
    ///
    /// If no worker has this number.
    pub fn counts(&self, worker: usize) -> Counts {
        self.crew.counts(worker)
    }
}

/// The pool's own worker, in use by the calling thread.
struct Seated<'a> {
    pool: &'a Pool,
    /// Until the drop.
    fork: Option<Fork>,
}

impl<'a> Seated<'a> {
    /// `None` if another thread has it.
    fn take(pool: &'a Pool) -> Option<Self> {
        let fork = pool.seat.lock().take()?;
        Some(Self { pool, fork: Some(fork) })
    }

    fn fork(&mut self) -> &mut Fork {
        let fork = self.fork.as_mut().expect("until the drop");
        fork.parker = Parker::new();
        fork
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        *self.pool.seat.lock() = self.fork.take();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.process != process::id() {
            return mem::forget(mem::take(&mut self.threads));
        }
        self.crew.end_now();
        for thread in self.threads.drain(..) {
            // Tasks catch their panics.
            let ended = thread.join();
            debug_assert!(ended.is_ok());
        }
    }
}

impl Fork {
    fn new(local: Local<Task>) -> Self {
        Self { local: UnsafeCell::new(local), parker: Parker::new(), outer: core::ptr::null() }
    }

    /// Calls `call` on the calling thread, as this worker.
    fn enter<R>(&mut self, call: impl FnOnce(&Self) -> R) -> R {
        struct Leave(*const Fork);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        self.outer = CURRENT.get();
        let own = &*self;
        let _leave = Leave(CURRENT.replace(own));
        call(own)
    }

    /// Calls the worker.
    #[inline(always)]
    fn with<R>(&self, call: impl FnOnce(&mut Local<Task>) -> R) -> R {
        // SAFETY: a worker is not `Sync`, and `call` runs no code of a task.
        call(unsafe { &mut *self.local.get() })
    }

    /// Calls both, and returns what they return. If another worker has nothing to do, it runs `b`
    /// at the same time.
    ///
    /// # Panics
    ///
    /// If `a` or `b` panics, after both are done. If `a` panics, `b` may not have been run.
    #[inline]
    pub fn join<A, B: Send>(
        &self,
        a: impl FnOnce(&Self) -> A,
        b: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        let job = OnStack::new(b);
        if !self.with(|local| local.offer(job.task())) {
            // SAFETY: it is in no queue.
            let b = unsafe { job.take() };
            return (a(self), b(self));
        }
        // Not in a destructor while this thread unwinds: tasks of other computations may run here
        // meanwhile.
        let a = catch_unwind(AssertUnwindSafe(|| a(self)));
        let is_back = self.takes_back(job.task(), job.latch());
        match a {
            Ok(a) if is_back => {
                // SAFETY: it was taken back.
                let b = unsafe { job.take() };
                (a, b(self))
            }
            a => end(a, job, is_back),
        }
    }

    /// Takes a task back. If another worker has it, this worker runs other tasks until it is done,
    /// and returns `false`.
    #[inline(always)]
    fn takes_back(&self, own: Task, latch: &Latch) -> bool {
        match self.with(Local::pop) {
            Some(task) if task == own => true,
            other => self.help_for(other, latch),
        }
    }

    #[cold]
    #[inline(never)]
    fn help_for(&self, other: Option<Task>, latch: &Latch) -> bool {
        if let Some(task) = other {
            self.run(task);
        }
        self.help_until_set(latch);
        false
    }

    /// Pushes a task that its thread doesn't take back.
    fn give(&self, task: Task) {
        self.with(|local| local.push(task));
    }

    /// Runs a task of a queue of this pool.
    fn run(&self, task: Task) {
        self.with(|local| local.count_task());
        // SAFETY: it was in a queue, so no other thread has it.
        unsafe { task.run(self) };
    }

    /// Runs tasks until the latch is set.
    fn help_until_set(&self, latch: &Latch) {
        // SAFETY: the latch's thread waits once.
        if latch.is_set() || !unsafe { latch.sleep(self.parker.waker()) } {
            return;
        }
        self.help_until(|| latch.is_set());
        if !latch.is_set() {
            // The pool has ended while a computation runs. Otherwise its tasks would outlive what
            // they borrow.
            std::process::abort();
        }
    }

    /// Runs tasks until `is_over`, or until the pool has ended, those of the own queue first. The
    /// thread sleeps while there are none.
    #[cold]
    #[inline(never)]
    fn help_until(&self, is_over: impl Fn() -> bool) {
        loop {
            match self.with(|local| local.next_until(self.parker.waker(), &is_over)) {
                Poll::Ready(Some(task)) => self.run(task),
                Poll::Ready(None) => return,
                Poll::Pending => self.parker.park(None),
            }
        }
    }

    /// The calling thread's workers, the innermost first: of one pool with several workers at most,
    /// and of any number of pools with one.
    fn of_thread<'a>() -> impl Iterator<Item = &'a Self> {
        // SAFETY: `enter` sets them, and takes them back before they go.
        let fork = |fork: *const Self| unsafe { fork.as_ref() };
        iter::successors(fork(CURRENT.get()), move |inner| fork(inner.outer))
    }

    /// The calling thread's worker of a pool with several.
    fn of_several<'a>() -> Option<&'a Self> {
        Self::of_thread().find(|fork| fork.workers() > 1)
    }

    /// The worker's number, from 0.
    pub fn worker(&self) -> usize {
        self.with(|local| local.worker())
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.with(|local| local.workers())
    }
}

/// The end of a `join` whose second call another worker has made, or whose first call has panicked.
#[cold]
fn end<A, B, F: FnOnce(&Fork) -> B>(
    a: thread::Result<A>,
    b: OnStack<F, B>,
    is_back: bool,
) -> (A, B) {
    match a {
        Ok(a) => (a, b.into_output().unwrap_or_else(|panic| resume_unwind(panic))),
        Err(panic) => {
            if is_back {
                // SAFETY: it was taken back, and no thread calls it.
                drop(unsafe { b.take() });
            } else {
                quietly(|| drop(b.into_output().err()));
            }
            resume_unwind(panic)
        }
    }
}

impl fmt::Debug for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork").field("worker", &self.worker()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers()).finish_non_exhaustive()
    }
}
