// Above 500 lines: one algorithm with its page, both of its sides and its own tests.

//! SCQ: a ring of indices that is never full, between any number of threads (Nikolaev 2019, Fig. 8).
//!
//! A *putter* is a thread that puts an index, a *taker* is a thread that takes an index. A putter gets a position by
//! adding to `tail`. A taker gets a position by adding to `head`; or it looks at the entry at `head` first, and then
//! gets the position by compare-and-swap. The putter and the taker of one position compete for its entry: the first to
//! come to the entry decides. A taker that finds no index leaves its cycle in the entry. Then no index is put there any
//! more, and both threads try other positions.
//!
//! # Why the threshold doesn't hide what is there
//!
//! A taker that finds no index at its position decrements the threshold, unless `tail` is no further than the position
//! behind. A putter that has put an index raises the threshold to its highest value, or reads that value. Decrements
//! that this putter knows of came before that. Let p be the position of its index. Until a taker sets out to take this
//! index, the decrements that the putter doesn't know of are at positions before p. These decrements are at most
//! 2(n − 1), for n indices, and one for each call that takes at the time:
//!
//! - A thread that gets a position knows all that the threads knew that got earlier positions on the same side: each
//!   update of a counter that hands out a position releases, and this update or a load before it acquires. A taker that
//!   moves `tail` on knows that all positions that `tail` skips have takers, and releases that. The putter of an index
//!   knows what earlier holders of the index knew.
//! - Let a position before p be *open* if the putter, when it gets p, doesn't know that this position has a taker. A
//!   taker that decrements the threshold at a position that isn't open, and not below 0, goes on to another position.
//!   If the second position isn't open either, the putter knows of the decrement at the first. So the putter doesn't
//!   know of one such decrement for each call that is under way. If such a call has ended, it ended at an open
//!   position, and made no decrement there.
//! - At most 2(n − 1) positions are open. Assume this for all positions before p. 2(n − 1) positions are less than a
//!   lap. So a thread that gets a position knows that all positions a lap before it, or more, have takers.
//! - At most n − 1 open positions are those where the other indices were put, or are about to be: one for each index.
//!   Before an index is put at another position, a taker has taken it from the first, and the putter of p knows that.
//! - The rest were given up, by putters that then got another position, up to p. If the entry was of the same cycle,
//!   the position's taker had been there. If the entry was of a later cycle, a thread a lap later had been there, which
//!   knew of a taker. If the entry was unsafe and `head` behind the position, it has a taker. None of these positions
//!   is open. At each that is left the entry had an index of an earlier cycle, as far as its putter knew.
//! - At most n − 1 positions are left, for no index is in the way at two of them. If the index was put only once, the
//!   second position is a lap behind the first, and so the first has a known taker. If the index was put again, it was
//!   put behind the first position: otherwise the putter that gave up the first would have known that the index had
//!   gone. The putter that finds the index there is a lap later still. It knows of a taker there, and so of one at the
//!   first position. For the same reason, no position left has the index of the putter that gave up the first of these
//!   positions.
//!
//! A thread that finds all indices in the ring has seen each at its position, and knows what its putter knew then. So
//! it may raise the threshold for that putter.

use core::ptr::NonNull;

use crate::memory::{AtomicU64, Ordering, advance, is_before, pause};
use crate::pad::{Padded, spread};

/// What a ring of indices is made for.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of indices, in the ring or elsewhere: a power of two.
    pub n: usize,
    /// The first position, a multiple of the entries.
    pub first: u64,
    /// Whether all indices are in the ring, in order. Otherwise none is.
    pub is_full: bool,
    /// Most calls at the same time that take, and may find no index at a position.
    pub takers: u64,
    /// How often such a call looks for what is about to be put at its position, before it gives that up.
    pub looks: u32,
}

impl Plan {
    /// The threshold when an index has just been put: so often may it be lowered, and the index is found still, as that
    /// isn't negative then.
    fn highest(self) -> u64 {
        2 * (self.n as u64 - 1) + self.takers
    }
}

/// Where threads of both sides have come to.
#[derive(Debug)]
#[repr(C)]
pub struct Counters {
    /// Behind all positions at which an index was looked for.
    head: Padded<AtomicU64>,
    /// Behind all positions at which an index was put, or was to be.
    tail: Padded<AtomicU64>,
    /// At how many positions takers may still find no index before there is certainly none; then negative.
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
/// - the cycle: how often the ring had been gone round when it was written, in the bits where a position has it,
///   one to the left;
/// - whether it is safe: no taker of a later cycle has found an index here, and left it behind;
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
    /// `base` points to memory for that many entries, which nothing else uses while these do.
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
            // SAFETY: by the caller's word there is room for all entries, and this is one of them.
            unsafe { entries.place(position).write(AtomicU64::new(word)) };
        }
        entries
    }

    /// Ends the life of the entries.
    ///
    /// # Safety
    ///
    /// No copy of these is used afterwards.
    pub unsafe fn finish(self) {
        for position in 0..=self.none() {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe { self.place(position).drop_in_place() };
        }
    }

    /// Where the entry of a position is: those of positions in a row are in other lines, if there are several.
    #[inline]
    fn place(self, position: u64) -> NonNull<AtomicU64> {
        let i = spread::<AtomicU64>(position, 1 << self.order);
        // SAFETY: there are so many entries.
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

    /// An entry of the cycle of `position`, safe, with `index`.
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

    /// The index that was put at `position`, if it is what this entry holds.
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

/// What a thread knows of a ring.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Every position from `head` on had an index put there, up to here.
    to: u64,
    /// Where `head` was when all indices were in the ring.
    full: Option<u64>,
}

impl Seen {
    /// What is known of a new ring.
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

    /// A position that nobody else puts at.
    #[inline]
    pub fn next_to_put(self) -> u64 {
        // Acquire ↔ Release of earlier calls, and of `catch_up`: all that those threads knew (see above).
        self.counters.tail.fetch_add(1, Ordering::AcqRel)
    }

    /// Sees to it that what is in the ring is found. Relaxed: what has to be known of the threshold comes with positions.
    #[inline]
    fn raise_threshold(self) {
        let highest = self.entries.highest;
        if self.counters.threshold.load(Ordering::Relaxed) != highest {
            // A store would do, but loom would then let an update read a value that isn't the last.
            self.counters.threshold.swap(highest, Ordering::Relaxed);
        }
    }

    /// Puts an index at `position`, unless an index of an earlier cycle is still there, or the position's taker may
    /// have gone.
    #[inline]
    pub fn put_at(self, position: u64, index: u64) -> bool {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, also below ↔ Release of the exchange in `take_at`: how far the taker that made the entry unsafe had
        // moved `head`.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            let is_free = entries.is_older(word, position) && entries.index(word).is_none();
            if !is_free || word & entries.safe() == 0 && self.is_taken(position) {
                return false;
            }
            let new = entries.word(position, index);
            // Release ↔ Acquire in `take_at`, `first` and `is_full`: what was done with the slot.
            match entry.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
    }

    /// The position that is taken from next. `None` if there was no index at a moment of the call, as far as can be seen
    /// without writing: not if several are being put.
    #[inline]
    fn first(self) -> Option<u64> {
        // Acquire, twice: what is looked at next was there later. So there was nothing at `head` when nothing had
        // been put behind it, and nothing before, whatever the others have done since.
        let head = self.counters.head.load(Ordering::Acquire);
        let word = self.entries.at(head).load(Ordering::Acquire);
        let is_empty = self.entries.index_of(word, head).is_none()
            && !is_before(head.wrapping_add(1), self.counters.tail.load(Ordering::Relaxed));
        (!is_empty).then_some(head)
    }

    /// As [`take`](Self::take), but looks first, and writes only if there is something, or several are being put.
    #[inline]
    pub fn look_and_take(self) -> Option<u64> {
        self.first().and_then(|position| self.take_from(position))
    }

    /// Takes from `position`, or looks again if others have come first.
    fn take_from(self, mut position: u64) -> Option<u64> {
        // Not by adding: all takers that look see the same index, and those that are too late should take no position.
        while !self.is_exhausted() {
            if self.is_next_to_take(position) {
                return match self.take_at(position) {
                    None if self.is_over(position) => None,
                    // Not by looking again: a taker that has decremented the threshold goes on to another position
                    // (see above).
                    None => self.take_next(),
                    index => index,
                };
            }
            position = self.first()?;
        }
        None
    }

    /// Whether nobody has set out to take an index since all were seen in the ring, as far as this thread knows.
    #[inline]
    pub fn is_still_full(self, seen: Seen) -> bool {
        // Relaxed: any other value says no. And a thread that knows of a taker sees that this taker has moved `head`.
        seen.full == Some(self.counters.head.load(Ordering::Relaxed))
    }

    /// Whether all indices are in the ring, and nobody had set out to take one when the answer was found, as far as this
    /// thread knows.
    ///
    /// Looks at each entry, but at those that it has `seen` only once.
    pub fn is_full(self, mut seen: Seen) -> (bool, Seen) {
        let (n, entries) = (self.n() as u64, self.entries);
        let head = self.counters.head.load(Ordering::Relaxed);
        if seen.to.wrapping_sub(head) > n {
            seen.to = head;
        }
        let tail = self.counters.tail.load(Ordering::Relaxed);
        let mut there = seen.to.wrapping_sub(head);
        let mut position = seen.to;
        // As long as there are positions enough for the others.
        while there < n && tail.wrapping_sub(position) as i64 >= (n - there) as i64 {
            // Acquire: `head` is looked at later.
            let word = entries.at(position).load(Ordering::Acquire);
            let is_there = entries.index_of(word, position).is_some();
            there += u64::from(is_there);
            let next = position.wrapping_add(1);
            // Behind a gap, which may be filled or not, all is looked at again.
            if is_there && seen.to == position {
                seen.to = next;
            }
            position = next;
        }
        if there < n || self.counters.head.load(Ordering::Relaxed) != head {
            return (false, seen);
        }
        // The putter of the last index may not have raised the threshold yet. Other threads must find what was seen
        // here. Acquire above ↔ Release in `put_at`: all that the putters knew.
        self.raise_threshold();
        seen.full = Some(head);
        (true, seen)
    }

    /// The indices that are in the ring, in order, when nobody uses it any more.
    pub fn drain(self) -> impl Iterator<Item = u64> {
        // Relaxed: dropping the handles has ordered what they did before this.
        let head = self.counters.head.load(Ordering::Relaxed);
        let tail = self.counters.tail.load(Ordering::Relaxed);
        let positions = (0..tail.wrapping_sub(head)).map(move |i| head.wrapping_add(i));
        positions.filter_map(move |position| {
            let word = self.entries.at(position).load(Ordering::Relaxed);
            self.entries.index_of(word, position)
        })
    }

    /// Whether somebody has set out to take from `position`.
    #[inline]
    fn is_taken(self, position: u64) -> bool {
        // Acquire ↔ Release in `next_to_take`: a putter that gives the position up for this knows its taker.
        is_before(position, self.counters.head.load(Ordering::Acquire))
    }

    /// Takes the index that has been there longest. `None` if there was none at a moment of the call.
    #[inline]
    pub fn take(self) -> Option<u64> {
        if self.is_exhausted() { None } else { self.take_next() }
    }

    /// Takes at the next position, or at those behind it.
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

    /// Whether the threshold says that there is nothing.
    #[inline]
    fn is_exhausted(self) -> bool {
        // Acquire ↔ Release in `is_over`: a thread that finds the threshold negative knows that the indices were taken,
        // and doesn't call the ring full by what it was.
        (self.counters.threshold.load(Ordering::Acquire) as i64) < 0
    }

    /// A position that nobody else takes from.
    #[inline]
    pub fn next_to_take(self) -> u64 {
        // Acquire and release, as in `next_to_put`. Release also ↔ Acquire in `first`: a thread that sees the position
        // taken sees that it was there to be taken.
        self.counters.head.fetch_add(1, Ordering::AcqRel)
    }

    /// As [`next_to_take`](Self::next_to_take), if that is `position`, at which [`first`](Self::first) has looked.
    #[inline]
    fn is_next_to_take(self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        // Release: as in `next_to_take`. `first` has acquired what the taker released that moved `head` to `position`:
        // the exchange reads the same store, as no value of `head` comes twice.
        self.counters
            .head
            .compare_exchange(position, next, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether a taker looks for a while at the position that it has got. Then it needn't look first.
    #[inline]
    pub fn lingers(self) -> bool {
        self.entries.looks > 0
    }

    /// Looks for what is put at `position`, before it is given up: *delayed invalidation*.
    #[inline]
    fn linger(self, position: u64) {
        let entry = self.entries.at(position);
        for _ in 0..self.entries.looks {
            // Relaxed: `take_at` looks again.
            if self.entries.index_of(entry.load(Ordering::Relaxed), position).is_some() {
                return;
            }
            pause(1);
        }
    }

    /// Whether there is nothing further on, when nothing was found at `position`.
    #[inline]
    pub fn is_over(self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        // Relaxed: at any moment since `head` was moved will do.
        if !is_before(next, self.counters.tail.load(Ordering::Relaxed)) {
            self.catch_up(next);
            return true;
        }
        // Release pairs with the load in `is_exhausted`, acquire with release here, for the same reason.
        self.counters.threshold.fetch_add(1_u64.wrapping_neg(), Ordering::AcqRel) as i64 <= 0
    }

    /// Moves `tail` on to `next`, so that putters needn't try each position before.
    #[cold]
    fn catch_up(self, next: u64) {
        // Release ↔ Acquire in `next_to_put`: all positions before `next` have takers.
        advance(&self.counters.tail, next, Ordering::Release);
    }

    /// Takes the index that was put at `position`, or sees to it that none ever is.
    #[inline]
    pub fn take_at(self, position: u64) -> Option<u64> {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, also below, pairs with the exchange in `put_at`: the slot is done with.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            if let Some(index) = entries.index_of(word, position) {
                // Release ↔ Acquire in `first`: a thread that misses the index sees what its taker saw.
                entry.fetch_or(entries.none(), Ordering::Release);
                return Some(index);
            }
            if !entries.is_older(word, position) {
                return None;
            }
            let new = match entries.index(word) {
                None => entries.word(position, entries.none()) & (word | !entries.safe()),
                // The taker of that index is late. The next putter here must see that this taker has been here.
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
            // SAFETY: there is room for as many, and `memory` is used for nothing else.
            let entries = unsafe { Entries::init(base, plan) };
            check(Indices::new(&Counters::new(plan), &entries), first);
            // SAFETY: they are not used any more.
            unsafe { entries.finish() };
        }
    }

    /// Positions at which nothing was put yet, or never will be, are not taken for others.
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

    /// A putter has written the entry but hasn't raised the threshold, which is negative. A thread that has been told
    /// that all indices are there finds the index.
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
