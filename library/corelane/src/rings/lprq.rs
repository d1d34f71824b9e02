//! `lprq`: an unbounded queue between several producers and several consumers, a list of rings with
//! a word for each slot.
//!
//! A push or pop gets a position by fetch-and-add, which never fails. Then the push and the pop
//! with the same position meet in a slot. A pop that finds no item there gives the position up, and
//! its push tries the next position. After too many failed tries, or if the ring is full, a push
//! closes the ring and [appends another](super).
//!
#![doc = advice!(lprq)]
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for another ring |
//! | memory | rings for N items, where N is the [`Config::capacity`], rounded up to a power of two: a word and the item for each. Kept are rings with items, the ring that is filled next, rings that an idle handle is in, and rings that handles have left since the last scan: [about a quarter of the number of handles](super#memory) at most. None is kept for the next burst |
//! | handles | at most 65,536 a side; cloning one more panics. A handle has a record of 128 bytes, which is used again when the handle is dropped. Cloning aborts the process if there is no memory for it |
//! | a stopped thread | keeps one ring, or the rings that it was about to free. It also keeps one slot of its ring, or as many slots as there are consumers if it has found the queue empty. Other threads leave these slots out, and after 16,383 laps never use them again (in a ring of 64, after some 10 ms; a ring that has lost many slots is soon replaced). In a pop it also keeps the item of its position, even if the item is pushed later |
//! | operations | a push needs a fetch-and-add and an exchange of the slot's word, and so does a pop. A pop of an empty slot makes a push try once more. Each thread that wants to append a ring makes two allocations. A consumer that leaves a ring runs a fence and a part of a [scan](super#memory) |
//! | limit | no thread must be stopped in the middle of a call while 2^47 positions of one ring are used (at 10 ns each, 16 days) |
//! | closing | when all consumers are gone, a push says closed as soon as the ring is full |
//! | paper | R. Romanov, N. Koval: *The State-of-the-Art LCRQ Concurrent Queue Algorithm Does NOT Require CAS2* (PPoPP 2023); paper 5, §IV.B and §V.A–B for LCRQ, of which this is the portable form |
//!
//! # Departures from the paper
//!
//! - A slot holds an item of any type, not a pointer; and a push exchanges the slot's word once.
//!   The paper's push does so three times; two of the exchanges keep a push of a later lap from
//!   filling the slot at the same time. Here a slot is used in one lap after the other. Only the
//!   push of the current lap may fill the slot, and the lap is not over before this push has
//!   visited the slot: the push fills the slot, or finds that the pop has *given up*, or leaves the
//!   slot empty. If the current lap is not over, a push or pop of a later lap marks its own lap
//!   *left out* in the slot, and goes on to another position.
//! - So a push must visit each position. A pop that finds the queue empty moves the counter of
//!   pushes over the positions that only pops have got (the paper's `fixState`), and visits these
//!   positions in place of a push.
//! - Rings are freed by hazard pointers; see [`rings`].
//!
//! ```
//! use corelane::rings::lprq;
//!
//! let (mut tx, mut rx) = lprq::queue(64)?;
//! let mut other_tx = tx.clone();
//! for n in 0..500 {
//!     tx.try_push(n)?;
//!     other_tx.try_push(n)?;
//! }
//! assert_eq!(rx.pop_iter().sum::<u32>(), 499 * 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::mem::MaybeUninit;

use crate::memory::{AtomicU64, Ordering, UnsafeCell, limit};
use crate::queue::{CapacityError, Config, Info, Sides, queue_type};
use crate::rings::{self, Lap};

/// The call that owns the item's place in a slot. A lap begins with [`FREE`].
mod state {
    /// The push of this lap. Next: [`FULL`], [`GIVEN_UP`], or the next lap, if nothing is pushed.
    pub(super) const FREE: u64 = 0;
    /// The pop of this lap: there is an item. Next: the next lap, when the item has been taken out.
    pub(super) const FULL: u64 = 1;
    /// The push of this lap, but its pop has given the position up. Next: the next lap, when the
    /// push has visited the slot.
    pub(super) const GIVEN_UP: u64 = 2;
}
use state::{FREE, FULL, GIVEN_UP};

/// One lap that is left out, as a word counts it: above the state.
const ONE: u64 = 4;

/// Most laps left out that a word counts: all bits set.
const MOST_LEFT_OUT: u64 = limit((1 << 14) - 1, 3);

/// The bits of a word that count laps left out. If all are set, all later laps are left out, and
/// the slot isn't used any more.
const LEFT_OUT: u64 = MOST_LEFT_OUT * ONE;

/// The bits of a word that are its lap.
const LAP: u64 = !(LEFT_OUT | (ONE - 1));

/// A place for an item.
#[derive(Debug)]
pub struct WordSlot<T> {
    /// - the lap that the slot is used in;
    /// - how many laps behind the current lap are [`LEFT_OUT`]: the push or pop of the last of them
    ///   found the current lap not over;
    /// - the slot's [`state`].
    word: AtomicU64,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot moves an item from one thread to another, which `T: Send` allows. It lends no
// item.
unsafe impl<T: Send> Send for WordSlot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for WordSlot<T> {}

/// Whether a slot is used in `lap`, and in this state.
#[inline]
fn is(word: u64, lap: Lap, state: u64) -> bool {
    word & !LEFT_OUT == lap.number() | state
}

/// The word after `word` at the end of its lap, which is `lap`. If all later laps are left out,
/// none begins: no push or pop visits the slot any more.
#[inline]
fn ended(word: u64, lap: Lap) -> u64 {
    match word & LEFT_OUT {
        0 => lap.later(1) | FREE,
        LEFT_OUT => lap.number() | LEFT_OUT | GIVEN_UP,
        left_out => lap.later(1 + left_out / ONE) | FREE,
    }
}

/// The word after `word` when `lap`, a later lap, is left out. `None` if `lap` is left out already,
/// or is an earlier lap.
fn left_out(word: u64, lap: Lap) -> Option<u64> {
    let laps = lap.since(word & LAP).min(MOST_LEFT_OUT as i64);
    let more = laps - ((word & LEFT_OUT) / ONE) as i64;
    (more > 0).then(|| word + more as u64 * ONE)
}

impl<T> WordSlot<T> {
    /// Ends `lap`, the slot's current lap. `word` was read in the slot.
    #[inline]
    fn end(&self, mut word: u64, lap: Lap) {
        // Release ↔ Acquire in `put` and `holds`: the item has been taken out. The exchange fails
        // if a push or pop of a later lap has left a note.
        while let Err(found) =
            self.word.compare_exchange(word, ended(word, lap), Ordering::Release, Ordering::Relaxed)
        {
            word = found;
        }
    }

    /// Takes out the item of `lap`. `word` was read in the slot.
    ///
    /// # Safety
    ///
    /// The item is there, and no other thread takes it out.
    #[inline]
    unsafe fn take_out(&self, word: u64, lap: Lap) -> T {
        // SAFETY: the caller's contract.
        let item = self.item.with_mut(|place| unsafe { (*place).assume_init_read() });
        self.end(word, lap);
        item
    }
}

impl<T: Send> rings::RingSlot for WordSlot<T> {
    type Item = T;

    const UNIT: u64 = LEFT_OUT + ONE;

    #[inline]
    fn new(first: Lap) -> Self {
        let item = UnsafeCell::new(MaybeUninit::uninit());
        Self { word: AtomicU64::new(first.number() | FREE), item }
    }

    #[inline]
    unsafe fn put(&self, lap: Lap, item: T, _: impl FnOnce() -> bool) -> Result<(), T> {
        // Acquire ↔ Release in `end`: the last item has been taken out.
        let mut word = self.word.load(Ordering::Acquire);
        if !is(word, lap, FREE) {
            // SAFETY: the caller's contract.
            unsafe { self.leave_out(lap) };
            return Err(item);
        }
        // SAFETY: the place is this thread's until this thread fills the slot or ends the lap. By
        // the caller's contract no other thread does so.
        self.item.with_mut(|place| unsafe { (*place).write(item) });
        while !is(word, lap, GIVEN_UP) {
            // Release ↔ Acquire in `take`, `take_or_give_up` and `holds`: the item is there.
            match self.word.compare_exchange(
                word,
                word + FULL - FREE,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                // The pop has given up, or a later lap has been left out.
                Err(found) => word = found,
            }
        }
        // SAFETY: the item was put into the place above, and the place is still this thread's.
        Err(unsafe { self.take_out(word, lap) })
    }

    #[cold]
    unsafe fn leave_out(&self, lap: Lap) {
        // Relaxed: this thread has not used the slot's place.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = match lap.since(word & LAP) {
                0 => Some(ended(word, lap)),
                _ => left_out(word, lap),
            };
            let Some(next) = next else { return };
            match self.word.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => word = found,
            }
        }
    }

    #[inline]
    unsafe fn take(&self, lap: Lap) -> Option<T> {
        // Acquire ↔ Release in `put`: the item is there.
        let word = self.word.load(Ordering::Acquire);
        // SAFETY: by the caller's contract the item is this thread's to take.
        is(word, lap, FULL).then(|| unsafe { self.take_out(word, lap) })
    }

    #[cold]
    unsafe fn take_or_give_up(&self, lap: Lap) -> Option<T> {
        // Acquire, also below: as in `take`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let next = match lap.since(word & LAP) {
                0 if is(word, lap, FULL) => {
                    // SAFETY: as in `take`.
                    return Some(unsafe { self.take_out(word, lap) });
                }
                0 if is(word, lap, FREE) => word - FREE + GIVEN_UP,
                _ => left_out(word, lap)?,
            };
            // Relaxed: this thread has not used the slot's place.
            match self.word.compare_exchange(word, next, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return None,
                Err(found) => word = found,
            }
        }
    }

    #[inline]
    fn holds(&self, lap: Lap) -> bool {
        // Acquire ↔ Release in `end`: a pop that finds the item taken sees what the pop that took
        // the item saw.
        is(self.word.load(Ordering::Acquire), lap, FULL)
    }

    #[inline]
    fn is_open(&self, lap: Lap) -> bool {
        // Relaxed: a caller that gets `false` looks into the slot again.
        is(self.word.load(Ordering::Relaxed), lap, FREE)
    }
}

/// A sending side.
pub type Producer<T> = rings::Producer<WordSlot<T>>;

/// A receiving side.
pub type Consumer<T> = rings::Consumer<WordSlot<T>>;

/// A queue of rings for at least `ring` items each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory.
pub fn queue<T: Send>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(ring))
}

/// As [`queue`], with all options. Rings are always on the heap.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    rings::queue(config)
}

queue_type!(Lprq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "lprq",
    name: "list of portable ring queues",
    paper: "Romanov, Koval 2023; Mishra, §IV.B",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO but for the allocator",
    bounded: false,
    capacity: "unbounded",
    choose: advice!(choose lprq),
    avoid: advice!(avoid lprq),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rings::RingSlot as _;

    /// A call that visits a slot, and its lap.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Visit {
        Push(u64),
        /// In place of a push.
        LeaveOut(u64),
        Pop(u64),
    }
    use Visit::{LeaveOut, Pop, Push};

    impl Visit {
        fn lap(self) -> u64 {
            let (Push(lap) | LeaveOut(lap) | Pop(lap)) = self;
            lap
        }
    }

    /// Visits a slot in this order. Its laps are about to wrap. Checks that each item is taken in
    /// its lap, or returned. The push must put its item if all visits of earlier laps have
    /// happened, and neither its pop nor a visit of a later lap.
    fn check(order: &[Visit]) {
        let lap = |n: u64| Lap::of::<WordSlot<u64>>(n.wrapping_sub(2).wrapping_mul(4), 4);
        let slot = WordSlot::new(lap(0));
        let mut put = Vec::new();
        for (i, visit) in order.iter().enumerate() {
            let (before, n) = (&order[..i], visit.lap());
            match visit {
                Push(_) => {
                    // SAFETY: called once for each lap.
                    match unsafe { slot.put(lap(n), n, || unreachable!("lcrq asks")) } {
                        Ok(()) => put.push(n),
                        Err(item) => assert_eq!(item, n),
                    }
                    let is_late = before.contains(&Pop(n));
                    let is_turn = before.iter().all(|other| other.lap() <= n)
                        && before.iter().filter(|other| other.lap() < n).count() as u64 == 2 * n;
                    assert!(!put.contains(&n) || !is_late, "{visit:?} too late in {order:?}");
                    assert!(put.contains(&n) || is_late || !is_turn, "no {visit:?} in {order:?}");
                }
                // SAFETY: called once for each lap.
                LeaveOut(_) => unsafe { slot.leave_out(lap(n)) },
                Pop(_) => {
                    // SAFETY: called once for each lap.
                    let popped = unsafe { slot.take_or_give_up(lap(n)) };
                    assert_eq!(popped, put.contains(&n).then_some(n), "{visit:?} of {order:?}");
                }
            }
        }
        let last = order.iter().map(|visit| visit.lap()).max().expect("there are visits");
        let word = slot.word.load(Ordering::Relaxed);
        let is_lost = last >= MOST_LEFT_OUT && word == lap(0).number() | LEFT_OUT | GIVEN_UP;
        // Laps without a visit are not over.
        let is_waiting = order.len() as u64 != 2 * (last + 1) && !slot.holds(lap(last));
        let is_free = word == lap(last + 1).number() | FREE;
        assert!(is_free || is_lost || is_waiting && last >= MOST_LEFT_OUT, "{order:?}");
    }

    /// Checks all orders that begin like this.
    fn check_all(order: &mut Vec<Visit>, left: &[Visit]) {
        if left.is_empty() {
            return check(order);
        }
        for next in left {
            order.push(*next);
            let rest: Vec<_> = left.iter().copied().filter(|visit| visit != next).collect();
            check_all(order, &rest);
            order.pop();
        }
    }

    /// Checks all orders of visits in these laps, with a push or without one in each.
    fn check_laps(laps: &[u64]) {
        for choice in 0..1 << laps.len() {
            let visits = laps.iter().enumerate().flat_map(|(i, lap)| {
                let is_push = choice >> i & 1 == 0;
                [if is_push { Push(*lap) } else { LeaveOut(*lap) }, Pop(*lap)]
            });
            check_all(&mut Vec::new(), &visits.collect::<Vec<_>>());
        }
    }

    #[test]
    fn items_are_taken_in_their_laps_in_any_order_of_visits() {
        check_laps(&[0, 1, 2]);
    }

    #[test]
    fn laps_that_are_too_many_to_count_are_left_out_for_ever() {
        check_laps(&[0, 1, 2, MOST_LEFT_OUT]);
        check_laps(&[0, MOST_LEFT_OUT + 1, MOST_LEFT_OUT + 2]);
        check_laps(&[0, MOST_LEFT_OUT - 1, MOST_LEFT_OUT + 2]);
    }
}
