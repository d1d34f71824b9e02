// Above 500 lines: what both lists of rings share, with its own tests.

//! Lists of rings that can be closed: what [`lprq`] and [`lcrq`] have in common.
//!
//! All threads work in one ring. A push that finds the ring full, or fails too often in it, closes
//! the ring and appends another. Producers go on to the new ring at once, consumers when the old
//! ring is empty. Then the old ring is retired. It is freed when no handle is in it any more.
//!
//! A [`RingSlot`] defines how a push and a pop meet; all else is in this module. The algorithm
//! comes from A. Morrison, Y. Afek: *Fast Concurrent Queues for x86 Processors* (PPoPP 2013), §4.1
//! and Fig. 5; paper 5, §IV.B.
//!
//! # Memory
//!
//! Each handle has a hazard pointer to its ring. A handle that leaves a ring, or is dropped, adds 8
//! to a credit. A scan reads all hazard pointers and frees the retired rings that no hazard pointer
//! protects. A scan costs one credit for each handle and for each ring that it can't free. So with
//! up to 8 handles and no idle ones, a scan comes with every leave. With h handles, a scan comes
//! every h / 8 leaves, or h / 4 if an idle handle is in each remaining ring. The cost of scans per
//! item does not grow with the number of handles, nor with the number of dropped handles.
//!
//! # Departures from the paper
//!
//! - A handle keeps its hazard pointer from one call to the next, so that a call need not protect
//!   the ring anew. The paper reads the list's head or tail in each call. Here a producer stays in
//!   its ring until the ring is closed, and a consumer until its ring is closed and empty. A handle
//!   that is idle, or whose thread is stopped, keeps its one ring from being freed.
//! - With epochs instead of hazard pointers, a stopped thread would keep all rings that are retired
//!   while it is stopped.
//! - A pop and a push may meet at one position after the other, and the pop may be first each time.
//!   After some tries the push closes the ring, and puts its item into a new ring before any pop
//!   gets there.
//! - A consumer that has seen the ring closed looks into the ring once more. Otherwise it could
//!   miss an item that was pushed just before the ring was closed (an error in the paper as
//!   published, corrected in its later versions).

use alloc::boxed::Box;
use core::ptr;

use crate::hazard::{Costs, Domain, Guarded, Hazard};
use crate::memory::{AtomicPtr, Ordering};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::{
    self, Built, CapacityError, Config, Producer as _, TryPopError, TryPushError, answered_by,
    full, handles, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, no_memory};
use crate::spin::Distance;
use crate::unwind::drop_each;

mod closable_ring;
pub mod lcrq;
pub mod lprq;
#[cfg(feature = "literature")]
pub mod pooled;

use closable_ring::{ClosableRing, Ring};

/// The lap of a position: how many times positions had gone round the ring before it, in a slot's
/// units. The number wraps.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Lap {
    /// A multiple of [`RingSlot::UNIT`].
    start: u64,
    /// The difference between the numbers of two successive laps.
    len: u64,
}

impl Lap {
    /// The lap in which item number `index` is put into a ring of `n` slots.
    #[inline]
    pub(super) fn of<S: RingSlot>(index: u64, n: usize) -> Self {
        let n = n as u64;
        Self { start: (index & !(n - 1)).wrapping_mul(S::UNIT), len: n * S::UNIT }
    }

    /// The lap's number, a multiple of [`RingSlot::UNIT`].
    #[inline]
    pub(super) fn number(self) -> u64 {
        self.start
    }

    /// The previous lap.
    pub(super) fn earlier(self) -> Self {
        Self { start: self.start.wrapping_sub(self.len), ..self }
    }

    /// The number of the lap that comes `laps` later.
    #[inline]
    pub(super) fn later(self, laps: u64) -> u64 {
        self.start.wrapping_add(laps.wrapping_mul(self.len))
    }

    /// How many laps the lap with this number is behind `self`. Negative if it is ahead.
    #[inline]
    pub(super) fn since(self, number: u64) -> i64 {
        (self.start.wrapping_sub(number) as i64) >> self.len.trailing_zeros()
    }
}

/// A slot: the pop and the push that have got the same position meet in it. Only this crate has
/// such slots.
pub trait RingSlot: sealed::Sealed + Sized + Send + Sync {
    /// What the slot holds.
    type Item: Send;

    #[doc(hidden)]
    /// A power of two. Lap numbers are multiples of it: the lower bits of a slot's word have
    /// another use. So lap numbers wrap after 2^64 / `UNIT` positions. No thread must be stopped in
    /// the middle of a call while half as many positions are used.
    const UNIT: u64;

    #[doc(hidden)]
    /// An empty slot, first used in the lap `first`.
    fn new(first: Lap) -> Self;

    #[doc(hidden)]
    /// Puts `item` into the slot in `lap`. Fails if the slot holds another item, or if `lap` has
    /// been given up or left out. May also fail if an earlier lap of the slot is not over. If a pop
    /// of this lap may have left a mark, the slot asks `is_given` whether a pop has got this lap's
    /// position.
    ///
    /// # Errors
    ///
    /// Returns the item if it isn't put into the slot. Then no item may be put into the slot in
    /// this lap.
    ///
    /// # Safety
    ///
    /// This is the only call in this lap that puts an item into the slot or leaves the lap out.
    unsafe fn put(
        &self,
        lap: Lap,
        item: Self::Item,
        is_given: impl FnOnce() -> bool,
    ) -> Result<(), Self::Item>;

    #[doc(hidden)]
    /// Puts no item into the slot in `lap`. Each lap needs one call of this or of
    /// [`put`](Self::put): until then the slot may be unusable in later laps.
    ///
    /// # Safety
    ///
    /// As for [`put`](Self::put).
    unsafe fn leave_out(&self, lap: Lap);

    #[doc(hidden)]
    /// Takes the item that was put into the slot in `lap`, if the slot holds it.
    ///
    /// # Safety
    ///
    /// In this lap no other thread takes from the slot, and no item has been taken from it.
    unsafe fn take(&self, lap: Lap) -> Option<Self::Item>;

    #[doc(hidden)]
    /// As [`take`](Self::take). If the slot doesn't hold the item, gives the lap up: then no item
    /// can be put into the slot in this lap.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take).
    unsafe fn take_or_give_up(&self, lap: Lap) -> Option<Self::Item>;

    #[doc(hidden)]
    /// Whether the slot holds the item that was put into it in `lap`.
    fn holds(&self, lap: Lap) -> bool;

    #[doc(hidden)]
    /// Whether an item may still be put into the slot in `lap`. The answer may be out of date.
    fn is_open(&self, lap: Lap) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for super::lcrq::DoubleSlot<T> {}
    impl<T> Sealed for super::lprq::WordSlot<T> {}
}

/// A pointer to a ring of the list.
type Link<S> = AtomicPtr<Guarded<Node<S>>>;

/// A ring in the list.
struct Node<S> {
    ring: ClosableRing<S>,
    /// Number of rings that were appended before.
    number: u64,
    /// The next ring, null if this ring is the last. A producer appends a ring only after it has
    /// observed this ring closed.
    next: Link<S>,
}

impl<S: RingSlot> Node<S> {
    /// A node that isn't in the list yet. `None` if there is no memory for it.
    fn new(shape: RingShape, number: u64) -> Option<Box<Guarded<Self>>> {
        let ring = ClosableRing::new(shape.n, shape.first)?;
        Guarded::new(Self { ring, number, next: AtomicPtr::new(ptr::null_mut()) })
    }

    #[inline(always)]
    fn ring(&self) -> Ring<'_, S> {
        self.ring.ring()
    }

    /// The next node, if there is one. Then this node's ring is closed.
    #[inline]
    fn next(&self) -> Option<*mut Guarded<Self>> {
        // Acquire ↔ Release in `append`: the next ring is initialized, and this ring has been
        // closed.
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

/// Moves `end`, the list's head or tail, from `node` to `next`. Returns whether `end` pointed to
/// `node`.
fn move_on<S>(end: &Link<S>, node: *mut Guarded<Node<S>>, next: *mut Guarded<Node<S>>) -> bool {
    // Release ↔ Acquire in `Hazard::protect`: the next ring is initialized.
    end.compare_exchange(node, next, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// Items from the ring at `head` to the ring at `tail`, where rings in between count as full.
/// Leaves `node` at `tail`.
fn count<S: RingSlot>(node: &mut Hazard<Node<S>>, header: &Header<S>) -> usize {
    let mut visit = |end| {
        node.protect(end);
        (node.get().number, node.get().ring().len())
    };
    let ((first, filled), (last, pushed)) = (visit(&header.head), visit(&header.tail));
    // The ring that this handle has left may be waiting for this scan.
    header.domain.reclaim(1);
    match last.wrapping_sub(first) as usize {
        0 => filled,
        rings => filled + (rings - 1) * header.shape.n + pushed,
    }
}

/// Each ring that a handle leaves pays for a scan, unless there are many handles.
const COSTS: Costs = Costs { overhead: 0, steps: 8, at_drop: true };

/// The head and the tail of the list.
struct Header<S: RingSlot> {
    /// The oldest ring.
    head: Padded<Link<S>>,
    /// The newest ring, or a ring before it.
    tail: Padded<Link<S>>,
    shape: RingShape,
    domain: Domain<Node<S>>,
}

impl<S: RingSlot> State for Header<S> {
    type Item = S::Item;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // Relaxed: the drop of the handles orders their accesses before this one.
        let mut node = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            loop {
                // SAFETY: all handles are gone. The rings from `head` on have not been retired, and
                // each is freed once.
                unsafe {
                    if let Some(item) = node.as_ref()?.ring().pop() {
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
    config.only(&[])?;
    let (asked, most) = (config.capacity, Ring::<S>::MOST);
    if asked == 0 || asked > most {
        return Err(CapacityError::OutOfRange { asked, most });
    }
    let shape = RingShape { n: asked.next_power_of_two(), first: config.first };
    let bytes = size_of::<S>().saturating_mul(shape.n);
    let error = CapacityError::OutOfMemory { bytes };
    let node = Box::into_raw(Node::new(shape, 0).ok_or(error)?);
    let end = || Padded(AtomicPtr::new(node));
    let header = Header::<S> { head: end(), tail: end(), shape, domain: Domain::new(COSTS) };
    // SAFETY: the node came from a box above, and the header, which pointed to it, is gone.
    let (tx, rx) =
        ends(Memory::Heap, (), header).inspect_err(|_| drop(unsafe { Box::from_raw(node) }))?;
    let (tx, rx) = (Producer::new(tx), Consumer::new(rx));
    Ok((tx.ok_or(error)?, rx.ok_or(error)?))
}

/// A sending side.
pub struct Producer<S: RingSlot> {
    /// The producer's ring. Dropped before `end`, which may free the domain.
    node: Hazard<Node<S>>,
    end: End<Header<S>>,
    /// Whether the last push failed. Then the ring is closed, and pushes take no positions in it
    /// any more: pops would have to visit each of these positions.
    is_in_closed: bool,
}

/// A receiving side.
pub struct Consumer<S: RingSlot> {
    /// The consumer's ring. Dropped before `end`, which may free the domain.
    node: Hazard<Node<S>>,
    end: End<Header<S>>,
    /// Whether the handle is new, or its last pop found no item. Then a pop takes no position until
    /// the ring has an item: a pop that finds no item makes a push lose its position.
    looks_first: bool,
    distance: Distance,
    /// Items popped so far, by which `distance` knows a stream.
    popped: u64,
}

/// A consumer that pops this number of items before it catches up again is far enough behind.
const FAR_BEHIND: u64 = 256;

impl<S: RingSlot> Producer<S> {
    fn new(end: End<Header<S>>) -> Option<Self> {
        let header = end.header();
        // SAFETY: `end` keeps the domain. `tail` points to a ring of the list, and moves on before
        // its ring is retired.
        let node = unsafe { Hazard::new(&header.domain, &header.tail) }?;
        Some(Self { node, end, is_in_closed: false })
    }

    /// Pushes `item` into a later ring than the producer's own ring, which is closed.
    #[cold]
    fn push_behind(&mut self, mut item: S::Item) -> Result<(), TryPushError<S::Item>> {
        let Header { tail, domain, .. } = self.end.header();
        self.is_in_closed = true;
        loop {
            if let Some(next) = self.node.get().next() {
                let last = self.node.node();
                move_on(tail, last, next);
                self.node.protect(tail);
                match self.node.get().ring().push(item) {
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
        // The ring that this handle has left may be retired. Then it can be freed now.
        domain.reclaim(1);
        Ok(())
    }

    /// Appends a ring that holds `item` to the producer's ring, which is closed. Fails with
    /// [`TryPushError::Busy`] if another thread has appended a ring.
    fn append(&self, item: S::Item) -> Result<(), TryPushError<S::Item>> {
        let Header { tail, shape, .. } = self.end.header();
        let number = self.node.get().number.wrapping_add(1);
        let Some(new) = Node::<S>::new(*shape, number) else {
            return Err(TryPushError::Full(item));
        };
        assert!(new.ring().push(item).is_ok(), "a new ring has room");
        let new = Box::into_raw(new);
        let last = &self.node.get().next;
        let null = ptr::null_mut();
        // Release ↔ Acquire in `Node::next`: the new ring is initialized, and this ring is closed.
        if last.compare_exchange(null, new, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: the new ring came from a box, and no other thread has seen it.
            let new = unsafe { Box::from_raw(new) };
            return Err(TryPushError::Busy(new.ring().pop().expect("it was put there")));
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
        match self.node.get().ring().push(item) {
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
        // SAFETY: `end` keeps the domain. `head` points to a ring of the list, and moves on before
        // its ring is retired.
        let node = unsafe { Hazard::new(&header.domain, &header.head) }?;
        Some(Self { node, end, looks_first: true, distance: Distance::new(0), popped: 0 })
    }

    /// Takes the oldest item of the consumer's ring.
    #[inline]
    fn take(&mut self) -> Option<S::Item> {
        let ring = self.node.get().ring();
        if self.looks_first && ring.is_empty() {
            return None;
        }
        let item = ring.pop();
        self.looks_first = item.is_none();
        self.popped = self.popped.wrapping_add(u64::from(item.is_some()));
        item
    }

    #[inline]
    fn pop(&mut self) -> Option<S::Item> {
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
    fn pop_behind(&mut self) -> Option<S::Item> {
        while let Some(next) = self.node.get().next() {
            match self.node.get().ring().pop_rest() {
                None => self.go_on(next),
                item => return item,
            }
            if let Some(item) = self.take() {
                return Some(item);
            }
        }
        None
    }

    /// Leaves the consumer's ring, which is closed and empty, for the ring that `head` points to
    /// afterwards.
    #[cold]
    fn go_on(&mut self, next: *mut Guarded<Node<S>>) {
        let Header { head, tail, domain, .. } = self.end.header();
        let node = self.node.node();
        // `tail` first, so that it never points to a retired ring. If this exchange fails, another
        // thread has moved `tail` on, and `tail` never goes back.
        move_on(tail, node, next);
        let is_left = move_on(head, node, next);
        self.node.protect(head);
        if is_left {
            // SAFETY: the ring came from a box. `head` and `tail` have moved on for good. A ring is
            // used only while a hazard protects it, and so is its `next`.
            unsafe { domain.retire(node) };
        }
        // Also if another consumer has retired the ring: that consumer's scan may have read this
        // handle's hazard.
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
        node.ring().is_empty() && node.next().is_none()
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

    /// Counts the hazards of live handles after many handles have been cloned and dropped: one by
    /// one, and many at once.
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
