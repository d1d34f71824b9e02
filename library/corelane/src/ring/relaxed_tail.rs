use super::mode::{Cursors, POSITION_BITS, Refused, Wanted, distance};
use crate::memory::{AtomicU64, Ordering};
use crate::queue::{Info, Sides};
use crate::region::Run;

/// Threads of a side are done in any order. Of the threads in the middle of a call, the last to be done shows what all
/// of them did: DPDK's *relaxed tail sync*.
///
/// A call never waits. While one is in the middle, others go on until an eighth of the slots, or 2¹⁷, lies behind where
/// it began; then they are told busy. So in a ring of fewer than eight slots nobody goes on.
///
/// - What a call has done is invisible to the other side while a call that began earlier or at the same time is in the
///   middle. A pop is then told busy. DPDK's is told that the queue is empty, which is not linearizable (§2.2):
///   an item may be there whose push has returned.
/// - DPDK's threads wait where these are told busy.
#[derive(Debug)]
#[repr(C)]
pub struct RelaxedTail {
    /// Behind all slots that have been taken, and how many calls took some.
    head: AtomicU64,
    /// Behind all slots that are shown, and how many calls are done.
    tail: AtomicU64,
    /// Most slots between the two at which more are taken.
    most: u64,
}

/// A position, and a number of calls by its last 17 bits: at most 2¹⁶, one for each handle, have begun and aren't done;
/// and at most [`MOST_APART`] can be done while the position stays, so that a word doesn't come again meanwhile.
#[derive(Clone, Copy)]
struct Word(u64);

/// Most slots that a side may go on while one of its calls is in the middle.
const MOST_APART: u64 = (1 << Word::COUNT_BITS) - 1;

impl Word {
    const COUNT_BITS: u32 = u64::BITS - POSITION_BITS;

    fn new(position: u64, count: u64) -> Self {
        Self(position << Self::COUNT_BITS | count & ((1 << Self::COUNT_BITS) - 1))
    }

    fn position(self) -> u64 {
        self.0 >> Self::COUNT_BITS
    }

    /// The word with one call more, at `position`.
    fn next(self, position: u64) -> Self {
        Self::new(position, self.0.wrapping_add(1))
    }

    /// Whether both stand for as many calls.
    fn counts_like(self, other: Self) -> bool {
        (self.0 ^ other.0) << POSITION_BITS == 0
    }
}

impl Cursors for RelaxedTail {
    const INFO: Info = Info {
        id: "ring-rts",
        name: "ring with relaxed tails",
        paper: "Wang 2024, §2.2 (P3); DPDK's RTS mode",
        sides: Sides::ManyToMany,
        guarantee: "deadlock-free FIFO",
        choose: "to compare: the ring for threads that may be stopped in the middle",
        avoid: "what was pushed must be there at once: it is hidden while an earlier push is unfinished",
        ..Info::RING
    };
    const HIDES: bool = true;

    fn new(first: u64, slots: usize) -> Self {
        let cursor = || AtomicU64::new(Word::new(first, 0).0);
        Self { head: cursor(), tail: cursor(), most: MOST_APART.min(slots as u64 / 8) }
    }

    #[inline]
    fn take(&self, wanted: Wanted, end: impl Fn() -> u64) -> Result<Run, Refused> {
        loop {
            // Relaxed: if the `head` loaded next isn't as far, the distance is large. Then the thread that made it so
            // was in the middle of a call a moment ago.
            let tail = Word(self.tail.load(Ordering::Relaxed));
            // Acquire ↔ Release of the exchange below: a thread that sees slots taken sees that they were there to be
            // taken.
            let head = Word(self.head.load(Ordering::Acquire));
            let position = head.position();
            if distance(tail.position(), position) > self.most {
                return Err(Refused::Busy);
            }
            let there = distance(position, end());
            let run = Run { position, n: wanted.of(there) };
            if run.n == 0 {
                return Err(Refused::Short(Run { position, n: there }));
            }
            // Release pairs with the load above.
            let next = head.next(run.end());
            if self
                .head
                .compare_exchange(head.0, next.0, Ordering::Release, Ordering::Relaxed)
                .is_ok()
            {
                return Ok(run);
            }
        }
    }

    #[inline]
    fn finish(&self, _: Run) {
        // Acquire, also below, pairs with the exchange: what other calls that are done have taken is in `head`.
        let mut tail = self.tail.load(Ordering::Acquire);
        loop {
            let head = Word(self.head.load(Ordering::Relaxed));
            let mut next = Word(tail).next(Word(tail).position());
            // As many are done as have begun: all of them, this one being the last.
            if next.counts_like(head) {
                next = head;
            }
            // Release pairs with the load in `tail`, also through the exchanges of others: what was done with the
            // slots is visible.
            match self.tail.compare_exchange(tail, next.0, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return,
                Err(found) => tail = found,
            }
        }
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire pairs with the exchanges in `finish`: the slots are done with.
        Word(self.tail.load(Ordering::Acquire)).position()
    }

    #[inline]
    fn rests_at(&self, position: u64) -> bool {
        // Relaxed: as in `InOrder`.
        let is_at = |cursor: &AtomicU64| {
            distance(position, Word(cursor.load(Ordering::Relaxed)).position()) == 0
        };
        is_at(&self.tail) && is_at(&self.head)
    }

    fn done(&self) -> Option<u64> {
        // Relaxed, both: dropping the handles has ordered what they did before this.
        let [tail, head] = [&self.tail, &self.head].map(|cursor| cursor.load(Ordering::Relaxed));
        (tail == head).then(|| Word(tail).position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_apart() {
        let last = Word::new(u64::MAX, u64::MAX);
        let next = last.next(last.position() + 3);
        assert_eq!((last.position(), next.position()), ((1 << POSITION_BITS) - 1, 2));
        assert_eq!(next.0, Word::new(2, 0).0);
        assert!(next.counts_like(Word::new(9, 1 << 17)) && !next.counts_like(last));
    }

    /// Two calls in the middle: neither shows what it did before the other is done, in whichever order.
    #[test]
    fn the_last_shows_all() {
        for first_is_done_first in [true, false] {
            let cursors = RelaxedTail::new(u64::MAX - 1, 64);
            let take = |n| cursors.take(Wanted::UpTo(n), || 60).unwrap();
            let (one, other) = (take(3), take(2));
            let runs = if first_is_done_first { [one, other] } else { [other, one] };
            cursors.finish(runs[0]);
            assert_eq!(distance(u64::MAX - 1, cursors.tail()), 0);
            cursors.finish(runs[1]);
            assert_eq!(distance(u64::MAX - 1, cursors.tail()), 5);
            assert!(cursors.rests_at(3));
        }
    }

    /// However large the ring, a stopped call's word doesn't come again.
    #[test]
    fn the_count_does_not_come_round_while_a_call_is_stopped() {
        let cursors = RelaxedTail::new(0, 1 << 21);
        let take = || cursors.take(Wanted::UpTo(1), || 1 << 21);
        let stopped = take().unwrap();
        let word = || alloc::format!("{:?}", cursors.tail);
        let seen = word();
        while let Ok(run) = take() {
            cursors.finish(run);
            assert_ne!(word(), seen);
        }
        cursors.finish(stopped);
        assert_eq!((cursors.tail(), cursors.done()), (1 << 17, Some(1 << 17)));
    }

    #[test]
    fn others_go_on_for_an_eighth_of_the_slots() {
        let cursors = RelaxedTail::new(0, 64);
        let take = |n| cursors.take(Wanted::UpTo(n), || 64);
        let stopped = take(1).unwrap();
        (0..8).for_each(|_| cursors.finish(take(1).unwrap()));
        assert!(matches!(take(1), Err(Refused::Busy)));
        cursors.finish(stopped);
        assert_eq!(cursors.tail(), 9);
        assert!(take(1).is_ok());
    }
}
