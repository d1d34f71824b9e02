//! Where tasks for the workers are spawned.

use std::future::Future;
use std::sync::Arc;

use async_task::Builder;
use corelane::steal::pool::Handle;

use crate::home::{Home, Runnable, schedule};
use crate::join::JoinHandle;
use crate::spawned::{Seat, Spawned, Tasks};
use crate::watch::Watch;
use crate::worker;

/// One spawner for each worker, and one for all threads that are no workers. So workers share no
/// counter and no lock when they spawn tasks.
pub(crate) struct Spawner {
    handle: Arc<Handle<Runnable>>,
    watch: Arc<Watch>,
    tasks: Tasks,
}

impl Seat for Spawner {
    fn current() -> Arc<Self> {
        worker::spawner().expect("only workers poll tasks")
    }

    fn tasks(&self) -> &Tasks {
        &self.tasks
    }
}

impl Spawner {
    pub(crate) fn new(handle: Arc<Handle<Runnable>>, watch: Arc<Watch>) -> Arc<Self> {
        Arc::new(Self { handle, watch, tasks: Tasks::default() })
    }

    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    pub(crate) fn is_of_same_executor(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle)
    }

    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let home = Builder::new().metadata(Home::Workers(Arc::clone(self)));
        let (runnable, task) = home.spawn(|_| Spawned::<F, Self>::new(future), schedule);
        runnable.schedule();
        JoinHandle::new(task)
    }

    /// Through which other threads push.
    pub(crate) fn handle(&self) -> Arc<Handle<Runnable>> {
        Arc::clone(&self.handle)
    }
}
