//! Latches: a thread that needs the result of another thread waits at one.

use core::task::Waker;

use crate::memory::{AtomicU64, Ordering, UnsafeCell};

/// Set once, by one thread, and waited for by one thread. It may be freed as soon as it is set.
pub struct Latch {
    state: AtomicU64,
    /// Written by the waiting thread, before the state is [`SLEEPS`]. From then on only the other
    /// thread accesses it.
    waker: UnsafeCell<Option<Waker>>,
}

/// It isn't set.
const OPEN: u64 = 0;
/// It isn't set, and the waker is there.
const SLEEPS: u64 = 1;
const SET: u64 = 2;

// SAFETY: the state says which thread accesses the waker.
unsafe impl Sync for Latch {}

impl core::fmt::Debug for Latch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Latch").finish_non_exhaustive()
    }
}

impl Default for Latch {
    /// A latch that isn't set.
    fn default() -> Self {
        Self { state: AtomicU64::new(OPEN), waker: UnsafeCell::new(None) }
    }
}

impl Latch {
    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        // Acquire ↔ Release in `set`: the result.
        self.state.load(Ordering::Acquire) == SET
    }

    /// Has `waker` woken when the latch is set. Returns whether it is not set yet.
    ///
    /// # Safety
    ///
    /// It is called once, or again by the same thread after [`is_set`](Self::is_set).
    pub unsafe fn sleep(&self, waker: &Waker) -> bool {
        // SAFETY: the state is not `SLEEPS`, or the other thread is done, so only this thread
        // accesses the waker.
        self.waker.with_mut(|own| unsafe { *own = Some(waker.clone()) });
        // Release ↔ Acquire in `set`: the waker. Acquire ↔ Release in `set`, if it is set: the
        // result.
        self.state.compare_exchange(OPEN, SLEEPS, Ordering::Release, Ordering::Acquire).is_ok()
    }

    /// Sets it.
    ///
    /// # Safety
    ///
    /// `latch` exists until it is set. No other thread sets it.
    pub unsafe fn set(latch: *const Self) {
        // SAFETY: the latch is there until the exchange succeeds; `latch` is not used after that.
        let open = unsafe {
            // Release ↔ Acquire in `is_set` and `sleep`: the result. Acquire ↔ Release in `sleep`:
            // the waker.
            let state = &(*latch).state;
            state.compare_exchange(OPEN, SET, Ordering::Release, Ordering::Acquire)
        };
        if open.is_err() {
            // SAFETY: the state is `SLEEPS`, so only this thread accesses the waker, and the latch
            // is there until the store.
            let waker = unsafe {
                let waker = (*latch).waker.with_mut(|waker| (*waker).take());
                // Release ↔ Acquire in `is_set`: the result.
                (*latch).state.store(SET, Ordering::Release);
                waker
            };
            waker.expect("it was there before the state").wake();
        }
    }
}

/// A latch that is set when all its users have counted themselves out.
#[derive(Debug)]
pub struct Countdown {
    left: AtomicU64,
    latch: Latch,
}

impl Default for Countdown {
    /// One user.
    fn default() -> Self {
        Self { left: AtomicU64::new(1), latch: Latch::default() }
    }
}

impl Countdown {
    /// One more user. The caller is a user.
    pub fn count_in(&self) {
        // Relaxed: the latch can't be set meanwhile.
        self.left.fetch_add(1, Ordering::Relaxed);
    }

    /// One user is done.
    ///
    /// # Safety
    ///
    /// It has been counted in, or was there first, and doesn't use `countdown` after this.
    pub unsafe fn count_out(countdown: *const Self) {
        // SAFETY: it is there until it is set, for which this one was missing.
        unsafe {
            // Minus one. Release: everything that this user did. Acquire: everything that all
            // others did.
            if (*countdown).left.fetch_add(u64::MAX, Ordering::AcqRel) == 1 {
                Latch::set(&raw const (*countdown).latch);
            }
        }
    }

    /// Set when all are counted out.
    pub fn latch(&self) -> &Latch {
        &self.latch
    }
}
