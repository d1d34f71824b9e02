//! The future of a task, and the list of those that wait.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use slab::Slab;

use crate::panics::{Outcome, quietly};

/// The wakers of tasks that have waited, and are not done: they are cancelled at the executor's
/// end. Tasks that have never waited are in a queue, or done.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Slab<Waker>>);

/// A worker, or a thread in `block_on`: it polls tasks.
pub(crate) trait Seat {
    /// That of the calling thread.
    fn current() -> Arc<Self>;
    fn tasks(&self) -> &Tasks;
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Slab<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of tasks that have waited, and are not done.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Makes all tasks runnable. If no thread runs them, that cancels them.
    pub(crate) fn wake_all(&self) {
        let wakers: Vec<_> = self.lock().iter().map(|(_, waker)| waker.clone()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The future of a task. A panic is its result, also a panic of its destructor, unless the task is
/// cancelled.
pub(crate) struct Spawned<F, S: Seat> {
    /// `None` when it has ended.
    future: Option<F>,
    /// Where its waker is, and its key there. `None` if it has not waited yet.
    listed: Option<(Arc<S>, usize)>,
}

impl<F, S: Seat> Spawned<F, S> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: Some(future), listed: None }
    }
}

impl<F: Future, S: Seat> Future for Spawned<F, S> {
    type Output = Outcome<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future is pinned as the whole is, and never moved. `listed` need not be
        // pinned.
        let Self { future, listed } = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(future) };
        let poll = || {
            let running = future.as_mut().as_pin_mut().expect("it has not ended");
            running.poll(context).map(|output| {
                let outcome = Outcome::new(Ok(output));
                future.set(None);
                outcome
            })
        };
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => {
                listed.get_or_insert_with(|| {
                    let seat = S::current();
                    let key = seat.tasks().lock().insert(context.waker().clone());
                    (seat, key)
                });
                Poll::Pending
            }
            Ok(ready) => ready,
            Err(panic) => Poll::Ready(Outcome::new(Err(panic))),
        }
    }
}

impl<F, S: Seat> Drop for Spawned<F, S> {
    fn drop(&mut self) {
        if let Some((seat, key)) = self.listed.take() {
            let waker = seat.tasks().lock().try_remove(key);
            // Without the lock.
            drop(waker);
        }
        if self.future.is_some() {
            quietly(|| self.future = None);
        }
    }
}
