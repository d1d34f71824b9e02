//! Lists of rings that can be closed: what [`lprq`] and [`lcrq`] have in common.
//!
//! All threads work in one ring. A push that finds the ring full, or fails too often there, closes it and appends another.
//! Producers go on to the new ring at once, consumers when the old ring is empty. Then the old ring is retired. It is freed when
//! no handle is in it any more.
//!
//! A [`RingSlot`] says how a push and a pop meet; all else is here. It comes from A. Morrison, Y. Afek: *Fast Concurrent
//! Queues for x86 Processors* (PPoPP 2013), §4.1 and Fig. 5; paper 5, §IV.B.
//!
//! # Memory
//!
//! Each handle has a hazard pointer to the ring that it is in. A handle that leaves a ring, or is dropped, adds 8 to a credit. A
//! scan reads all hazard pointers and frees the rings that none has. It costs as much credit as there are handles and rings
//! that remain. So with up to 8 handles and no idle ones, every leave has a scan. With h handles, a scan comes every h / 8
//! leaves, or h / 4 if an idle handle is in each remaining ring. An item's part of a scan does not grow with the number of
//! handles, nor with the number of those that have been dropped.
//!
//! # Departures from the paper
//!
//! - A handle keeps its hazard pointer from one call to the next, so that coming to the ring costs nothing. The paper reads
//!   the list's head or tail in each call. Here a handle goes on in its own ring until that is closed, or for a consumer closed
//!   and empty. An idle handle, or one whose thread is stopped, keeps that one ring from being freed.
//! - Epochs would keep more: a stopped thread would keep all rings that have been retired since.
//! - A pop and a push may meet at one position after the other, and the pop may be first each time. After some tries the push
//!   closes the ring, and in the next ring it is the first.
//! - A consumer that has seen the ring closed looks at it once more. Otherwise it could miss an item that was pushed just before
//!   that (an error in the paper as it appeared, mended in its later versions).

use alloc::boxed::Box;
use core::ptr;

use crate::hazard::{Costs, Domain, Guarded, Hazard};
use crate::memory::{AtomicPtr, Ordering};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::chunk::drop_each;
use crate::queue::{
    self, Built, CapacityError, Config, Producer as _, TryPopError, TryPushError, answered_by,
    full, handles, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, no_memory};

mod closable_ring;
pub mod lcrq;
pub mod lprq;

use closable_ring::ClosableRing;

/// How many times positions had gone round the ring before a position, as a slot counts them. That wraps.
#[derive(Debug, Clone, Copy)]
pub struct Lap {
    /// A multiple of [`RingSlot::UNIT`].
    start: u64,
    /// From one to the next.
    len: u64,
}

impl Lap {
    /// That in which item number `index` is put into a ring of `n` slots.
    #[inline]
    pub(super) fn of<S: RingSlot>(index: u64, n: usize) -> Self {
        let n = n as u64;
        Self { start: (index & !(n - 1)).wrapping_mul(S::UNIT), len: n * S::UNIT }
    }

    /// Its number, a multiple of [`RingSlot::UNIT`].
    #[inline]
    pub(super) fn number(self) -> u64 {
        self.start
    }

    /// The one before.
    pub(super) fn earlier(self) -> Self {
        Self { start: self.start.wrapping_sub(self.len), ..self }
    }

    /// The number of the one that comes so many laps later.
    #[inline]
    pub(super) fn later(self, laps: u64) -> u64 {
        self.start.wrapping_add(laps.wrapping_mul(self.len))
    }

    /// How many laps that with this number is behind. Less than none if it is ahead.
    #[inline]
    pub(super) fn since(self, number: u64) -> i64 {
        (self.start.wrapping_sub(number) as i64) >> self.len.trailing_zeros()
    }
}

/// Where a pop and a push that have got the same position meet.
pub trait RingSlot: Sized + Send + Sync {
    /// What it holds.
    type Item: Send;

    /// Of what the number of a lap is a multiple, a power of two: the bits below are for what else a word says. So lap
    /// numbers wrap after 2^64 / `UNIT` positions: while half as many go by, no thread must be stopped in the middle.
    const UNIT: u64;

    /// An empty one, to be used first in this lap.
    fn new(first: Lap) -> Self;

    /// Puts `item` here in `lap`. Fails if something else is here, or it has been given up or left out in this lap; a slot
    /// may also fail that is not done with an earlier lap. If a pop of this lap may have left a mark, the slot asks `is_given`
    /// whether a pop has got this lap's position.
    ///
    /// # Errors
    ///
    /// The item, if it isn't put here. Then no item may be put here in this lap.
    ///
    /// # Safety
    ///
    /// This is the only call in this lap that puts an item here or leaves the lap out.
    unsafe fn put(
        &self,
        lap: Lap,
        item: Self::Item,
        is_given: impl FnOnce() -> bool,
    ) -> Result<(), Self::Item>;

    /// Puts nothing here in `lap`. Each lap needs one call of this or of [`put`](Self::put): until then the slot may be of no
    /// use in later laps.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    unsafe fn leave_out(&self, lap: Lap);

    /// Takes the item that was put here in `lap`, if it is here.
    ///
    /// # Safety
    ///
    /// This is the only call in this lap that takes from here.
    unsafe fn take(&self, lap: Lap) -> Option<Self::Item>;

    /// As [`take`](Self::take); but sees to it that none is put here in this lap, if it isn't here.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn take_or_give_up(&self, lap: Lap) -> Option<Self::Item>;

    /// Whether the item that was put here in `lap` is here.
    fn holds(&self, lap: Lap) -> bool;

    /// Whether one may be put here in `lap`, as far as can be seen now.
    fn is_open(&self, lap: Lap) -> bool;
}

/// What leads to a ring in the list.
type Link<S> = AtomicPtr<Guarded<Node<S>>>;

/// A ring in the list.
struct Node<S> {
    ring: ClosableRing<S>,
    /// The number of rings that were appended before it.
    number: u64,
    /// The ring behind it, null if it is the last. A producer appends one only when it has seen this ring closed.
    next: Link<S>,
}

impl<S: RingSlot> Node<S> {
    /// One that isn't in the list yet.
    fn new(shape: RingShape, number: u64) -> Option<Box<Guarded<Self>>> {
        let ring = ClosableRing::new(shape.n, shape.first)?;
        Guarded::new(Self { ring, number, next: AtomicPtr::new(ptr::null_mut()) })
    }

    /// The one behind it. Then this one's ring is closed.
    #[inline]
    fn next(&self) -> Option<*mut Guarded<Self>> {
        // Acquire ↔ Release in `append`: the ring is ready, and this one has been closed.
        let next = self.next.load(Ordering::Acquire);
        (!next.is_null()).then_some(next)
    }
}

/// Items for which a ring has room, and where its positions start.
#[derive(Debug, Clone, Copy)]
struct RingShape {
    n: usize,
    first: u64,
}

/// Moves an end of the list on from `node` to the `next` one, and says whether it was there.
fn move_on<S>(end: &Link<S>, node: *mut Guarded<Node<S>>, next: *mut Guarded<Node<S>>) -> bool {
    // Release ↔ Acquire in `Hazard::protect`: the next ring is ready.
    end.compare_exchange(node, next, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// Items from the ring at `head` to the ring at `tail`, where rings in between count as full. Leaves `node` at `tail`.
fn count<S: RingSlot>(node: &mut Hazard<Node<S>>, header: &Header<S>) -> usize {
    let mut visit = |end| {
        node.protect(end);
        (node.get().number, node.get().ring.len())
    };
    let ((first, filled), (last, pushed)) = (visit(&header.head), visit(&header.tail));
    // The ring that it has left may wait for that.
    header.domain.reclaim(1);
    match last.wrapping_sub(first) as usize {
        0 => filled,
        rings => filled + (rings - 1) * header.shape.n + pushed,
    }
}

/// A ring is worth a scan, unless there are many handles.
const COSTS: Costs = Costs { overhead: 0, steps: 8, at_drop: true };

/// Both ends of the list.
struct Header<S: RingSlot> {
    /// Where items are popped.
    head: Padded<Link<S>>,
    /// Where items are pushed, or a ring before that one.
    tail: Padded<Link<S>>,
    shape: RingShape,
    domain: Domain<Node<S>>,
}

impl<S: RingSlot> State for Header<S> {
    type Item = S::Item;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // Relaxed: dropping the handles has ordered what they did before this.
        let mut node = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            loop {
                // SAFETY: all handles are gone. From `head` on nothing has been retired, and each is freed once.
                unsafe {
                    if let Some(item) = node.as_ref()?.ring.pop() {
                        return Some(item);
                    }
                    node = Box::from_raw(node).next.load(Ordering::Relaxed);
                }
            }
        });
    }
}

/// A queue of rings for `config.capacity` items each.
///
/// # Errors
///
/// If the capacity is 0 or too large for memory.
pub(super) fn queue<S: RingSlot>(config: Config) -> Built<Producer<S>, Consumer<S>> {
    config.inexact()?;
    let (asked, most) = (config.capacity, ClosableRing::<S>::MOST);
    if asked == 0 || asked > most {
        return Err(CapacityError::OutOfRange { asked, most });
    }
    let shape = RingShape { n: asked.next_power_of_two(), first: config.first };
    let bytes = size_of::<S>().saturating_mul(shape.n);
    let error = CapacityError::OutOfMemory { bytes };
    let node = Box::into_raw(Node::new(shape, 0).ok_or(error)?);
    let end = || Padded(AtomicPtr::new(node));
    let header = Header::<S> { head: end(), tail: end(), shape, domain: Domain::new(COSTS) };
    // SAFETY: it is from above, and the header with it is gone.
    let (tx, rx) =
        ends(Memory::Heap, (), header).inspect_err(|_| drop(unsafe { Box::from_raw(node) }))?;
    let (tx, rx) = (Producer::new(tx), Consumer::new(rx));
    Ok((tx.ok_or(error)?, rx.ok_or(error)?))
}

/// A sending side.
pub struct Producer<S: RingSlot> {
    /// The ring that it is in. Dropped before `end`, which may free the domain.
    node: Hazard<Node<S>>,
    end: End<Header<S>>,
    /// Whether the last push failed. Then the ring is closed, and pushes take no positions in it any more, as pops would have
    /// to pass each of them.
    is_in_closed: bool,
}

/// A receiving side.
pub struct Consumer<S: RingSlot> {
    /// As the producer's.
    node: Hazard<Node<S>>,
    end: End<Header<S>>,
    /// Whether the handle is new, or its last pop found nothing. Then a pop takes no position before an item is there: that
    /// would cost a push its position.
    looks_first: bool,
}

impl<S: RingSlot> Producer<S> {
    fn new(end: End<Header<S>>) -> Option<Self> {
        let header = end.header();
        // SAFETY: `end` keeps the domain. `tail` leads to a ring of the list, and has gone on when one is retired.
        let node = unsafe { Hazard::new(&header.domain, &header.tail) }?;
        Some(Self { node, end, is_in_closed: false })
    }

    /// Pushes `item` into a later ring than its own, which is closed.
    #[cold]
    fn push_behind(&mut self, mut item: S::Item) -> Result<(), TryPushError<S::Item>> {
        let Header { tail, domain, .. } = self.end.header();
        self.is_in_closed = true;
        loop {
            if let Some(next) = self.node.get().next() {
                let last = self.node.node();
                move_on(tail, last, next);
                self.node.protect(tail);
                match self.node.get().ring.push(item) {
                    Ok(()) => break,
                    Err(back) => item = back,
                }
            } else if self.is_closed() {
                return Err(full(true, item));
            } else {
                match self.append(item) {
                    Ok(()) => break self.node.protect(tail),
                    Err(TryPushError::Busy(back)) => item = back,
                    Err(error) => return Err(error),
                }
            }
        }
        self.is_in_closed = false;
        // The ring that it has left may wait for that.
        domain.reclaim(1);
        Ok(())
    }

    /// Appends a ring with `item` in it to the ring that the handle is in, which is closed. [`TryPushError::Busy`] if another
    /// thread has done so.
    fn append(&self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        let Header { tail, shape, .. } = self.end.header();
        let number = self.node.get().number.wrapping_add(1);
        let Some(new) = Node::<S>::new(*shape, number) else {
            return Err(TryPushError::Full(item));
        };
        assert!(new.ring.push(item).is_ok(), "a new ring has room");
        let new = Box::into_raw(new);
        let last = &self.node.get().next;
        let null = ptr::null_mut();
        // Release ↔ Acquire in `Node::next`.
        if last.compare_exchange(null, new, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: it came from a box, and no other thread has seen it.
            let new = unsafe { Box::from_raw(new) };
            return Err(TryPushError::Busy(new.ring.pop().expect("it was put there")));
        }
        move_on(tail, self.node.node(), new);
        Ok(())
    }
}

impl<S: RingSlot> queue::Producer for Producer<S> {
    type Item = S::Item;

    #[inline]
    fn try_push(&mut self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        if self.is_in_closed {
            return self.push_behind(item);
        }
        match self.node.get().ring.push(item) {
            Ok(()) => Ok(()),
            Err(item) => self.push_behind(item),
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        // The last ring may be open.
        self.is_in_closed = false;
        count(&mut self.node, self.end.header())
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<S: RingSlot> Consumer<S> {
    fn new(end: End<Header<S>>) -> Option<Self> {
        let header = end.header();
        // SAFETY: `end` keeps the domain. `head` leads to a ring of the list, and has gone on when one is retired.
        let node = unsafe { Hazard::new(&header.domain, &header.head) }?;
        Some(Self { node, end, looks_first: true })
    }

    /// Takes the oldest item of the ring that it is in.
    #[inline]
    fn take(&mut self) -> Option<S::Item> {
        let ring = &self.node.get().ring;
        if self.looks_first && ring.is_empty() {
            return None;
        }
        let item = ring.pop();
        self.looks_first = item.is_none();
        item
    }

    #[inline]
    fn pop(&mut self) -> Option<S::Item> {
        match self.take() {
            None => self.pop_behind(),
            item => item,
        }
    }

    /// Looks for an item in later rings than its own, which was empty.
    fn pop_behind(&mut self) -> Option<S::Item> {
        while let Some(next) = self.node.get().next() {
            match self.node.get().ring.pop_rest() {
                None => self.go_on(next),
                item => return item,
            }
            if let Some(item) = self.take() {
                return Some(item);
            }
        }
        None
    }

    /// Leaves its ring, which is closed and empty, for the one that `head` leads to then.
    #[cold]
    fn go_on(&mut self, next: *mut Guarded<Node<S>>) {
        let Header { head, tail, domain, .. } = self.end.header();
        let node = self.node.node();
        // First, so that `tail` does not lead to a retired ring. If it fails, another thread has moved `tail` on, and `tail`
        // never goes back.
        move_on(tail, node, next);
        let is_left = move_on(head, node, next);
        self.node.protect(head);
        if is_left {
            // SAFETY: it came from a box. `head` and `tail` have gone on for good. A ring is used through a hazard only, and
            // its `next` is never followed without one.
            unsafe { domain.retire(node) };
        }
        // Also if another consumer has retired the ring: its scan may have seen this hazard.
        domain.reclaim(1);
    }
}

impl<S: RingSlot> queue::Consumer for Consumer<S> {
    type Item = S::Item;

    #[inline]
    fn try_pop(&mut self) -> Result<S::Item, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        let header = self.end.header();
        let n = count(&mut self.node, header);
        self.node.protect(&header.head);
        n
    }

    fn is_empty(&mut self) -> bool {
        self.node.protect(&self.end.header().head);
        let node = self.node.get();
        node.ring.is_empty() && node.next().is_none()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<S: RingSlot> Clone for Producer<S> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

impl<S: RingSlot> Clone for Consumer<S> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

handles! {
    [S: RingSlot] Producer<S>: producer of S::Item;
    [S: RingSlot] Consumer<S>: consumer of S::Item;
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Hazards of handles that are alive, after many have been cloned and dropped: one by one, and many at once.
    fn hazards_of_live_handles<S: RingSlot>((tx, rx): (Producer<S>, Consumer<S>)) {
        let hazards = || tx.end.header().domain.hazards().count();
        for _ in 0..30_000 {
            drop((tx.clone(), rx.clone()));
        }
        assert_eq!(hazards(), 2);
        let mut txs: Vec<_> = (0..30_000).map(|_| tx.clone()).collect();
        let rxs: Vec<_> = (0..30_000).map(|_| rx.clone()).collect();
        assert_eq!(hazards(), 60_002);
        // From the middle of the list, from its end, and from its start.
        drop(txs.drain(10_000..20_000));
        drop(txs.drain(..5_000));
        assert_eq!(hazards(), 45_002);
        drop(rxs);
        assert_eq!(hazards(), 15_002);
        drop(txs);
        assert_eq!(hazards(), 2);
    }

    #[test]
    fn handles_that_are_dropped_leave_no_hazards() {
        hazards_of_live_handles(lprq::queue::<u64>(8).unwrap());
    }
}
