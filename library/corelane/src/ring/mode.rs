//! What the modes of a side have in common.

use core::fmt;

use crate::queue::Info;
use crate::region::Run;

/// Bits of the shortest position. Positions are compared by these, and the sides may differ in the others.
pub(super) const POSITION_BITS: u32 = 47;

/// Most slots of a ring: so many that a position and one a lap further are apart.
pub(super) const MOST_SLOTS: usize = 1 << log_most_slots(usize::BITS);

/// The same as a power of two, where a number of slots has so many bits.
pub(super) const fn log_most_slots(bits: u32) -> u32 {
    if bits < POSITION_BITS { bits - 1 } else { POSITION_BITS - 1 }
}

/// How many slots `to` is behind `from`.
#[inline]
pub(super) fn distance(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from) & ((1 << POSITION_BITS) - 1)
}

/// How many slots a call asks for.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// So many, or as many as there are.
    UpTo(u64),
    /// So many, or none.
    Exactly(u64),
}

impl Wanted {
    /// How many of `there` are taken.
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
    /// There are only these.
    Short(Run),
    /// Others are in the middle of a call, and in the way.
    Busy,
}

/// How far one side has come, and how its threads get on with each other.
///
/// A thread [takes](Self::take) slots, fills or empties them, and [finishes](Self::finish). Then its side's
/// [`tail`](Self::tail) moves behind them, at once or later.
pub trait Cursors: fmt::Debug + Send + Sync + Sized + 'static {
    /// The ring whose sides are both like that.
    const INFO: Info;
    /// Whether `finish` waits for others.
    const TAKES_TURNS: bool = false;
    /// Whether slots may be finished that the tail doesn't show.
    const HIDES: bool = false;

    /// Those of a side in a new ring of so many slots.
    fn new(first: u64, slots: usize) -> Self;

    /// Takes slots for this thread alone, of those before `end`.
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused>;

    /// Shows that what was taken is done with.
    fn finish(&self, run: Run);

    /// Behind all slots that the other side may have.
    fn tail(&self) -> u64;

    /// Whether nobody is in the middle, and the side has come to `position`.
    fn rests_at(&self, position: u64) -> bool;

    /// How far the side has come, when all its handles are gone. `None` if one has left slots unfinished.
    fn done(&self) -> Option<u64>;
}
