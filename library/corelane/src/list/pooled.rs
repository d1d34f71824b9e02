//! `msq-pool`: the textbook's list in a fixed pool of nodes, as in the paper of 1996.
//!
//! A push appends a node to the last node. A pop moves `head` to the next node. A call retries if
//! another thread was faster. The node at `head` holds no item: its item was popped last. Nodes are
//! named by indices, and free nodes are in a list of their own. So the queue has no pointers, and
//! processes can share it: [`shm::literature::Msq`](crate::shm::literature::Msq).
//!
#![doc = advice!(literature msq_pool)]
//!
//! A node is used again as soon as its item is popped, while other threads may still read it. So a
//! link is an index and a count, which are exchanged together. The node that is appended as number
//! k has the count k in each link that names it, and in its own link as long as no node follows. So
//! an exchange by a thread that was stopped meanwhile fails.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free, first in first out (linearizable but for [answers out of date](crate::TryPushError::Full)) |
//! | capacity | as asked, rounded up to a power of two; or [exactly](Config::exact) as asked. A node is the queue's own, besides one for each item |
//! | memory | two words and an item for each node |
//! | a stopped thread | keeps one node. With n items, less one for each stopped thread, pushes say [busy](crate::TryPushError::Busy). A thread that never continues has taken its node from the queue for ever |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | a push exchanges three words: `free`, the last node's link and `tail`. A pop exchanges two: `head` and `free` |
//! | limit | no thread must be stopped in the middle of a call while as many items are pushed as the counts tell apart: 2⁵¹ for 4,000 items, 2³⁹ for 16 million |
//! | closing | a push says closed when no node is free and all consumers are gone |
//! | paper | M. Michael, M. Scott: *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996), Fig. 1, with the free list of R. K. Treiber (1986); paper 5, §V compares with it |
//!
//! # Departures from the paper
//!
//! - The paper's pop copies the item before the exchange that makes the item its own. If the
//!   exchange fails, the copy may be torn. Here a node has the number of a cell, and the cell has
//!   the item. A pop reads the number before its exchange, and the item afterwards. It leaves the
//!   cell to the node that it frees: the node at `head` has no cell.
//! - The count of a link is the number of items that were pushed before, and not the number of the
//!   link's changes. So a push need not read the last node's link before it exchanges it.
//! - Where no node is free, the paper's push fails. Here it says busy if fewer items than the
//!   capacity are inside: other calls, which are unfinished, have the nodes.
//!
//! ```
//! use corelane::{TryPushError, list::pooled};
//!
//! let (mut tx, mut rx) = pooled::queue(2)?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! assert_eq!(tx.try_push('c'), Err(TryPushError::Full('c')));
//! assert_eq!(rx.pop_iter().collect::<String>(), "ab");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::marker::PhantomData;

use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;
use crate::pool::FreeList;
use crate::queue::config::ConfigOption;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type, try_pop_by,
};
use crate::region::{End, State, ends, slots_up_to};
use crate::unwind::drop_each;

mod nodes;

use nodes::MOST_ITEMS;
pub use nodes::{NodeShape, Nodes};

/// The ends of the list, and the free nodes.
#[derive(Debug)]
#[repr(C)]
#[doc(hidden)]
pub struct Header<T> {
    /// The node whose item was popped last.
    head: Padded<AtomicU64>,
    /// The last node, or the one before it. Never before `head`.
    tail: Padded<AtomicU64>,
    free: FreeList,
    items: PhantomData<T>,
}

impl<T> Header<T> {
    /// The nodes for at least `capacity` items.
    pub(crate) fn shape(capacity: usize, first: u64) -> Result<NodeShape, CapacityError> {
        let items = slots_up_to::<Self>(MOST_ITEMS, capacity, 0)?;
        Ok(NodeShape { items, first })
    }

    /// Of an empty list of [new](Nodes) nodes.
    pub(crate) fn new(shape: NodeShape) -> Self {
        let first = || Padded(AtomicU64::new(shape.link(0)));
        let free = FreeList::new(shape.link(1));
        Self { head: first(), tail: first(), free, items: PhantomData }
    }
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Nodes<T>;

    fn drop_items(&self, nodes: &Nodes<T>) {
        // Relaxed, all: the drop of the handles orders their accesses before this one.
        let mut head = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            let next = nodes.next(head).load(Ordering::Relaxed);
            nodes.names.follows(next, head).then(|| {
                head = next;
                // SAFETY: the node was appended and not popped, so its cell has an item. Each node
                // is visited once.
                unsafe { nodes.cells.read(nodes.cell(next).load(Ordering::Relaxed)) }
            })
        });
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[ConfigOption::Exact])?;
    let mut shape = Header::<T>::shape(config.capacity, config.first)?;
    if config.exact {
        shape.items = config.capacity;
    }
    let (tx, rx) = ends(config.memory, shape, Header::new(shape))?;
    Ok((Producer::new(tx), Consumer::new(rx)))
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

impl<T> Side<T> {
    /// Takes a free node.
    #[inline]
    fn take_node(&self) -> Option<u64> {
        let nodes = self.slots();
        self.header().free.take(nodes.names, |link| nodes.next(link))
    }

    /// Makes a node free that was at `head`. `next` is the node behind it.
    #[inline]
    fn give_node(&self, node: u64, next: u64) {
        let nodes = self.slots();
        // The node's link keeps the count of the link that it replaces: no push waits for it.
        self.header().free.give(nodes.names, node, next, |link| nodes.next(link));
    }

    /// Moves `tail` from `last` to the node behind it, unless another thread has moved it.
    #[inline]
    fn move_tail(&self, last: u64, next: u64) {
        let tail = &self.header().tail;
        // Release ↔ Acquire in `append`: the link to `next` is there. Relaxed where it fails: `tail`
        // is read again.
        let _ = tail.compare_exchange(last, next, Ordering::Release, Ordering::Relaxed);
    }

    /// Items inside, if no call of another thread is unfinished.
    fn len(&self) -> usize {
        let Header { head, tail, .. } = self.header();
        // Acquire ↔ Release in `pop`: a tail that is not before this head.
        let first = head.load(Ordering::Acquire);
        let last = tail.load(Ordering::Relaxed);
        self.slots().names.between(first, last).min(self.slots().items())
    }
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
}

impl<T> Producer<T> {
    pub(crate) fn new(end: End<Header<T>>) -> Self {
        Self { end }
    }

    /// Appends a node, which is this thread's own.
    #[inline]
    fn append(&self, node: u64) {
        let (tail, nodes) = (&self.end.header().tail, self.end.slots());
        let names = nodes.names;
        loop {
            // Acquire ↔ Release in `move_tail`: the links to all nodes before `last`. A pop that
            // knows of this push finds them, too.
            let last = tail.load(Ordering::Acquire);
            let new = names.behind(node, last);
            // Relaxed: the exchange publishes it.
            nodes.next(node).store(names.none(new), Ordering::Relaxed);
            let none = names.none(last);
            // Release ↔ Acquire in `pop`: the item, the cell, and a tail that is not before `last`.
            match nodes.next(last).compare_exchange(none, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return self.end.move_tail(last, new),
                // A producer that was faster may not have moved `tail` yet.
                Err(next) if names.follows(next, last) => self.end.move_tail(last, next),
                // The node has been freed. So this exchange fails, and finds where `tail` is.
                Err(_) => self.end.move_tail(last, last),
            }
        }
    }

    /// Why `item` can't be pushed, if no node is free.
    #[cold]
    fn refusal(&self, item: T) -> TryPushError<T> {
        if self.is_closed() {
            return full(true, item);
        }
        let Header { head, tail, .. } = self.end.header();
        // Relaxed, all: if no call is unfinished, all nodes are in the list. If one is, a pop may
        // come between these loads, and the answer is out of date.
        let first = head.load(Ordering::Relaxed);
        let last = tail.load(Ordering::Relaxed);
        let is_full = self.end.slots().names.between(first, last) == self.capacity();
        match is_full && head.load(Ordering::Relaxed) == first {
            true => TryPushError::Full(item),
            false => TryPushError::Busy(item),
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let Some(node) = self.end.take_node() else { return Err(self.refusal(item)) };
        let nodes = self.end.slots();
        // Relaxed: `take_node` has acquired it.
        let cell = nodes.cell(node).load(Ordering::Relaxed);
        // SAFETY: the node is this thread's own, and so is its cell, which is empty.
        unsafe { nodes.cells.write(cell, item) };
        self.append(node);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().items()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    pub(crate) fn new(end: End<Header<T>>) -> Self {
        Self { end }
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let (Header { head, tail, .. }, nodes) = (self.end.header(), self.end.slots());
        loop {
            // Acquire ↔ Release of the exchange: what the pops of earlier items observed.
            let first = head.load(Ordering::Acquire);
            // Acquire ↔ Release in `append`: the item, the cell, and a tail that is not before
            // `first`.
            let next = nodes.next(first).load(Ordering::Acquire);
            if next == nodes.names.none(first) {
                return None;
            }
            if !nodes.names.follows(next, first) {
                // The node has been freed. So this exchange fails, and finds where `head` is.
                let _ = head.compare_exchange(first, first, Ordering::Relaxed, Ordering::Relaxed);
                continue;
            }
            // Relaxed: acquired above. If another thread has the node already, this is any cell,
            // and the exchange fails.
            let cell = nodes.cell(next).load(Ordering::Relaxed);
            // Relaxed: acquired above.
            if tail.load(Ordering::Relaxed) == first {
                // `tail` first, so that it never names a free node.
                self.end.move_tail(first, next);
            }
            // Relaxed where it fails: `head` is read again.
            let moved = head.compare_exchange(first, next, Ordering::Release, Ordering::Relaxed);
            if moved.is_ok() {
                return Some(self.take(first, next, cell));
            }
        }
    }

    /// Takes the item of `next`, to which this thread has moved `head`, and frees `first`.
    #[inline]
    fn take(&self, first: u64, next: u64, cell: u64) -> T {
        let nodes = self.end.slots();
        // SAFETY: the cell was that of `next`, whose item this thread has taken by the exchange.
        let item = unsafe { nodes.cells.read(cell) };
        // Relaxed: `give_node` publishes it.
        nodes.cell(first).store(cell, Ordering::Relaxed);
        self.end.give_node(first, next);
        item
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().items()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.len()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

queue_type!(MsqPool of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "msq-pool",
    name: "Michael's and Scott's queue in a pool of nodes",
    paper: "Michael, Scott 1996; Mishra, §V",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO",
    choose: advice!(choose msq_pool),
    avoid: advice!(avoid msq_pool),
    ..Info::RING
});
