//! `msq`: an unbounded queue between several producers and several consumers, a list of nodes.
//!
//! The queue that textbooks have. Who pushes hangs a node behind the last, who pops moves `head` on to the next; each
//! tries again if another one was faster. The node at `head` holds no item: its item was the last that was popped.
//!
//! **Use it** to compare: it shows what it costs if all threads of a side compare and swap one pointer, and an
//! allocation for each item. **Don't** use it for throughput, [`lprq`](crate::rings::lprq) does the same faster.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free but for the allocator, first in first out (linearizable). Cloning and dropping handles takes a lock for a moment |
//! | capacity | unbounded: [`capacity`](crate::Producer::capacity) is [`usize::MAX`]; a push says [`Full`](crate::TryPushError::Full) only if there is no memory for a node |
//! | memory | a node an item: the item and a pointer; and those that have been popped, with a note of four words for each, until there are a thousand, or twice as many as there are hazard pointers (one for a producer, two for a consumer): then they are freed together |
//! | handles | at most 65,536 a side; cloning one more panics. Making one takes a few words, and aborts if there is no memory |
//! | a stopped thread | holds the one or two nodes that it was at; or all that it was about to free |
//! | operations | a push allocates, has a fence, and exchanges two pointers; a pop exchanges one, has two fences, or three among others, and allocates a note (and aborts if there is no memory), which goes into one of eight lists |
//! | closing | when all consumers are gone a push says so |
//! | paper | M. Michael, M. Scott: *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms* (PODC 1996), Fig. 1; paper 5, §IV.A compares with it |
//!
//! # Departures from the paper
//!
//! - Nodes are freed by hazard pointers (the crate `haphazard`), where the paper counts in its pointers and never frees
//!   one. Epochs would be faster, by an allocation and perhaps a fence for each pop; but a thread that has been stopped
//!   would keep all that has been retired since from being freed, and not two nodes.
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

use crate::memory::{AtomicPtr, Domain, Hazard, Ordering, UnsafeCell};
use crate::pad::Padded;
use crate::queue::Memory;
use crate::queue::chunk::drop_each;
use crate::queue::{
    self, CapacityError, Config, Info, Sides, TryPopError, TryPushError, answered_by, full,
    handles, queue_type, try_pop_by,
};
use crate::region::{End, NoSlots, State, ends, try_empty_box};

/// A place for an item, and what follows it.
struct Node<T> {
    /// The node of the next item; null if that has not been pushed.
    next: AtomicPtr<Self>,
    /// Whoever moves `head` on to this node takes the item.
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a node moves its item from one thread to another, which `T: Send` allows, and lends none.
unsafe impl<T: Send> Send for Node<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Node<T> {}

impl<T> Node<T> {
    /// A new one without an item, if there is memory for it.
    fn new() -> Option<Box<Self>> {
        let mut node = try_empty_box::<Self>()?;
        let place = node.as_mut_ptr();
        // Part by part: a node may be too large for the stack.
        // SAFETY: the place is the box's, and both parts are written.
        unsafe {
            (&raw mut (*place).next).write(AtomicPtr::new(ptr::null_mut()));
            (&raw mut (*place).item).write(UnsafeCell::new(MaybeUninit::uninit()));
            Some(node.assume_init())
        }
    }

    /// The node behind this one, if there is one.
    #[inline]
    fn next(&self) -> Option<*mut Self> {
        // Acquire pairs with the exchange in `try_push`: the item is there.
        let next = self.next.load(Ordering::Acquire);
        (!next.is_null()).then_some(next)
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

/// Both ends of the list.
struct Header<T> {
    head: Padded<AtomicPtr<Node<T>>>,
    /// The last node, or the one before it.
    tail: Padded<AtomicPtr<Node<T>>>,
    domain: Domain,
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
    let bytes = size_of::<Node<T>>();
    let node = Node::new().ok_or(CapacityError::OutOfMemory { bytes })?;
    let node = Box::into_raw(node);
    let end = || Padded(AtomicPtr::new(node));
    let header = Header { head: end(), tail: end(), domain: Domain::new() };
    // SAFETY: it is from above, and the header with it is gone.
    let (tx, rx) =
        ends(Memory::Heap, (), header).inspect_err(|_| drop(unsafe { Box::from_raw(node) }))?;
    Ok((Producer::new(tx), Consumer::new(rx)))
}

/// As [`queue`]: the list has no options, and no capacity.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(_: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
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
    end: End<Header<T>>,
}

impl<T: Send> Producer<T> {
    fn new(end: End<Header<T>>) -> Self {
        let Header { tail, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `tail` leads to a node of the list, and has gone on when one is retired.
        Self { last: unsafe { Hazard::new(domain, tail) }, end }
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
            let last = self.last.pointer();
            let (next, null) = (&self.last.get().next, ptr::null_mut());
            // Release pairs with the load in `Node::next`: the item is there. Acquire, as there.
            let hung = next.compare_exchange(null, node, Ordering::Release, Ordering::Acquire);
            let next = hung.err().unwrap_or(node);
            // Release pairs with `protect`: the node is as it should be.
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

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Consumer<T> {
    fn new(end: End<Header<T>>) -> Self {
        let Header { head, domain, .. } = end.header();
        // SAFETY: `end` keeps the domain. `head` leads to a node of the list, and has gone on when one is retired.
        let hazard = || unsafe { Hazard::new(domain, head) };
        Self { first: hazard(), second: hazard(), end }
    }

    fn pop(&mut self) -> Option<T> {
        let Header { head, tail, domain } = self.end.header();
        loop {
            self.first.protect(head);
            let first = self.first.pointer();
            let next = self.first.get().next()?;
            // SAFETY: what is behind `head` is not retired before `head` has moved on to it, and further.
            if !unsafe { self.second.follow(next, head, first) } {
                continue;
            }
            // First, so that nobody comes from there to what is retired. Relaxed: whoever moved `head` here had seen `tail`
            // here or further, and `head` was acquired.
            if tail.load(Ordering::Relaxed) == first {
                let _ = tail.compare_exchange(first, next, Ordering::Release, Ordering::Relaxed);
            }
            // Release pairs with `protect`.
            let moved = head.compare_exchange(first, next, Ordering::Release, Ordering::Relaxed);
            if moved.is_err() {
                continue;
            }
            // SAFETY: this thread has moved `head` on to it.
            let item = unsafe { self.second.get().take() };
            swap(&mut self.first, &mut self.second);
            // SAFETY: it came from a box. `head` and `tail` are behind it for good, and only who had it in a hazard
            // when they were not uses it.
            unsafe { domain.retire(first) };
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

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T: Send> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
    }
}

impl<T: Send> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self::new(self.end.duplicate())
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
    choose: "to compare: the textbook's list",
    avoid: "throughput counts",
    ..Info::RING
});
