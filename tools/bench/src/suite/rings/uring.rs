//! The rings of io_uring in user space: requests (SQ) from an application to a kernel, and
//! completions (CQ) back. Written from io_uring(7) and from J. Axboe: *Efficient IO with io_uring*
//! (2019), §4.
//!
//! Compiled for the machine's memory here, and for simulated memory by `lane simulate`: `world` is
//! the library in either.
//!
//! ```text
//! SQ:  head ◀ kernel    tail ◀ application    array: indices of ──▶ entries of 64 bytes
//! CQ:  tail ◀ kernel    head ◀ application    entries of 16 bytes; twice as many
//! ```
//!
//! Head and tail count without end and are masked at the slot. The producer reads the head for each
//! entry, to see whether there is room, and publishes the tail once for a batch. The consumer reads
//! the tail once for a batch, and publishes the head behind it. Neither side keeps the other side's
//! variable: that is what the queues of corelane save.
//!
//! Without the kernel's flags: they wake a kernel that sleeps and tell of completions that found no
//! room. Here the kernel never sleeps, and waits for room.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use super::world::memory::{AtomicU32, Cells, Ordering};
use super::world::{
    Built, CapacityError, Config, Consumer, Info, Producer, Queue, TryPopError, TryPushError,
};

/// A request, as large as the kernel's. Word 4 is `user_data`, at its place in the kernel's entry.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Sqe([u64; 8]);

/// A completion, as large as the kernel's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Cqe {
    user_data: u64,
    result: u32,
    flags: u32,
}

impl Sqe {
    pub(crate) fn of(user_data: u64) -> Self {
        Self([user_data; 8])
    }

    /// The completion of this request. Its result tells whether the entry was whole.
    pub(crate) fn completion(&self) -> Cqe {
        let Self(words) = self;
        let torn = words.iter().fold(0, |all, word| all | (word ^ words[4]));
        Cqe { user_data: words[4], result: u32::from(torn != 0), flags: 0 }
    }
}

impl Cqe {
    /// The completion of the request with this number.
    pub(crate) fn of(user_data: u64) -> Self {
        Self { user_data, result: 0, flags: 0 }
    }
}

/// A variable on a line of its own, as head and tail of the kernel's rings are.
#[derive(Debug)]
#[repr(align(64))]
struct Line(AtomicU32);

impl Line {
    fn new() -> Self {
        Self(AtomicU32::new(0))
    }
}

/// A ring with entries `T`. `INDIRECT`: the ring has indices of entries, as the SQ does.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(crate) struct Ring<T, const INDIRECT: bool> {
    head: Line,
    tail: Line,
    len: u32,
    entries: Cells<T>,
    /// The `array` of the SQ.
    indices: Cells<u32>,
    _memory: [Pages; 2],
}

// SAFETY: one producer and one consumer, which are `Send` and not `Clone`, access slots: the
// producer those from tail on, the consumer those before it.
unsafe impl<T: Send, const INDIRECT: bool> Sync for Ring<T, INDIRECT> {}
// SAFETY: a ring owns its memory.
unsafe impl<T: Send, const INDIRECT: bool> Send for Ring<T, INDIRECT> {}

/// The side that fills entries: an application of the SQ, the kernel of the CQ.
#[derive(Debug)]
pub(crate) struct Filler<T, const INDIRECT: bool> {
    ring: Arc<Ring<T, INDIRECT>>,
    /// The next position; `tail` follows at the end of a batch.
    next: u32,
}

/// The side that takes entries: the kernel of the SQ, an application of the CQ.
#[derive(Debug)]
pub(crate) struct Taker<T, const INDIRECT: bool> {
    ring: Arc<Ring<T, INDIRECT>>,
    /// The next position; `head` follows at the end of a batch.
    next: u32,
}

impl<T: Copy, const INDIRECT: bool> Filler<T, INDIRECT> {
    /// Fills an entry, if there is room. The entry becomes visible by [`publish`](Self::publish).
    #[inline]
    fn fill(&mut self, item: T) -> bool {
        let (ring, at) = (&*self.ring, self.next);
        // Acquire ↔ Release in `release`: the consumer has read the entry of the last lap.
        if at.wrapping_sub(ring.head.0.load(Ordering::Acquire)) == ring.len {
            return false;
        }
        let index = at & (ring.len - 1);
        // SAFETY: the slot is from the tail on, and its entry of the last lap was taken: no other
        // thread accesses the slot before this position is published.
        unsafe { ring.entries.write(index.into(), item) };
        if INDIRECT {
            // SAFETY: as above.
            unsafe { ring.indices.write(at.into(), index) };
        }
        self.next = at.wrapping_add(1);
        true
    }

    #[inline]
    fn publish(&self) {
        // Release ↔ Acquire in `available`: the entries, and their indices.
        self.ring.tail.0.store(self.next, Ordering::Release);
    }
}

impl<T: Copy, const INDIRECT: bool> Taker<T, INDIRECT> {
    /// Number of filled entries.
    #[inline]
    fn available(&self) -> u32 {
        // Acquire ↔ Release in `publish`: the entries, and their indices.
        self.ring.tail.0.load(Ordering::Acquire).wrapping_sub(self.next)
    }

    /// Takes an entry.
    ///
    /// # Safety
    ///
    /// One is available.
    #[inline]
    unsafe fn take(&mut self) -> T {
        let (ring, at) = (&*self.ring, self.next);
        self.next = at.wrapping_add(1);
        let index = match INDIRECT {
            // SAFETY: by the caller's contract the position is before the tail: the slot was filled,
            // and is not filled again before this position is released.
            true => unsafe { ring.indices.read(at.into()) },
            false => at,
        };
        // SAFETY: as above; an index is masked.
        unsafe { ring.entries.read(index.into()) }
    }

    #[inline]
    fn release(&self) {
        // Release ↔ Acquire in `fill`: the entries have been read.
        self.ring.head.0.store(self.next, Ordering::Release);
    }
}

impl<T: Copy, const INDIRECT: bool> Producer for Filler<T, INDIRECT> {
    type Item = T;

    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        if !self.fill(item) {
            return Err(TryPushError::Full(item));
        }
        self.publish();
        Ok(())
    }

    #[inline]
    fn push_slice(&mut self, items: &[T]) -> usize {
        let filled = items.iter().take_while(|item| self.fill(**item)).count();
        if filled > 0 {
            self.publish();
        }
        filled
    }

    fn capacity(&self) -> usize {
        self.ring.len as usize
    }

    fn is_closed(&self) -> bool {
        false
    }
}

impl<T: Copy, const INDIRECT: bool> Consumer for Taker<T, INDIRECT> {
    type Item = T;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.available() == 0 {
            return Err(TryPopError::Empty);
        }
        // SAFETY: just seen.
        let item = unsafe { self.take() };
        self.release();
        Ok(item)
    }

    #[inline]
    fn pop_slice(&mut self, into: &mut [T]) -> usize {
        let taken = into.len().min(self.available() as usize);
        for place in &mut into[..taken] {
            // SAFETY: as many are available.
            *place = unsafe { self.take() };
        }
        if taken > 0 {
            self.release();
        }
        taken
    }

    fn capacity(&self) -> usize {
        self.ring.len as usize
    }

    fn is_closed(&self) -> bool {
        false
    }
}

/// Both rings: the SQ is a queue of requests, the CQ a queue of completions.
#[derive(Debug)]
pub(crate) struct Uring;

const INFO: Info = Info { id: "io-uring", name: "rings of io_uring", ..Info::RING };

impl Queue<Sqe> for Uring {
    const INFO: Info = INFO;
    type Producer = Filler<Sqe, true>;
    type Consumer = Taker<Sqe, true>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        open(config)
    }
}

impl Queue<Cqe> for Uring {
    const INFO: Info = INFO;
    type Producer = Filler<Cqe, false>;
    type Consumer = Taker<Cqe, false>;

    fn with(config: Config) -> Built<Self::Producer, Self::Consumer> {
        open(config)
    }
}

fn open<T, const INDIRECT: bool>(
    config: Config,
) -> Result<(Filler<T, INDIRECT>, Taker<T, INDIRECT>), CapacityError> {
    let len = config.capacity.next_power_of_two();
    let indices = if INDIRECT { len } else { 1 };
    let memory = [Pages::new(len * size_of::<T>()), Pages::new(indices * size_of::<u32>())];
    // SAFETY: the pages have room for as many, and live as long as the ring, which keeps them.
    // Every index is masked by this length.
    let entries = unsafe { Cells::new(memory[0].start(), len) };
    // SAFETY: the same. Only rings with indices access them.
    let indices = unsafe { Cells::new(memory[1].start(), indices) };
    let (head, tail, len) = (Line::new(), Line::new(), len as u32);
    let ring = Arc::new(Ring { head, tail, len, entries, indices, _memory: memory });
    Ok((Filler { ring: ring.clone(), next: 0 }, Taker { ring, next: 0 }))
}

/// Whole pages, as the kernel allocates rings.
#[derive(Debug)]
struct Pages(NonNull<[MaybeUninit<Page>]>);

#[derive(Debug)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only room")] [u8; 4096]);

impl Pages {
    fn new(bytes: usize) -> Self {
        let pages = Box::new_uninit_slice(bytes.div_ceil(size_of::<Page>()));
        Self(NonNull::from(Box::leak(pages)))
    }

    fn start<T>(&self) -> NonNull<MaybeUninit<T>> {
        self.0.cast()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was a box, and is no longer used.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
