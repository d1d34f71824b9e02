//! Tasks of one thread.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use async_task::Builder;

use crate::home::{Home, Runnable, schedule};
use crate::join::JoinHandle;
use crate::spawned::{Seat, Spawned, Tasks};

/// A thread in `block_on`, and its tasks.
#[derive(Default)]
pub(crate) struct Here {
    queue: Mutex<Queue>,
    tasks: Tasks,
}

/// Tasks that can run. Any thread may wake one.
#[derive(Default)]
struct Queue {
    runnables: VecDeque<Runnable>,
    waker: Option<Waker>,
}

thread_local! {
    /// That of each `block_on` in which the thread is.
    static HERE: RefCell<Vec<Arc<Here>>> = const { RefCell::new(Vec::new()) };
}

impl Seat for Here {
    fn current() -> Arc<Self> {
        let here = HERE.with_borrow(|all| all.last().cloned());
        here.expect("`spawn_local` is for threads in `block_on`")
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Here {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn schedule(&self, runnable: Runnable) {
        let mut queue = self.queue();
        queue.runnables.push_back(runnable);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Spawns a task that stays on this thread, and need not be `Send`. It runs while the thread is in [`block_on`](crate::Executor::block_on), and is cancelled when that returns.
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

/// Tasks that run one after the other before the future of `block_on` is polled again.
const AT_ONCE: usize = 64;

/// Runs a future, and the tasks that are spawned for this thread meanwhile.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let here = Arc::new(Here::default());
    HERE.with_borrow_mut(|all| all.push(Arc::clone(&here)));
    let _leave = Leave;
    let mut future = pin!(future);
    futures_lite::future::block_on(poll_fn(|context| {
        here.queue().waker = Some(context.waker().clone());
        crate::budget::refill();
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        for _ in 0..AT_ONCE {
            let Some(runnable) = here.queue().runnables.pop_front() else { return Poll::Pending };
            crate::budget::refill();
            runnable.run();
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }))
}

/// The thread leaves `block_on`: its tasks are cancelled.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        crate::budget::end();
        let here = HERE.with_borrow(|all| all.last().cloned()).expect("it has entered");
        // A future that is dropped may wake others.
        loop {
            here.tasks.wake_all();
            let runnables = mem::take(&mut here.queue().runnables);
            if runnables.is_empty() {
                // Another thread may be about to push one that it has woken.
                if here.tasks.len() == 0 {
                    break;
                }
                std::thread::yield_now();
            }
        }
        // Not before: destructors may spawn tasks.
        HERE.with_borrow_mut(Vec::pop);
    }
}
