//! Where a task runs when it is woken.

use std::cell::RefCell;
use std::sync::Arc;

use corelane::wait::Closed;

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
            None => cancel(lane.handle().push(runnable)),
        },
    }
}

/// Drops a task that nobody runs any more. That may wake another one, and so on: they are dropped one after the other, so that the stack doesn't grow.
fn cancel(pushed: Result<(), Closed<Runnable>>) {
    thread_local! {
        /// While the thread drops one, the next ones.
        static NEXT: RefCell<Option<Vec<Runnable>>> = const { RefCell::new(None) };
    }
    let Err(Closed(runnable)) = pushed else { return };
    let mut runnable = Some(runnable);
    let is_outermost = NEXT.try_with(|next| {
        let next = &mut *next.borrow_mut();
        match next {
            Some(next) => next.extend(runnable.take()),
            None => *next = Some(Vec::new()),
        }
        runnable.is_some()
    });
    if !is_outermost.unwrap_or(false) {
        return;
    }
    while let Some(first) = runnable {
        drop(first);
        runnable = NEXT.with_borrow_mut(|next| next.as_mut().and_then(Vec::pop));
    }
    NEXT.set(None);
}
