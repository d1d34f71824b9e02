//! Numbers of 128 bits, for which the standard library has no atomics.

use core::cell::UnsafeCell;

use super::Ordering;

/// A number of 128 bits. In a simulation an access is one step. Outside of a simulation only one
/// thread may access it.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicU128(UnsafeCell<u128>);

// SAFETY: while a simulation runs, its threads are coroutines of one thread; outside of one no two
// threads share a simulated queue.
unsafe impl Sync for AtomicU128 {}

impl AtomicU128 {
    /// An atomic that holds `value`.
    pub fn new(value: u128) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reads the value.
    #[track_caller]
    pub fn load(&self, _: Ordering) -> u128 {
        // SAFETY: only the threads of this simulation access the value, or one thread outside of
        // it.
        unsafe { coherence::load(self.0.get()) }
    }

    /// Writes `new` if the value is `current`; returns the old value.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: u128,
        new: u128,
        _: Ordering,
        _: Ordering,
    ) -> Result<u128, u128> {
        let update = |old| (old == current).then_some(new);
        // SAFETY: as in `load`.
        let old = unsafe { coherence::rmw(self.0.get(), update) };
        if old == current { Ok(old) } else { Err(old) }
    }
}

impl Drop for AtomicU128 {
    fn drop(&mut self) {
        coherence::forget(self.0.get());
    }
}

/// There is always such an exchange.
pub fn can_exchange_two_words() -> bool {
    true
}
