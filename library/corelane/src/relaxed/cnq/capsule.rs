//! A capsule: an entry of the tube of a nested queue, which is a small queue itself.

use crate::memory::{AtomicBool, AtomicU64, Ordering, is_before};

/// Bits of a word below the turn: the count, and two flags.
const TURN_AT: u32 = 18;
/// The flag of `claimed`: no producer claims another slot in this turn.
pub const CLOSED: u64 = 1 << 16;
/// The flag of `life`: a thread has reserved the capsule.
pub const RESERVED: u64 = 1 << 16;
/// The flag of `life`: all items of the turn have been popped, and no more will come.
pub const FINISHED: u64 = 1 << 17;
/// The count of a word.
const COUNT: u64 = (1 << 16) - 1;
/// Most slots of a capsule.
pub const MOST_SLOTS: usize = 1 << 15;

/// No word of a capsule: its count is above [`MOST_SLOTS`].
pub const NO_WORD: u64 = u64::MAX;

/// The word of a turn whose count is 0.
#[inline]
pub fn word(turn: u64) -> u64 {
    turn << TURN_AT
}

/// The turn of a word, without its upper bits.
#[inline]
pub fn turn_of(word: u64) -> u64 {
    word >> TURN_AT
}

/// Slots that a word counts.
#[inline]
pub fn count(word: u64) -> u64 {
    word & COUNT
}

/// Whether a word is of this turn.
#[inline]
pub fn is_of(found: u64, turn: u64) -> bool {
    (found ^ word(turn)) >> TURN_AT == 0
}

/// What a producer writes. All words have the turn in which the capsule is, above the flag and the
/// count.
#[derive(Debug)]
#[repr(C)]
pub struct Written {
    /// Slots that producers have claimed.
    pub claimed: AtomicU64,
    /// Slots that hold an item, or held one in this turn.
    pub filled: AtomicU64,
    /// Slots that were used in an earlier turn, if a consumer was still reading one of them when
    /// this turn began.
    pub(super) used_before: AtomicU64,
    /// About how many capsules producers filled at that time, with this one.
    pub beside: AtomicU64,
}

/// What consumers write; the `emptied` flags of all slots follow.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Read {
    /// Items that consumers have claimed.
    pub(super) popped: AtomicU64,
    /// Two flags. No count.
    pub(super) life: AtomicU64,
}

/// What became of the first step of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// Producers may claim slots.
    Open,
    /// It is closed, because a consumer is still reading an item of an earlier turn.
    Closed,
    /// It is closed, because another producer has closed it.
    ClosedByAnother,
}

/// What a consumer sees in a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Items are left.
    Items {
        /// The word of `popped`.
        popped: u64,
        /// Their number.
        left: u64,
    },
    /// No item is left, and none will come.
    Over,
    /// No item, as far as this thread sees.
    Nothing,
}

/// One capsule.
#[derive(Debug, Clone, Copy)]
pub struct Capsule<'a> {
    pub written: &'a Written,
    pub popped: &'a AtomicU64,
    pub(super) life: &'a AtomicU64,
    /// For each slot, whether its item of this turn has been read.
    pub(super) emptied: &'a [AtomicBool],
}

impl Capsule<'_> {
    /// Whether a word of `claimed` is the last one of its turn.
    #[inline]
    pub fn is_final(self, claimed: u64) -> bool {
        claimed & CLOSED != 0 || count(claimed) as usize == self.emptied.len()
    }

    /// Begins `turn`, with all slots empty. Not if another producer has closed the capsule already,
    /// or a consumer is still reading an item of an earlier turn: then the capsule is closed, and
    /// empty.
    ///
    /// Only the producer that has allocated this turn calls it.
    pub fn begin(self, turn: u64) -> Begun {
        let Written { claimed, filled, used_before, .. } = self.written;
        // Relaxed, all: the tube orders what earlier producers did.
        let before = claimed.load(Ordering::Relaxed);
        let used = used_before.load(Ordering::Relaxed).max(count(filled.load(Ordering::Relaxed)));
        let used_slots = &self.emptied[..used as usize];
        // Acquire ↔ Release in `mark_read`: the item has been read.
        let is_free = used_slots.iter().all(|slot| slot.load(Ordering::Acquire));
        used_before.store(if is_free { 0 } else { used }, Ordering::Relaxed);
        if is_free {
            used_slots.iter().for_each(|slot| slot.store(false, Ordering::Relaxed));
        }
        self.popped.store(word(turn), Ordering::Relaxed);
        self.life.store(word(turn), Ordering::Relaxed);
        // Release ↔ Acquire in `claimed_and_filled` and `look`: the slots are free, which capsules are
        // closed, and the words of this turn.
        filled.store(word(turn), Ordering::Release);
        let begun = if is_free { word(turn) } else { word(turn) | CLOSED };
        // Relaxed: a thread that relies on this word has read `filled` of this turn, with Acquire.
        let is_changed = !is_of(before, turn)
            && claimed
                .compare_exchange(before, begun, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        match (is_changed, is_free) {
            (true, true) => Begun::Open,
            (true, false) => Begun::Closed,
            (false, _) => Begun::ClosedByAnother,
        }
    }

    /// No producer claims a slot of this turn from now on. Whether this call has changed that.
    pub fn close(self, turn: u64) -> bool {
        let claimed = &self.written.claimed;
        let mut found = claimed.load(Ordering::Relaxed);
        loop {
            let closed = match is_of(found, turn) {
                true if self.is_final(found) => return false,
                true => found | CLOSED,
                // The producer of this turn has not begun it yet.
                false if is_before(found, word(turn)) => word(turn) | CLOSED,
                false => return false,
            };
            match claimed.compare_exchange(found, closed, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => found = now,
            }
        }
    }

    /// Claims the next `n` slots, if `word` is still that of `claimed`. The only producer `is_alone`.
    #[inline(always)]
    pub fn claim_slots(self, word: u64, n: u64, is_alone: bool) -> bool {
        let (claimed, next) = (&self.written.claimed, word.wrapping_add(n));
        // Relaxed, all: only the count matters, and that of a closed capsule is the last one.
        if is_alone {
            claimed.store(next, Ordering::Relaxed);
            return true;
        }
        claimed.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Publishes the items of slots that were claimed: `word` is that of `claimed`.
    #[inline]
    pub fn fill(self, word: u64) {
        // Release ↔ Acquire in `look` and `claimed_and_filled`: the items.
        self.written.filled.store(word, Ordering::Release);
    }

    /// The words of `claimed` and `filled`. If they are equal, no other producer is in the middle of a
    /// push.
    #[inline]
    pub fn claimed_and_filled(self) -> (u64, u64) {
        // Acquire ↔ Release in `fill`: what other producers wrote. Acquire ↔ Release in `begin`: see there.
        let filled = self.written.filled.load(Ordering::Acquire);
        (self.written.claimed.load(Ordering::Relaxed), filled)
    }

    /// Claims the next `n` items, if `word` is still that of `popped`. Otherwise returns that. The only
    /// consumer `is_alone`.
    #[inline(always)]
    pub fn claim_items(self, word: u64, n: u64, is_alone: bool) -> Result<(), u64> {
        let next = word.wrapping_add(n);
        // Release ↔ Acquire in `look`: how many slots are filled.
        if is_alone {
            self.popped.store(next, Ordering::Release);
            return Ok(());
        }
        self.popped.compare_exchange(word, next, Ordering::Release, Ordering::Relaxed).map(drop)
    }

    /// What a consumer sees in `turn`.
    pub fn look(self, turn: u64) -> Look {
        // Acquire ↔ Release in `claim_items`: what was filled. If the capsule is over, the thread that
        // uses it again must know this.
        let popped = self.popped.load(Ordering::Acquire);
        // Acquire ↔ Release in `fill`: the items. Acquire ↔ Release in `begin`: the words of this turn.
        let filled = self.written.filled.load(Ordering::Acquire);
        if !is_of(popped, turn) || !is_of(filled, turn) {
            return Look::Nothing;
        }
        if count(filled) > count(popped) {
            return Look::Items { popped, left: count(filled) - count(popped) };
        }
        // Relaxed: as in `begin`. The last word of a turn doesn't change.
        let claimed = self.written.claimed.load(Ordering::Relaxed);
        let is_over =
            is_of(claimed, turn) && self.is_final(claimed) && count(claimed) == count(popped);
        if is_over { Look::Over } else { Look::Nothing }
    }

    /// The word of `claimed` in this turn, if slots are left.
    pub fn open(self, turn: u64) -> Option<u64> {
        // Relaxed: only a look.
        let claimed = self.written.claimed.load(Ordering::Relaxed);
        (is_of(claimed, turn) && !self.is_final(claimed)).then_some(claimed)
    }

    /// Items of `turn` that were popped, and those that were filled in: a snapshot.
    pub fn counts(self, turn: u64) -> Option<(u64, u64)> {
        let popped = self.popped.load(Ordering::Relaxed);
        let filled = self.written.filled.load(Ordering::Relaxed);
        (is_of(popped, turn) && is_of(filled, turn)).then(|| (count(popped), count(filled)))
    }

    /// Sets a flag of `life`, if the capsule is in this turn. Whether this call has set the second of
    /// both flags.
    pub fn set(self, turn: u64, flag: u64) -> bool {
        const BOTH: u64 = RESERVED | FINISHED;
        let mut found = self.life.load(Ordering::Relaxed);
        while is_of(found, turn) && found & flag == 0 {
            let new = found | flag;
            // Acquire and Release ↔ each other: the thread that sets the second flag knows what the
            // thread that set the first one knew.
            match self.life.compare_exchange(found, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return new & BOTH == BOTH,
                Err(now) => found = now,
            }
        }
        false
    }

    /// Whether the capsule is in this turn, and was not reserved.
    pub fn is_unreserved(self, turn: u64) -> bool {
        let life = self.life.load(Ordering::Relaxed);
        is_of(life, turn) && life & RESERVED == 0
    }

    /// The item of slot number `index` has been read.
    #[inline]
    pub fn mark_read(self, index: u64) {
        // Release ↔ Acquire in `begin`: the read of the item.
        self.emptied[index as usize].store(true, Ordering::Release);
    }
}
