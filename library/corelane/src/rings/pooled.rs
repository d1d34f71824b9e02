//! `lcrq-pool`: the list of rings of [`lcrq`](super::lcrq) in a fixed pool of rings.
//!
//! The rings and their slots are those of `lcrq`. Rings are named by indices, and free rings are in
//! a list of their own. So the queue has no pointers, and processes can share it:
//! [`shm::literature::Elcrq`](crate::shm::literature::Elcrq).
//!
#![doc = advice!(literature lcrq_pool)]
//!
//! A ring counts the handles that are in it. A handle stays in its ring from call to call, as in
//! `lcrq`. A consumer that has moved `head` past a ring retires the ring. The last handle that
//! leaves a retired ring makes it free. A link to a ring is an index and a count of the ring's
//! uses. A handle that enters a ring by an old link finds another count there, and leaves again.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free, first in first out (linearizable) |
//! | capacity | 8 rings for N tokens each, where N is as asked, rounded up to a power of two. N fit while handles keep at most five rings that the list has left. A push that fails ten times, because pops are faster at each of its positions, closes its ring before the ring is full; several such rings at once leave room for fewer |
//! | full, busy | a push whose ring is closed says full if no ring is free and an item is inside, and busy if none is inside. Then handles keep the other rings: each may keep one, and a producer in a call two |
//! | memory | two words for each slot, and 640 bytes for each ring |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | a stopped thread | keeps one ring, as each idle handle does. A handle that is never dropped keeps its ring for ever |
//! | operations | as of `lcrq`. A handle that goes to another ring adds to a counter of each ring |
//! | limit | no thread must be stopped in the middle of a call while rings are taken 2³⁹ times, or 2⁶² positions of a ring are used |
//! | machine | must exchange 128 bits at once, as for `lcrq` |
//! | closing | when all consumers are gone, a push says closed as soon as the ring is full |
//! | paper | A. Morrison, Y. Afek: *Fast Concurrent Queues for x86 Processors* (PPoPP 2013), §4; paper 5, §IV.B and §V |
//!
//! # Departures from the paper
//!
//! - The paper frees rings by hazard pointers, which are pointers. Here each ring counts its
//!   handles.
//! - A ring that is used again keeps its positions and its slots: it continues behind all positions
//!   that threads have got in it.
//!
//! Handles of [`rings`](super) protect pointers by hazards, and this module's handles count
//! themselves in. Each of the calls between two pushes or pops differs in that. So this module has
//! the list of its own, and shares the rings.
//!
//! ```
//! use std::num::NonZeroU64;
//!
//! use corelane::rings::pooled;
//!
//! let (mut tx, mut rx) = pooled::queue::<NonZeroU64>(64)?;
//! let mut other_tx = tx.clone();
//! let number = |n| NonZeroU64::new(n).expect("it is not zero");
//! tx.try_push(number(1))?;
//! other_tx.try_push(number(2))?;
//! assert!(rx.pop_iter().eq([number(1), number(2)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use super::FAR_BEHIND;
use super::closable_ring::Ring;
use super::lcrq::{DoubleSlot, refuse_unless};
use crate::memory::{AtomicU64, Ordering, can_exchange_two_words};
use crate::pad::Padded;
use crate::pool::FreeList;
use crate::queue::{
    self, CapacityError, Config, Info, Producer as _, Sides, TryPopError, TryPushError,
    answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, State, ends};
use crate::slot::Token;
use crate::spin::Distance;
use crate::unwind::drop_each;

mod boxed;
mod rings;

pub use boxed::{BoxingProducer, LcrqPoolAny, UnboxingConsumer, boxed_queue, boxed_queue_with};
use rings::{NAMES, RINGS, is_open_to, is_to_be_freed};
pub use rings::{Rings, RingsShape};

/// The ends of the list, and the free rings.
#[derive(Debug)]
#[repr(C)]
#[doc(hidden)]
pub struct Header<T> {
    /// The oldest ring.
    head: Padded<AtomicU64>,
    /// The newest ring, or a ring before it. Never before `head`.
    tail: Padded<AtomicU64>,
    free: FreeList,
    items: PhantomData<T>,
}

impl<T: Token> Header<T> {
    /// Rings for at least `capacity` tokens each.
    pub(crate) fn shape(capacity: usize, first: u64) -> Result<RingsShape, CapacityError> {
        refuse_unless(can_exchange_two_words())?;
        let (asked, most) = (capacity, Ring::<DoubleSlot<T>>::MOST);
        if asked == 0 || asked > most {
            return Err(CapacityError::OutOfRange { asked, most });
        }
        Ok(RingsShape { n: asked.next_power_of_two(), first })
    }

    /// Of an empty list of [new](Rings) rings.
    pub(crate) fn new(shape: RingsShape) -> Self {
        let first = || Padded(AtomicU64::new(NAMES.link(0, shape.first)));
        let free = FreeList::new(NAMES.link(1, shape.first));
        Self { head: first(), tail: first(), free, items: PhantomData }
    }
}

impl<T: Token> State for Header<T> {
    type Item = T;
    type Slots = Rings<T>;

    fn drop_items(&self, rings: &Rings<T>) {
        // Relaxed: the drop of the handles orders their accesses before this one.
        let mut name = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            loop {
                if let Some(item) = rings.ring(name).pop() {
                    return Some(item);
                }
                name = rings.behind(name)?;
            }
        });
    }
}

/// A queue of rings for at least `ring` tokens each.
///
/// # Errors
///
/// If `ring` is 0 or too large for memory, or the machine can't exchange 128 bits at once.
pub fn queue<T: Token>(ring: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(ring))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Token>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    let shape = Header::<T>::shape(config.capacity, config.first)?;
    let (tx, rx) = ends(config.memory, shape, Header::new(shape))?;
    Ok((Producer::new(tx), Consumer::new(rx)))
}

/// Moves `end`, the list's head or tail, from one ring to the next. Returns whether `end` named the
/// ring.
fn move_on(end: &AtomicU64, name: u64, next: u64) -> bool {
    // Release ↔ Acquire in `enter`: the next ring is open.
    end.compare_exchange(name, next, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

impl<T: Token> Side<T> {
    /// Enters the ring that `end`, the list's head or tail, names, and returns its name.
    fn enter(&self, end: &AtomicU64) -> u64 {
        loop {
            // Acquire ↔ Release in `move_on`: the ring is open.
            let name = end.load(Ordering::Acquire);
            // Acquire ↔ Release in `retire`: if the ring is no longer in the list, `end` has moved
            // on.
            let state = self.slots().state(name).fetch_add(1, Ordering::Acquire);
            if is_open_to(name, state) {
                return name;
            }
            self.leave(name);
        }
    }

    /// Leaves a ring, and makes it free if it is retired and no other handle is in it.
    fn leave(&self, name: u64) {
        let word = self.slots().state(name);
        // Release ↔ Acquire below: this handle no longer uses the ring.
        let state = word.fetch_add(u64::MAX, Ordering::Release).wrapping_sub(1);
        if !is_to_be_freed(state) {
            return;
        }
        // The next use of the ring, without a handle. Acquire ↔ Release above and in `retire`: no
        // handle uses the ring. Fails if another handle has come, which will leave again.
        let next = NAMES.behind(0, state);
        if word.compare_exchange(state, next, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            self.give(name);
        }
    }

    /// Makes a ring free that is in use by no handle.
    fn give(&self, name: u64) {
        self.header().free.give(NAMES, name, name, |name| self.slots().next(name));
    }

    /// Marks a ring that is no longer in the list. The caller is in it.
    fn retire(&self, name: u64) {
        self.slots().retire(name);
    }

    /// A free ring, which is open and empty, as the next ring of `last`.
    fn take(&self, last: u64) -> Option<u64> {
        let rings = self.slots();
        let taken = self.header().free.take(NAMES, |name| rings.next(name))?;
        Some(rings.reopen(taken, last))
    }

    /// Items from the ring at `head` to the ring at `tail`, where rings in between count as full.
    fn len(&self) -> usize {
        let (Header { head, tail, .. }, rings) = (self.header(), self.slots());
        // Relaxed, both: a snapshot. If a ring is used again meanwhile, the number is wrong.
        let (first, last) = (head.load(Ordering::Relaxed), tail.load(Ordering::Relaxed));
        let (filled, pushed) = (rings.ring(first).len(), rings.ring(last).len());
        let items = match rings.between(first, last) {
            0 => filled,
            more => (more - 1).min(RINGS) * rings.n() + filled + pushed,
        };
        items.min(RINGS * rings.n())
    }
}

/// A sending side.
pub struct Producer<T: Token> {
    /// The producer's ring, which it is in.
    name: u64,
    end: Side<T>,
    /// Whether the last push failed. Then the ring is closed, and pushes take no positions in it
    /// any more: pops would have to visit each of these positions.
    is_in_closed: bool,
}

/// A receiving side.
pub struct Consumer<T: Token> {
    /// The consumer's ring, which it is in.
    name: u64,
    end: Side<T>,
    /// Whether the handle is new, or its last pop found no item. Then a pop takes no position until
    /// the ring has an item: a pop that finds no item makes a push lose its position.
    looks_first: bool,
    distance: Distance,
    /// Items popped so far, by which `distance` knows a stream.
    popped: u64,
}

impl<T: Token> Producer<T> {
    pub(crate) fn new(end: End<Header<T>>) -> Self {
        Self { name: end.enter(&end.header().tail), end, is_in_closed: false }
    }

    #[inline]
    fn ring(&self) -> Ring<'_, DoubleSlot<T>> {
        self.end.slots().ring(self.name)
    }

    /// Goes to the last ring.
    fn go_on(&mut self) {
        self.end.leave(self.name);
        self.name = self.end.enter(&self.end.header().tail);
    }

    /// Pushes `item` into a later ring than the producer's own ring, which is closed.
    #[cold]
    fn push_behind(&mut self, mut item: T) -> Result<(), TryPushError<T>> {
        self.is_in_closed = true;
        loop {
            if let Some(next) = self.end.slots().behind(self.name) {
                move_on(&self.end.header().tail, self.name, next);
                self.go_on();
                match self.ring().push(item) {
                    Ok(()) => break,
                    Err(back) => item = back,
                }
            } else if self.is_closed() {
                return Err(full(true, item));
            } else {
                match self.append(item) {
                    Ok(()) => break self.go_on(),
                    Err(back) if self.end.slots().behind(self.name).is_some() => item = back,
                    Err(back) => return Err(self.refusal(back)),
                }
            }
        }
        self.is_in_closed = false;
        Ok(())
    }

    /// Appends a ring that holds `item` to the producer's ring, which is closed. Fails if no ring is
    /// free, or another thread has appended a ring.
    fn append(&self, item: T) -> Result<(), T> {
        let (end, rings) = (&self.end, self.end.slots());
        let Some(new) = end.take(self.name) else { return Err(item) };
        assert!(rings.ring(new).push(item).is_ok(), "an empty ring has room");
        if !rings.append(self.name, new) {
            let item = rings.ring(new).pop().expect("it was put there");
            end.give(new);
            return Err(item);
        }
        move_on(&end.header().tail, self.name, new);
        Ok(())
    }

    /// Why no ring is free. Full only if an item is inside: its pop wakes a producer that sleeps. A
    /// handle that gives its ring back wakes none.
    fn refusal(&self, item: T) -> TryPushError<T> {
        // Relaxed: a sleeper's fence is before this load. A list of several rings has an item in the
        // last one.
        let has_several = self.end.header().head.load(Ordering::Relaxed) != self.name;
        match has_several || self.ring().has_items() {
            true => TryPushError::Full(item),
            false => TryPushError::Busy(item),
        }
    }
}

impl<T: Token> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.is_in_closed {
            return self.push_behind(item);
        }
        match self.ring().push(item) {
            Ok(()) => Ok(()),
            Err(item) => self.push_behind(item),
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().n()
    }

    fn slots(&self) -> usize {
        RINGS * self.end.slots().n()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Token> Consumer<T> {
    pub(crate) fn new(end: End<Header<T>>) -> Self {
        let name = end.enter(&end.header().head);
        Self { name, end, looks_first: true, distance: Distance::new(0), popped: 0 }
    }

    #[inline]
    fn ring(&self) -> Ring<'_, DoubleSlot<T>> {
        self.end.slots().ring(self.name)
    }

    /// Takes the oldest item of the consumer's ring.
    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.looks_first && self.ring().is_empty() {
            return None;
        }
        let item = self.ring().pop();
        self.looks_first = item.is_none();
        self.popped = self.popped.wrapping_add(u64::from(item.is_some()));
        item
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        match self.take() {
            None => {
                // So that the producer gets ahead, and the two don't meet at each slot.
                self.distance = self.distance.caught_up(self.popped, 1, FAR_BEHIND).0;
                self.pop_behind()
            }
            item => item,
        }
    }

    /// Looks for an item in later rings than the consumer's own ring, which was empty.
    fn pop_behind(&mut self) -> Option<T> {
        while let Some(next) = self.end.slots().behind(self.name) {
            match self.ring().pop_rest() {
                None => self.go_on(next),
                item => return item,
            }
            if let Some(item) = self.take() {
                return Some(item);
            }
        }
        None
    }

    /// Leaves the consumer's ring, which is closed and empty, for the ring that `head` names
    /// afterwards.
    #[cold]
    fn go_on(&mut self, next: u64) {
        let Header { head, tail, .. } = self.end.header();
        // `tail` first, so that it never names a retired ring. If this exchange fails, another
        // thread has moved `tail` on, and `tail` never goes back.
        move_on(tail, self.name, next);
        if move_on(head, self.name, next) {
            self.end.retire(self.name);
        }
        self.go_to_head();
    }

    fn go_to_head(&mut self) {
        self.end.leave(self.name);
        self.name = self.end.enter(&self.end.header().head);
    }
}

impl<T: Token> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().n()
    }

    fn slots(&self) -> usize {
        RINGS * self.end.slots().n()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        // Relaxed: a handle that is in the ring of this name needs nothing else.
        if self.end.header().head.load(Ordering::Relaxed) != self.name {
            self.go_to_head();
        }
        self.ring().is_empty() && self.end.slots().behind(self.name).is_none()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Token> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
    }
}

impl<T: Token> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
    }
}

impl<T: Token> Drop for Producer<T> {
    fn drop(&mut self) {
        self.end.leave(self.name);
    }
}

impl<T: Token> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.end.leave(self.name);
    }
}

handles! {
    [T: Token] Producer<T>: producer of T;
    [T: Token] Consumer<T>: consumer of T;
}

const INFO: Info = Info {
    id: "lcrq-pool",
    name: "list of concurrent ring queues in a pool of rings",
    paper: "Morrison, Afek 2013; Mishra, §V",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO",
    capacity: "n, rounded up to a power of two, unless idle handles keep rings",
    choose: advice!(choose lcrq_pool),
    avoid: advice!(avoid lcrq_pool),
    ..Info::RING
};

queue_type!(LcrqPool of [T: Token] T: Producer<T>, Consumer<T> = queue_with; INFO);

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::num::NonZeroU64;
    use core::time::Duration;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::wait;

    /// All items are popped, and handles keep all rings. A producer that slept then would be woken
    /// by no pop.
    #[test]
    fn a_producer_that_waits_for_a_ring_gets_it_though_no_item_is_popped() {
        if !can_exchange_two_words() {
            return;
        }
        let number = |n| NonZeroU64::new(n).expect("it is not zero");
        let (tx, rx) = wait::pair(queue(1).expect("it is possible"));
        let mut tx = tx.strategy(wait::Strategy::Sleep);
        let mut rxs: Vec<_> = (0..RINGS).map(|_| rx.clone()).collect();
        drop(rx);
        (1..).take(RINGS).for_each(|n| tx.try_push(number(n)).expect("a ring is free"));
        assert!(matches!(tx.try_push(number(9)), Err(TryPushError::Full(_))), "eight are inside");
        rxs.iter_mut().for_each(|rx| assert!(rx.try_pop().is_ok(), "an item each"));
        assert!(matches!(tx.try_push(number(9)), Err(TryPushError::Busy(_))), "none is inside");
        let (pushed, is_pushed) = mpsc::channel();
        thread::spawn(move || pushed.send(tx.push(number(9)).is_ok()));
        assert!(is_pushed.recv_timeout(Duration::from_millis(50)).is_err(), "all rings are kept");
        rxs[..RINGS - 1].iter_mut().for_each(|rx| assert!(rx.is_empty()));
        assert_eq!(is_pushed.recv_timeout(Duration::from_secs(20)), Ok(true));
    }
}
