//! Rings whose slots, or lines, have their own state: full or empty.

use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use corelane_loom::memory::{AtomicBool, AtomicU64};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// A slot with a flag.
struct Slot {
    full: AtomicBool,
    place: Place,
}

impl Slot {
    fn is_full(&self) -> bool {
        self.full.load(Acquire)
    }

    fn fill(&self, item: Ticket) {
        self.place.put(item);
        self.full.store(true, Release);
    }

    fn clear(&self) {
        self.full.store(false, Release);
    }
}

/// A ring of slots.
pub(crate) struct Ring<const N: usize>([Slot; N]);

impl<const N: usize> Ring<N> {
    fn new() -> Self {
        Self([(); N].map(|()| Slot { full: AtomicBool::new(false), place: Place::empty() }))
    }

    fn at(&self, position: u64) -> &Slot {
        &self.0[position as usize % N]
    }

    /// FastForward's enqueue.
    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        if self.at(*write).is_full() {
            return Err(item);
        }
        self.fill_next(write, item);
        Ok(())
    }

    fn fill_next(&self, write: &mut u64, item: Ticket) {
        self.at(*write).fill(item);
        *write += 1;
    }

    /// FastForward's dequeue.
    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        let slot = self.at(*read);
        slot.is_full().then(|| {
            let item = slot.place.take();
            slot.clear();
            *read += 1;
            item
        })
    }
}

/// `ffq`. Broken: the slot is freed while its item is still in it.
pub(crate) struct FastForward<const BROKEN: bool>(Ring<2>);

impl<const BROKEN: bool> Mechanism for FastForward<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = u64;
    type Rx = u64;

    fn new() -> Self {
        Self(Ring::new())
    }

    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        self.0.push(write, item)
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        if !BROKEN {
            return self.0.pop(read);
        }
        let slot = self.0.at(*read);
        slot.is_full().then(|| {
            slot.clear();
            *read += 1;
            slot.place.take()
        })
    }
}

/// `iffq` with partitions of one slot. Broken: the partition before the first item does not look
/// full in the first lap, so the producer gets too close to the consumer.
pub(crate) struct Improved<const BROKEN: bool>(Ring<4>);

/// Next position to fill, and first position that can't be used yet, both relative to the first
/// position.
#[derive(Default)]
pub(crate) struct Limited {
    write: u64,
    limit: u64,
}

impl<const BROKEN: bool> Improved<BROKEN> {
    /// The paper's H, and the first position.
    const H: u64 = 1;
}

impl<const BROKEN: bool> Mechanism for Improved<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = Limited;
    type Rx = u64;

    fn new() -> Self {
        let ring = Ring::new();
        // Relaxed: the queue is not shared yet.
        ring.at(0).full.store(!BROKEN, Relaxed);
        Self(ring)
    }

    fn push(&self, tx: &mut Limited, item: Ticket) -> Result<(), Ticket> {
        if tx.write == tx.limit {
            if self.0.at(tx.limit + 2 * Self::H).is_full() {
                return Err(item);
            }
            tx.limit += Self::H;
        }
        self.0.at(tx.write + Self::H).fill(item);
        tx.write += 1;
        Ok(())
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        let slot = self.0.at(*read + Self::H);
        slot.is_full().then(|| {
            let item = slot.place.take();
            // The previous slot. This slot stays full, to keep the producer away.
            self.0.at(*read).clear();
            *read += 1;
            item
        })
    }
}

/// The batches of `biffq`. Broken: the producer checks the first slot of a batch and not the last.
pub(crate) struct Batch<const BROKEN: bool>(Ring<2>);

/// Next position to fill, and first position not known to be free.
#[derive(Default)]
pub(crate) struct Ahead {
    write: u64,
    free_until: u64,
}

impl<const BROKEN: bool> Mechanism for Batch<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = Ahead;
    type Rx = u64;

    fn new() -> Self {
        Self(Ring::new())
    }

    fn push(&self, tx: &mut Ahead, item: Ticket) -> Result<(), Ticket> {
        if tx.write == tx.free_until {
            if self.0.at(tx.write + u64::from(!BROKEN)).is_full() {
                return Err(item);
            }
            tx.free_until += 2;
        }
        self.0.fill_next(&mut tx.write, item);
        Ok(())
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        self.0.pop(read)
    }
}

/// `bqueue`'s consumer with batches of one. Broken: `batch_tail` is the last full slot, as in the
/// paper's Figs 9 and 10, but is used as the first slot that is not full, as in Fig. 7.
pub(crate) struct BQueue<const BROKEN: bool>(Ring<2>);

/// Next position to empty, and the last position of the batch, or the first one past it.
#[derive(Default)]
pub(crate) struct Behind {
    tail: u64,
    batch_tail: u64,
}

impl<const BROKEN: bool> Mechanism for BQueue<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = u64;
    type Rx = Behind;

    fn new() -> Self {
        Self(Ring::new())
    }

    fn push(&self, head: &mut u64, item: Ticket) -> Result<(), Ticket> {
        self.0.push(head, item)
    }

    fn pop(&self, rx: &mut Behind) -> Option<Ticket> {
        if rx.tail == rx.batch_tail {
            if !self.0.at(rx.tail).is_full() {
                return None;
            }
            // The batch has one slot, so its last position is `tail` itself.
            rx.batch_tail = if BROKEN { rx.tail } else { rx.tail + 1 };
        }
        let slot = self.0.at(rx.tail);
        let item = slot.place.take();
        slot.clear();
        rx.tail += 1;
        Some(item)
    }
}

/// `linering` with lines of one item. Broken: the consumer stores to a line that it has freed.
pub(crate) struct LineRing<const BROKEN: bool> {
    lines: [(AtomicU64, Place); 2],
    read: AtomicU64,
}

impl<const BROKEN: bool> LineRing<BROKEN> {
    fn line(&self, position: u64) -> &(AtomicU64, Place) {
        &self.lines[position as usize % 2]
    }
}

impl<const BROKEN: bool> Mechanism for LineRing<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = u64;
    type Rx = u64;

    fn new() -> Self {
        Self {
            lines: [0, 0].map(|tail| (AtomicU64::new(tail), Place::empty())),
            read: AtomicU64::new(0),
        }
    }

    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        if *write == self.read.load(Acquire) + 2 {
            return Err(item);
        }
        let (tail, place) = self.line(*write);
        place.put(item);
        *write += 1;
        tail.store(*write, Release);
        Ok(())
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        let (tail, place) = self.line(*read);
        if tail.load(Acquire) <= *read {
            return None;
        }
        let item = place.take();
        *read += 1;
        if BROKEN {
            self.read.store(*read, Release);
        }
        // The hand-back: stores no new value, but the consumer owns the line for a moment.
        tail.store(*read, Relaxed);
        if !BROKEN {
            self.read.store(*read, Release);
        }
        Some(item)
    }
}

/// `recordring` with records of one word. Broken: the next header is emptied too late.
pub(crate) struct RecordRing<const BROKEN: bool> {
    words: [(AtomicU64, Place); 3],
    read: AtomicU64,
}

impl<const BROKEN: bool> RecordRing<BROKEN> {
    fn head(&self, position: u64) -> &AtomicU64 {
        &self.words[position as usize % 3].0
    }

    fn place(&self, position: u64) -> &Place {
        &self.words[position as usize % 3].1
    }
}

impl<const BROKEN: bool> Mechanism for RecordRing<BROKEN> {
    const CAPACITY: usize = 2;
    type Tx = u64;
    type Rx = u64;

    fn new() -> Self {
        let words = [(); 3].map(|()| (AtomicU64::new(0), Place::empty()));
        Self { words, read: AtomicU64::new(0) }
    }

    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        if *write == self.read.load(Acquire) + 2 {
            return Err(item);
        }
        self.place(*write).put(item);
        if !BROKEN {
            self.head(*write + 1).store(0, Relaxed);
        }
        self.head(*write).store(1, Release);
        if BROKEN {
            self.head(*write + 1).store(0, Relaxed);
        }
        *write += 1;
        Ok(())
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        if self.head(*read).load(Acquire) == 0 {
            return None;
        }
        let item = self.place(*read).take();
        *read += 1;
        self.read.store(*read, Release);
        Some(item)
    }
}
