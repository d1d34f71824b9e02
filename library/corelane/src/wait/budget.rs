//! A task that never has to wait lets others run.
//!
//! Each thread counts the steps of its tasks: futures that are ready at their first look. After [`STEPS`] of them the next future doesn't
//! look: it wakes its task, and is pending once. So are the other futures of this task, among which it may select, until one of them is
//! polled again: then the task has let others run.

use core::cell::Cell;
use core::ptr;
use core::task::{Poll, Waker};

use crate::memory::limit;

/// Steps until a task has to let others run: as many as Tokio's. In models none has to: their threads share one count.
const STEPS: u64 = limit(128, u64::MAX / 2);
/// Most futures of one task that are held up. They may belong to a loop that polls each future once.
const MOST_HELD_UP: u64 = 16;

/// What a thread knows of its tasks.
struct Tasks {
    /// Steps that were taken. From `STEPS` on, futures that were held up.
    taken: Cell<u64>,
    /// The task that was held up last: what its waker points to.
    held_up: Cell<*const ()>,
}

std::thread_local! {
    static TASKS: Tasks = const { Tasks { taken: Cell::new(0), held_up: Cell::new(ptr::null()) } };
}

/// What a future remembers.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    is_held_up: bool,
}

impl Budget {
    /// Before a first look. Pending: the task lets others run.
    #[inline(always)]
    pub(crate) fn poll_step(&mut self, waker: &Waker) -> Poll<()> {
        let is_left = TASKS.try_with(|tasks| tasks.taken.get() < STEPS);
        match is_left.unwrap_or(true) {
            true => Poll::Ready(()),
            false => self.hold_up(waker),
        }
    }

    #[cold]
    #[inline(never)]
    fn hold_up(&mut self, waker: &Waker) -> Poll<()> {
        let may_go_on = TASKS.try_with(|tasks| {
            let held_up = tasks.taken.get() - STEPS;
            let is_same = tasks.held_up.replace(waker.data()) == waker.data();
            let may_go_on = self.is_held_up || held_up == MOST_HELD_UP || (held_up > 0 && !is_same);
            tasks.taken.set(if may_go_on { 0 } else { STEPS + held_up + 1 });
            may_go_on
        });
        if may_go_on.unwrap_or(true) {
            return Poll::Ready(());
        }
        self.is_held_up = true;
        waker.wake_by_ref();
        Poll::Pending
    }
}

/// After a first look.
#[inline(always)]
pub(crate) fn count_step(is_ready: bool) {
    if is_ready {
        // A thread that is ending has no tasks.
        let _ = TASKS.try_with(|tasks| tasks.taken.set(tasks.taken.get() + 1));
    }
}
