//! `multi-fifo`: many rings behind a lock each, whose items have timestamps.
//!
//! A push appends its item, with the time, to a random ring. A pop looks at the oldest timestamps
//! of two random rings, and takes the older item. A handle stays with its rings for some calls: it
//! is *sticky*. Then their cache lines are still there. A call that finds a ring locked goes on to
//! another one.
//!
#![doc = advice!(literature multi_fifo)]
//!
//! | | |
//! |---|---|
//! | guarantee | deadlock-free. Items leave almost in order, without a bound: the expected rank error is some times the number of rings and the stickiness |
//! | capacity | N, the number of slots of all rings: as asked, rounded up to a power of two |
//! | memory | a timestamp of 8 bytes for each item, and a cache line of 128 bytes for each ring. There are 32 rings. If there are fewer slots, each ring has one slot |
//! | a stopped thread | in the middle of a call keeps one ring from all other threads. They use the other rings, and say busy if that one is the last with room, or with an item |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | a compare-and-swap and a store for the lock, and the time, which takes some 20 cycles. A call that finds no room, or no item, reads the variables of all rings twice |
//! | empty, full | empty means that all rings were empty at one moment of the call, full that all were full and none was locked |
//! | paper | S. Koch, P. Sanders, M. Williams: *BlockFIFO & MultiFIFO: Scalable Relaxed Queues* (2025) |
//!
//! # Departures from the paper
//!
//! - The number of rings doesn't depend on the number of threads.
//! - The paper's pop says empty when it has tried each ring once. Here it looks a second time at
//!   the number of pushes into each ring, so that there was a moment without items.
//! - The clocks of two cores may differ a little. Then the younger of two items may leave first.
//!
//! ```
//! use corelane::{TryPopError, relaxed::multi_fifo};
//!
//! let (mut tx, mut rx) = multi_fifo::queue(100)?;
//! (0..100).for_each(|n| tx.clone().try_push(n).unwrap());
//! let mut popped: Vec<_> = rx.pop_iter().collect();
//! popped.sort();
//! assert!(popped.into_iter().eq(0..100));
//! assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
//! # Ok::<(), corelane::CapacityError>(())
//! ```

use core::marker::PhantomData;

use super::parts::{PARTS, PartShape, Parts, Variables, pop_or_closed};
use crate::memory::{AtomicBool, AtomicU64, Ordering, time};
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type,
};
use crate::random::Random;
use crate::region::{End, State, ends};
use crate::unwind::drop_each;

/// Calls for which a handle stays with its rings.
const STICKINESS: u32 = 16;

/// The time of an item that doesn't exist.
const NEVER: u64 = u64::MAX;

/// An item, and when it was pushed.
struct Stamped<T> {
    time: u64,
    item: T,
}

/// The variables of a ring. Only the thread that has the lock writes the others.
struct Locked {
    is_locked: AtomicBool,
    /// Pushes so far.
    pushes: AtomicU64,
    /// Pops so far.
    pops: AtomicU64,
    /// The time of the oldest item.
    oldest: AtomicU64,
}

impl Variables for Locked {
    fn new(first: u64) -> Self {
        let [pushes, pops, oldest] = [first, first, NEVER].map(AtomicU64::new);
        Self { is_locked: AtomicBool::new(false), pushes, pops, oldest }
    }
}

/// The lock of a ring is taken, until this is dropped.
struct Guard<'a>(&'a Locked);

impl Locked {
    /// Takes the lock, if no other thread has it.
    #[inline]
    fn lock(&self) -> Option<Guard<'_>> {
        // Relaxed: the exchange fails if the value is out of date.
        let is_free = !self.is_locked.load(Ordering::Relaxed);
        // Acquire ↔ Release in the guard's drop: all accesses to the ring.
        let is_taken = is_free
            && self
                .is_locked
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        // Not `then_some`: a guard that is made and dropped gives another thread's lock back.
        is_taken.then(|| Guard(self))
    }

    fn pushes(&self) -> u64 {
        // Acquire ↔ Release in `push`: all that its thread knew of other rings.
        self.pushes.load(Ordering::Acquire)
    }

    fn pops(&self) -> u64 {
        // Acquire ↔ Release in `pop`: all that its thread knew of other rings.
        self.pops.load(Ordering::Acquire)
    }

    /// Items inside.
    fn len(&self) -> u64 {
        // Pops first, so that a ring without items seems to have none.
        let pops = self.pops();
        self.pushes().wrapping_sub(pops)
    }

    fn oldest(&self) -> u64 {
        // Relaxed: only a hint.
        self.oldest.load(Ordering::Relaxed)
    }

    /// Whether the lock is taken.
    fn is_in_use(&self) -> bool {
        // Relaxed: a thread that knows of a call sees that this call has ended.
        self.is_locked.load(Ordering::Relaxed)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Release ↔ Acquire in `lock`: all accesses to the ring.
        self.0.is_locked.store(false, Ordering::Release);
    }
}

/// Why a ring was not used.
enum Refused {
    /// Another thread has the lock.
    InUse,
    /// The ring is full, or empty.
    Short,
}

/// What all handles share besides the rings.
struct Header<T> {
    /// Handles made so far: each has random numbers of its own.
    handles: AtomicU64,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Parts<Locked, Stamped<T>>;

    fn drop_items(&self, parts: &Self::Slots) {
        let mut left = (0..parts.count()).flat_map(|part| {
            let (pops, len) = (parts.at(part).pops(), parts.at(part).len());
            (0..len).map(move |i| (part, pops.wrapping_add(i)))
        });
        // SAFETY: these slots hold items that were never popped, and each is listed once.
        drop_each(|| left.next().map(|(part, position)| unsafe { parts.read(part, position) }));
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    let shape = PartShape::of::<Header<T>>(config, PARTS, usize::MAX)?;
    let header = Header { handles: AtomicU64::new(2), items: PhantomData };
    let (tx, rx) = ends(config.memory, shape, header)?;
    Ok((Producer { end: tx, choice: Choice::new(0) }, Consumer { end: rx, choice: Choice::new(1) }))
}

/// The rings that a handle stays with.
struct Choice<const D: usize> {
    rings: [usize; D],
    /// Calls that are left for these rings.
    left: u32,
    random: Random,
}

impl<const D: usize> Choice<D> {
    fn new(handle: u64) -> Self {
        Self { rings: [0; D], left: 0, random: Random::new(handle) }
    }

    /// The rings for the next call, of `n`.
    #[inline]
    fn next(&mut self, n: usize) -> [usize; D] {
        if self.left == 0 {
            self.left = STICKINESS;
            self.rings = [(); D].map(|()| self.random.below(n));
        }
        self.left -= 1;
        self.rings
    }

    /// Chooses other rings for the next call.
    fn leave(&mut self) {
        self.left = 0;
    }
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

impl<T> Side<T> {
    /// The number of a new handle.
    fn next_handle(&self) -> u64 {
        // Relaxed: only the number matters.
        self.header().handles.fetch_add(1, Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        let len: u64 = self.slots().iter().map(Locked::len).sum();
        (len as usize).min(self.slots().total())
    }

    /// Whether all rings were empty at one moment.
    fn is_empty(&self) -> bool {
        self.slots().all_at_once(Locked::pushes, |ring| ring.len() == 0)
    }

    /// Whether all rings were full at one moment, and none was in use.
    fn is_full(&self) -> bool {
        let n = self.slots().each() as u64;
        self.slots().all_at_once(Locked::pops, |ring| ring.len() >= n && !ring.is_in_use())
    }

    /// Appends the item to this ring. Returns it if the ring is full or in use.
    #[inline]
    fn push(&self, ring: usize, item: T) -> Result<(), (Refused, T)> {
        let (rings, n) = (self.slots(), self.slots().each() as u64);
        if rings.at(ring).len() >= n {
            return Err((Refused::Short, item));
        }
        let Some(guard) = rings.at(ring).lock() else { return Err((Refused::InUse, item)) };
        let Locked { pushes, pops, oldest, .. } = guard.0;
        // Relaxed: behind the lock.
        let (position, pops) = (pushes.load(Ordering::Relaxed), pops.load(Ordering::Relaxed));
        let len = position.wrapping_sub(pops);
        if len == n {
            return Err((Refused::Short, item));
        }
        let time = time();
        // SAFETY: fewer than `n` slots hold items, and this thread has the lock.
        unsafe { rings.write(ring, position, Stamped { time, item }) };
        if len == 0 {
            // Relaxed: only a hint.
            oldest.store(time, Ordering::Relaxed);
        }
        // Release ↔ Acquire in `pushes`: all that this thread knows of other rings.
        pushes.store(position.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes the oldest item of this ring.
    #[inline]
    fn pop(&self, ring: usize) -> Result<T, Refused> {
        let rings = self.slots();
        if rings.at(ring).len() == 0 {
            return Err(Refused::Short);
        }
        let guard = rings.at(ring).lock().ok_or(Refused::InUse)?;
        let Locked { pushes, pops, oldest, .. } = guard.0;
        // Relaxed: behind the lock.
        let (position, pushes) = (pops.load(Ordering::Relaxed), pushes.load(Ordering::Relaxed));
        if position == pushes {
            return Err(Refused::Short);
        }
        // SAFETY: the slot holds an item, and this thread has the lock.
        let item = unsafe { rings.read(ring, position) }.item;
        let next = position.wrapping_add(1);
        let time = match next == pushes {
            true => NEVER,
            // SAFETY: the slot holds an item, and this thread has the lock.
            false => unsafe { (*rings.item(ring, next)).time },
        };
        // Relaxed: only a hint.
        oldest.store(time, Ordering::Relaxed);
        // Release ↔ Acquire in `pops`: all that this thread knows of other rings.
        pops.store(next, Ordering::Release);
        Ok(item)
    }

    /// Appends the item to any ring, to `first` last.
    #[cold]
    fn push_behind(&self, first: usize, mut item: T) -> Result<(), TryPushError<T>> {
        while !self.is_full() {
            let mut is_busy = false;
            for ring in self.slots().behind(first) {
                let refused = match self.push(ring, item) {
                    Ok(()) => return Ok(()),
                    Err((refused, again)) => {
                        item = again;
                        refused
                    }
                };
                is_busy |= matches!(refused, Refused::InUse) || self.slots().at(ring).is_in_use();
            }
            if is_busy {
                return Err(TryPushError::Busy(item));
            }
        }
        Err(full(self.peer_is_gone(), item))
    }

    /// Takes an item of any ring, `first` last.
    #[cold]
    fn pop_behind(&self, first: usize) -> Result<T, TryPopError> {
        while !self.is_empty() {
            let mut is_busy = false;
            for ring in self.slots().behind(first) {
                match self.pop(ring) {
                    Ok(item) => return Ok(item),
                    Err(refused) => is_busy |= matches!(refused, Refused::InUse),
                }
            }
            if is_busy {
                return Err(TryPopError::Busy);
            }
        }
        Err(TryPopError::Empty)
    }
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    choice: Choice<1>,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    choice: Choice<2>,
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let [ring] = self.choice.next(self.end.slots().count());
        let Err((_, item)) = self.end.push(ring, item) else { return Ok(()) };
        self.choice.leave();
        self.end.push_behind(ring, item)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().total()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_full(&mut self) -> bool {
        self.end.is_full()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    #[inline]
    fn pop(&mut self) -> Result<T, TryPopError> {
        let rings = self.end.slots();
        let [one, other] = self.choice.next(rings.count());
        let is_other = rings.at(other).oldest() < rings.at(one).oldest();
        let ring = if is_other { other } else { one };
        self.end.pop(ring).or_else(|_| {
            self.choice.leave();
            self.end.pop_behind(ring)
        })
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        pop_or_closed(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().total()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn is_empty(&mut self) -> bool {
        self.end.is_empty()
    }

    fn relaxation(&self) -> usize {
        if self.end.slots().count() == 1 { 1 } else { usize::MAX }
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), choice: Choice::new(self.end.next_handle()) }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), choice: Choice::new(self.end.next_handle()) }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(MultiFifo of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "multi-fifo",
    name: "MultiFIFO",
    paper: "Koch, Sanders, Williams 2025",
    sides: Sides::ManyToMany,
    guarantee: "deadlock-free, almost in order",
    relaxed: true,
    choose: advice!(choose multi_fifo),
    avoid: advice!(avoid multi_fifo),
    ..Info::RING
});

#[cfg(test)]
mod tests {
    use super::super::parts::tests;
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn none_is_lost_or_doubled() {
        for capacity in [1, 8, 1000] {
            tests::none_is_lost_or_doubled::<MultiFifo>(Config::new(capacity));
        }
    }

    #[test]
    fn capacity_is_a_promise() {
        for capacity in [1, 2, 31, 100] {
            tests::has_its_capacity::<MultiFifo>(Config::new(capacity));
        }
    }

    #[test]
    fn what_is_left_is_dropped() {
        tests::drops_what_is_left::<MultiFifo>(Config::new(8));
    }

    /// A pop of two rings takes the older item: so with few rings items leave almost in order.
    #[test]
    fn older_items_leave_first() {
        let (mut tx, mut rx) = queue(1 << 12).unwrap();
        (0..1 << 12).for_each(|n| tx.try_push(n).unwrap());
        let popped: Vec<u64> = rx.pop_iter().collect();
        let errors: u64 = popped.iter().zip(0..).map(|(n, i)| n.abs_diff(i)).sum();
        assert!(errors >> 12 < 1 << 10, "random order has an error of 4096 / 3: {errors}");
    }
}
