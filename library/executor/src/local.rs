//! Tasks of one thread.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use async_task::Builder;

use crate::home::{Home, Runnable, schedule};
use crate::join::JoinHandle;
use crate::spawned::{Seat, Spawned, Tasks};
use crate::spawner::Spawner;
use crate::{budget, worker};

/// A thread in `block_on`, and its tasks.
pub(crate) struct Here {
    thread: Thread,
    /// The future was woken.
    is_woken: AtomicBool,
    /// Tasks that can run. Any thread may wake one.
    runnables: Mutex<VecDeque<Runnable>>,
    tasks: Tasks,
}

impl Seat for Here {
    fn current() -> Arc<Self> {
        worker::here().expect("`spawn_local` is for threads in `block_on`")
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Wake for Here {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release ↔ Acquire in `block_on`: the writes for which the future is woken.
        self.is_woken.swap(true, Ordering::Release);
        // Even if it was woken before: the thread may sleep in an inner `block_on`, which doesn't
        // poll this future.
        self.thread.unpark();
    }
}

/// Tasks that run one after the other before the future of `block_on` is polled again.
const AT_ONCE: usize = 64;

impl Here {
    fn new() -> Self {
        Self {
            thread: thread::current(),
            is_woken: AtomicBool::new(true),
            runnables: Mutex::default(),
            tasks: Tasks::default(),
        }
    }

    fn runnables(&self) -> MutexGuard<'_, VecDeque<Runnable>> {
        self.runnables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn schedule(&self, runnable: Runnable) {
        self.runnables().push_back(runnable);
        self.thread.unpark();
    }

    /// Whether tasks can run.
    pub(crate) fn has_some(&self) -> bool {
        !self.runnables().is_empty()
    }

    /// Runs some tasks that can run. Returns whether there were any.
    pub(crate) fn run_some(&self) -> bool {
        for done in 0..AT_ONCE {
            // Without the lock.
            let runnable = self.runnables().pop_front();
            let Some(runnable) = runnable else { return done > 0 };
            budget::refill();
            runnable.run();
        }
        true
    }
}

/// Spawns a task that stays on this thread, and need not be `Send`. It runs while the thread is in
/// [`block_on`](crate::Executor::block_on), and is cancelled when that returns.
///
/// # Panics
///
/// If the thread is not in `block_on`.
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    let home = Builder::new().metadata(Home::Thread(Here::current()));
    let (runnable, task) = home.spawn_local(|_| Spawned::<F, Here>::new(future), schedule);
    runnable.schedule();
    JoinHandle::new(task)
}

/// Runs a future, and the tasks that are spawned for this thread meanwhile. Tasks of an outer
/// `block_on` run, too: the future may wait for them.
pub(crate) fn block_on<F: Future>(spawner: &Arc<Spawner>, future: F) -> F::Output {
    let here = Arc::new(Here::new());
    worker::enter(spawner, Some(&here), || {
        let _leave = Leave { here: &here, steps: budget::left() };
        let waker = Waker::from(Arc::clone(&here));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            // Acquire ↔ Release in `wake_by_ref`.
            if here.is_woken.swap(false, Ordering::Acquire) {
                budget::refill();
                if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                    return output;
                }
            }
            // A poll may have parked the thread itself, and so used up the token of `unpark`. Then
            // the future's wake, or the task, is seen here.
            if !worker::run_here() && !here.is_woken.load(Ordering::Relaxed) {
                thread::park();
            }
        }
    })
}

/// The thread leaves `block_on`: its tasks are cancelled.
struct Leave<'a> {
    here: &'a Here,
    /// The steps of the task that has called `block_on`.
    steps: Option<u32>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        budget::restore(self.steps);
        // A future that is dropped may wake others. Destructors may spawn tasks.
        loop {
            self.here.tasks.wake_all();
            let runnables = mem::take(&mut *self.here.runnables());
            if runnables.is_empty() {
                // Another thread may be about to push a task that it has woken.
                if self.here.tasks.len() == 0 {
                    break;
                }
                thread::yield_now();
            }
        }
    }
}
