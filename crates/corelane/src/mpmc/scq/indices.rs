//! SCQ: a ring of indices that is never full, between any number of threads (Nikolaev 2019, Fig. 8).
//!
//! Who puts or takes an index gets a position by adding to `tail` or `head`, and then must get along with who has
//! got the same one: whoever comes to the entry first decides. A taker who finds nothing leaves its cycle in the
//! entry, so that nothing is put there any more, and both try elsewhere.

use core::ptr::NonNull;

use crate::memory::{AtomicU64, MOST_THREADS, Ordering, fence, fence_after_update, is_before};
use crate::pad::{Padded, spread};

/// Where threads of both sides have come to.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Counters {
    /// Behind all positions at which an index was looked for.
    head: Padded<AtomicU64>,
    /// Behind all positions at which an index was put, or was to be.
    tail: Padded<AtomicU64>,
    /// How many positions takers may still come by in vain before there is certainly nothing; then negative.
    threshold: Padded<AtomicU64>,
}

impl Counters {
    /// Those of a ring for `n` indices, all of which are in it, or none.
    pub(super) fn new(first: u64, n: usize, is_full: bool) -> Self {
        let tail = if is_full { first.wrapping_add(n as u64) } else { first };
        let counter = |value| Padded(AtomicU64::new(value));
        Self { head: counter(first), tail: counter(tail), threshold: counter(highest(n)) }
    }
}

/// The threshold when an index has just been put, and is to be found before it is negative.
///
/// At most n − 1 positions before that of the index were given up, as each had an index that its taker was late to
/// take; and at most n − 1 are those of other indices. And each taker that had its position before may lower the
/// threshold by one more, after.
fn highest(n: usize) -> u64 {
    2 * (n as u64 - 1) + MOST_THREADS
}

/// The entries, twice as many as indices: a word each, of
///
/// - the cycle: how often the ring had been gone round when it was written, in the bits where a position has it,
///   one to the left;
/// - whether it is safe: not left behind by who would have taken from it in a later cycle;
/// - the index, or all ones if there is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entries {
    base: NonNull<AtomicU64>,
    order: u32,
}

impl Entries {
    /// Number of entries for `n` indices.
    pub(super) fn number(n: usize) -> usize {
        2 * n
    }

    /// The entries of a ring for `n` indices, all of which are in it in order, or none.
    ///
    /// # Safety
    ///
    /// `base` points to memory for that many entries, which nothing else uses while these do.
    pub(super) unsafe fn init(
        base: NonNull<AtomicU64>,
        first: u64,
        n: usize,
        is_full: bool,
    ) -> Self {
        let entries = Self { base, order: Self::number(n).ilog2() };
        for i in 0..Self::number(n) as u64 {
            let position = first.wrapping_add(i);
            let word = match is_full && i < n as u64 {
                true => entries.word(position, i),
                false => {
                    entries.word(position.wrapping_sub(Self::number(n) as u64), entries.none())
                }
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
    pub(super) unsafe fn finish(self) {
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
pub(super) struct Seen {
    /// Every position from `head` on had an index put there, up to here.
    to: u64,
    /// Where `head` was when all indices were in the ring.
    full: Option<u64>,
}

impl Seen {
    /// What is known of a new ring.
    pub(super) fn nothing(first: u64) -> Self {
        Self { to: first, full: None }
    }
}

/// A ring of indices.
#[derive(Clone, Copy)]
pub(super) struct Indices<'a> {
    counters: &'a Counters,
    entries: &'a Entries,
}

impl<'a> Indices<'a> {
    pub(super) fn new(counters: &'a Counters, entries: &'a Entries) -> Self {
        Self { counters, entries }
    }

    /// How many indices there are, in the ring or elsewhere.
    #[inline]
    fn n(self) -> usize {
        1 << (self.entries.order - 1)
    }

    /// Puts an index behind all others. There is always room.
    #[inline]
    pub(super) fn put(self, index: u64) {
        // Acquire and release: who comes later sees what this thread's index was taken from as empty, and gives up
        // no position for that (see `highest`).
        while !self.put_at(self.counters.tail.fetch_add(1, Ordering::AcqRel), index) {}
        // What was put shows before the threshold is looked at: pairs with the fence in `take`.
        fence_after_update();
        self.raise_threshold();
    }

    /// Sees to it that what is in the ring is found. Relaxed, as are all accesses to the threshold: fences order it.
    #[inline]
    fn raise_threshold(self) {
        let highest = highest(self.n());
        if self.counters.threshold.load(Ordering::Relaxed) != highest {
            self.counters.threshold.swap(highest, Ordering::Relaxed);
        }
    }

    /// Puts an index at `position`, unless something of an earlier cycle is still there, or who takes from there
    /// may have gone.
    #[inline]
    fn put_at(self, position: u64, index: u64) -> bool {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, also below, pairs with the exchange in `take_at`: who finds the entry unsafe sees how far that
        // thread had moved `head`.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            let is_free = entries.is_older(word, position) && entries.index(word).is_none();
            if !is_free || word & entries.safe() == 0 && self.is_taken(position) {
                return false;
            }
            let new = entries.word(position, index);
            // Release pairs with the loads in `take_at`, and those that look: what was done with the slot is visible.
            match entry.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
    }

    /// Whether there was no index at a moment of the call, as far as can be seen without writing: `false` if several
    /// are being put.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        // Acquire, twice: what is looked at next was there later. So there was nothing at `head` when nothing had
        // been put behind it, and nothing before, whatever the others have done since.
        let head = self.counters.head.load(Ordering::Acquire);
        let word = self.entries.at(head).load(Ordering::Acquire);
        self.entries.index_of(word, head).is_none()
            && !is_before(head.wrapping_add(1), self.counters.tail.load(Ordering::Relaxed))
    }

    /// Whether all indices are in the ring, and nobody had set out to take one when the answer was found.
    ///
    /// Looks at each entry, but at those that it has `seen` only once.
    pub(super) fn is_full(self, mut seen: Seen) -> (bool, Seen) {
        let (n, entries) = (self.n() as u64, self.entries);
        let head = self.counters.head.load(Ordering::Relaxed);
        if seen.full == Some(head) {
            return (true, seen);
        }
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
        // Who has put the last of them may not have come to that yet. What was seen there, others are to find.
        fence(Ordering::SeqCst);
        self.raise_threshold();
        seen.full = Some(head);
        (true, seen)
    }

    /// The indices that are in the ring, in order, when nobody uses it any more.
    pub(super) fn drain(self) -> impl Iterator<Item = u64> {
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
        is_before(position, self.counters.head.load(Ordering::Relaxed))
    }

    /// Takes the index that has been there longest. `None` if there was none at a moment of the call.
    #[inline]
    pub(super) fn take(self) -> Option<u64> {
        if (self.counters.threshold.load(Ordering::Relaxed) as i64) < 0 {
            return None;
        }
        loop {
            // Release pairs with the load in `is_empty`: who sees it taken sees that it was there.
            let position = self.counters.head.fetch_add(1, Ordering::Release);
            if let Some(index) = self.take_at(position) {
                return Some(index);
            }
            let next = position.wrapping_add(1);
            // Relaxed: at any moment since `head` was moved will do.
            let tail = self.counters.tail.load(Ordering::Relaxed);
            if !is_before(next, tail) {
                self.catch_up(tail, next);
                return None;
            }
            let one_less = 1_u64.wrapping_neg();
            let threshold = self.counters.threshold.fetch_add(one_less, Ordering::Relaxed);
            if threshold as i64 <= 0 {
                return None;
            }
            // Pairs with the one in `put`: either that call sees the threshold lowered, or what comes next in this
            // thread sees what it has put.
            fence_after_update();
        }
    }

    /// Takes the index that was put at `position`, or sees to it that none ever is.
    #[inline]
    fn take_at(self, position: u64) -> Option<u64> {
        let entries = self.entries;
        let entry = entries.at(position);
        // Acquire, also below, pairs with the exchange in `put_at`: the slot is done with.
        let mut word = entry.load(Ordering::Acquire);
        loop {
            if let Some(index) = entries.index_of(word, position) {
                // Release pairs with the load in `is_empty`: who misses the index sees what its taker saw.
                entry.fetch_or(entries.none(), Ordering::Release);
                return Some(index);
            }
            if !entries.is_older(word, position) {
                return None;
            }
            let new = match entries.index(word) {
                None => entries.word(position, entries.none()) & (word | !entries.safe()),
                // Its taker is late. Who would put the next one here must see that we have been here.
                Some(_) => word & !entries.safe(),
            };
            match entry.compare_exchange(word, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return None,
                Err(found) => word = found,
            }
        }
    }

    /// Moves `tail` on to `head`, so that those who put needn't try each position in between.
    #[cold]
    fn catch_up(self, mut tail: u64, mut head: u64) {
        let Counters { head: heads, tail: tails, .. } = self.counters;
        while is_before(tail, head) {
            match tails.compare_exchange(tail, head, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => tail = found,
            }
            head = heads.load(Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions at which nothing was put yet, or never will be, are not taken for others.
    #[test]
    fn a_gap_is_not_full() {
        for first in [0, u64::MAX - 7] {
            let mut memory = alloc::vec::Vec::with_capacity(Entries::number(4));
            let base = NonNull::new(memory.as_mut_ptr()).unwrap();
            // SAFETY: there is room for as many, and `memory` is used for nothing else.
            let entries = unsafe { Entries::init(base, first, 4, false) };
            let at = |position: u64| first.wrapping_add(position);
            // Five positions were given to who wanted to put something.
            let counters = Counters::new(first, 5, true);
            let ring = Indices::new(&counters, &entries);
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
            // SAFETY: they are not used any more.
            unsafe { entries.finish() };
        }
    }
}
