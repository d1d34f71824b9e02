//! A task that never has to wait lets others run.
//!
//! Each thread counts the steps of its tasks: futures that are ready at their first look. After
//! each [`STEPS`] of them it reads the clock. After [`SLICE`] the next future doesn't look for an
//! item or room: it wakes its task, and is pending once. The other futures of this task, among
//! which it may select, are pending once too, until one of them is polled again: then the task has
//! let others run.
//!
//! A pending task costs much more than a step: its runtime may wake another thread, which takes the
//! task, and with it a side of the queue. So the slice is a time, and not a number of steps.

use core::cell::Cell;
use core::ptr;
use core::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::memory::limit;

/// Steps between two reads of the clock. In models the clock is not read, because their threads
/// share one count.
const STEPS: u64 = limit(128, u64::MAX / 2);
/// Time until a task has to let others run: less than a time slice of the system.
const SLICE: Duration = Duration::from_millis(1);
/// Most futures of one task that are held up. They may belong to a loop that polls each future
/// once.
const MOST_HELD_UP: u64 = 16;

/// What a thread knows of its tasks.
struct Tasks {
    /// Steps that were taken. From `STEPS` on, futures that were held up.
    taken: Cell<u64>,
    /// When the slice began. `None` until the first look at the clock.
    since: Cell<Option<Instant>>,
    /// The address to which the waker of the last held-up task points.
    held_up: Cell<*const ()>,
}

std::thread_local! {
    static TASKS: Tasks = const {
        Tasks { taken: Cell::new(0), since: Cell::new(None), held_up: Cell::new(ptr::null()) }
    };
}

impl Tasks {
    /// Whether the slice goes on. Then the next steps are counted.
    fn is_slice_left(&self) -> bool {
        if self.taken.get() != STEPS {
            return false;
        }
        let now = Instant::now();
        let since = self.since.get().unwrap_or(now);
        let is_left = now.duration_since(since) < SLICE;
        self.since.set(is_left.then_some(since));
        if is_left {
            self.taken.set(0);
        }
        is_left
    }
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
        match Self::is_left() {
            true => Poll::Ready(()),
            false => self.hold_up(waker),
        }
    }

    /// Whether a first look needs no [step](Self::poll_step).
    #[inline(always)]
    pub(crate) fn is_left() -> bool {
        TASKS.try_with(|tasks| tasks.taken.get() < STEPS).unwrap_or(true)
    }

    #[cold]
    #[inline(never)]
    fn hold_up(&mut self, waker: &Waker) -> Poll<()> {
        let may_go_on = TASKS.try_with(|tasks| {
            if tasks.is_slice_left() {
                return true;
            }
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
