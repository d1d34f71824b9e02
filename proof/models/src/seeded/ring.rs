//! Rings with a head and a tail on each side.

use corelane_loom::memory::Ordering::{Acquire, Release};
use corelane_loom::memory::{AtomicU64, pause};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

/// Slots of the ring.
const N: u64 = 2;

/// The positions of one side.
struct Cursors {
    head: AtomicU64,
    tail: AtomicU64,
}

impl Cursors {
    fn new() -> Self {
        Self { head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    /// Takes a slot, if `other` has finished one.
    fn take(&self, other: &Self, lead: u64) -> Option<u64> {
        let mut head = self.head.load(Acquire);
        while head != other.tail.load(Acquire) + lead {
            match self.head.compare_exchange(head, head + 1, Release, Acquire) {
                Ok(_) => return Some(head),
                Err(found) => head = found,
            }
        }
        None
    }
}

/// `ring`. Broken: publishes its slot without waiting for slots that were taken earlier.
pub(crate) struct HeadsAndTails<const BROKEN: bool> {
    places: [Place; N as usize],
    producers: Cursors,
    consumers: Cursors,
}

impl<const BROKEN: bool> HeadsAndTails<BROKEN> {
    fn finish(cursors: &Cursors, position: u64) {
        while !BROKEN && cursors.tail.load(Acquire) != position {
            pause(1);
        }
        cursors.tail.store(position + 1, Release);
    }

    fn place(&self, position: u64) -> &Place {
        &self.places[(position % N) as usize]
    }
}

impl<const BROKEN: bool> Mechanism for HeadsAndTails<BROKEN> {
    const CAPACITY: usize = N as usize;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        Self { places, producers: Cursors::new(), consumers: Cursors::new() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(position) = self.producers.take(&self.consumers, N) else { return Err(item) };
        self.place(position).put(item);
        Self::finish(&self.producers, position);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.consumers.take(&self.producers, 0)?;
        let item = self.place(position).take();
        Self::finish(&self.consumers, position);
        Some(item)
    }
}

/// The positions of a side with a relaxed tail.
struct Relaxed {
    /// Slots that have been taken.
    head: AtomicU64,
    /// Number of published slots; in the lower bits, number of finished slots.
    tail: AtomicU64,
}

impl Relaxed {
    const SHOWN: u32 = 32;

    fn new() -> Self {
        Self { head: AtomicU64::new(0), tail: AtomicU64::new(0) }
    }

    fn shown(&self) -> u64 {
        self.tail.load(Acquire) >> Self::SHOWN
    }

    /// Takes a slot, if `other` has finished one.
    fn take(&self, other: &Self, lead: u64) -> Option<u64> {
        let mut head = self.head.load(Acquire);
        while head != other.shown() + lead {
            match self.head.compare_exchange(head, head + 1, Release, Acquire) {
                Ok(_) => return Some(head),
                Err(found) => head = found,
            }
        }
        None
    }

    fn finish(&self, is_broken: bool) {
        let mut tail = self.tail.load(Acquire);
        loop {
            let done = (tail & u64::from(u32::MAX)) + 1;
            let is_last = is_broken || done == self.head.load(Acquire);
            let shown = if is_last { done } else { tail >> Self::SHOWN };
            match self.tail.compare_exchange(tail, shown << Self::SHOWN | done, Release, Acquire) {
                Ok(_) => return,
                Err(found) => tail = found,
            }
        }
    }
}

/// `ring-rts`. Broken: publishes as many slots as are finished, which may be other slots.
pub(crate) struct RelaxedTails<const BROKEN: bool> {
    places: [Place; N as usize],
    producers: Relaxed,
    consumers: Relaxed,
}

impl<const BROKEN: bool> Mechanism for RelaxedTails<BROKEN> {
    const CAPACITY: usize = N as usize;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        Self { places, producers: Relaxed::new(), consumers: Relaxed::new() }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(position) = self.producers.take(&self.consumers, N) else { return Err(item) };
        self.places[(position % N) as usize].put(item);
        self.producers.finish(BROKEN);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = self.consumers.take(&self.producers, 0)?;
        let item = self.places[(position % N) as usize].take();
        self.consumers.finish(BROKEN);
        Some(item)
    }
}

/// `ring-hts`. Broken: takes a slot that another thread of the side is using.
pub(crate) struct OneAtATime<const BROKEN: bool> {
    places: [Place; N as usize],
    /// The position of a side; in the lowest bit, whether one of its threads is in the middle of a
    /// call.
    producers: AtomicU64,
    consumers: AtomicU64,
}

impl<const BROKEN: bool> OneAtATime<BROKEN> {
    fn take(side: &AtomicU64, other: &AtomicU64, lead: u64) -> Option<u64> {
        let word = side.load(Acquire);
        let (position, is_taken) = (word >> 1, word & 1 == 1);
        if is_taken && !BROKEN || position == (other.load(Acquire) >> 1) + lead {
            return None;
        }
        side.compare_exchange(word, word | 1, Acquire, Acquire).ok().map(|_| position)
    }
}

impl<const BROKEN: bool> Mechanism for OneAtATime<BROKEN> {
    const CAPACITY: usize = N as usize;
    type Tx = ();
    type Rx = ();

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        Self { places, producers: AtomicU64::new(0), consumers: AtomicU64::new(0) }
    }

    fn push(&self, (): &mut (), item: Ticket) -> Result<(), Ticket> {
        let Some(position) = Self::take(&self.producers, &self.consumers, N) else {
            return Err(item);
        };
        self.places[(position % N) as usize].put(item);
        self.producers.store((position + 1) << 1, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let position = Self::take(&self.consumers, &self.producers, 0)?;
        let item = self.places[(position % N) as usize].take();
        self.consumers.store((position + 1) << 1, Release);
        Some(item)
    }
}

/// `lanes`, before the first lap ends. Broken: moves the head without a look whether another
/// consumer has.
pub(crate) struct Claims<const BROKEN: bool> {
    places: [Place; N as usize],
    stamps: [AtomicU64; N as usize],
    head: AtomicU64,
}

impl<const BROKEN: bool> Mechanism for Claims<BROKEN> {
    const CAPACITY: usize = N as usize;
    type Tx = u64;
    type Rx = ();

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        let stamps = [AtomicU64::new(0), AtomicU64::new(0)];
        Self { places, stamps, head: AtomicU64::new(0) }
    }

    fn push(&self, write: &mut u64, item: Ticket) -> Result<(), Ticket> {
        let Some(stamp) = self.stamps.get(*write as usize) else { return Err(item) };
        self.places[*write as usize].put(item);
        *write += 1;
        stamp.store(*write, Release);
        Ok(())
    }

    fn pop(&self, (): &mut ()) -> Option<Ticket> {
        let mut head = self.head.load(Acquire);
        while self.stamps.get(head as usize)?.load(Acquire) == head + 1 {
            if BROKEN {
                self.head.store(head + 1, Release);
                return Some(self.places[head as usize].take());
            }
            match self.head.compare_exchange(head, head + 1, Release, Acquire) {
                Ok(_) => return Some(self.places[head as usize].take()),
                Err(found) => head = found,
            }
        }
        None
    }
}
