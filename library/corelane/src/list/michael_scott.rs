//! `msq`: an unbounded queue between several producers and several consumers, a list of nodes.
//!
//! The textbook queue. A push appends a node to the last node. A pop moves `head` to the next node.
//! A call retries if another thread was faster. The node at `head` holds no item: its item was
//! popped last.
//!
#![doc = advice!(literature msq)]
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for a node |
//! | memory | a node for each item: the item and two pointers. Each consumer keeps up to 63 popped nodes, and hands them over when it has 64. Nodes that were handed over are freed together, when there are 256, and one more for each hazard pointer (a producer has one, a consumer two) and for each node that the last scan could not free |
//! | handles | at most 65,536 a side; cloning one more panics. A hazard pointer has a record of 128 bytes, which is used again when its handle is dropped. Cloning aborts the process if there is no memory for it |
//! | a stopped thread | keeps the one or two nodes that it protects, or the nodes that it was about to free |
//! | operations | a push needs an allocation, a fence, and exchanges of two pointers. A pop needs exchanges of two pointers, a fetch-and-add, and a fence, or two beside other consumers |
//! | closing | a push says closed when all consumers are gone |
//! | paper | M. Michael, M. Scott: *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996), Fig. 1; paper 5, §IV.A compares with it |
//!
//! # Departures from the paper
//!
//! - Nodes are freed by hazard pointers. The paper has counters in its pointers and never frees a
//!   node. With epochs a pop would need no fences, but a stopped thread would keep all nodes that
//!   are retired while it is stopped, and not just two.
//! - A pop takes the item out after the exchange that makes the item its own. The paper's pop
//!   copies the item before.
//!
//! ```
//! use corelane::list::michael_scott;
//!
//! let (mut tx, mut rx) = michael_scott::queue()?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! assert_eq!(rx.pop_iter().collect::<String>(), "ab");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use core::mem::{MaybeUninit, swap};
use core::ptr;

use crate::hazard::{Batch, Costs, Domain, Guarded, Hazard};
use crate::memory::{AtomicPtr, Ordering, UnsafeCell, empty_cell, limit};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, no_memory};
use crate::unwind::drop_each;

/// A pointer to a node.
type Link<T> = AtomicPtr<Guarded<Node<T>>>;

/// A place for an item, and a pointer to the next node.
struct Node<T> {
    /// The node of the next item; null if that has not been pushed.
    next: Link<T>,
    /// The pop that moves `head` to this node takes the item.
    item: UnsafeCell<MaybeUninit<T>>,
    /// Number of items that were pushed before. Written before the node is appended.
    number: UnsafeCell<u64>,
}

// SAFETY: a node moves its item from one thread to another, which `T: Send` allows. It lends no
// item.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    /// A new node without an item, if there is memory for it.
    fn new() -> Option<Box<Guarded<Self>>> {
        let write = |place: *mut Self| {
            // SAFETY: the place belongs to a new node.
            unsafe {
                (&raw mut (*place).next).write(AtomicPtr::new(ptr::null_mut()));
                empty_cell(&raw mut (*place).item);
                (&raw mut (*place).number).write(UnsafeCell::new(0));
            }
        };
        // SAFETY: all parts are written.
        unsafe { Guarded::written(write) }
    }

    /// The node behind this one, if there is one.
    #[inline]
    fn next(&self) -> Option<*mut Guarded<Self>> {
        // Relaxed: the fence in `Hazard::follow` acquires ↔ Release in `try_push`: the next node's
        // item.
        let next = self.next.load(Ordering::Relaxed);
        (!next.is_null()).then_some(next)
    }

    fn number(&self) -> u64 {
        // SAFETY: the number is not written any more.
        self.number.with(|number| unsafe { *number })
    }

    /// Moves the item out.
    ///
    /// # Safety
    ///
    /// The caller has moved `head` to this node, or no thread uses the queue any more. The item is
    /// taken once.
    #[inline]
    unsafe fn take(&self) -> T {
        // SAFETY: the caller's contract. The node was filled before it was appended.
        self.item.with_mut(|item| unsafe { (*item).assume_init_read() })
    }
}

/// Items between `head` and `tail`. Leaves `node` at `tail`.
fn count<T>(node: &mut Hazard<Node<T>>, Header { head, tail, .. }: &Header<T>) -> usize {
    let mut number = |end| {
        node.protect(end);
        node.get().number()
    };
    let first = number(head);
    number(tail).wrapping_sub(first) as usize
}

/// A scan comes when 256 nodes have been retired, besides one for each hazard.
const COSTS: Costs = Costs { overhead: limit(256, 0), steps: 1, at_drop: false };

/// The head and the tail of the list.
struct Header<T> {
    head: Padded<Link<T>>,
    /// The last node, or the one before it.
    tail: Padded<Link<T>>,
    domain: Domain<Node<T>>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // Relaxed: the drop of the handles orders their accesses before this one.
        let mut head = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            // SAFETY: all handles are gone. The nodes from `head` on have not been retired. Each is
            // freed once, and all but the first hold an item.
            unsafe {
                let node = (!head.is_null()).then(|| Box::from_raw(head))?;
                head = node.next.load(Ordering::Relaxed);
                Some(head.as_ref()?.take())
            }
        });
    }
}

/// A new queue.
///
/// # Errors
///
/// If there is no memory for it.
pub fn queue<T: Send>() -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let error = CapacityError::OutOfMemory { bytes: size_of::<Node<T>>() };
    let node = Box::into_raw(Node::new().ok_or(error)?);
    let end = || Padded(AtomicPtr::new(node));
    let header = Header { head: end(), tail: end(), domain: Domain::new(COSTS) };
    // SAFETY: the node came from a box above, and the header, which pointed to it, is gone.
    let (tx, rx) =
        ends(Memory::Heap, (), header).inspect_err(|_| drop(unsafe { Box::from_raw(node) }))?;
    let (tx, rx) = (Producer::new(tx), Consumer::new(rx));
    Ok((tx.ok_or(error)?, rx.ok_or(error)?))
}

/// As [`queue`]: the list has no options, and no capacity that could be exact.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    queue()
}

/// A sending side.
pub struct Producer<T: Send> {
    /// The node that `tail` pointed to. Dropped before `end`, which may free the domain.
    last: Hazard<Node<T>>,
    end: End<Header<T>>,
}

/// A receiving side.
pub struct Consumer<T: Send> {
    /// The node that `head` pointed to. Dropped before `end`, like `second`.
    first: Hazard<Node<T>>,
    /// The node after it, to which a pop moves `head`.
    second: Hazard<Node<T>>,
    retired: Batch<Node<T>>,
    end: End<Header<T>>,
}

impl<T: Send> Producer<T> {
    fn new(end: End<Header<T>>) -> Option<Self> {
        let Header { tail, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `tail` points to a node of the list, and moves on before
        // its node is retired.
        let last = unsafe { Hazard::new(domain, tail) }?;
        Some(Self { last, end })
    }
}

impl<T: Send> queue::Producer for Producer<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if self.is_closed() {
            return Err(full(true, item));
        }
        // The item is moved into the node below, so that this can return it if there is no memory
        // for a node.
        let Some(node) = Node::new() else { return Err(full(false, item)) };
        // SAFETY: the node is this thread's alone, and empty.
        node.item.with_mut(|place| unsafe { (*place).write(item) });
        let node = Box::into_raw(node);
        let tail = &self.end.header().tail;
        loop {
            self.last.protect(tail);
            let last = self.last.node();
            let (next, null) = (&self.last.get().next, ptr::null_mut());
            let number = self.last.get().number().wrapping_add(1);
            // SAFETY: the node is this thread's alone until the exchange succeeds.
            unsafe { &*node }.number.with_mut(|place| unsafe { *place = number });
            // Release ↔ Acquire here, and the fence in `Hazard::follow`: the node's item.
            let hung = next.compare_exchange(null, node, Ordering::Release, Ordering::Acquire);
            // This producer's node, or the node of a producer that was faster and may not have
            // moved `tail` on yet. `last` is still protected, so that no other node has its
            // address.
            let next = hung.err().unwrap_or(node);
            // Release ↔ Acquire in `Hazard::protect`: the node is initialized.
            let _ = tail.compare_exchange(last, next, Ordering::Release, Ordering::Relaxed);
            if hung.is_ok() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        count(&mut self.last, self.end.header())
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Consumer<T> {
    fn new(end: End<Header<T>>) -> Option<Self> {
        let Header { head, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `head` points to a node of the list, and moves on before
        // its node is retired.
        let hazard = || unsafe { Hazard::new(domain, head) };
        let (first, second) = (hazard()?, hazard()?);
        // SAFETY: `end` keeps the domain.
        let retired = unsafe { Batch::new(domain) };
        Some(Self { first, second, retired, end })
    }

    fn pop(&mut self) -> Option<T> {
        let Header { head, tail, .. } = self.end.header();
        loop {
            self.first.protect(head);
            let first = self.first.node();
            let next = self.first.get().next()?;
            // SAFETY: the node after `first` is retired only after `head` has moved to it, and then
            // past it.
            if !unsafe { self.second.follow(next, head, first) } {
                continue;
            }
            // `tail` first, so that it never points to a retired node. Relaxed: the producer that
            // appended `next` to `first` had read `first` in `tail`, and the fence in `follow` has
            // acquired what this producer read.
            if tail.load(Ordering::Relaxed) == first {
                // Relaxed: the fence in `follow` releases ↔ Acquire in `Hazard::protect`: the node
                // is initialized.
                let _ = tail.compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
            }
            // Relaxed: as for `tail`.
            let moved = head.compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
            if moved.is_err() {
                continue;
            }
            // SAFETY: this thread has moved `head` to the node.
            let item = unsafe { self.second.get().take() };
            swap(&mut self.first, &mut self.second);
            // SAFETY: the node came from a box. `head` and `tail` have moved on for good. A node is
            // used only while a hazard protects it.
            unsafe { self.retired.retire(first) };
            return Some(item);
        }
    }
}

impl<T: Send> queue::Consumer for Consumer<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        count(&mut self.first, self.end.header())
    }

    fn is_empty(&mut self) -> bool {
        self.first.protect(&self.end.header().head);
        self.first.get().next().is_none()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

impl<T: Send> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate()).unwrap_or_else(no_memory)
    }
}

handles! {
    [T: Send] Producer<T>: producer of T;
    [T: Send] Consumer<T>: consumer of T;
}

queue_type!(Msq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "msq",
    name: "Michael's and Scott's queue",
    paper: "Michael, Scott 1996; Mishra, §IV.A",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO but for the allocator",
    bounded: false,
    capacity: "unbounded",
    choose: advice!(choose msq),
    avoid: advice!(avoid msq),
    ..Info::RING
});
