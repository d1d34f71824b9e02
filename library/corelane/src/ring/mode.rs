//! What all modes of a side share.

use core::fmt;

use crate::queue::Info;
use crate::region::Run;

/// Bits of the shortest position. Positions are compared by these, and the sides may differ in the
/// others.
pub(super) const POSITION_BITS: u32 = 47;

/// Most slots of a ring. With as many, two positions a lap apart still differ.
pub(crate) const MOST_SLOTS: usize = 1 << log_most_slots(usize::BITS);

/// The logarithm of this number, where a number of slots has `bits` bits.
pub(super) const fn log_most_slots(bits: u32) -> u32 {
    if bits < POSITION_BITS { bits - 1 } else { POSITION_BITS - 1 }
}

/// How many slots `to` is behind `from`.
#[inline]
pub(crate) fn distance(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from) & ((1 << POSITION_BITS) - 1)
}

/// How many slots a call asks for.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// At most so many.
    UpTo(u64),
    /// Exactly so many, or none.
    Exactly(u64),
}

impl Wanted {
    /// How many slots are taken if `there` are available.
    #[inline]
    pub(super) fn of(self, there: u64) -> u64 {
        match self {
            Self::UpTo(n) => n.min(there),
            Self::Exactly(n) if n <= there => n,
            Self::Exactly(_) => 0,
        }
    }
}

/// Why no slots were taken.
#[derive(Debug)]
pub enum Refused {
    /// Only these slots are available.
    Short(Run),
    /// Unfinished calls of other threads are in the way.
    Busy,
}

/// How far one side has come, and how its threads synchronise with each other.
///
/// A thread [takes](Self::take) slots, fills or empties them, and [finishes](Self::finish). Then
/// its side's [`tail`](Self::tail) moves behind these slots, at once or later.
pub trait Cursors: fmt::Debug + Send + Sync + Sized + 'static {
    /// The ring with both sides in this mode.
    const INFO: Info;
    /// Whether `finish` waits for other threads.
    const TAKES_TURNS: bool = false;
    /// Whether slots may be finished that the tail doesn't show.
    const HIDES: bool = false;

    /// The cursors of a side in a new ring of so many slots.
    fn new(first: u64, slots: usize) -> Self;

    /// Takes slots before `end`, for this thread alone.
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused>;

    /// Publishes that the thread has filled, or emptied, the slots that it took.
    fn finish(&self, run: Run);

    /// Behind all slots that the other side may take.
    fn tail(&self) -> u64;

    /// Whether no thread of the side is in the middle of a call, and the side is at `position`.
    fn rests_at(&self, position: u64) -> bool;

    /// The position of the side, when all its handles are gone. `None` if a handle has left slots
    /// unfinished.
    fn done(&self) -> Option<u64>;
}
