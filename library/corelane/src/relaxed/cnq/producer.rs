//! The sending side.

use core::cell::Cell;

use super::capsule::{Begun, FINISHED, Look, count, turn_of, word};
use super::meetings::Meetings;
use super::tube::{Tube, TubeProducer};
use super::{LANES, Side};
use crate::block::fetch_add::Faaq;
use crate::memory::{AtomicU64, Ordering, limit};
use crate::queue::{self, TryPushError, answered_by, full, handles};
use crate::spin::{Backoff, Retries};

/// Capsules that a push allocates before it says busy.
const TRIES: u64 = limit(8, 3);

/// A sending side.
pub struct Producer<T, Q: Tube = Faaq> {
    /// What `claimed` of the current capsule is, if no other producer has closed it.
    word: u64,
    /// Slots left in the current capsule, as far as this producer knows; 0 if there is none.
    room: u64,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other producer.
    is_alone: Cell<bool>,
    /// Whether other producers push into the current capsule, too.
    shares: bool,
    meetings: Meetings,
    /// Decides which lane this producer uses.
    number: u64,
    /// Whether the last call gave up because other producers closed each capsule that it allocated.
    is_hurried: bool,
    pub(super) tube: Q::Producer,
    /// Gives groups back, if consumers don't.
    collector: Q::Consumer,
    end: Side<T, Q>,
}

impl<T, Q: Tube> Producer<T, Q> {
    pub(super) fn new(tube: Q::Producer, collector: Q::Consumer, end: Side<T, Q>) -> Self {
        let is_alone = Cell::new(true);
        let (shares, is_hurried, meetings) = (true, false, Meetings::NONE);
        // Relaxed: only the number matters.
        let number = end.header().producers.fetch_add(1, Ordering::Relaxed);
        Self {
            word: 0,
            room: 0,
            index: 0,
            is_alone,
            shares,
            meetings,
            number,
            is_hurried,
            tube,
            collector,
            end,
        }
    }

    /// Claims up to `wanted` slots, and returns the number of the first and how many there are.
    #[inline(always)]
    fn claim(&mut self, wanted: u64) -> Option<(u64, u64)> {
        for _ in 0..TRIES {
            let has_room = self.room > 0 && (!self.shares || self.is_free());
            let n = wanted.min(self.room);
            if has_room && self.advance(n) {
                if self.room == 0 {
                    self.end.slots().count_closed(turn_of(self.word));
                    if !self.shares {
                        self.meetings.end_alone(true);
                    }
                }
                return Some((count(self.word) - n, n));
            }
            if !self.enter() {
                return None;
            }
        }
        self.is_hurried = true;
        None
    }

    /// Claims the next `n` slots of the current capsule.
    #[inline(always)]
    fn advance(&mut self, n: u64) -> bool {
        let is_alone = self.is_alone.get() && !self.shares;
        let is_claimed = self.end.slots().at(self.index).claim_slots(self.word, n, is_alone);
        match is_claimed {
            true => {
                self.word = self.word.wrapping_add(n);
                self.room -= n;
                if self.shares {
                    self.meetings.pass();
                }
            }
            // Another producer is at work here.
            false if self.shares => self.meet(),
            // It was closed: this producer is slow.
            false => self.meetings.end_alone(false),
        }
        is_claimed
    }

    /// Whether no other producer is in the middle of a push into the shared capsule, and this one
    /// should go on there.
    fn is_free(&mut self) -> bool {
        let capsule = self.end.slots().at(self.index);
        let (claimed, filled) = capsule.claimed_and_filled();
        if turn_of(claimed) != turn_of(self.word) || capsule.is_final(claimed) {
            self.room = 0;
            return false;
        }
        if filled != claimed {
            self.meet();
            return false;
        }
        self.word = claimed;
        self.room = self.end.slots().shape().size as u64 - count(claimed);
        true
    }

    /// Another capsule is better.
    #[cold]
    fn meet(&mut self) {
        self.meetings.meet(self.end.group().min(LANES).ilog2());
        (self.shares, self.room) = (self.meetings.own == 0, 0);
    }

    /// The turn of the capsule that this producer shares with others.
    fn lane(&self) -> &AtomicU64 {
        let lane = self.number & ((1 << self.meetings.spread) - 1);
        &self.end.header().lanes[lane as usize]
    }

    /// Enters another capsule. `false` if none is free.
    #[cold]
    #[inline(never)]
    fn enter(&mut self) -> bool {
        self.is_alone.set(self.end.is_only());
        self.room = 0;
        let is_alone = self.is_alone.get();
        if is_alone {
            self.meetings = Meetings::NONE;
        }
        // Relaxed, here and below: `claimed` and `filled` order what producers did.
        let shared = self.lane().load(Ordering::Relaxed);
        let shares = self.shares || is_alone || !self.meetings.take_own();
        self.shares = shares && !is_alone;
        if shares && self.share(shared) {
            return true;
        }
        let Some(turn) = self.allocate() else {
            self.shares = true;
            // Not if another producer is at work there: this call must end.
            return self.share(shared) && self.is_free();
        };
        self.work_in(turn, word(turn));
        if self.shares {
            let is_first = self
                .lane()
                .compare_exchange(shared, turn, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
            self.shares = is_first;
        }
        let beside = if self.shares { 1 << self.meetings.spread } else { self.end.ends() };
        let written = self.end.slots().at(self.index).written;
        // Relaxed: for a statistic.
        written.beside.store(beside.min(self.end.window()), Ordering::Relaxed);
        true
    }

    /// Enters the capsule that producers share, if slots are left there.
    fn share(&mut self, turn: u64) -> bool {
        let claimed = self.open(turn);
        claimed.into_iter().for_each(|claimed| self.work_in(turn, claimed));
        claimed.is_some()
    }

    /// The word of `claimed` of this turn, if slots are left.
    fn open(&self, turn: u64) -> Option<u64> {
        self.end.slots().of(turn).open(turn)
    }

    /// The next turn, whose capsule is empty and open.
    pub(super) fn allocate(&mut self) -> Option<u64> {
        let mut backoff = Backoff::new();
        for _ in 0..TRIES {
            let Some(number) = self.tube.allocate() else {
                match self.give_back() {
                    Some(true) => continue,
                    Some(false) => self.is_hurried = false,
                    None => self.is_hurried = true,
                }
                return None;
            };
            let (turn, begun) = self.begin(number);
            match begun {
                Begun::Open => return Some(turn),
                Begun::Closed => self.end.slots().count_closed(turn),
                // Others are two groups ahead already. They must not drive each other on for ever.
                Begun::ClosedByAnother => backoff.wait(),
            }
        }
        self.is_hurried = true;
        None
    }

    /// Begins the turn of the capsule with this number, which this producer has allocated.
    pub(super) fn begin(&mut self, number: u64) -> (u64, Begun) {
        let (turn, group) = (self.end.turn(number), self.end.group());
        // Only groups of the window are open.
        let after = self.end.window() - group;
        let capsules = self.end.slots();
        capsules.close_before((turn & !(group - 1)).wrapping_sub(after));
        let begun = capsules.of(turn).begin(turn);
        self.tube.produce(turn);
        (turn, begun)
    }

    /// Gives back the oldest group, if all its items have been popped. Consumers do that when they
    /// pop again, but nothing may be left for them to pop: producers may have closed each other's
    /// capsules before they pushed. `false` if the group still has items, `None` if another producer
    /// is here: all together would disturb consumers.
    fn give_back(&mut self) -> Option<bool> {
        let (end, capsules) = (&self.end, self.end.slots());
        let collecting = &end.header().collecting;
        if !collecting.take() {
            return None;
        }
        let start = capsules.oldest();
        let is_over = |turn| {
            let is_over = capsules.of(turn).look(turn) == Look::Over;
            if is_over {
                capsules.set(turn, FINISHED);
            }
            is_over
        };
        let is_over = capsules.turns(start, end.group()).all(is_over);
        if is_over {
            while !capsules.is_done(start) && end.reserve(&mut self.collector).is_some() {}
            if capsules.is_done(start) {
                end.finish(&mut self.collector, start);
            }
        }
        collecting.give_back();
        Some(is_over || capsules.oldest() != start)
    }

    /// The capsule of `turn` is the current one.
    pub(super) fn work_in(&mut self, turn: u64, claimed: u64) {
        self.index = self.end.slots().index(turn);
        self.word = claimed;
        self.room = self.end.slots().shape().size as u64 - count(claimed);
    }

    /// Why `item` can't be pushed.
    #[cold]
    fn refusal<I>(&self, item: I) -> TryPushError<I> {
        let (is_closed, header) = (self.end.peer_is_gone(), self.end.header());
        let is_finishing = header.finishing.is_taken();
        let mut lanes = header.lanes.iter();
        // Relaxed: any other value means that another call is unfinished.
        let is_shared = lanes.any(|lane| self.open(lane.load(Ordering::Relaxed)).is_some());
        match is_closed || !is_finishing && !is_shared && !self.is_hurried {
            true => full(is_closed, item),
            false => TryPushError::Busy(item),
        }
    }
}

impl<T, Q: Tube> queue::Producer for Producer<T, Q> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let Some((slot, _)) = self.claim(1) else { return Err(self.refusal(item)) };
        let capsules = self.end.slots();
        // SAFETY: the slot was claimed by this thread alone, and its last item has been read.
        unsafe { capsules.cells().write(capsules.position(self.index, slot), item) };
        capsules.at(self.index).fill(self.word);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.slots().shape().slots()
    }

    answered_by!(closed: end);

    /// Visits all capsules.
    fn len(&mut self) -> usize {
        self.end.len()
    }

    /// Enters another capsule, if the current one is full.
    fn is_full(&mut self) -> bool {
        let has_room = self.room > 0
            && match self.shares {
                true => self.is_free(),
                false => self.open(turn_of(self.word)) == Some(self.word),
            };
        !has_room && !self.enter()
    }

    fn push_slice(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut rest = items;
        while !rest.is_empty() {
            let Some((slot, n)) = self.claim(rest.len() as u64) else {
                match retries.again(matches!(self.refusal(()), TryPushError::Busy(()))) {
                    true => continue,
                    false => break,
                }
            };
            let (now, later) = rest.split_at(n as usize);
            let capsules = self.end.slots();
            for (item, slot) in now.iter().zip(slot..) {
                // SAFETY: as in `try_push`.
                unsafe { capsules.cells().write(capsules.position(self.index, slot), *item) };
            }
            capsules.at(self.index).fill(self.word);
            rest = later;
        }
        items.len() - rest.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, Q: Tube> Clone for Producer<T, Q> {
    fn clone(&self) -> Self {
        if self.is_alone.replace(false) && self.room > 0 {
            // Relaxed: as in `enter`. The other one goes on in this capsule.
            self.lane().store(self.end.turn(self.index as u64), Ordering::Relaxed);
        }
        let (tube, collector) = (self.tube.clone(), self.collector.clone());
        let other = Self::new(tube, collector, self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

impl<T, Q: Tube> Drop for Producer<T, Q> {
    /// Leaves its own capsule to producers that share one, or closes it.
    fn drop(&mut self) {
        let (shared, turn) = (self.lane(), self.end.turn(self.index as u64));
        let before = shared.load(Ordering::Relaxed);
        if self.room == 0 || self.shares || before == turn || self.open(turn) != Some(self.word) {
            return;
        }
        let is_left = self.open(before).is_none()
            // Relaxed, both: as in `enter`.
            && shared.compare_exchange(before, turn, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_left {
            self.end.slots().close(turn);
        }
    }
}

handles! {
    [T, Q: Tube] Producer<T, Q>: producer of T;
}
