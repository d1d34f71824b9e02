use super::mode::{Cursors, POSITION_BITS, Refused, Wanted, distance};
use crate::memory::{AtomicU64, Ordering};
use crate::queue::{Info, Sides};
use crate::region::Run;

/// Threads of a side finish in any order. Of the threads that are in a call at the same time, the
/// last to finish publishes the slots of all of them: DPDK's *relaxed tail sync*.
///
/// A call never waits. While a call is unfinished, other calls take slots until an eighth of the
/// ring, or 2¹⁷ slots, lies behind the start of the unfinished call. Then the other calls say busy.
/// In a ring of fewer than eight slots they do so at once.
///
/// - The slots of a finished call are invisible to the other side while a call that began earlier
///   or at the same time is unfinished. A pop then says busy. DPDK's pop says empty, which is not
///   linearizable (§2.2): the push of an invisible item may have returned.
/// - Where a call here says busy, DPDK's thread waits.
///
#[doc = advice!(literature ring_rts)]
#[derive(Debug)]
#[repr(C)]
pub struct RelaxedTail {
    /// Behind all slots that have been taken, and the number of calls that took slots.
    head: AtomicU64,
    /// Behind all slots that are published, and the number of finished calls.
    tail: AtomicU64,
    /// Most slots between `tail` and `head` with which a call still takes slots.
    most: u64,
}

/// A position, and the last 17 bits of a number of calls. At most 2¹⁶ calls are unfinished, one for
/// each handle. At most [`MOST_APART`] calls can finish while the position stays. So no word occurs
/// again meanwhile.
#[derive(Clone, Copy)]
struct Word(u64);

/// Most slots that a side may take while one of its calls is unfinished.
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

    /// Whether both have the same number of calls.
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
        choose: advice!(choose ring_rts),
        avoid: advice!(avoid ring_rts),
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
            // Relaxed: if the `head` loaded next is before this `tail`, the distance is large. Then
            // another thread was in the middle of a call a moment ago.
            let tail = Word(self.tail.load(Ordering::Relaxed));
            // Acquire ↔ Release of the exchange below: the other side's tail that allowed earlier
            // threads to take slots.
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
            // Release ↔ Acquire above: the other side's tail that this thread has read.
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
        // Acquire, here and below ↔ Release of the exchange: the `head` of all finished calls.
        let mut tail = self.tail.load(Ordering::Acquire);
        loop {
            let head = Word(self.head.load(Ordering::Relaxed));
            let mut next = Word(tail).next(Word(tail).position());
            // As many calls are finished as have begun: all, and this call is the last.
            if next.counts_like(head) {
                next = head;
            }
            // Release ↔ Acquire in `tail`, also through the exchanges of other threads: all
            // accesses to the slots.
            match self.tail.compare_exchange(tail, next.0, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return,
                Err(found) => tail = found,
            }
        }
    }

    #[inline]
    fn tail(&self) -> u64 {
        // Acquire ↔ Release in `finish`: all accesses to the slots.
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
        // Relaxed, both: the drop of the handles orders all their accesses before this.
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

    /// Two unfinished calls: neither publishes its slots before the other has finished, in any
    /// order.
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

    /// The word of a stopped call doesn't occur again, for any size of the ring.
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
