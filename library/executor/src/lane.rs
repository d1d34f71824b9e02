//! Where tasks for the workers are spawned.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_task::{Builder, Runnable};
use corelane::steal::pool::Handle;

use crate::join::JoinHandle;
use crate::spawned::{Spawned, Spawner, Tasks};
use crate::worker;

/// What all lanes of an executor share.
pub(crate) struct Shared {
    pub(crate) handle: Handle<Runnable>,
    pub(crate) has_ended: AtomicBool,
}

/// Where one worker spawns tasks, or all threads that are no workers. So workers share no counter and no lock for each task.
pub(crate) struct Lane {
    shared: Arc<Shared>,
    tasks: Tasks,
}

impl Spawner for Lane {
    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Lane {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared, tasks: Tasks::default() })
    }

    pub(crate) fn is_of_same_executor(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let (runnable, task) = self.tasks.add(|key| {
            let (spawner, lane) = (Arc::clone(self), Arc::clone(self));
            let spawned = Spawned { key, spawner, future };
            let made = Builder::new().spawn(|()| spawned, move |task| lane.schedule(task));
            (made.0.waker(), made)
        });
        match self.shared.has_ended.load(Ordering::Acquire) {
            // Nobody would cancel it later.
            true => drop(runnable),
            false => runnable.schedule(),
        }
        JoinHandle::new(task)
    }

    fn schedule(&self, runnable: Runnable) {
        let refused = worker::push(self, runnable)
            .or_else(|runnable| self.shared.handle.push(runnable).map_err(|closed| closed.0));
        // The executor is no more: the task is cancelled.
        drop(refused);
    }
}
