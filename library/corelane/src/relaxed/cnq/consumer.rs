//! The receiving side.

use core::cell::Cell;

use super::Side;
use super::capsule::{FINISHED, Look, NO_WORD, count, turn_of, word};
use super::capsules::Shape;
use super::rank_error::RankError;
use super::tube::Tube;
use crate::block::fetch_add::Faaq;
use crate::memory::{Ordering, is_before, limit, pause};
use crate::queue::{self, TryPopError, answered_by, handles};
use crate::spin::{Distance, Retries};

/// Meetings in a capsule after which a consumer looks for another one.
const CROWDED_POPS: u32 = 2;
/// Items that a consumer pops before it catches up with a producer, if it is far enough behind.
const FAR_BEHIND: u64 = 16;
/// Looks at an empty capsule before the consumer looks elsewhere: its producer may be at work.
const LOOKS: u64 = limit(8, 0);
/// Waits of a consumer whose next capsule is too far ahead, or whose group another consumer gives
/// back, before it looks for items of others.
const WAITS: u64 = limit(64, 0);

/// A receiving side.
pub struct Consumer<T, Q: Tube = Faaq> {
    /// What `popped` of the current capsule is, if no other consumer has changed it. If `left` is 0, only
    /// its turn counts.
    word: u64,
    /// Items of the current capsule that this consumer may pop before it looks again.
    left: u64,
    /// What `left` was after that look, without items that other consumers have popped since.
    given: u64,
    /// Pops, up to the last look.
    pops: u64,
    /// The pop whose rank error is estimated next.
    next_sample: u64,
    /// Whether this consumer has reserved the current capsule.
    owns: bool,
    /// Meetings with other consumers in the current capsule, since the last look.
    meetings: u32,
    /// Decides where this consumer looks, if it meets others.
    number: u64,
    /// How far this consumer stays behind producers.
    distance: Distance,
    /// The index of the current capsule.
    index: usize,
    /// Whether there is no other consumer.
    is_alone: Cell<bool>,
    /// A turn that this consumer has reserved, and from which items may not leave yet.
    ahead: Option<u64>,
    /// A turn, without its upper bits, that this consumer has left although it is not over: its
    /// producer is slow.
    behind: Option<u64>,
    tube: Q::Consumer,
    end: Side<T, Q>,
}

impl<T, Q: Tube> Consumer<T, Q> {
    pub(super) fn new(tube: Q::Consumer, end: Side<T, Q>) -> Self {
        let is_alone = Cell::new(true);
        // Relaxed: only the number matters.
        let number = end.header().consumers.fetch_add(1, Ordering::Relaxed);
        let mut new = Self {
            word: NO_WORD,
            left: 0,
            given: 0,
            pops: 0,
            next_sample: 0,
            owns: false,
            meetings: 0,
            number,
            distance: Distance::new(0),
            index: 0,
            is_alone,
            ahead: None,
            behind: None,
            tube,
            end,
        };
        new.wait_for_sample();
        new
    }

    /// How far items left out of turn, since any handle was last asked.
    ///
    /// Consumers estimate the rank error of one of some thousand items. How many older items are
    /// inside follows from the counts of all open capsules, if producers push equally often. The
    /// bound is [`relaxation`](queue::Consumer::relaxation).
    ///
    /// ```
    /// use corelane::{Config, Consumer, Producer, relaxed::cnq};
    ///
    /// let (mut tx, mut rx) = cnq::queue_with(Config::new(5000).relaxation(300))?;
    /// for n in 0..5000 {
    ///     tx.try_push(n)?;
    /// }
    /// assert_eq!(rx.pop_iter().count(), 5000);
    /// assert_eq!(rx.rank_error().max, 0); // one producer and one consumer
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rank_error(&self) -> RankError {
        self.end.header().samples.take()
    }

    /// Changes with each push, unless [`may_have_item`](Self::may_have_item) says yes.
    pub(crate) fn pushed(&self) -> u64 {
        let start = self.end.slots().oldest();
        // The window, and the next group. If producers are ahead of it, the window is closed.
        let turns = self.end.slots().turns(start, self.end.window() + self.end.group());
        // Relaxed: a thread that knows of a push sees its word, or a later one.
        let filled = |turn| self.end.slots().of(turn).written.filled.load(Ordering::Relaxed);
        turns.map(filled).fold(start, u64::wrapping_add)
    }

    /// Whether another look may find an item.
    pub(crate) fn may_have_item(&self) -> bool {
        let start = self.end.slots().oldest();
        let mut turns = self.end.slots().turns(start, self.end.window());
        let has_items = |turn| matches!(self.end.slots().of(turn).look(turn), Look::Items { .. });
        // There may be items behind these groups.
        turns.any(has_items) || self.end.slots().is_closed(start)
    }

    /// Claims up to `wanted` items, and returns the slot of the first and how many there are.
    #[inline(always)]
    fn claim(&mut self, wanted: u64) -> Result<(u64, u64), TryPopError> {
        loop {
            let n = wanted.min(self.left);
            if n == 0 {
                self.find()?;
                continue;
            }
            let capsule = self.end.slots().at(self.index);
            match capsule.claim_items(self.word, n, self.is_alone.get()) {
                Ok(()) => {
                    let slot = count(self.word);
                    self.word = self.word.wrapping_add(n);
                    self.left -= n;
                    return Ok((slot, n));
                }
                Err(found) => self.meet(found),
            }
        }
    }

    /// Another consumer is at work in the current capsule.
    #[cold]
    fn meet(&mut self, found: u64) {
        self.catch_up(found);
        self.meetings += 1;
        if !self.owns && self.meetings == CROWDED_POPS {
            // Elsewhere than where others look.
            self.index = self.index.wrapping_add(1 + self.number as usize);
            (self.word, self.left, self.given) = (NO_WORD, 0, self.given - self.left);
        }
    }

    /// Another consumer has changed `popped` of the current capsule.
    #[cold]
    fn catch_up(&mut self, found: u64) {
        let is_same = turn_of(found) == turn_of(self.word);
        let taken = count(found).wrapping_sub(count(self.word));
        let left = if is_same { self.left.saturating_sub(taken) } else { 0 };
        self.given -= self.left - left;
        self.left = left;
        self.word = if is_same { found } else { NO_WORD };
    }

    /// Looks at a turn. If there are items, its capsule is the current one.
    fn look(&mut self, turn: u64) -> Look {
        let look = self.end.slots().of(turn).look(turn);
        match look {
            Look::Items { popped, left } => self.work_in(turn, popped, left),
            Look::Over => self.end.slots().set(turn, FINISHED),
            Look::Nothing => {}
        }
        look
    }

    /// The capsule of `turn` is the current one.
    fn work_in(&mut self, turn: u64, popped: u64, left: u64) {
        self.count_pops();
        if self.pops >= self.next_sample {
            // With its upper bits, which a word doesn't have.
            self.end.header().samples.add(self.older(self.end.turn(turn), count(popped)));
            self.wait_for_sample();
        }
        self.index = self.end.slots().index(turn);
        self.word = popped;
        self.left = left.min(self.next_sample - self.pops);
        self.given = self.left;
        self.meetings = 0;
    }

    /// The next sample is that of one of the next pops: on average, one of 256 for each capsule that
    /// must be looked at. Chance decides, so that samples are of all slots.
    fn wait_for_sample(&mut self) {
        let chance = (self.pops ^ self.number << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.next_sample = self.pops + 1 + chance % (512 * self.end.window());
    }

    /// Counts the pops since the last look.
    fn count_pops(&mut self) {
        self.pops += self.given - self.left;
        self.given = self.left;
    }

    /// About how many items are inside that are older than that of a slot: a producer that began a
    /// capsule earlier is ahead of one that began later. If P capsules of S slots are filled beside each
    /// other, equally fast, the next one begins each time that each of them has got S / P items.
    fn older(&self, turn: u64, slot: u64) -> u64 {
        let (start, shape) = (self.end.slots().oldest(), self.end.slots().shape());
        let turns = self.end.slots().turns(start, self.end.window());
        let beside = self.end.slots().of(turn).written.beside.load(Ordering::Relaxed) as i64;
        let inside = |other: u64| {
            let (popped, filled) = self.end.slots().of(other).counts(other)?;
            let lead = turn.wrapping_sub(other) as i64 * shape.size as i64 / beside;
            let older = slot.saturating_add_signed(lead).min(filled);
            Some(older.saturating_sub(popped))
        };
        turns.filter(|other| *other != turn).filter_map(inside).sum()
    }

    /// Finds an item, which is the next one of the current capsule then.
    #[cold]
    #[inline(never)]
    fn find(&mut self) -> Result<(), TryPopError> {
        self.is_alone.set(self.end.is_only());
        self.count_pops();
        if let Some(turn) = self.current() {
            if count(self.word) < self.end.slots().shape().size as u64 {
                (self.distance, _) = self.distance.caught_up(self.pops, 1, FAR_BEHIND);
            }
            if self.linger(turn) {
                return Ok(());
            }
        }
        if self.goes_back() {
            return Ok(());
        }
        // Before the search: it finds all items of producers that are gone.
        let is_closed = self.end.peer_is_gone();
        let mut waits = 0..WAITS;
        // Other threads will soon be done, and a search would disturb them.
        let mut waits_more = || waits.next().map(|_| pause(4)).is_some();
        loop {
            let start = self.end.slots().oldest();
            if self.end.slots().is_done(start) {
                match self.end.finish(&mut self.tube, start) || waits_more() {
                    true => continue,
                    false if self.search(start) => return Ok(()),
                    false => return Err(TryPopError::Busy),
                }
            }
            if self.ahead.is_some() || self.reserve() {
                let end = start.wrapping_add(self.end.window());
                match self.ahead.take_if(|turn| is_before(*turn, end)) {
                    Some(turn) if self.enter(turn) => return Ok(()),
                    Some(_) => continue,
                    None if waits_more() => continue,
                    None => {}
                }
            }
            if self.search(start) {
                return Ok(());
            }
            let is_old = self.end.slots().oldest() != start;
            if is_old || self.end.slots().is_done(start) {
                continue;
            }
            if (self.ahead.is_none() || self.is_unreserved(start)) && self.reserve() {
                continue;
            }
            return Err(match is_closed {
                // There may be items behind these groups.
                _ if self.end.slots().is_closed(start) => TryPopError::Busy,
                true => TryPopError::Closed,
                false => TryPopError::Empty,
            });
        }
    }

    /// The turn of the current capsule, without its upper bits. It may be given back already.
    fn current(&self) -> Option<u64> {
        (self.word != NO_WORD).then(|| turn_of(self.word))
    }

    /// Enters the capsule of `turn`, the next one, or stays in the current one. `false` if there is no
    /// item.
    fn enter(&mut self, turn: u64) -> bool {
        // Once more: what was pushed before the next capsule was allocated is there.
        let earlier = self.current().filter(|current| is_before(word(*current), word(turn)));
        if earlier.is_some_and(|current| self.stays(current)) {
            self.ahead = Some(turn);
            return true;
        }
        // If its producer has only allocated it, this consumer looks there again before it leaves.
        (self.index, self.word) = (self.end.slots().index(turn), word(turn));
        self.owns = true;
        self.linger(turn)
    }

    /// Whether this consumer stays in its capsule, before it enters the next one. If not, and the
    /// capsule is not over, the consumer looks there again later.
    fn stays(&mut self, turn: u64) -> bool {
        let look = self.look(turn);
        let is_older = |behind| is_before(word(turn), word(behind));
        let is_in_use = !is_before(word(turn), word(self.end.slots().oldest()));
        if look == Look::Nothing && is_in_use && self.behind.is_none_or(is_older) {
            self.behind = Some(turn);
        }
        matches!(look, Look::Items { .. })
    }

    /// Whether the capsule that this consumer has left has items again.
    fn goes_back(&mut self) -> bool {
        let Some(turn) = self.behind else { return false };
        let look = self.look(turn);
        if look == Look::Over || is_before(word(turn), word(self.end.slots().oldest())) {
            self.behind = None;
        }
        let goes_back = matches!(look, Look::Items { .. });
        self.owns &= !goes_back;
        goes_back
    }

    /// Looks at all turns from which items may leave, from the oldest group on.
    fn search(&mut self, start: u64) -> bool {
        let current = self.current();
        let has_found = self.finds_in_window(start);
        self.owns &= !has_found;
        // Once more: what was pushed before the found item is there.
        let is_later = |current: &u64| is_before(word(*current), word(turn_of(self.word)));
        match current.filter(is_later) {
            _ if !has_found => {}
            _ if self.is_alone.get() => _ = self.finds_in_window(start),
            Some(current) => _ = self.stays(current),
            None => {}
        }
        has_found
    }

    /// Whether there is an item in the window that begins with `start`. Its capsule is the current one
    /// then.
    fn finds_in_window(&mut self, start: u64) -> bool {
        let group = self.end.group();
        // Not all consumers begin with the same capsule.
        let first = if self.is_alone.get() { 0 } else { self.index as u64 };
        let mut turns = (0..self.end.window()).map(|i| {
            start.wrapping_add(i & group).wrapping_add(first.wrapping_add(i) & (group - 1))
        });
        turns.any(|turn| matches!(self.look(turn), Look::Items { .. }))
    }

    /// Whether a capsule of the group from `start` on is published, and not reserved. The tube may
    /// have it behind later ones.
    fn is_unreserved(&self, start: u64) -> bool {
        let mut turns = self.end.slots().turns(start, self.end.group());
        turns.any(|turn| self.end.slots().of(turn).is_unreserved(turn))
    }

    /// Looks at a turn, and again for a while if its producer may be at work.
    fn linger(&mut self, turn: u64) -> bool {
        let mut looks = 0;
        loop {
            match self.look(turn) {
                Look::Items { .. } => return true,
                Look::Nothing if looks != LOOKS => {
                    looks += 1;
                    pause(1);
                }
                _ => return false,
            }
        }
    }

    /// Reserves a capsule. Of two, this consumer keeps the older one: others find the other.
    fn reserve(&mut self) -> bool {
        let Some(turn) = self.end.reserve(&mut self.tube) else { return false };
        self.ahead = match self.ahead {
            Some(other) if is_before(other, turn) => Some(other),
            _ => Some(turn),
        };
        true
    }
}

impl<T, Q: Tube> queue::Consumer for Consumer<T, Q> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let (slot, _) = self.claim(1)?;
        let capsules = self.end.slots();
        // SAFETY: the slot holds an item, which this thread alone has claimed.
        let item = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
        capsules.at(self.index).mark_read(slot);
        Ok(item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.header().capacity
    }

    fn slots(&self) -> usize {
        self.end.slots().shape().slots()
    }

    answered_by!(closed: end);

    fn relaxation(&self) -> usize {
        let Shape { group, size, window, .. } = self.end.slots().shape();
        if window == 1 { group * size } else { 3 * group * size }
    }

    /// Visits all capsules.
    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        if self.left > 0 {
            let found = self.end.slots().at(self.index).popped.load(Ordering::Relaxed);
            if found != self.word {
                self.catch_up(found);
            }
        }
        self.left == 0 && self.find().is_err()
    }

    fn pop_slice(&mut self, into: &mut [T]) -> usize
    where
        T: Copy,
    {
        let mut retries = Retries::default();
        let mut done = 0;
        while done < into.len() {
            let (slot, n) = match self.claim((into.len() - done) as u64) {
                Ok(claimed) => claimed,
                Err(error) if retries.again(error == TryPopError::Busy) => continue,
                Err(_) => break,
            };
            let capsules = self.end.slots();
            for (place, slot) in into[done..][..n as usize].iter_mut().zip(slot..) {
                // SAFETY: as in `try_pop`.
                *place = unsafe { capsules.cells().read(capsules.position(self.index, slot)) };
                capsules.at(self.index).mark_read(slot);
            }
            done += n as usize;
        }
        done
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T, Q: Tube> Clone for Consumer<T, Q> {
    fn clone(&self) -> Self {
        self.is_alone.set(false);
        let other = Self::new(self.tube.clone(), self.end.duplicate());
        other.is_alone.set(false);
        other
    }
}

handles! {
    [T, Q: Tube] Consumer<T, Q>: consumer of T;
}
