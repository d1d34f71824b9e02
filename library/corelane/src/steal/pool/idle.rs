//! Which workers sleep, and how many search. So a task wakes one of them, and not all.
//!
//! A thread that has pushed a task wakes a sleeper, unless a worker searches already: this worker
//! finds the task. The worker that ends the last search wakes another worker if there are more
//! tasks. So sleepers wake one after the other, as long as there are tasks for them.
//!
//! No task is forgotten while workers sleep:
//!
//! 1. *The thread that pushes finds a sleeper, or the sleeper finds the task*, as at each bell: a
//!    worker announces that it sleeps, has a fence, and looks at all queues once more. The other
//!    thread pushes, has a fence, and looks for sleepers.
//! 2. *If the pushing thread finds that a worker searches, this worker finds the task.* A worker
//!    that gives up is counted out before its fence and last look. A worker that has found another
//!    task is counted out before the look with which it decides whether to wake another worker.
//! 3. *While a worker seizes tasks of a queue, others need not look there*: when it is done, it
//!    tells them, as in 2, if there are more tasks.
//! 4. *A woken worker is counted as searching by the thread that wakes it*, while this thread has
//!    the bell's lock. So no thread relies on a search that never begins.

use core::fmt;
use core::task::Waker;

use crate::memory::{AtomicU64, Condvar, Mutex, Ordering, fence};
use crate::pad::Padded;
use crate::wait::bell::Bell;

/// Workers that sleep or search.
pub struct Idle {
    bell: Bell,
    searching: Padded<AtomicU64>,
    /// All workers sleep.
    quiet: Condvar,
    /// Threads that wait for that.
    waiting: Mutex<usize>,
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idle").finish_non_exhaustive()
    }
}

impl Default for Idle {
    /// No worker sleeps or searches.
    fn default() -> Self {
        Self {
            bell: Bell::default(),
            searching: Padded(AtomicU64::new(0)),
            quiet: Condvar::new(),
            waiting: Mutex::new(0),
        }
    }
}

impl Idle {
    /// A task was pushed: wakes a sleeper, if there is one, unless a worker searches.
    #[inline(always)] // the price of each push
    pub fn notify(&self) {
        // Relaxed: the fence of the thread that rings the bell orders it, and the lock orders what
        // other such threads have added.
        self.bell.ring_if(|| self.searching.load(Ordering::Relaxed) == 0, || self.begin());
    }

    /// The same, if there is a task. This is only checked when the look at the bell isn't enough.
    #[inline(always)]
    pub(super) fn notify_if(&self, is_more: impl FnOnce() -> bool) {
        if !self.bell.is_quiet() && is_more() {
            self.notify();
        }
    }

    /// The fence of a thread that has pushed a task, and then looks whether another thread will
    /// call [`wake`](Self::wake).
    #[inline(always)]
    pub fn light_fence(&self) {
        self.bell.light_fence();
    }

    /// Wakes a sleeper if there is more. Tasks that were pushed before a [light
    /// fence](Self::light_fence) are seen.
    pub fn wake(&self, is_more: impl FnOnce() -> bool) {
        // If the system refuses the fence, a task that is not seen now is seen the next time.
        _ = self.bell.heavy_fence();
        if is_more() {
            self.notify();
        }
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        while self.bell.ring_if(|| true, || self.begin()) {}
    }

    /// A worker begins to search.
    pub fn begin(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker that has searched goes on to a task. If no other worker searches, and there are
    /// more tasks, it wakes one.
    pub fn found(&self, is_more: impl FnOnce() -> bool) {
        if self.end() {
            // Pairs with the fence of a thread that has pushed a task, and found this worker
            // searching.
            fence(Ordering::SeqCst);
            if is_more() {
                self.notify();
            }
        }
    }

    /// A search ends. Whether no other worker searches.
    fn end(&self) -> bool {
        // Minus one. Release ↔ the fence of a worker that is about to sleep: this worker no longer
        // seizes tasks.
        self.searching.fetch_add(u64::MAX, Ordering::Release) == 1
    }

    /// A worker that has found no task is about to sleep, and looks once more. Returns the
    /// sleeper's number, or `None` if it goes on searching.
    pub fn announce(&self, waker: &Waker, is_more: impl FnOnce() -> bool) -> Option<u64> {
        self.end();
        let entry = self.bell.enter(waker);
        // The system may refuse the fence.
        if Bell::fence([(&self.bell, entry)].into_iter()) && !is_more() {
            return Some(entry.number);
        }
        self.withdraw(entry.number);
        None
    }

    /// The sleeper no longer sleeps, and is counted as searching.
    pub fn withdraw(&self, sleeper: u64) {
        // A woken sleeper is counted already.
        if !self.bell.withdraw(sleeper) {
            self.begin();
        }
    }

    /// Whether the sleeper hasn't been woken. From now on `waker` wakes it. A woken sleeper is
    /// counted as searching.
    pub fn still_sleeps(&self, sleeper: u64, waker: &Waker) -> bool {
        self.bell.still_sleeps(sleeper, waker)
    }

    /// If all `workers` sleep, tells the threads that wait for this. Returns whether they do.
    pub fn tell_if_quiet(&self, workers: usize) -> bool {
        let is_quiet = self.bell.len() == workers;
        // A notification that wakes no thread costs a system call.
        if is_quiet && *self.waiting.lock() != 0 {
            self.quiet.notify_all();
        }
        is_quiet
    }

    /// Waits until all `workers` sleep, and `is_over`.
    pub fn wait_until_quiet(&self, workers: usize, is_over: impl Fn() -> bool) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        while !is_over() || self.bell.len() != workers {
            waiting = self.quiet.wait(waiting);
        }
        *waiting -= 1;
    }
}
