//! Where a task runs when it is woken.

use std::sync::Arc;

use crate::lane::Lane;
use crate::local::Here;
use crate::worker;

/// Each task has one.
pub(crate) enum Home {
    Workers(Arc<Lane>),
    Thread(Arc<Here>),
}

/// A task that can run.
pub(crate) type Runnable = async_task::Runnable<Home>;

/// Makes it run. A function without captures: one with captures costs two atomic steps more, since the task could end, and drop them, before it returns.
/// So nothing of the home is used after the push.
pub(crate) fn schedule(runnable: Runnable) {
    match runnable.metadata() {
        Home::Thread(here) => Arc::clone(here).schedule(runnable),
        Home::Workers(lane) => match worker::of(lane) {
            Some(worker) => worker.push(runnable),
            // If the executor is no more, this cancels the task.
            None => drop(lane.handle().push(runnable)),
        },
    }
}
