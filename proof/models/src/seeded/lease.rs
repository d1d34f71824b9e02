//! A lease that is revoked once, while its holder may be at work.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicBool, Barrier};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

use crate::Exploration;
use crate::explore::{both, explore};

/// `leased`. Broken: the other tenant looks whether the holder is at work, and then revokes the
/// lease.
struct Lease<const BROKEN: bool> {
    is_revoked: AtomicBool,
    is_at_work: AtomicBool,
    barrier: Barrier,
    value: UnsafeCell<u64>,
}

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl<const BROKEN: bool> Sync for Lease<BROKEN> {}

impl<const BROKEN: bool> Lease<BROKEN> {
    /// The holder's use.
    fn hold(&self) {
        self.is_at_work.store(true, Relaxed);
        self.barrier.light();
        if !self.is_revoked.load(Relaxed) {
            self.add();
        }
        self.is_at_work.store(false, Release);
    }

    /// The other tenant's use, unless the holder is at work.
    fn revoke(&self) {
        let was_idle = BROKEN && !self.is_at_work.load(Acquire);
        self.is_revoked.store(true, Relaxed);
        self.barrier.heavy();
        if was_idle || !self.is_at_work.load(Acquire) {
            self.add();
        }
    }

    fn add(&self) {
        // SAFETY: loom has found no concurrent access, otherwise it would have panicked.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }
}

/// The lease is revoked while its holder uses the value.
pub(crate) fn revoked_in_use<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let no = || AtomicBool::new(false);
        let lease = Arc::new(Lease::<BROKEN> {
            is_revoked: no(),
            is_at_work: no(),
            barrier: Barrier::new(),
            value: UnsafeCell::new(0),
        });
        let held = lease.clone();
        both(move || held.hold(), || lease.revoke());
    })
}
