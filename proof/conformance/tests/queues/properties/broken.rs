//! Queues with one bug each, which must be found.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::rc::Rc;

use corelane::{
    Consumer, LendItems, LendSlots, LentItems, LentSlots, Producer, TryPopError, TryPushError,
};

/// A queue's bug, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    None,
    /// The first item of the second lap is lost.
    SecondLapLosesAnItem,
    /// `len` is one short when the queue is full.
    FullIsCountedShort,
    /// A pop decides between empty and closed before it looks for the last items.
    ClosedBeforeTheLastItem,
    /// An item of a chunk that was dropped comes twice.
    DroppedChunkComesTwice,
}

/// Both handles of a queue for numbers, in one thread.
pub fn queue(capacity: usize, bug: Bug) -> (Tx, Rx) {
    let ring = Ring { capacity, bug, pushed: 0, items: VecDeque::new(), closed: [false; 2] };
    let ring = Rc::new(RefCell::new(ring));
    let tx = Tx { ring: Rc::clone(&ring), buffer: Vec::new() };
    (tx, Rx { ring, buffer: Vec::new() })
}

struct Ring {
    capacity: usize,
    bug: Bug,
    pushed: usize,
    items: VecDeque<u64>,
    /// Whether the producer is gone, and the consumer.
    closed: [bool; 2],
}

impl Ring {
    fn free(&self) -> usize {
        self.capacity - self.items.len()
    }

    fn push(&mut self, item: u64) {
        let lost = self.bug == Bug::SecondLapLosesAnItem && self.pushed == self.capacity;
        self.pushed += 1;
        if !lost {
            self.items.push_back(item);
        }
    }
}

pub struct Tx {
    ring: Rc<RefCell<Ring>>,
    buffer: Vec<MaybeUninit<u64>>,
}

impl Producer for Tx {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        let mut ring = self.ring.borrow_mut();
        match (ring.free(), ring.closed[1]) {
            (0, true) => Err(TryPushError::Closed(item)),
            (0, false) => Err(TryPushError::Full(item)),
            _ => {
                ring.push(item);
                Ok(())
            }
        }
    }

    fn capacity(&self) -> usize {
        self.ring.borrow().capacity
    }

    fn is_full(&mut self) -> bool {
        self.free_up_to(1) == 0
    }

    fn is_closed(&self) -> bool {
        self.ring.borrow().closed[1]
    }
}

impl LendSlots for Tx {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.ring.borrow().free().min(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, u64> {
        self.buffer.resize(n.max(self.buffer.len()), MaybeUninit::uninit());
        (&mut self.buffer[..n], &mut [])
    }

    unsafe fn publish(&mut self, n: usize) {
        for slot in &self.buffer[..n] {
            // SAFETY: by the caller's contract, the first `n` slots hold items.
            self.ring.borrow_mut().push(unsafe { slot.assume_init() });
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.ring.borrow_mut().closed[0] = true;
    }
}

pub struct Rx {
    ring: Rc<RefCell<Ring>>,
    buffer: Vec<u64>,
}

impl Consumer for Rx {
    type Item = u64;

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        let mut ring = self.ring.borrow_mut();
        let closed = ring.closed[0];
        if closed && ring.bug == Bug::ClosedBeforeTheLastItem {
            return Err(TryPopError::Closed);
        }
        let empty = if closed { TryPopError::Closed } else { TryPopError::Empty };
        ring.items.pop_front().ok_or(empty)
    }

    fn capacity(&self) -> usize {
        self.ring.borrow().capacity
    }

    fn len(&mut self) -> usize {
        self.filled_up_to(usize::MAX)
    }

    fn is_empty(&mut self) -> bool {
        self.filled_up_to(1) == 0
    }

    fn is_closed(&self) -> bool {
        self.ring.borrow().closed[0]
    }
}

// SAFETY: numbers can be copied any number of times.
unsafe impl LendItems for Rx {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        let ring = self.ring.borrow();
        let short = ring.bug == Bug::FullIsCountedShort && ring.free() == 0;
        (ring.items.len() - usize::from(short)).min(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, u64> {
        let ring = self.ring.borrow();
        // The copies of an earlier chunk are taken for the newest items.
        let stale = if ring.bug == Bug::DroppedChunkComesTwice { self.buffer.len() } else { 0 };
        self.buffer.truncate(stale);
        self.buffer.extend(ring.items.iter().take(n));
        (&mut self.buffer[..n], &mut [])
    }

    unsafe fn release(&mut self, n: usize) {
        self.ring.borrow_mut().items.drain(..n);
        self.buffer.drain(..n);
    }
}

impl Drop for Rx {
    fn drop(&mut self) {
        self.ring.borrow_mut().closed[1] = true;
    }
}
