//! `scq`: the scalable circular queue, in which no thread waits for another one.
//!
//! The slots are in no order. Two rings of indices list the filled slots, oldest first, and the
//! free slots. A push takes an index from the free ring, fills its slot, and puts the index into
//! the filled ring. A pop does the opposite. Each ring has twice as many places as there are
//! indices, so it is never full. Threads get positions by fetch-and-add.
//!
#![doc = advice!(scq)]
//!
//! Each thread that is stopped in the middle of a call keeps one slot, so have more slots than
//! threads.
//!
//! | | |
//! |---|---|
//! | guarantee | lock-free while fewer threads are stopped in the middle of a call than there are slots; first in first out (linearizable) |
//! | capacity | N, the number of slots: as asked, rounded up to a power of two; all usable, except one for each thread in the middle of a call |
//! | memory | 32 bytes for each slot besides the items |
//! | a stopped thread | keeps its slot, and the item in it; all other threads continue while a slot is left. If as many threads are stopped as there are slots, all pushes say [`Busy`](TryPushError::Busy) and all pops [`Empty`](TryPopError::Empty), until a stopped thread goes on. With one slot, one stopped thread suffices |
//! | handles | at most 65,536 a side; cloning one more panics |
//! | operations | for each push and each pop two fetch-and-adds, one compare-and-swap and one *or*, all locked; in a call after a failed call, a compare-and-swap instead of the first fetch-and-add; more while the sides meet. The first failed push of a new handle reads all entries, a later one only the entries popped since: some 5 ns a slot, so 5 ms for a million slots |
//! | paper | J. Wang: *High Performance and Dependable Asynchronous Communication on Multi-Core Systems* (2024), §2.2 (P2, P3), §3.7.2; R. Nikolaev: *A Scalable, Portable, and Memory-Efficient Lock-Free FIFO Queue* (DISC 2019) |
//!
//! # Departures from the paper
//!
//! - A handle whose last call found no index looks first in its next call. It writes only if there
//!   is an index, or if several indices are being put. Then it gets its position by
//!   compare-and-swap: of many threads that see the same position only one gets it. The paper's
//!   call gets a position each time, and the paper's program reads the entry 10,000 times before it
//!   gives the position up. So a failed call costs a thousand times as much as in other queues
//!   (Wang 2024, §2.6.2.2). With the feature `literature`, `delayed_queue` makes such a queue. Here
//!   the first failed push after a pop reads each entry that its handle hasn't seen filled.
//! - Two threads meet at each position: one takes an index there, the other puts one. If the taking
//!   thread comes first, it marks the position visited, and both try their next positions. This
//!   could go on for ever. A threshold ends it (Wang 2024, §2.2): after a number of positions
//!   without an index no thread takes another position until an index has been put. The paper's
//!   threshold suffices for at most as many threads as slots. The threshold here suffices for as
//!   many threads as there may be handles.
//! - A push says [`Full`](TryPushError::Full) only if all slots hold items and no pop is about to
//!   take one. If no slot is free, but other threads hold slots in unfinished calls, the push says
//!   [`Busy`](TryPushError::Busy). The paper's push says full then too, though fewer items may be
//!   inside than fit.
//! - Orderings are weaker than sequentially consistent, and there are no fences. `indices.rs`
//!   proves that the threshold suffices nevertheless.
//! - A thread must not be stopped in the middle of a call while 2⁶² positions are used.
//!
//! ```
//! use corelane::{TryPushError, scq};
//!
//! let (mut tx, mut rx) = scq::queue(2)?;
//! let mut other_tx = tx.clone();
//! tx.try_push('a')?;
//! other_tx.try_push('b')?;
//! assert!(matches!(tx.try_push('c'), Err(TryPushError::Full('c'))));
//! assert_eq!(rx.try_pop(), Ok('a'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::memory::{AtomicU64, Cells, limit};
use crate::queue::{
    self, CapacityError, Config, Info, Producer as _, Sides, TryPopError, TryPushError,
    answered_by, full, handles, queue_type,
};
#[cfg(feature = "literature")]
use crate::queue::{Built, Queue};
use crate::region::{End, MOST_ENDS, Slots, State, array, ends, slots_up_to};
use crate::spin::Distance;
use crate::unwind::drop_each;

/// Public for the models, which take its steps one by one; not for use, and not stable.
#[doc(hidden)]
pub mod indices;

use indices::{Counters, Entries, Indices, Plan, Seen};

/// Most slots: with their entries they take less than all addresses.
const MOST_SLOTS: usize = 1 << (usize::BITS - 8);

/// Most threads of a side that are in a call at once: one for each handle, or as many as a model
/// can have.
const MOST_THREADS: u64 = limit(MOST_ENDS, 4);

/// The counters of both rings.
#[derive(Debug)]
#[repr(C)]
struct Header<T> {
    /// The paper's `aq`.
    filled: Counters,
    /// The paper's `fq`.
    free: Counters,
    items: PhantomData<T>,
}

impl<T> State for Header<T> {
    type Item = T;
    type Slots = Numbered<T>;

    fn drop_items(&self, slots: &Numbered<T>) {
        let mut filled = Indices::new(&self.filled, &slots.filled).drain();
        // SAFETY: each of these slots holds an item that was never popped, and is listed once.
        drop_each(|| filled.next().map(|index| unsafe { slots.cells.read(index) }));
    }
}

/// Slots that are addressed by indices, and the entries of both rings.
struct Numbered<T> {
    cells: Cells<T>,
    filled: Entries,
    free: Entries,
}

impl<T> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

/// How many slots there are, and the first position of the rings, a multiple of their number of
/// entries.
#[derive(Debug, Clone, Copy)]
struct SlotShape {
    n: usize,
    first: u64,
    /// See [`Plan::looks`].
    looks: u32,
}

impl SlotShape {
    /// The plan of one ring.
    fn ring(self, is_full: bool) -> Plan {
        let Self { n, first, looks } = self;
        Plan { n, first, is_full, takers: MOST_THREADS, looks }
    }

    /// Memory for the entries of one ring.
    fn entries(self) -> Result<Layout, LayoutError> {
        array(Layout::new::<AtomicU64>(), Entries::number(self.n))?.align_to(crate::pad::APART)
    }
}

impl<T> Slots for Numbered<T> {
    const SLOT: Layout = Cells::<T>::SLOT;
    type Shape = SlotShape;

    fn slots(shape: SlotShape) -> Result<Layout, LayoutError> {
        Cells::<T>::slots(shape.n)
    }

    fn variables(shape: SlotShape) -> Result<Layout, LayoutError> {
        let entries = shape.entries()?;
        Ok(entries.extend(entries)?.0)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: SlotShape) -> Self {
        let entries = shape.entries().expect("the caller has had this layout");
        let (_, second) = entries.extend(entries).expect("as above");
        // SAFETY: the caller's contract. Each ring's entries are in their part of the layout.
        unsafe {
            Self {
                cells: Cells::init(variables, slots, shape.n),
                filled: Entries::init(variables.cast(), shape.ring(false)),
                free: Entries::init(variables.add(second).cast(), shape.ring(true)),
            }
        }
    }

    unsafe fn finish(&self) {
        // SAFETY: the caller's contract.
        unsafe {
            self.filled.finish();
            self.free.finish();
        }
    }
}

/// A queue for at least `capacity` items, between any number of threads on either side.
///
/// # Errors
///
/// If `capacity` is 0 or too large for memory.
pub fn queue<T: Send>(capacity: usize) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    queue_with(Config::new(capacity))
}

/// As [`queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
pub fn queue_with<T: Send>(config: Config) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    with_looks(config, 0)
}

/// As [`queue`], but as in the paper's program: a call gets a position at once, and reads the entry
/// there `looks` times before it gives the position up.
///
#[doc = advice!(literature scq_delayed)]
///
/// ```
/// use corelane::{TryPopError, scq};
///
/// let (mut tx, mut rx) = scq::delayed_queue(2, 10_000)?;
/// tx.try_push('a')?;
/// assert_eq!(rx.try_pop(), Ok('a'));
/// assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`queue`].
#[cfg(feature = "literature")]
pub fn delayed_queue<T: Send>(
    capacity: usize,
    looks: u32,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    delayed_queue_with(Config::new(capacity), looks)
}

/// As [`delayed_queue`], with all options.
///
/// # Errors
///
/// As [`queue`].
#[cfg(feature = "literature")]
pub fn delayed_queue_with<T: Send>(
    config: Config,
    looks: u32,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    with_looks(config, looks)
}

/// A queue whose calls read an entry `looks` times before they give its position up.
fn with_looks<T: Send>(
    config: Config,
    looks: u32,
) -> Result<(Producer<T>, Consumer<T>), CapacityError> {
    config.only(&[])?;
    let n = slots_up_to::<Header<T>>(MOST_SLOTS, config.capacity, 0)?;
    let first = config.first & !(Entries::number(n) as u64 - 1);
    let shape = SlotShape { n, first, looks };
    let header = Header {
        filled: Counters::new(shape.ring(false)),
        free: Counters::new(shape.ring(true)),
        items: PhantomData,
    };
    let (tx, rx) = ends(config.memory, shape, header)?;
    let seen = Seen::nothing(first);
    let looks_first = looks == 0;
    let distance = Distance::new(0);
    Ok((
        Producer { end: tx, looks_first, distance, pushed: 0, seen },
        Consumer { end: rx, looks_first, distance, popped: 0 },
    ))
}

/// A part of a handle: its access to the queue.
type Side<T> = End<Header<T>>;

impl<T> Side<T> {
    /// The indices of slots with items, oldest first.
    #[inline]
    fn filled(&self) -> Indices<'_> {
        Indices::new(&self.header().filled, &self.slots().filled)
    }

    /// The indices of other slots.
    #[inline]
    fn free(&self) -> Indices<'_> {
        Indices::new(&self.header().free, &self.slots().free)
    }
}

/// A sending side.
pub struct Producer<T> {
    end: Side<T>,
    /// Whether the handle is new, or its last push found no slot.
    looks_first: bool,
    distance: Distance,
    /// Items pushed so far, by which `distance` knows a stream.
    pushed: u64,
    /// What the handle has seen of filled slots.
    seen: Seen,
}

/// A receiving side.
pub struct Consumer<T> {
    end: Side<T>,
    /// Whether the handle is new, or its last pop found no item.
    looks_first: bool,
    distance: Distance,
    /// Items popped so far.
    popped: u64,
}

/// A thread that moves this number of items before it catches up with the other side again is far
/// enough behind.
const FAR_BEHIND: u64 = 256;

impl<T> Producer<T> {
    /// Takes a free slot.
    #[inline]
    pub(crate) fn allocate(&mut self) -> Option<u64> {
        let free = self.end.free();
        let index = if self.looks_first { free.look_and_take() } else { free.take() };
        self.looks_first = index.is_none() && !free.lingers();
        index
    }

    /// Publishes the item of a slot.
    #[inline]
    pub(crate) fn publish(&self, index: u64) {
        self.end.filled().put(index);
    }

    /// Why `item` can't be pushed.
    fn refusal(&mut self, item: T) -> TryPushError<T> {
        if self.is_closed() {
            return full(true, item);
        }
        let filled = self.end.filled();
        let is_full = filled.is_still_full(self.seen) || {
            let (is_full, seen) = filled.is_full(self.seen);
            self.seen = seen;
            is_full
        };
        match is_full {
            true => TryPushError::Full(item),
            false => TryPushError::Busy(item),
        }
    }
}

impl<T> queue::Producer for Producer<T> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        let Some(index) = self.allocate() else {
            self.distance = self.distance.caught_up(self.pushed, 1, FAR_BEHIND).0;
            return Err(self.refusal(item));
        };
        self.pushed = self.pushed.wrapping_add(1);
        // SAFETY: only this thread has the index, since it took the index out of a ring. The slot
        // is empty.
        unsafe { self.end.slots().cells.write(index, item) };
        self.publish(index);
        Ok(())
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().cells.len()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.filled().len()
    }

    fn is_full(&mut self) -> bool {
        self.end.free().is_empty()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Consumer<T> {
    /// Takes the index of the oldest item.
    #[inline]
    pub(crate) fn reserve(&mut self) -> Option<u64> {
        let filled = self.end.filled();
        let index = if self.looks_first { filled.look_and_take() } else { filled.take() };
        self.looks_first = index.is_none() && !filled.lingers();
        index
    }

    /// Gives a slot back.
    #[inline]
    pub(crate) fn give_back(&self, index: u64) {
        self.end.free().put(index);
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let Some(index) = self.reserve() else {
            self.distance = self.distance.caught_up(self.popped, 1, FAR_BEHIND).0;
            return None;
        };
        self.popped = self.popped.wrapping_add(1);
        // SAFETY: only this thread has the index, since it took the index out of a ring. The slot
        // holds an item.
        let item = unsafe { self.end.slots().cells.read(index) };
        self.give_back(index);
        Some(item)
    }
}

impl<T> queue::Consumer for Consumer<T> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        queue::try_pop_by(self, Self::pop)
    }

    #[inline]
    fn capacity(&self) -> usize {
        self.end.slots().cells.len()
    }

    answered_by!(closed: end);

    fn len(&mut self) -> usize {
        self.end.filled().len()
    }

    fn is_empty(&mut self) -> bool {
        self.end.filled().is_empty()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        Self { end: self.end.duplicate(), looks_first: !self.end.free().lingers(), ..*self }
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        Self {
            end: self.end.duplicate(),
            looks_first: !self.end.free().lingers(),
            distance: Distance::new(0),
            popped: 0,
        }
    }
}

handles! {
    [T] Producer<T>: producer of T;
    [T] Consumer<T>: consumer of T;
}

const INFO: Info = Info {
    id: "scq",
    name: "scalable circular queue",
    paper: "Wang 2024, §2.2, §3.7.2; Nikolaev 2019",
    sides: Sides::ManyToMany,
    guarantee: "lock-free FIFO while fewer than N threads are stopped",
    choose: advice!(choose scq),
    avoid: advice!(avoid scq),
    ..Info::RING
};

queue_type!(Scq of [T: Send] T: Producer<T>, Consumer<T> = queue_with; INFO);

/// The [delayed](delayed_queue) queue, which reads an entry `LOOKS` times.
#[cfg(feature = "literature")]
#[derive(Debug)]
pub struct ScqDelayed<const LOOKS: u32>;

#[cfg(feature = "literature")]
impl<T: Send, const LOOKS: u32> Queue<T> for ScqDelayed<LOOKS> {
    const INFO: Info = Info {
        id: "scq-delayed",
        choose: advice!(choose scq_delayed),
        avoid: advice!(avoid scq_delayed),
        ..INFO
    };
    type Producer = Producer<T>;
    type Consumer = Consumer<T>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        delayed_queue_with(config, LOOKS)
    }
}
