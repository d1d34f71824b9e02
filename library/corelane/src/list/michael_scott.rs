//! `msq`: an unbounded queue between several producers and several consumers, a list of nodes.
//!
//! The queue that textbooks have. A push appends a node to the last one. A pop moves `head` to the next node. Each retries if
//! another thread was faster. The node at `head` holds no item: its item was popped last.
//!
#![doc = advice!(msq)]
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for a node |
//! | memory | a node an item: the item and two pointers. Each consumer keeps up to 63 popped nodes. When it has 64, it hands them over; nodes that were handed over are freed together, when there are 256, and one more for each hazard pointer (a producer has one, a consumer two) and for each node that could not be freed the last time |
//! | handles | at most 65,536 a side; cloning one more panics. A hazard pointer has a record of 128 bytes, which is used again when its handle is dropped. Cloning aborts the process if there is no memory for it |
//! | a stopped thread | keeps the one or two nodes that it was at, or the nodes that it was about to free |
//! | operations | a push allocates, has a fence, and exchanges two pointers. A pop exchanges two pointers, has a fetch-and-add, and a fence, or two beside other consumers |
//! | closing | when all consumers are gone a push says so |
//! | paper | M. Michael, M. Scott: *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996), Fig. 1; paper 5, §IV.A compares with it |
//!
//! # Departures from the paper
//!
//! - Nodes are freed by hazard pointers. The paper counts in its pointers and never frees a node. Epochs would save a pop its
//!   fences, but a stopped thread would keep all nodes that have been retired since, and not two.
//! - The item is taken out behind the exchange that makes it this thread's, not copied before.
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
use crate::memory::{AtomicPtr, Ordering, UnsafeCell, limit};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::chunk::drop_each;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, no_memory};

/// What leads to a node.
type Link<T> = AtomicPtr<Guarded<Node<T>>>;

/// A place for an item, and what follows it.
struct Node<T> {
    /// The node of the next item; null if that has not been pushed.
    next: Link<T>,
    /// The pop that moves `head` to this node takes the item.
    item: UnsafeCell<MaybeUninit<T>>,
    /// Number of items that were pushed before. Written before the node is appended.
    number: UnsafeCell<u64>,
}

// SAFETY: a node moves its item from one thread to another, which `T: Send` allows, and lends none.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    /// A new one without an item, if there is memory for it.
    fn new() -> Option<Box<Guarded<Self>>> {
        let write = |place: *mut Self| {
            // SAFETY: the place is that of a new node.
            unsafe {
                (&raw mut (*place).next).write(AtomicPtr::new(ptr::null_mut()));
                (&raw mut (*place).item).write(UnsafeCell::new(MaybeUninit::uninit()));
                (&raw mut (*place).number).write(UnsafeCell::new(0));
            }
        };
        // SAFETY: all parts are written.
        unsafe { Guarded::written(write) }
    }

    /// The node behind this one, if there is one.
    #[inline]
    fn next(&self) -> Option<*mut Guarded<Self>> {
        // Relaxed: `Hazard::follow` has a fence that acquires, ↔ Release in `try_push`: the item is there.
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
    /// The caller has moved `head` on to this node, or nobody uses the queue any more; and it does this once.
    #[inline]
    unsafe fn take(&self) -> T {
        // SAFETY: the caller's; the node was filled before it was hung behind another.
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

/// Retired nodes, besides one for each hazard, that wait to be freed together.
const COSTS: Costs = Costs { overhead: limit(256, 0), steps: 1, at_drop: false };

/// Both ends of the list.
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
        // Relaxed: dropping the handles has ordered what they did before this.
        let mut head = self.head.load(Ordering::Relaxed);
        drop_each(|| {
            // SAFETY: all handles are gone. From `head` on nothing has been retired; each is freed once, and holds an
            // item but for the first.
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
    // SAFETY: it is from above, and the header with it is gone.
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
    config.inexact()?;
    queue()
}

/// A sending side.
pub struct Producer<T: Send> {
    /// Where `tail` was. Dropped before `end`, which may free the domain.
    last: Hazard<Node<T>>,
    end: End<Header<T>>,
}

/// A receiving side.
pub struct Consumer<T: Send> {
    /// Where `head` was. Dropped before `end`, as is the next.
    first: Hazard<Node<T>>,
    /// Where it is moved on to.
    second: Hazard<Node<T>>,
    retired: Batch<Node<T>>,
    end: End<Header<T>>,
}

impl<T: Send> Producer<T> {
    fn new(end: End<Header<T>>) -> Option<Self> {
        let Header { tail, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `tail` leads to a node of the list, and has gone on when one is retired.
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
        // The item is moved into the node below, so that it can be given back if there is none.
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
            // Release ↔ Acquire here and the fence behind `Node::next`: the item is there.
            let hung = next.compare_exchange(null, node, Ordering::Release, Ordering::Acquire);
            // Its own node, or that of a producer that was faster and has perhaps not yet moved `tail` on. `last` is still
            // protected, so that no other node has its address.
            let next = hung.err().unwrap_or(node);
            // Release ↔ Acquire in `Hazard::protect`: the node is ready.
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
        // SAFETY: `end` keeps the domain. `head` leads to a node of the list, and has gone on when one is retired.
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
            // SAFETY: what is behind `head` is not retired before `head` has moved on to it, and further.
            if !unsafe { self.second.follow(next, head, first) } {
                continue;
            }
            // First, so that `tail` does not lead to a retired node. Relaxed: the producer that appended `next` to `first` had
            // seen `tail` here, and `follow` has acquired that.
            if tail.load(Ordering::Relaxed) == first {
                // Relaxed: the fence in `follow` releases, ↔ Acquire in `Hazard::protect`: the node is ready.
                let _ = tail.compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
            }
            // Relaxed: as above.
            let moved = head.compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
            if moved.is_err() {
                continue;
            }
            // SAFETY: this thread has moved `head` on to it.
            let item = unsafe { self.second.get().take() };
            swap(&mut self.first, &mut self.second);
            // SAFETY: it came from a box. `head` and `tail` have gone on for good. A node is used through a hazard only.
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
