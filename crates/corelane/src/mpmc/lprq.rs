//! `lprq`: an unbounded queue between several producers and several consumers, a list of rings with a word for each
//! slot.
//!
//! Who pushes or pops gets a position by adding to a counter, so that nobody has to try again because another one was
//! faster; and then must get along with the one who has got the same position. Who pops and finds nothing there gives
//! the position up, and who pushes tries the next; when that has failed too often, or the ring is full, it is closed
//! and another one [hung behind it](super::rings).
//!
//! **Use it** between several threads, if nobody knows how many items will wait, or a thread may be stopped anywhere
//! and must never hold up others. **Don't** use it where memory must be bounded; nor between one thread and one other,
//! where [`uspsc`](crate::spsc::segmented) takes a fraction of the time.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for another ring |
//! | memory | rings for N items, where N is the [`Config::capacity`], rounded up to a power of two: a word and the item for each. Those with items, the one that is filled next, and those in which a handle was when it was used last, until the next ring is left. None is kept for the next burst |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | a stopped thread | holds one ring; in a push also one slot, which the others leave out meanwhile, and after 255 laps for good; in a pop, the item that it has got the position of, even if that is pushed later |
//! | operations | a push adds to a counter and exchanges the slot's word, a pop does as much; one pop too many costs a push somewhere another try. A new ring takes two allocations of each thread that wants to hang one; who leaves one has fences, allocates a few words (and aborts if there is no memory), and looks through the hazard pointers of all handles |
//! | closing | when all consumers are gone a push says so as soon as the ring is full |
//! | paper | R. Romanov, N. Koval: *The State-of-the-Art LCRQ Concurrent Queue Algorithm Does NOT Require CAS2* (PPoPP 2023); paper 5, §IV.B and §V.A–B for what it is the portable form of |
//!
//! # Departures from the paper
//!
//! - A slot holds an item of any type, not a pointer; and a push exchanges its word once and not three times, of which two
//!   there see to it that two pushes, a lap apart, don't fill the slot at the same time. Here a slot is used in one lap
//!   after the other: its place is the one's who pushes in this lap, until he has either filled it or come by and found
//!   that who pops has *given up*. Who comes meanwhile to push or pop a lap later, or more, leaves a note that this lap
//!   is *left out*, and goes on. So a slot waits for a stopped thread, and nobody else does.
//! - Then each position must be come by by somebody who pushes: who moves the counter of pushes on over positions that only
//!   pops had got (the paper's `fixState`) does so for these.
//! - Rings are freed by hazard pointers (the crate `haphazard`), and not by epochs: a thread that has been stopped
//!   would keep all that has been retired since from being freed, and not one ring.
//!
//! ```
//! use corelane::{Consumer, Producer, mpmc::lprq};
//!
//! let (mut tx, mut rx) = lprq::channel(64)?;
//! let mut other_tx = tx.clone();
//! for n in 0..500 {
//!     tx.try_push(n)?;
//!     other_tx.try_push(n)?;
//! }
//! assert_eq!(rx.pop_iter().sum::<u32>(), 499 * 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::mem::MaybeUninit;

use super::rings::{self, Lap};
use crate::memory::{AtomicU64, Ordering, UnsafeCell};
use crate::queue::{CapacityError, Config};
use crate::registry::{Built, Info, MpmcQueue, Sides};

/// Whose the item's place in a slot is.
mod state {
    /// His who pushes in this lap.
    pub(super) const FREE: u64 = 0;
    /// His who pops: there is an item.
    pub(super) const FULL: u64 = 1;
    /// His who pushes, who is too late, and may not know it yet.
    pub(super) const GIVEN_UP: u64 = 2;
}
use state::{FREE, FULL, GIVEN_UP};

/// One lap that is left out, in a word: above the state.
const ONE: u64 = 4;

/// The bits of a word that count laps left out: all of them say that all are, for ever.
const LEFT_OUT: u64 = 0xff * ONE;

/// A place for an item.
#[derive(Debug)]
pub struct Slot<T> {
    /// - the lap that the slot is used in;
    /// - how many of the laps behind it are [`LEFT_OUT`], since somebody has come by in vain who pushes or pops in these;
    /// - its [`state`].
    ///
    /// The lap ends when its item has been taken, or when who would have put one there has been told.
    word: AtomicU64,
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot moves an item from one thread to another, which `T: Send` allows, and lends none.
unsafe impl<T: Send> Send for Slot<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Whether a slot is used in `lap`, and in this state.
#[inline]
fn is(word: u64, lap: Lap, state: u64) -> bool {
    word & !LEFT_OUT == lap.number() | state
}

/// The word behind `word` when its lap, which is this one, is done.
#[inline]
fn done(word: u64, lap: Lap) -> u64 {
    match word & LEFT_OUT {
        0 => lap.later(1) | FREE,
        LEFT_OUT => lap.number() | LEFT_OUT | GIVEN_UP,
        left_out => lap.later(1 + left_out / ONE) | FREE,
    }
}

/// The word behind `word` when who would push or pop in `lap` has come by and does nothing there. None if that is known.
fn left_out(word: u64, lap: Lap) -> Option<u64> {
    let left_out = (word & LEFT_OUT) / ONE;
    let more = (lap.since(word).min(LEFT_OUT as i64 / ONE as i64) - left_out as i64).max(0);
    (more > 0).then(|| word + more as u64 * ONE)
}

impl<T> Slot<T> {
    /// Ends `lap`, in which the slot is used, where `word` was found.
    #[inline]
    fn finish(&self, mut word: u64, lap: Lap) {
        // Release pairs with the loads in `put` and `holds`: the item is out. It fails if who comes a lap later, or
        // more, has been there.
        while let Err(found) =
            self.word.compare_exchange(word, done(word, lap), Ordering::Release, Ordering::Relaxed)
        {
            word = found;
        }
    }

    /// Takes the item of `lap` out, where `word` was found.
    ///
    /// # Safety
    ///
    /// The item is there, and nobody else takes it out.
    #[inline]
    unsafe fn take_out(&self, word: u64, lap: Lap) -> T {
        // SAFETY: the caller's.
        let item = self.item.with_mut(|place| unsafe { (*place).assume_init_read() });
        self.finish(word, lap);
        item
    }
}

impl<T: Send> rings::Slot for Slot<T> {
    type Item = T;

    #[inline]
    fn new(first: Lap) -> Self {
        let item = UnsafeCell::new(MaybeUninit::uninit());
        Self { word: AtomicU64::new(first.number() | FREE), item }
    }

    #[inline]
    unsafe fn put(&self, lap: Lap, item: T, _: impl FnOnce() -> bool) -> Result<(), T> {
        // Acquire pairs with `finish`: what the slot held has been taken out.
        let mut word = self.word.load(Ordering::Acquire);
        if !is(word, lap, FREE) {
            // SAFETY: the caller's.
            unsafe { self.leave_out(lap) };
            return Err(item);
        }
        // SAFETY: the place is this thread's until it fills the slot, or ends the lap: nobody else does either, by the
        // caller's word.
        self.item.with_mut(|place| unsafe { (*place).write(item) });
        while !is(word, lap, GIVEN_UP) {
            // Release pairs with the loads in `take`, `take_or_give_up` and `holds`: the item is there.
            match self.word.compare_exchange(
                word,
                word + FULL - FREE,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(()),
                // Given up, or a later lap is left out.
                Err(found) => word = found,
            }
        }
        // SAFETY: it was put there, and the place is still this thread's.
        Err(unsafe { self.take_out(word, lap) })
    }

    #[cold]
    unsafe fn leave_out(&self, lap: Lap) {
        // Relaxed: this thread has not used the slot's place.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let next = match lap.since(word) {
                0 => Some(done(word, lap)),
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
        // Acquire pairs with the exchange in `put`.
        let word = self.word.load(Ordering::Acquire);
        // SAFETY: the item is this thread's to take, by the caller's word.
        is(word, lap, FULL).then(|| unsafe { self.take_out(word, lap) })
    }

    #[cold]
    unsafe fn take_or_give_up(&self, lap: Lap) -> Option<T> {
        // Acquire, also below, as in `take`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let next = match lap.since(word) {
                0 if is(word, lap, FULL) => {
                    // SAFETY: as in `take`.
                    return Some(unsafe { self.take_out(word, lap) });
                }
                0 => word - FREE + GIVEN_UP,
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
        // Acquire pairs with `finish`: who misses the item sees what its taker saw.
        is(self.word.load(Ordering::Acquire), lap, FULL)
    }

    #[inline]
    fn is_open(&self, lap: Lap) -> bool {
        // Relaxed: who finds it closed looks again.
        is(self.word.load(Ordering::Relaxed), lap, FREE)
    }
}

/// A sending side.
pub type Producer<T> = rings::Producer<Slot<T>>;

/// A receiving side.
pub type Consumer<T> = rings::Consumer<Slot<T>>;

/// A queue of rings for at least `ring` items each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory.
pub fn channel<T: Send>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    channel_with(Config::new(ring))
}

/// As [`channel`], with all options. Rings are always on the heap.
///
/// # Errors
///
/// As [`channel`].
pub fn channel_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    rings::channel(config)
}

/// Unbounded, between any number of producers and consumers.
#[derive(Debug)]
pub struct Lprq;

impl MpmcQueue for Lprq {
    const INFO: Info = Info {
        id: "lprq",
        name: "list of portable ring queues",
        paper: "Romanov, Koval 2023; Mishra, §IV.B",
        sides: Sides::ManyToMany,
        guarantee: "lock-free FIFO",
        delayed: false,
        bounded: false,
        capacity: "unbounded",
        choose: "nobody knows how many items will wait, or a thread may be stopped anywhere",
        avoid: "memory must be bounded",
    };
    type Producer<T: Send> = Producer<T>;
    type Consumer<T: Send> = Consumer<T>;

    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>> {
        channel_with(config)
    }

    fn another_producer<T: Send>(producer: &Self::Producer<T>) -> Option<Self::Producer<T>> {
        Some(producer.clone())
    }

    fn another_consumer<T: Send>(consumer: &Self::Consumer<T>) -> Option<Self::Consumer<T>> {
        Some(consumer.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::rings::Slot as _;
    use super::*;

    /// Who comes by a slot, in this lap.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Visit {
        Push(u64),
        Pop(u64),
    }
    use Visit::{Pop, Push};

    /// A slot whose laps are about to wrap.
    fn slot() -> (Slot<u64>, impl Fn(u64) -> Lap) {
        let lap = |n: u64| Lap::of(n.wrapping_sub(2).wrapping_mul(4), 4);
        (Slot::new(lap(0)), lap)
    }

    /// Lets all come by in this order, and checks that each item is taken in its lap, or comes back; and that it is put
    /// if it is in time, all of earlier laps have been there, and nobody of a later one.
    fn check(order: &[Visit]) {
        let (slot, lap) = slot();
        let has_been = |visit: Visit, by: usize| order[..by].contains(&visit);
        let is_turn = |n: u64, by: usize| {
            (0..4).all(|lap| {
                let been = [Push(lap), Pop(lap)].map(|visit| has_been(visit, by));
                lap == n || been == [lap < n; 2]
            })
        };
        let mut is_put = [false; 4];
        for (i, visit) in order.iter().enumerate() {
            match *visit {
                Push(n) => {
                    // SAFETY: each lap's once.
                    let put = unsafe { slot.put(lap(n), n, || unreachable!("only lcrq asks")) };
                    is_put[n as usize] = put.is_ok();
                    let is_late = has_been(Pop(n), i);
                    assert!(
                        put == if is_late { Err(n) } else { Ok(()) }
                            || !is_turn(n, i) && put == Err(n),
                        "{visit:?} of {order:?}"
                    );
                }
                Pop(n) => {
                    let is_there = is_put[n as usize].then_some(n);
                    // SAFETY: each lap's once.
                    let popped = unsafe { slot.take_or_give_up(lap(n)) };
                    assert_eq!(popped, is_there, "{visit:?} of {order:?}");
                }
            }
        }
        assert!(is(slot.word.load(Ordering::Relaxed), lap(4), FREE), "{order:?}");
    }

    /// Calls `check` with all orders that begin with what is in `order`.
    fn for_each_order(order: &mut Vec<Visit>, left: &mut Vec<Visit>) {
        if left.is_empty() {
            return check(order);
        }
        for i in 0..left.len() {
            order.push(left.swap_remove(i));
            for_each_order(order, left);
            let visit = order.pop().expect("it was pushed");
            left.push(visit);
            let last = left.len() - 1;
            left.swap(i, last);
        }
    }

    #[test]
    fn a_slot_is_free_again_in_whatever_order_they_come_by() {
        let mut all: Vec<_> = (0..4).flat_map(|lap| [Push(lap), Pop(lap)]).collect();
        for_each_order(&mut Vec::new(), &mut all);
    }

    #[test]
    fn too_many_laps_left_out_are_all() {
        let (slot, lap) = slot();
        // SAFETY: each lap's once.
        unsafe {
            assert_eq!(slot.put(lap(0), 0, || false), Ok(()));
            slot.leave_out(lap(254));
            slot.leave_out(lap(256));
            assert_eq!(slot.put(lap(1000), 1000, || false), Err(1000));
            assert_eq!(slot.take(lap(0)), Some(0));
            assert_eq!(slot.take_or_give_up(lap(1000)), None);
            assert_eq!(slot.put(lap(300), 300, || false), Err(300));
        }
        assert!(!slot.is_open(lap(300)) && !slot.holds(lap(300)));
    }
}
