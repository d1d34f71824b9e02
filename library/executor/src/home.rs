//! The place where a task runs when it is woken.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

use corelane::wait::Closed;

use crate::local::Here;
use crate::spawner::Spawner;
use crate::worker;

/// Each task has one.
pub(crate) enum Home {
    Workers(Arc<Spawner>),
    Thread(Arc<Here>),
}

/// A task that can run.
pub(crate) type Runnable = async_task::Runnable<Home>;

/// Makes it run. This is a function without captures: captures would cost two more atomic steps,
/// since the task could end, and drop them, before the function returns. So nothing of the home is
/// used after the push.
pub(crate) fn schedule(runnable: Runnable) {
    match runnable.metadata() {
        Home::Thread(here) => Arc::clone(here).schedule(runnable),
        Home::Workers(spawner) => match worker::of(spawner) {
            Some(worker) => worker.push(runnable),
            // If the executor has ended, this cancels the task.
            None => cancel(spawner.handle().push(runnable)),
        },
    }
}

/// Drops a task that no thread runs any more. Its drop may wake another task, which is dropped too,
/// and so on. They are dropped one after the other, so that the stack doesn't grow.
fn cancel(pushed: Result<(), Closed<Runnable>>) {
    thread_local! {
        /// The next tasks, while the thread drops one. It has no destructor, so it works also while
        /// the thread ends.
        static NEXT: Cell<Option<NonNull<RefCell<Vec<Runnable>>>>> = const { Cell::new(None) };
    }
    let Err(Closed(runnable)) = pushed else { return };
    if let Some(next) = NEXT.get() {
        // SAFETY: the outermost call has set it, and takes it back before it returns. To drop a
        // task doesn't panic.
        unsafe { next.as_ref() }.borrow_mut().push(runnable);
        return;
    }
    let next = RefCell::default();
    NEXT.set(Some(NonNull::from(&next)));
    let mut first = Some(runnable);
    while let Some(runnable) = first {
        drop(runnable);
        first = next.borrow_mut().pop();
    }
    NEXT.set(None);
}
