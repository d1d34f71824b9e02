//! Which executor, and which of its workers, the calling thread belongs to.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;

use corelane::steal::pool::Local;

use crate::home::Runnable;
use crate::lane::Lane;

/// A worker while it runs a task.
#[derive(Clone, Copy)]
struct AtWork {
    local: NonNull<Local<Runnable>>,
    lane: NonNull<Lane>,
}

thread_local! {
    static AT_WORK: Cell<Option<AtWork>> = const { Cell::new(None) };
    /// The executor that a thread has entered that is not a worker.
    static ENTERED: RefCell<Vec<Arc<Lane>>> = const { RefCell::new(Vec::new()) };
}

/// Restores what was before, also when a task panics.
struct Restore(Option<AtWork>);

impl Drop for Restore {
    fn drop(&mut self) {
        AT_WORK.set(self.0);
    }
}

/// Runs a task on its worker: what the task wakes and spawns meanwhile goes to this worker.
pub(crate) fn run(local: &mut Local<Runnable>, lane: &Arc<Lane>, runnable: Runnable) {
    let lane = NonNull::from(&**lane);
    let _before = Restore(AT_WORK.replace(Some(AtWork { local: local.into(), lane })));
    crate::budget::refill();
    runnable.run();
}

/// The calling worker, if it is one of this lane's executor.
pub(crate) fn of(lane: &Lane) -> Option<Worker> {
    let at_work = AT_WORK.try_with(Cell::get).ok()??;
    // SAFETY: `run` has set it, and takes it back before it returns. Until then the lane is alive.
    let is_same = unsafe { at_work.lane.as_ref() }.is_of_same_executor(lane);
    is_same.then_some(Worker(at_work.local))
}

/// The calling worker, while it runs a task.
pub(crate) struct Worker(NonNull<Local<Runnable>>);

impl Worker {
    pub(crate) fn push(self, runnable: Runnable) {
        // SAFETY: as in `of`. `run` has the only reference and doesn't use it meanwhile, and `Local::push` runs no code of others.
        unsafe { (*self.0.as_ptr()).push(runnable) };
    }
}

/// The lane of the calling thread's executor.
pub(crate) fn lane() -> Option<Arc<Lane>> {
    match AT_WORK.get() {
        // SAFETY: as in `push`. Lanes are made by `Arc::new`, and this thread's worker has a reference.
        Some(AtWork { lane, .. }) => unsafe {
            Arc::increment_strong_count(lane.as_ptr());
            Some(Arc::from_raw(lane.as_ptr()))
        },
        None => ENTERED.with_borrow(|entered| entered.last().cloned()),
    }
}

/// Until it is dropped, the calling thread belongs to an executor.
pub(crate) struct Entered;

pub(crate) fn enter(lane: &Arc<Lane>) -> Entered {
    ENTERED.with_borrow_mut(|entered| entered.push(Arc::clone(lane)));
    Entered
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
        drop(left);
    }
}
