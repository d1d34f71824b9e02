//! Which workers sleep, and how many search: so that a task wakes one of them, and not all.
//!
//! A thread that has pushed a task wakes a sleeper, unless a worker searches already: that one finds the task. The worker that ends the last search
//! wakes another one if there is more to find. So sleepers wake one after the other, as long as there are tasks for them.
//!
//! No task is forgotten while workers sleep:
//!
//! 1. *The thread that pushes finds a sleeper, or the sleeper finds the task.* A worker announces that it sleeps, has a fence, and looks at all queues once more.
//!    The other thread pushes, has a fence, and looks for sleepers. Its fence is the light one of a [`Barrier`].
//! 2. *If it finds that a worker searches, that worker finds the task.* A worker that gives up is counted out before its fence and last look, and one that has found another task before
//!    the look with which it decides whether to wake another one.
//! 3. *A woken worker is counted as searching by the thread that wakes it*, with the lock. So no thread relies on a search that never begins.

use alloc::vec::Vec;
use core::task::Waker;
use core::{fmt, mem};

use crate::memory::{AtomicU64, Barrier, Condvar, Mutex, Ordering, fence};
use crate::pad::Padded;

/// Workers that sleep or search.
pub struct Idle {
    /// Number of sleepers. Nobody writes it while nobody goes to sleep or wakes up.
    sleeping: Padded<AtomicU64>,
    searching: Padded<AtomicU64>,
    barrier: Barrier,
    sleepers: Mutex<Vec<(usize, Waker)>>,
    /// All workers sleep.
    quiet: Condvar,
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idle").finish_non_exhaustive()
    }
}

impl Default for Idle {
    /// Nobody sleeps or searches.
    fn default() -> Self {
        Self {
            sleeping: Padded(AtomicU64::new(0)),
            searching: Padded(AtomicU64::new(0)),
            barrier: Barrier::new(),
            sleepers: Mutex::new(Vec::new()),
            quiet: Condvar::new(),
        }
    }
}

impl Idle {
    /// A task was pushed: wakes a sleeper, if there is one, unless a worker searches.
    #[inline(always)] // the price of each push
    pub fn notify(&self) {
        if self.barrier.light_load(&self.sleeping) != 0 {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        // Not the light fence: the worker that ends a search has no heavy one.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if self.searching.load(Ordering::Relaxed) == 0 {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        let mut sleepers = self.sleepers.lock();
        // Relaxed: the lock orders what other wakers have added.
        if self.searching.load(Ordering::Relaxed) > 0 {
            return;
        }
        let Some((_, waker)) = sleepers.pop() else { return };
        self.searching.fetch_add(1, Ordering::Relaxed);
        self.tell(&sleepers);
        // Without the lock: the waker's code may push, too.
        drop(sleepers);
        waker.wake();
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        let mut sleepers = self.sleepers.lock();
        let all = mem::take(&mut *sleepers);
        self.searching.fetch_add(all.len() as u64, Ordering::Relaxed);
        self.tell(&sleepers);
        drop(sleepers);
        all.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn tell(&self, sleepers: &[(usize, Waker)]) {
        // Relaxed: a thread that sees a sleeper takes the lock.
        self.sleeping.store(sleepers.len() as u64, Ordering::Relaxed);
    }

    /// A worker begins to search.
    pub fn begin(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker that has searched goes on to a task. If no other one searches, and there is more, it wakes one.
    pub fn found(&self, is_more: impl FnOnce() -> bool) {
        if self.end() {
            // Pairs with the fence in `wake`.
            fence(Ordering::SeqCst);
            if self.sleeping.load(Ordering::Relaxed) != 0 && is_more() {
                self.wake_one();
            }
        }
    }

    /// A search ends. Whether no other worker searches.
    fn end(&self) -> bool {
        // Minus one.
        self.searching.fetch_add(u64::MAX, Ordering::Relaxed) == 1
    }

    /// A worker that has searched in vain is about to sleep, and looks once more. Whether it may: otherwise it goes on to search.
    pub fn announce(&self, worker: usize, waker: &Waker, is_more: impl FnOnce() -> bool) -> bool {
        self.end();
        let mut sleepers = self.sleepers.lock();
        sleepers.push((worker, waker.clone()));
        self.tell(&sleepers);
        drop(sleepers);
        // Pairs with the fences in `notify` and `wake`. The system may refuse it.
        if self.barrier.heavy() && !is_more() {
            return true;
        }
        self.withdraw(worker);
        false
    }

    /// The worker sleeps no more, and is counted as searching.
    pub fn withdraw(&self, worker: usize) {
        let mut sleepers = self.sleepers.lock();
        // If it is not there, it was woken, and counted.
        if let Some(place) = sleepers.iter().position(|&(number, _)| number == worker) {
            let own = sleepers.remove(place);
            self.searching.fetch_add(1, Ordering::Relaxed);
            self.tell(&sleepers);
            drop(sleepers);
            drop(own);
        }
    }

    /// Whether the worker hasn't been woken. From now on `waker` wakes it.
    pub fn still_sleeps(&self, worker: usize, waker: &Waker) -> bool {
        let mut sleepers = self.sleepers.lock();
        let Some((_, known)) = sleepers.iter_mut().find(|(number, _)| *number == worker) else {
            return false;
        };
        let old = (!known.will_wake(waker)).then(|| mem::replace(known, waker.clone()));
        // Without the lock: a waker's code may push, too.
        drop(sleepers);
        drop(old);
        true
    }

    /// Tells threads that wait for it if all `workers` sleep. Whether they do.
    pub fn tell_if_quiet(&self, workers: usize) -> bool {
        let is_quiet = self.sleepers.lock().len() == workers;
        if is_quiet {
            self.quiet.notify_all();
        }
        is_quiet
    }

    /// Waits until all `workers` sleep, and `is_over`.
    pub fn wait_until_quiet(&self, workers: usize, is_over: impl Fn() -> bool) {
        let mut sleepers = self.sleepers.lock();
        while sleepers.len() != workers || !is_over() {
            sleepers = self.quiet.wait(sleepers);
        }
    }
}
