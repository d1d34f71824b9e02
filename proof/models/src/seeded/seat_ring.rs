//! What `seatring` does to let consumers look at a record again.

use std::sync::Arc;

use corelane_loom::memory::{AtomicU64, Ordering};

use crate::Exploration;
use crate::explore::{both, explore};

/// A slot of which a dead consumer reads the record.
const READING: u64 = 0;
/// The record is full again.
const FULL: u64 = 1;
/// One record more, in the upper half of `next`. The lower half counts how often it was set back.
const RECORD: u64 = 1 << 32;

/// The first record is full again while a consumer moves behind it. Broken: `next` doesn't say that it
/// was set back.
pub(crate) fn set_back<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let slot = Arc::new(AtomicU64::new(READING));
        let next = Arc::new(AtomicU64::new(0));
        let (mine, at) = (slot.clone(), next.clone());
        let (relaxed, counted) = (Ordering::Relaxed, u64::from(!BROKEN));
        both(
            move || {
                let seen = at.load(Ordering::Acquire);
                if seen < RECORD && mine.load(Ordering::Acquire) == READING {
                    let _ = at.compare_exchange(seen, seen + RECORD, relaxed, relaxed);
                }
            },
            || {
                slot.store(FULL, Ordering::Release);
                let mut seen = next.load(relaxed);
                while let Err(now) = next.compare_exchange(
                    seen,
                    (seen + counted) % RECORD,
                    Ordering::Release,
                    relaxed,
                ) {
                    seen = now;
                }
            },
        );
        assert!(next.load(Ordering::Acquire) < RECORD, "no consumer looks at the full record");
    })
}
