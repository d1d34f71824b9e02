//! Computations that fork and join: a task calls two others, which may run at once, and goes on when both are done.
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
//! [`join`](Fork::join) pushes its second call into the worker's [LIFO queue](super::lifo), runs the first one, and pops the second one, unless another worker has stolen it. Then it runs other tasks
//! until that one is done. A task is on the stack of its `join`; nothing is on the heap. [`scope`](Fork::scope) is for any number of tasks, which are on the heap.
//!
//! # What holds
//!
//! - Calls may borrow whatever outlives the `join` or the scope.
//! - The thread that calls [`Pool::run`] is one of the workers: a small computation has no other thread to wait for.
//! - A worker that waits for another one runs tasks meanwhile, also of other computations, on top of its stack.
//! - Tasks must not wait for each other by other means: there may be one worker for all of them.
//! - A panic comes out of the `join`, the scope and the `run` it happened in, when all that they have called is done.

mod job;
/// Public for the models, which use it without a pool; not for use, and not stable.
#[doc(hidden)]
pub mod latch;
mod scope;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::mem::ManuallyDrop;
use core::task::Poll;
use core::{fmt, iter};
use std::io;
use std::thread::JoinHandle;

pub use super::pool::{Counts, Options, Policy};
pub use scope::Scope;

use super::pool::Order;
use super::pool::crew::{Crew, Local};
use crate::memory::{Condvar, Mutex, Parker};
use job::{OnStack, Task};
use latch::Latch;

/// Worker threads for computations that fork and join. Dropped, it ends them.
pub struct Pool {
    crew: Arc<Crew<Task>>,
    /// The worker of the thread that calls `run`. `None` while a thread has it.
    seat: Mutex<Option<Fork>>,
    /// It has been given back.
    is_free: Condvar,
    threads: Vec<JoinHandle<()>>,
}

thread_local! {
    /// The worker of this thread: the innermost, if there are several.
    static CURRENT: Cell<*const Fork> = const { Cell::new(core::ptr::null()) };
}

/// A worker, as its tasks see it.
pub struct Fork {
    local: UnsafeCell<Local<Task>>,
    parker: Parker,
    /// The worker of another pool, or none, of which a task waits for this one.
    outer: *const Self,
}

// SAFETY: `outer` is set only while a thread uses the worker.
unsafe impl Send for Fork {}

impl Pool {
    /// Starts the workers, one less than `options` say: the thread that calls [`run`](Self::run) is the other one. A worker runs its own tasks newest first, whatever the order of `options` is.
    ///
    /// # Errors
    ///
    /// If there is no memory for the queues, or the system refuses a thread or a [core](Options::cores).
    pub fn new(options: Options) -> io::Result<Self> {
        let options = options.order(Order::Lifo);
        let (crew, locals) = Crew::new(&options)?;
        let mut locals = locals.into_iter();
        let seat = Mutex::new(locals.next().map(Fork::new));
        let mut pool = Self { crew, seat, is_free: Condvar::new(), threads: Vec::new() };
        for local in locals {
            let worker = local.worker();
            let work =
                move || Fork::new(local).enter(|fork| fork.help_until_set(&Latch::default()));
            // If the system refuses it, the drop of the pool ends the others.
            pool.threads.push(options.start(worker, |thread| thread.spawn(work))?);
        }
        Ok(pool)
    }

    /// Runs a computation, on the calling thread if no other thread is in a call of `run`. Otherwise another worker runs it; if there is none, it waits for that call to end. In a task of this pool it is
    /// run by the worker of that task.
    ///
    /// # Panics
    ///
    /// If `call` panics.
    pub fn run<R: Send>(&self, call: impl FnOnce(&Fork) -> R + Send) -> R {
        if let Some(fork) = self.current() {
            return call(fork);
        }
        match Seated::take(self) {
            Some(mut seated) => seated.fork().enter(call),
            None => self.run_elsewhere(call),
        }
    }

    /// Runs a computation on a worker, and waits.
    fn run_elsewhere<R: Send>(&self, call: impl FnOnce(&Fork) -> R + Send) -> R {
        let (job, parker) = (OnStack::new(call), Parker::new());
        let pushed = self.crew.inject(job.task());
        debug_assert!(pushed.is_ok(), "only a pool that is no more is closed");
        job.latch().sleep(parker.waker());
        while !job.latch().is_set() {
            parker.park(None);
        }
        job.into_output()
    }

    /// The calling thread's worker of this pool.
    fn current(&self) -> Option<&Fork> {
        // SAFETY: `enter` sets them, and takes them back before the workers go.
        let fork = |fork: *const Fork| unsafe { fork.as_ref() };
        let mut outwards = iter::successors(fork(CURRENT.get()), |inner| fork(inner.outer));
        // SAFETY: as in `Fork::with`.
        outwards.find(|fork| unsafe { (*fork.local.get()).is_of(&self.crew) })
    }

    /// Number of workers, with the thread that calls `run`.
    pub fn workers(&self) -> usize {
        self.crew.workers()
    }

    /// What a worker has done so far, with those of its tasks that others have pushed. Worker 0 is the thread that calls `run`.
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
    /// `None` if another thread has it, and there are other workers.
    fn take(pool: &'a Pool) -> Option<Self> {
        let mut seat = pool.seat.lock();
        while seat.is_none() && pool.threads.is_empty() {
            seat = pool.is_free.wait(seat);
        }
        seat.take().map(|fork| Self { pool, fork: Some(fork) })
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
        self.pool.is_free.notify_one();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
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

    /// Calls both, and returns what they return. If another worker has nothing to do, it runs `b` at the same time.
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
        let pushed = Pushed { fork: self, job: &job };
        let a = a(self);
        if !pushed.end() {
            return (a, job.into_output());
        }
        // SAFETY: it was taken back.
        let b = unsafe { job.take() };
        (a, b(self))
    }

    /// Takes a task back. If another worker has it, this one runs other tasks until that is done, and returns `false`.
    #[inline(always)]
    fn takes_back(&self, own: Task, latch: &Latch) -> bool {
        match self.with(Local::pop) {
            Some(task) if task == own => true,
            other => self.help_for(other, own, latch),
        }
    }

    #[cold]
    #[inline(never)]
    fn help_for(&self, mut first: Option<Task>, own: Task, latch: &Latch) -> bool {
        while let Some(task) = first {
            if task == own {
                return true;
            }
            // SAFETY: it was in a queue, so nobody else has it.
            unsafe { task.run(self) };
            first = self.with(Local::pop);
        }
        self.help_until_set(latch);
        false
    }

    /// Pushes a task that its thread doesn't take back.
    fn give(&self, task: Task) {
        self.with(|local| local.push(task));
    }

    /// Runs tasks until the latch is set, those of the own queue first. The thread sleeps when there are none.
    #[cold]
    fn help_until_set(&self, latch: &Latch) {
        let mut will_wake = false;
        let waker = self.parker.waker();
        loop {
            match self.with(|local| local.next_until(waker, || latch.is_set())) {
                Poll::Ready(Some(task)) => {
                    // SAFETY: it was in a queue, so nobody else has it.
                    unsafe { task.run(self) };
                    self.with(|local| local.count_task());
                }
                Poll::Ready(None) => return,
                Poll::Pending if will_wake => self.parker.park(None),
                Poll::Pending => {
                    latch.sleep(waker);
                    will_wake = true;
                }
            }
        }
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

/// A pushed task. If the first call of a join panics, it is taken back, or waited for.
struct Pushed<'a, F: FnOnce(&Fork) -> R, R> {
    fork: &'a Fork,
    job: &'a OnStack<F, R>,
}

impl<F: FnOnce(&Fork) -> R, R> Pushed<'_, F, R> {
    #[inline(always)]
    fn end(self) -> bool {
        let own = ManuallyDrop::new(self);
        own.fork.takes_back(own.job.task(), own.job.latch())
    }
}

impl<F: FnOnce(&Fork) -> R, R> Drop for Pushed<'_, F, R> {
    fn drop(&mut self) {
        if self.fork.takes_back(self.job.task(), self.job.latch()) {
            // SAFETY: it was taken back, and nobody runs it.
            drop(unsafe { self.job.take() });
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
