//! Which ends of a queue exist.

use super::end::Side;
use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;

/// How many ends each side has, and how often a side was taken over. Read only where a call would
/// fail.
///
/// A half for each side: 20 bits for the ends, and 12 bits for an epoch, which grows when a process
/// takes the side of a queue that processes share. So a change that was decided before a take-over
/// fails.
#[repr(C)]
pub(crate) struct Presence(pub(super) Padded<AtomicU64>);

/// Most ends that a side may have.
pub(crate) const MOST_ENDS: u64 = 1 << 16;

pub(super) const ENDS: u64 = (1 << 20) - 1;

impl Side {
    /// Where the half of this side begins.
    #[inline]
    pub(super) fn shift(self) -> u32 {
        match self {
            Self::Producer => 0,
            Self::Consumer => 32,
        }
    }

    /// One end of this side.
    #[inline]
    fn one(self) -> u64 {
        1 << self.shift()
    }

    /// The number of ends of this side.
    #[inline]
    pub(super) fn ends(self, present: u64) -> u64 {
        (present >> self.shift()) & ENDS
    }
}

impl Presence {
    /// One end of each side.
    pub(super) fn new() -> Self {
        Self(Padded(AtomicU64::new(Side::Producer.one() + Side::Consumer.one())))
    }

    /// Number of ends of this side: a snapshot.
    pub(super) fn number(&self, side: Side) -> u64 {
        side.ends(self.0.load(Ordering::Relaxed))
    }

    /// Whether this side has no end.
    #[inline]
    pub(super) fn is_gone(&self, side: Side) -> bool {
        // Acquire ↔ Release in `leave`: all that the side's ends did with the queue.
        side.ends(self.0.load(Ordering::Acquire)) == 0
    }

    /// Whether this side has one end.
    pub(super) fn is_only(&self, side: Side) -> bool {
        // Acquire ↔ Release in `leave`: all that the side's other ends did with the queue.
        side.ends(self.0.load(Ordering::Acquire)) == 1
    }

    /// One more end, made of an existing one. Returns whether there were fewer than [`MOST_ENDS`].
    /// The new end counts in any case.
    pub(super) fn enter(&self, side: Side) -> bool {
        // Relaxed: the thread that uses the new end got it from this thread.
        side.ends(self.0.fetch_add(side.one(), Ordering::Relaxed)) < MOST_ENDS
    }

    /// One end less. Returns whether it was the last end of both sides: then everything that other
    /// ends did happens before this call returns.
    #[inline]
    pub(super) fn leave(&self, side: Side) -> bool {
        // Release ↔ Acquire in `is_gone` and `is_only`: all that this end did with the queue.
        // Release also ↔ Acquire of the last end here: all that the other ends did with the queue.
        let before = self.0.fetch_add(side.one().wrapping_neg(), Ordering::AcqRel);
        side.ends(before) == 1 && side.other().ends(before) == 0
    }
}
