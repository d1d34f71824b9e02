//! A thread or task that waits for a partner, and can be claimed once.

use alloc::sync::Arc;
use core::mem;
use core::task::Waker;
use std::time::Instant;

use crate::memory::{AtomicU64, Mutex, Ordering, Parker};
use crate::wait::bell::{Look, wake_each};
use crate::wait::thread::{ThreadWait, is_over};

/// A thread or task that waits, perhaps for several things.
pub(super) struct Party {
    /// What has been chosen for it: an index, plus 1. 0 while it waits.
    chosen: AtomicU64,
    waker: Mutex<Waker>,
}

/// The value of a party that waits no more.
const GIVEN_UP: u64 = u64::MAX;

impl Party {
    pub(super) fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self { chosen: AtomicU64::new(0), waker: Mutex::new(waker.clone()) })
    }

    pub(super) fn claim(&self, choice: u64) -> bool {
        // Relaxed: packets have locks.
        self.chosen.compare_exchange(0, choice, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The index of what was chosen.
    pub(super) fn chosen(&self) -> Option<usize> {
        match self.chosen.load(Ordering::Relaxed) {
            0 | GIVEN_UP => None,
            choice => Some(choice as usize - 1),
        }
    }

    /// Ends the wait. Returns the index that was chosen before.
    pub(super) fn give_up(&self) -> Option<usize> {
        self.claim(GIVEN_UP);
        self.chosen()
    }

    pub(super) fn wake(&self) {
        wake_each([self.waker()]);
    }

    pub(super) fn waker(&self) -> Waker {
        self.waker.lock().clone()
    }

    pub(super) fn set_waker(&self, waker: &Waker) {
        let mut known = self.waker.lock();
        if !known.will_wake(waker) {
            let old = mem::replace(&mut *known, waker.clone());
            drop(known);
            drop(old);
        }
    }
}

/// Blocks the thread until `poll` is done. `None` if that was not before `until`.
pub(super) fn meet<R>(
    until: Option<Instant>,
    mut poll: impl FnMut(&Waker) -> Look<R>,
) -> Option<R> {
    let (parker, mut wait) = (Parker::new(), ThreadWait::begin());
    loop {
        if let Look::Done(found) = poll(parker.waker()) {
            wait.found();
            return Some(found);
        }
        if is_over(until) {
            return None;
        }
        if !wait.again() {
            parker.park(until);
        }
    }
}
