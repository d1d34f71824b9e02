// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! SCQ: a ring of indices that is never full, between any number of threads (Nikolaev 2019, Fig.
//! 8).
//!
//! A *putter* is a thread that puts an index, a *taker* is a thread that takes an index. A putter
//! gets a position by adding to `tail`. A taker gets a position by adding to `head`; or it looks at
//! the entry at `head` first, and then gets the position by compare-and-swap. The putter and the
//! taker of one position compete for its entry: the first of them decides. A taker that finds no
//! index leaves its cycle in the entry. Then no index is put there any more, and both threads try
//! other positions.
//!
//! # Why the threshold hides no index
//!
//! *Rules.* A taker that finds no index at its position decrements the threshold, unless `tail` is
//! no further than the next position. A taker that makes the threshold negative gives up. A call
//! that finds it negative at its start gives up too. A putter that has put an index raises the
//! threshold to its highest value, or reads that value: 2(n − 1) + t, for n indices and at most t
//! calls that take at the same time.
//!
//! *Terms.* A thread *knows* an event that happens before its current step. A lap is 2n positions,
//! as many as there are entries. Let P be a putter that gets position p and puts an index there. A
//! position before p is *open* if P, when it gets p, doesn't know that a taker has got the
//! position. Otherwise the position is *closed*.
//!
//! **Theorem.** From P's raise of the threshold until a taker gets p, the threshold isn't negative.
//!
//! **Lemma 1 (order).** A thread that gets a position knows all that the threads knew that got
//! earlier positions on the same side. Each update of a counter that gives a position releases, and
//! this update or a load before it acquires. A taker that moves `tail` on knows that all positions
//! that `tail` skips have takers, and releases that.
//!
//! **Lemma 2 (suffix).** The open positions are the last ones before p: by lemma 1, a thread that
//! knows the taker of a position knows the takers of all earlier positions.
//!
//! **Lemma 3 (holders).** The putter of an index knows what earlier holders of this index knew:
//! `put_at` releases, and `take_at` acquires.
//!
//! **Lemma 4 (decrements).** Until the threshold becomes negative, the decrements that P doesn't
//! know are at most one for each open position, and one for each call that is under way.
//!
//! 1. At an open position its taker makes at most one decrement.
//! 2. A call that has made a decrement at a closed position goes on to another position. If that
//!    position is closed too, P knows the decrement, by lemma 1. So each call has at most one
//!    decrement at a closed position that P doesn't know: its last one there.
//! 3. If the call is under way, this decrement counts for the call.
//! 4. If the call has ended, it ended at an open position, without a decrement there. Then the
//!    decrement at the closed position counts for this open position.
//!
//! **Lemma 5 (open positions).** At most 2(n − 1) positions are open. Assume this for all putters
//! of positions before p.
//!
//! 1. *Laps.* 2(n − 1) positions are less than a lap. So, by lemma 2, a putter that gets a position
//!    before p knows the takers of all positions that are a lap or more before its own.
//! 2. *Last positions.* For each of the n − 1 other indices, its last position is the last before p
//!    that a putter of this index got. These are at most n − 1 positions. A position that `tail`
//!    skipped is closed, by lemma 1. At any other position a putter has put its index, or given the
//!    position up. Then a putter of the same index got a later position, p at the latest.
//! 3. *Put.* If the index was put, a taker took it before that later position was got. The later
//!    putter knows that, by lemma 3, and so does P, by lemma 1. The position is closed.
//! 4. *Given up, with a known taker.* If the entry was of the same cycle, the position's taker had
//!    been there. If the entry was of a later cycle, a thread that had got a position a lap or more
//!    later wrote it. This thread knew the position's taker: a taker because `head` had passed the
//!    position; a putter by step 1, since its own position is before the later position of step 2.
//!    If the entry was unsafe and `head` behind the position, the position had a taker. The putter
//!    that gave up knew the taker in each case, and so does P, by lemma 1. The position is closed.
//! 5. *Blocked.* At each remaining position the entry had an index of an earlier cycle, as far as
//!    its putter knew. This index *blocks* the position.
//! 6. *An index blocks at most one open position.* Let an index block two positions, a and then b.
//!    If it was put only once, b is a lap or more behind a. By step 1 the putter of b knew the
//!    taker of a. If the index was put again, at c, then c is behind a: otherwise the putter of a
//!    would have known, by lemmas 1 and 3, that the index was gone. And b is a lap or more behind
//!    c. By step 1 the putter of b knew the taker of c, and by lemma 2 that of a. In both cases P
//!    knows the taker of a, by lemma 1: a is closed.
//! 7. *One index blocks none.* Let a be the first open blocked position, and take the index of the
//!    putter that gave it up. This putter knew that its index was in no entry. If the index blocked
//!    an open position b, it was put again at a position c behind a, and as in step 6 a would be
//!    closed. So at most n − 1 open positions are blocked.
//! 8. *Sum.* By steps 2 and 7 at most 2(n − 1) positions are open.
//!
//! **Proof of the theorem.** The decrements that P knows come before its raise, or before the value
//! that it reads. Until a taker gets p, all other decrements are at positions before p. By lemmas 4
//! and 5 these are at most 2(n − 1) + t, and the threshold is at least 0 after them.
//!
//! **Corollary (full ring).** A thread that finds all indices in the ring has seen each index at
//! its position, and knows what its putter knew then. So this thread may raise the threshold for
//! that putter.

use core::ptr::NonNull;

use crate::memory::{AtomicU64, Ordering, advance, is_before, pause};
use crate::pad::{Padded, spread};

/// The parameters of a ring of indices.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of indices, in the ring or elsewhere: a power of two.
    pub n: usize,
    /// The first position, a multiple of the number of entries.
    pub first: u64,
    /// Whether all indices are in the new ring, in order. Otherwise none is.
    pub is_full: bool,
    /// Most calls that take at the same time, and may find no index at a position: t of the proof.
    pub takers: u64,
    /// How often such a call reads the entry at its position before it gives the position up.
    pub looks: u32,
}

impl Plan {
    /// The threshold when an index has just been put. After as many decrements it isn't negative,
    /// and the index is still found.
    fn highest(self) -> u64 {
        2 * (self.n as u64 - 1) + self.takers
    }
}

/// The counters of both sides.
#[derive(Debug)]
#[repr(C)]
pub struct Counters {
    /// Behind all positions that takers have got.
    head: Padded<AtomicU64>,
    /// Behind all positions that putters have got, or that have been skipped.
    tail: Padded<AtomicU64>,
    /// At how many positions takers may still find no index. Negative if there is certainly no
    /// index.
    threshold: Padded<AtomicU64>,
}

impl Counters {
    /// Those of a new ring.
    pub fn new(plan: Plan) -> Self {
        let n = if plan.is_full { plan.n as u64 } else { 0 };
        let counter = |value| Padded(AtomicU64::new(value));
        Self {
            head: counter(plan.first),
            tail: counter(plan.first.wrapping_add(n)),
            threshold: counter(plan.highest()),
        }
    }
}

/// The entries, twice as many as indices: a word each, of
///
/// - the cycle: the number of laps before the one in which the entry was written, in the bits that
///   it has in a position, shifted left by one;
/// - whether the entry is safe: no taker of a later cycle has found an index here, and left it;
/// - the index, or all ones if there is none.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    base: NonNull<AtomicU64>,
    order: u32,
    /// The highest threshold.
    highest: u64,
    /// See [`Plan::looks`].
    looks: u32,
}

impl Entries {
    /// Number of entries for `n` indices.
    pub fn number(n: usize) -> usize {
        2 * n
    }

    /// Those of a new ring.
    ///
    /// # Safety
    ///
    /// `base` points to memory for all entries of the plan, which nothing else uses while the
    /// entries live.
    pub unsafe fn init(base: NonNull<AtomicU64>, plan: Plan) -> Self {
        let number = Self::number(plan.n) as u64;
        let (order, highest, looks) = (number.ilog2(), plan.highest(), plan.looks);
        let entries = Self { base, order, highest, looks };
        for i in 0..number {
            let position = plan.first.wrapping_add(i);
            let word = match plan.is_full && i < plan.n as u64 {
                true => entries.word(position, i),
                false => entries.word(position.wrapping_sub(number), entries.none()),
            };
            // SAFETY: by the caller's contract there is room for all entries, and this is one of
            // them.
            unsafe { entries.place(position).write(AtomicU64::new(word)) };
        }
        entries
    }

    /// Ends the life of the entries.
    ///
    /// # Safety
    ///
    /// No copy of the entries is used afterwards.
    pub unsafe fn finish(self) {
        for position in 0..=self.none() {
            // SAFETY: `init` wrote each entry, and no entry is used any more.
            unsafe { self.place(position).drop_in_place() };
        }
    }

    /// Where the entry of a position is. The entries of consecutive positions are in different
    /// cache lines, if there are several lines.
    #[inline]
    fn place(self, position: u64) -> NonNull<AtomicU64> {
        let i = spread::<AtomicU64>(position, 1 << self.order);
        // SAFETY: `i` is less than the number of entries.
        unsafe { self.base.add(i) }
    }

    #[inline]
    fn at(&self, position: u64) -> &AtomicU64 {
        // SAFETY: `init` has written all entries, and they live as long as the array does.
        unsafe { self.place(position).as_ref() }
    }

    /// The paper's ⊥.
    #[inline]
    fn none(self) -> u64 {
        (1 << self.order) - 1
    }

    #[inline]
    fn safe(self) -> u64 {
        1 << self.order
    }

    /// A safe entry of the cycle of `position`, with `index`.
    #[inline]
    fn word(self, position: u64, index: u64) -> u64 {
        self.cycle(position << 1) | self.safe() | index
    }

    /// The bits of an entry that are its cycle.
    #[inline]
    fn cycle(self, word: u64) -> u64 {
        word & !(self.safe() | self.none())
    }

    #[inline]
    fn index(self, word: u64) -> Option<u64> {
        let index = word & self.none();
        (index != self.none()).then_some(index)
    }

    /// The index that was put at `position`, if this entry holds it.
    #[inline]
    fn index_of(self, word: u64, position: u64) -> Option<u64> {
        self.index(word).filter(|_| self.cycle(word) == self.cycle(position << 1))
    }

    /// Whether an entry is of an earlier cycle than that of `position`.
    #[inline]
    fn is_older(self, word: u64, position: u64) -> bool {
        is_before(self.cycle(word), self.cycle(position << 1))
    }
}

/// What a thread has seen of a ring.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// An index has been put at every position from `head` up to here.
    to: u64,
    /// Where `head` was when all indices were in the ring.
    full: Option<u64>,
}

impl Seen {
    /// Nothing but a new ring.
    pub fn nothing(first: u64) -> Self {
        Self { to: first, full: None }
    }
}

/// A ring of indices.
#[derive(Debug, Clone, Copy)]
pub struct Indices<'a> {
    counters: &'a Counters,
    entries: &'a Entries,
}

impl<'a> Indices<'a> {
    /// Both are of the same ring.
    pub fn new(counters: &'a Counters, entries: &'a Entries) -> Self {
        Self { counters, entries }
    }

    /// How many indices there are, in the ring or elsewhere.
    #[inline]
    fn n(self) -> usize {
        1 << (self.entries.order - 1)
    }

    /// Puts an index behind all others. There is always room.
    #[inline]
    pub fn put(self, index: u64) {
        while !self.put_at(self.next_to_put(), index) {}
        self.raise_threshold();
    }

    /// A position at which no other thread puts.
    #[inline]
    pub fn next_to_put(self) -> u64 {
        // Acquire ↔ Release of earlier calls, and of `catch_up`: all that their threads knew (lemma
        // 1).
        self.counters.tail.fetch_add(1, Ordering::AcqRel)
    }

    /// Raises the threshold, so that takers find what is in the ring. Relaxed: the positions order
    /// it (see the proof).
    #[inline]
    fn raise_threshold(self) {
        let highest = self.entries.highest;
        if self.counters.threshold.load(Ordering::Relaxed) != highest {
            // A store would suffice. But after a store loom would let an update read a value that
            // isn't the last.
            self.counters.threshold.swap(highest, Ordering::Relaxed);
        }
    }

    /// Puts an index at `position`, unless an index of an earlier cycle is still there, or the
    /// position's taker may have gone.
    #[inline]
    pub fn put_at(self, position: u64, index: u64) -> bool {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, here and below ↔ Release of the exchange in `take_at`: how far the taker that
        // made the entry unsafe had moved `head`.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            let is_free = entries.is_older(word, position) && entries.index(word).is_none();
            if !is_free || word & entries.safe() == 0 && self.is_taken(position) {
                return false;
            }
            let new = entries.word(position, index);
            // Release ↔ Acquire in `take_at`, `first` and `is_full`: all accesses to the slot.
            match entry.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
    }

    /// The next position to take from. `None` if there was no index at a moment of the call, as far
    /// as a thread can see without writing: not if several indices are being put.
    #[inline]
    fn first(self) -> Option<u64> {
        // Acquire, twice: each later load reads a later state. So there was no index at `head` when
        // no index had been put behind it, and none before `head`, whatever other threads have done
        // since.
        let head = self.counters.head.load(Ordering::Acquire);
        let word = self.entries.at(head).load(Ordering::Acquire);
        let is_empty = self.entries.index_of(word, head).is_none()
            && !is_before(head.wrapping_add(1), self.counters.tail.load(Ordering::Relaxed));
        (!is_empty).then_some(head)
    }

    /// As [`take`](Self::take), but looks first. It writes only if there is an index, or if several
    /// indices are being put.
    #[inline]
    pub fn look_and_take(self) -> Option<u64> {
        self.first().and_then(|position| self.take_from(position))
    }

    /// Takes from `position`, or looks again if another taker has got the position.
    fn take_from(self, mut position: u64) -> Option<u64> {
        // By compare-and-swap, not by addition: all takers that look see the same index, and late
        // takers should get no position.
        while !self.is_exhausted() {
            if self.is_next_to_take(position) {
                return match self.take_at(position) {
                    None if self.is_over(position) => None,
                    // Doesn't look again: a taker that has decremented the threshold goes on to
                    // another position (lemma 4).
                    None => self.take_next(),
                    index => index,
                };
            }
            position = self.first()?;
        }
        None
    }

    /// Indices in the ring, and positions at which none was put because a taker or a putter had
    /// been too late. At most all.
    pub fn len(self) -> usize {
        let Counters { head, tail, .. } = self.counters;
        // Relaxed: a snapshot. `tail` may be the older value.
        let head = head.load(Ordering::Relaxed);
        let positions = tail.load(Ordering::Relaxed).wrapping_sub(head) as i64;
        positions.clamp(0, self.n() as i64) as usize
    }

    /// Whether there was no index at a moment of the call, as far as a thread can see without
    /// writing.
    pub fn is_empty(self) -> bool {
        self.is_exhausted() || self.first().is_none()
    }

    /// Whether no taker has got a position since all indices were seen in the ring, as far as this
    /// thread knows.
    #[inline]
    pub fn is_still_full(self, seen: Seen) -> bool {
        // Relaxed: any other value means no. A thread that knows of a taker sees that this taker
        // has moved `head`.
        seen.full == Some(self.counters.head.load(Ordering::Relaxed))
    }

    /// Whether all indices are in the ring, and no taker had got a position when the answer was
    /// found, as far as this thread knows.
    ///
    /// Reads each entry, except those that an earlier call has `seen`.
    pub fn is_full(self, mut seen: Seen) -> (bool, Seen) {
        let (n, entries) = (self.n() as u64, self.entries);
        let head = self.counters.head.load(Ordering::Relaxed);
        if seen.to.wrapping_sub(head) > n {
            seen.to = head;
        }
        let tail = self.counters.tail.load(Ordering::Relaxed);
        let mut there = seen.to.wrapping_sub(head);
        let mut position = seen.to;
        // As long as there are enough positions for the other indices.
        while there < n && tail.wrapping_sub(position) as i64 >= (n - there) as i64 {
            // Acquire: `head` is read later.
            let word = entries.at(position).load(Ordering::Acquire);
            let is_there = entries.index_of(word, position).is_some();
            there += u64::from(is_there);
            let next = position.wrapping_add(1);
            // Behind a gap, which may be filled later, the next call reads all entries again.
            if is_there && seen.to == position {
                seen.to = next;
            }
            position = next;
        }
        if there < n || self.counters.head.load(Ordering::Relaxed) != head {
            return (false, seen);
        }
        // The putter of the last index may not have raised the threshold yet. Other threads must
        // find the indices that were seen here. Acquire above ↔ Release in `put_at`: all that the
        // putters knew.
        self.raise_threshold();
        seen.full = Some(head);
        (true, seen)
    }

    /// The indices that are in the ring, in order, when no thread uses the ring any more.
    pub fn drain(self) -> impl Iterator<Item = u64> {
        // Relaxed: the drop of the handles has ordered all their accesses before this.
        let head = self.counters.head.load(Ordering::Relaxed);
        let tail = self.counters.tail.load(Ordering::Relaxed);
        let positions = (0..tail.wrapping_sub(head)).map(move |i| head.wrapping_add(i));
        positions.filter_map(move |position| {
            let word = self.entries.at(position).load(Ordering::Relaxed);
            self.entries.index_of(word, position)
        })
    }

    /// Whether a taker has got `position`.
    #[inline]
    fn is_taken(self, position: u64) -> bool {
        // Acquire ↔ Release in `next_to_take`: a putter that gives the position up knows its taker.
        is_before(position, self.counters.head.load(Ordering::Acquire))
    }

    /// Takes the oldest index. `None` if there was no index at a moment of the call.
    #[inline]
    pub fn take(self) -> Option<u64> {
        if self.is_exhausted() { None } else { self.take_next() }
    }

    /// Takes at the next position, or at a later one.
    #[inline]
    fn take_next(self) -> Option<u64> {
        loop {
            let position = self.next_to_take();
            self.linger(position);
            match self.take_at(position) {
                None if self.is_over(position) => return None,
                None => {}
                index => return index,
            }
        }
    }

    /// Whether the threshold says that there is no index.
    #[inline]
    fn is_exhausted(self) -> bool {
        // Acquire ↔ Release in `is_over`: a thread that finds the threshold negative knows that the
        // indices were taken, and doesn't call the ring full because of an earlier state.
        (self.counters.threshold.load(Ordering::Acquire) as i64) < 0
    }

    /// A position from which no other thread takes.
    #[inline]
    pub fn next_to_take(self) -> u64 {
        // Acquire and Release, as in `next_to_put`. Release also ↔ Acquire in `first`: a thread
        // that sees the position taken sees all that its taker knew.
        self.counters.head.fetch_add(1, Ordering::AcqRel)
    }

    /// As [`next_to_take`](Self::next_to_take), if the next position is `position`, from which
    /// [`first`](Self::first) has read.
    #[inline]
    fn is_next_to_take(self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        // Release: as in `next_to_take`. The load in `first` has acquired the update that moved
        // `head` to `position`. The exchange reads the same update, since no value of `head` occurs
        // twice.
        self.counters
            .head
            .compare_exchange(position, next, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether a taker waits for an index at its position. Such a taker needn't look first.
    #[inline]
    pub fn lingers(self) -> bool {
        self.entries.looks > 0
    }

    /// Waits for an index at `position` before the taker gives the position up: *delayed
    /// invalidation*.
    #[inline]
    fn linger(self, position: u64) {
        let entry = self.entries.at(position);
        for _ in 0..self.entries.looks {
            // Relaxed: `take_at` reads the entry again.
            if self.entries.index_of(entry.load(Ordering::Relaxed), position).is_some() {
                return;
            }
            pause(1);
        }
    }

    /// Whether there is no index behind `position` either, after the taker found none there.
    #[inline]
    pub fn is_over(self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        // Relaxed: any value that `tail` has had since the update of `head` suffices.
        if !is_before(next, self.counters.tail.load(Ordering::Relaxed)) {
            self.catch_up(next);
            return true;
        }
        // Release ↔ Acquire in `is_exhausted`, and Acquire ↔ Release here: that the indices were
        // taken.
        self.counters.threshold.fetch_add(1_u64.wrapping_neg(), Ordering::AcqRel) as i64 <= 0
    }

    /// Moves `tail` on to `next`, so that putters needn't try each position before it.
    #[cold]
    fn catch_up(self, next: u64) {
        // Release ↔ Acquire in `next_to_put`: all positions before `next` have takers.
        advance(&self.counters.tail, next, Ordering::Release);
    }

    /// Takes the index that was put at `position`, or prevents that an index is ever put there.
    #[inline]
    pub fn take_at(self, position: u64) -> Option<u64> {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, here and below ↔ Release of the exchange in `put_at`: all accesses to the slot.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            if let Some(index) = entries.index_of(word, position) {
                // Release ↔ Acquire in `first`: a thread that finds the index gone sees all that
                // its taker saw.
                entry.fetch_or(entries.none(), Ordering::Release);
                return Some(index);
            }
            if !entries.is_older(word, position) {
                return None;
            }
            let new = match entries.index(word) {
                None => entries.word(position, entries.none()) & (word | !entries.safe()),
                // The index of an earlier lap is still here. The next thread that puts an index at
                // this entry must see that this thread has visited the entry.
                Some(_) => word & !entries.safe(),
            };
            match entry.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return None,
                Err(found) => word = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `check` with a ring for `n` indices that starts anywhere, and with its first position.
    fn with_ring(n: usize, is_full: bool, check: impl Fn(Indices<'_>, u64)) {
        for first in [0, u64::MAX - 7] {
            let mut memory = alloc::vec::Vec::with_capacity(Entries::number(n));
            let base = NonNull::new(memory.as_mut_ptr()).unwrap();
            let plan = Plan { n, first, is_full, takers: 1, looks: 0 };
            // SAFETY: there is room for all entries, and `memory` is used for nothing else.
            let entries = unsafe { Entries::init(base, plan) };
            check(Indices::new(&Counters::new(plan), &entries), first);
            // SAFETY: the entries are not used any more.
            unsafe { entries.finish() };
        }
    }

    /// Positions at which no index has been put yet, or never will be, don't count as filled.
    #[test]
    fn a_gap_is_not_full() {
        with_ring(4, false, |ring, first| {
            let at = |position: u64| first.wrapping_add(position);
            // Five putters have got positions.
            (0..5).for_each(|i| assert_eq!(ring.next_to_put(), at(i)));
            assert!(ring.put_at(at(0), 3) && ring.put_at(at(2), 0) && ring.put_at(at(3), 1));
            let mut seen = Seen::nothing(first);
            for _ in 0..3 {
                let (is_full, now) = ring.is_full(seen);
                assert!(!is_full, "there are three of four");
                seen = now;
            }
            assert!(ring.put_at(at(1), 2));
            assert!(ring.is_full(seen).0, "behind four positions there is one too many");
            assert_eq!(ring.take(), Some(3));
            assert!(!ring.is_full(seen).0);
        });
    }

    /// A putter has written the entry but hasn't raised the threshold, which is negative. A thread
    /// that has seen all indices in the ring finds the index.
    #[test]
    fn what_is_full_is_found() {
        with_ring(1, true, |ring, first| {
            let index = ring.take().unwrap();
            let mut to_put = ring.next_to_put();
            for is_over in [false, true] {
                let to_take = ring.next_to_take();
                assert_eq!(ring.take_at(to_take), None);
                assert!(!ring.put_at(to_put, index), "a taker has visited the entry");
                to_put = ring.next_to_put();
                assert_eq!(ring.is_over(to_take), is_over);
            }
            assert!(ring.put_at(to_put, index));
            assert_eq!(ring.take(), None, "the push is unfinished");
            assert!(ring.is_full(Seen::nothing(first)).0);
            assert_eq!(ring.take(), Some(index));
        });
    }
}
