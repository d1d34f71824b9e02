//! The future of a task, and the list of those that are not done.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use slab::Slab;

/// The wakers of tasks that are not done: the end of their executor cancels them.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Slab<Waker>>);

/// What spawns tasks.
pub(crate) trait Spawner {
    fn tasks(&self) -> &Tasks;
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Slab<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of tasks that are not done.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Adds a task, of which `make` returns the waker and more. It gets the task's key.
    pub(crate) fn add<R>(&self, make: impl FnOnce(usize) -> (Waker, R)) -> R {
        let mut tasks = self.lock();
        let entry = tasks.vacant_entry();
        let (waker, made) = make(entry.key());
        entry.insert(waker);
        made
    }

    /// Makes all tasks runnable. If nobody runs them, that cancels them.
    pub(crate) fn wake_all(&self) {
        let wakers: Vec<_> = self.lock().iter().map(|(_, waker)| waker.clone()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The future of a task. Its panic is its result.
pub(crate) struct Spawned<F, S: Spawner> {
    pub(crate) key: usize,
    pub(crate) spawner: Arc<S>,
    pub(crate) future: F,
}

impl<F: Future, S: Spawner> Future for Spawned<F, S> {
    type Output = thread::Result<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned as the whole is, and never moved.
        let future = unsafe { self.map_unchecked_mut(|spawned| &mut spawned.future) };
        match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

impl<F, S: Spawner> Drop for Spawned<F, S> {
    fn drop(&mut self) {
        let waker = self.spawner.tasks().lock().try_remove(self.key);
        // Without the lock.
        drop(waker);
    }
}
