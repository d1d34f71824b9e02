//! `dspsc`: an unbounded queue between one producer and one consumer, a list of nodes.
//!
//! The producer appends a node for each item. The consumer goes from node to node, and sends the
//! nodes that it has left back to the producer through a small ring. So no node is allocated while
//! this ring has room for all nodes in use.
//!
#![doc = advice!(literature dspsc)]
//!
//! [`uspsc`](crate::segmented), a list of rings, is never full either, and faster.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free (wait-free but for the allocator), first in first out |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](TryPushError::Full) only if there is no memory for a node |
//! | memory | a node for each item, with the item and a pointer; and a ring of N words for spare nodes, where N is the [`Config::capacity`], rounded up to a power of two |
//! | a stopped thread | keeps the item that it was about to push or pop; the other side continues |
//! | operations | one store and one load that the other side sees, and as many for the ring of spare nodes; `len` visits all items |
//! | closing | when the consumer is gone, a push says closed, and allocates no node |
//! | paper | M. Aldinucci et al.: *An Efficient Synchronisation Mechanism for Multi-Core Systems* (Euro-Par 2012), §3, Fig. 2 |
//!
//! # Departures from the paper
//!
//! - The write barrier is a release store of the pointer that publishes a node.
//!
//! ```
//! # #[cfg(feature = "literature")] {
//! use corelane::list::linked;
//!
//! let (mut tx, mut rx) = linked::queue(16)?;
//! for n in 0..1000 {
//!     tx.try_push(n)?;
//! }
//! assert!(rx.pop_iter().eq(0..1000));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, replace};
use core::ptr::{self, NonNull};

use crate::fast_forward;
use crate::memory::{AtomicPtr, AtomicU64, Ordering, UnsafeCell, empty_cell};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::staging::{Staged, Staging};
use crate::queue::{
    self, CapacityError, Config, Info, LentItems, LentSlots, MOST_COUNTED, Producer as _,
    TryPopError, TryPushError, answered_by, full, handles, queue_type, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, try_empty_box};
use crate::slot::Packed;
use crate::unwind::drop_each;

/// A place for an item, and the next node.
struct Node<T> {
    /// The node of the next item; null if no next item has been pushed. Written by the producer.
    next: AtomicPtr<Self>,
    /// Empty in the consumer's current node, and in the nodes that it has left.
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a node moves its item from one thread to another, which `T: Send` allows.
unsafe impl<T: Send> Send for Node<T> {}

impl<T> Node<T> {
    /// A new node without an item, if there is memory for it.
    fn new() -> Option<Box<Self>> {
        let mut node = try_empty_box::<Self>()?;
        let place = node.as_mut_ptr();
        // Field by field: a node may be too large for the stack. SAFETY: the place belongs to the
        // box, and both fields are written.
        unsafe {
            (&raw mut (*place).next).write(AtomicPtr::new(ptr::null_mut()));
            empty_cell(&raw mut (*place).item);
            Some(node.assume_init())
        }
    }

    /// The node behind `node`, if its item has been pushed.
    ///
    /// # Safety
    ///
    /// `node` is the consumer's current node, or a node behind it.
    #[inline]
    unsafe fn behind(node: *mut Self) -> Option<NonNull<Self>> {
        // Acquire ↔ Release in `try_push`: the item. SAFETY: by the caller's contract the consumer
        // has not given the node back.
        NonNull::new(unsafe { &(*node).next }.load(Ordering::Acquire))
    }

    /// Copies the item out.
    ///
    /// # Safety
    ///
    /// The caller is the consumer; the node is behind its current node, and the consumer reads each
    /// node only once.
    #[inline]
    unsafe fn read(node: NonNull<Self>) -> T {
        // SAFETY: the caller's contract. The producer filled the node before it published the node,
        // and doesn't access the item any more.
        unsafe { node.as_ref() }.item.with(|item| unsafe { (*item).assume_init_read() })
    }
}

/// What the consumer tells the last handle.
struct Header<T> {
    /// Its current node when it was dropped.
    head: AtomicPtr<Node<T>>,
    /// How many items it has popped.
    popped: Padded<AtomicU64>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = NoSlots;

    fn drop_items(&self, _: &NoSlots) {
        // Relaxed: the drop of the handles orders all their accesses before this.
        let mut head = NonNull::new(self.head.load(Ordering::Relaxed));
        drop_each(|| {
            let node = head?.as_ptr();
            // SAFETY: both handles are gone. Each node is left once, and then freed. The node
            // behind it holds an item.
            unsafe {
                head = Node::behind(node);
                drop(Box::from_raw(node));
                Some(Node::read(head?))
            }
        });
    }
}

/// Most slots of a chunk: each needs a node.
const MOST_LENT: usize = 1 << 10;

/// A node that the consumer has left, on its way back to the producer.
type Spare<T> = Packed<Box<Node<T>>>;

/// A queue that keeps up to `spares` spare nodes for the next items.
///
/// # Errors
///
/// If `spares` is 0 or too large for memory.
pub fn queue<T: Send>(spares: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(spares))
}

/// As [`queue`], with all options. Nodes are always on the heap.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    let (to_producer, spares) = fast_forward::token_queue_with::<Box<Node<T>>>(config)?;
    let bytes = size_of::<Node<T>>();
    // Null until the consumer is dropped.
    let header =
        Header { head: AtomicPtr::new(ptr::null_mut()), popped: Padded(AtomicU64::new(0)) };
    let (tx, rx) = ends(Memory::Heap, (), header)?;
    let node = Box::into_raw(Node::new().ok_or(CapacityError::OutOfMemory { bytes })?);
    Ok((
        Producer {
            tail: node,
            pushed: 0,
            ready: Vec::new(),
            end: tx,
            spares,
            staging: Staging::new(),
        },
        Consumer { head: node, popped: 0, staged: Staged::new(), end: rx, spares: to_producer },
    ))
}

/// The sending side.
pub struct Producer<T: Send> {
    /// The last node.
    tail: *mut Node<T>,
    pushed: u64,
    /// Nodes for items that `free_up_to` has counted.
    ready: Vec<Box<Node<T>>>,
    end: End<Header<T>>,
    /// The paper's `cache`.
    spares: fast_forward::Consumer<Spare<T>>,
    staging: Staging<T>,
}

/// The receiving side.
pub struct Consumer<T: Send> {
    /// The node whose item was popped last.
    head: *mut Node<T>,
    popped: u64,
    /// Items behind `head` that have been copied out to be lent; their nodes are still in the list.
    staged: Staged<T>,
    end: End<Header<T>>,
    /// The paper's `cache`.
    spares: fast_forward::Producer<Spare<T>>,
}

// SAFETY: the pointer is to a node of the list. Each side uses its own part of the node, on any
// thread.
unsafe impl<T: Send> Send for Producer<T> {}

// SAFETY: as for the producer.
unsafe impl<T: Send> Send for Consumer<T> {}

impl<T: Send> Producer<T> {
    /// A node without an item, unless there is no memory for one, or no consumer.
    #[inline]
    fn node(&mut self) -> Option<Box<Node<T>>> {
        match self.spares.try_pop() {
            Ok(node) => Some(node),
            Err(_) if self.is_closed() => None,
            Err(_) => Node::new(),
        }
    }
}

impl<T: Send> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let Some(node) = self.ready.pop().or_else(|| self.node()) else {
            return Err(full(self.is_closed(), item));
        };
        // SAFETY: only this thread has the node, and the node is empty.
        node.item.with_mut(|place| unsafe { (*place).write(item) });
        // Relaxed: the store below publishes it.
        node.next.store(ptr::null_mut(), Ordering::Relaxed);
        let last = replace(&mut self.tail, Box::into_raw(node));
        // Release ↔ Acquire in `behind`: the node with its item. From then on the consumer may give
        // the node before it back. SAFETY: the consumer has not left the last node, because there
        // was no node behind it.
        unsafe { &(*last).next }.store(self.tail, Ordering::Release);
        self.pushed = self.pushed.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    fn len(&mut self) -> usize {
        // Relaxed: a snapshot.
        self.pushed.wrapping_sub(self.end.header().popped.load(Ordering::Relaxed)) as usize
    }

    fn is_full(&mut self) -> bool {
        self.free_slots(1) == 0
    }

    answered_by!(closed: end);
}

impl<T: Send> queue::LendSlots for Producer<T> {
    /// Counts up to [`MOST_LENT`], and has nodes for these.
    fn free_up_to(&mut self, wanted: usize) -> usize {
        let wanted = wanted.min(MOST_LENT);
        while self.ready.len() < wanted {
            let (Ok(()), Some(node)) = (self.ready.try_reserve(1), self.node()) else { break };
            self.ready.push(node);
        }
        wanted.min(self.ready.len())
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        self.staging.lend(n)
    }

    unsafe fn publish(&mut self, n: usize) {
        let mut staging = replace(&mut self.staging, Staging::new());
        // SAFETY: `n` items are staged, by the caller's contract.
        unsafe {
            staging.drain(n, |_, item| {
                assert!(self.try_push(item).is_ok(), "there are nodes for all that was lent");
            });
        }
        self.staging = staging;
    }
}

impl<T: Send> Consumer<T> {
    /// Moves to `node`.
    ///
    /// # Safety
    ///
    /// `node` is the next node, and its item has been taken.
    #[inline]
    unsafe fn go_on(&mut self, node: NonNull<Node<T>>) {
        let left = replace(&mut self.head, node.as_ptr());
        // SAFETY: the node came from a box, and the producer stopped using it when it published the
        // next node.
        let left = unsafe { Box::from_raw(left) };
        // If there is no room, this frees the node.
        drop(self.spares.try_push(left));
    }

    /// Tells the producer that `n` more items have been popped.
    #[inline]
    pub(crate) fn count(&mut self, n: usize) {
        self.popped = self.popped.wrapping_add(n as u64);
        // Relaxed: the producer only counts.
        self.end.header().popped.store(self.popped, Ordering::Relaxed);
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let item = self.pop_uncounted()?;
        self.count(1);
        Some(item)
    }

    /// As a pop, but the producer counts the item only after [`count`](Self::count).
    #[inline]
    pub(crate) fn pop_uncounted(&mut self) -> Option<T> {
        // SAFETY: this is the consumer's current node.
        let node = unsafe { Node::behind(self.head) }?;
        let item = match self.staged.take() {
            Some(item) => item,
            // SAFETY: this is the consumer, and it moves to the node later in this function.
            None => unsafe { Node::read(node) },
        };
        // SAFETY: as above.
        unsafe { self.go_on(node) };
        Some(item)
    }

    /// The nodes behind the current node, oldest first. The consumer may move to each node that the
    /// iterator has given, and to no other.
    fn nodes(&self) -> impl Iterator<Item = NonNull<Node<T>>> + use<T> {
        let mut node = self.head;
        core::iter::from_fn(move || {
            // SAFETY: `node` is the consumer's current node, or a node behind it.
            let next = unsafe { Node::behind(node) }?;
            node = next.as_ptr();
            Some(next)
        })
    }
}

impl<T: Send> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        usize::MAX
    }

    answered_by!(closed: end);
    answered_by!(lent: items);
}

// SAFETY: items are lent from `staged`, which forgets items when they are released, and `head`
// moves past them.
unsafe impl<T: Send> queue::LendItems for Consumer<T> {
    /// Visits as many nodes.
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.nodes().take(wanted.min(MOST_COUNTED)).count()
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        let n = self.available(wanted);
        let mut nodes = self.nodes().skip(self.staged.len());
        // SAFETY: there are `n` nodes, and `staged` reads each node only once.
        self.staged.stage(n, |_| unsafe { Node::read(nodes.next().expect("so many are there")) });
        n
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        self.staged.lend(n)
    }

    unsafe fn release(&mut self, n: usize) {
        // SAFETY: `n` items are staged and have been moved out, by the caller's contract.
        unsafe { self.staged.forget(n) };
        for node in self.nodes().take(n) {
            // SAFETY: `node` is the next node, and its item was staged.
            unsafe { self.go_on(node) };
        }
        self.count(n);
    }
}

impl<T: Send> Drop for Consumer<T> {
    fn drop(&mut self) {
        // Staged items are dropped here; the items behind them, when both handles are gone.
        for node in self.nodes().take(self.staged.len()) {
            // SAFETY: `node` is the next node, and its item is staged.
            unsafe { self.go_on(node) };
        }
        // Relaxed: the drop of the end orders this before the items are dropped.
        self.end.header().head.store(self.head, Ordering::Relaxed);
    }
}

handles! {
    [T: Send] Producer<T>: single_producer of T;
    [T: Send] Consumer<T>: single_consumer of T;
}

queue_type!(Dspsc of [T: Send] T: Producer<T>, Consumer<T> = queue_with; Info {
    id: "dspsc",
    name: "list of nodes that are used again",
    paper: "Aldinucci 2012, §3",
    guarantee: "wait-free FIFO but for the allocator",
    bounded: false,
    capacity: "unbounded",
    choose: advice!(choose dspsc),
    avoid: advice!(avoid dspsc),
    ..Info::RING
});
