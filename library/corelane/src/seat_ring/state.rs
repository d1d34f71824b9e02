//! The first word of a slot: which record the slot is for, whose it is, and how far the record is.

/// Bits of a record's number.
const NUMBER: u32 = 44;
const SEAT: u32 = 16;
const PHASE: u32 = u64::BITS - NUMBER - SEAT;

/// Most handles of a side at a time.
pub const SEATS: usize = 1 << SEAT;

/// How far a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Phase {
    /// Its slot and its room may be used again.
    Free,
    /// A producer has the slot, and has not said where the record is.
    Taken,
    /// A producer writes it.
    Filling,
    /// It waits for a consumer.
    Full,
    /// A consumer reads it.
    Reading,
}

/// The low bits of the record's number, the seat of the handle that uses the slot, and the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State(pub(super) u64);

impl State {
    #[inline]
    pub(super) fn new(number: u64, seat: u16, phase: Phase) -> Self {
        Self(number << (SEAT + PHASE) | u64::from(seat) << PHASE | phase as u64)
    }

    #[inline]
    pub(super) fn free(number: u64) -> Self {
        Self::new(number, 0, Phase::Free)
    }

    #[inline]
    pub(super) fn full(number: u64) -> Self {
        Self::new(number, 0, Phase::Full)
    }

    /// `None` if another process wrote what is none.
    #[inline]
    pub(super) fn phase(self) -> Option<Phase> {
        use Phase::{Filling, Free, Full, Reading, Taken};
        let phases = [Free, Taken, Filling, Full, Reading];
        phases.get((self.0 & ((1 << PHASE) - 1)) as usize).copied()
    }

    #[inline]
    pub(super) fn seat(self) -> u16 {
        (self.0 >> PHASE) as u16
    }

    /// How many records the slot's record is behind record `number`, or before it if negative.
    #[inline]
    pub(super) fn ahead_of(self, number: u64) -> i64 {
        let shift = SEAT + PHASE;
        (self.0 >> shift).wrapping_sub(number).wrapping_shl(shift) as i64 >> shift
    }

    /// The number of the slot's record, which is near `number`.
    pub(super) fn number(self, near: u64) -> u64 {
        near.wrapping_add_signed(self.ahead_of(near))
    }
}

/// Where consumers look for the next record, and how often it was set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Next(pub(super) u64);

impl Next {
    #[inline]
    pub(super) fn new(number: u64, set_back: u64) -> Self {
        Self(number << (u64::BITS - NUMBER) | set_back & ((1 << (u64::BITS - NUMBER)) - 1))
    }

    /// The record's number, which is near `near`.
    #[inline]
    pub(super) fn number(self, near: u64) -> u64 {
        State(self.0).number(near)
    }

    /// At record `number`.
    #[inline]
    pub(super) fn at(self, number: u64) -> Self {
        Self::new(number, self.0)
    }

    /// Set back to record `number`: an exchange that expects an older value fails.
    pub(super) fn set_back(self, number: u64) -> Self {
        Self::new(number, self.0.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        for number in [0, 1, (1 << NUMBER) - 1, 1 << NUMBER, u64::MAX - 1, u64::MAX] {
            let state = State::new(number, 7, Phase::Reading);
            assert_eq!((state.seat(), state.phase()), (7, Some(Phase::Reading)));
            assert_eq!(state.ahead_of(number), 0);
            assert_eq!(state.ahead_of(number.wrapping_sub(9)), 9);
            assert_eq!(state.ahead_of(number.wrapping_add(9)), -9);
            assert_eq!(state.number(number.wrapping_add(5)), number);
            let next = Next::new(number, 3);
            assert_eq!(next.number(number.wrapping_sub(2)), number);
            assert_ne!(next.set_back(number), next);
            assert_eq!(next.at(number.wrapping_add(1)).number(number), number.wrapping_add(1));
        }
        assert_eq!(State(0xf).phase(), None);
    }
}
