//! The parts that both queues share: buffers, each twice as long as the one before, and slots with
//! a word that says how far thieves have read.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};

use crate::memory::{AtomicPtr, AtomicU64, Cells, Made, Ordering, is_before};
use crate::queue::{CapacityError, Config};
use crate::region::{State, slots_up_to, try_box};
use crate::unwind::drop_each;

/// A ring of slots.
pub(super) struct Buffer<T> {
    /// The position of its first item.
    first: u64,
    /// The buffer before it, or null.
    older: *mut Self,
    cells: Cells<T>,
    /// For each slot the position behind the last one from which a thief has read an item.
    read: Vec<AtomicU64>,
    /// What `cells` points to. Its length is 0: it drops no items.
    _memory: Vec<MaybeUninit<T>>,
    made: Made,
}

impl<T> Buffer<T> {
    /// A buffer of `len` slots, a power of two, for items from a position on; if there is memory
    /// for it.
    pub(super) fn new(first: u64, len: usize) -> Option<Box<Self>> {
        let (mut memory, mut read) = (Vec::new(), Vec::new());
        memory.try_reserve_exact(len).ok()?;
        read.try_reserve_exact(len).ok()?;
        // No position in this buffer is before `first`: nothing has been read.
        read.extend((0..len).map(|_| AtomicU64::new(first)));
        let base = NonNull::from(memory.spare_capacity_mut()).cast();
        // SAFETY: there is room for `len` items, which lives as long as the buffer. Nothing uses
        // the cells after it.
        let cells = unsafe { Cells::new(base, len) };
        try_box(Self { first, older: null_mut(), cells, read, _memory: memory, made: Made::now() })
            .ok()
    }

    pub(super) fn len(&self) -> usize {
        self.read.len()
    }

    pub(super) fn cells(&self) -> &Cells<T> {
        &self.cells
    }

    fn read(&self, position: u64) -> &AtomicU64 {
        &self.read[position as usize & (self.len() - 1)]
    }

    /// A thief: moves the item out, and gives its slot back.
    ///
    /// # Safety
    ///
    /// The thread has claimed the item, which is visible to it, and has not read it yet.
    pub(super) unsafe fn take(&self, position: u64) -> T {
        // SAFETY: the caller's contract.
        let item = unsafe { self.cells.read(position) };
        // Release ↔ Acquire in `is_free`: the item is out of the slot.
        self.read(position).store(position.wrapping_add(1), Ordering::Release);
        item
    }

    /// Whether the item of this position was claimed, and is out of its slot.
    fn is_free(&self, position: u64) -> bool {
        // Acquire ↔ Release in `take`: the item is out of the slot.
        self.read(position).load(Ordering::Acquire) == position.wrapping_add(1)
    }

    /// The first position, from `from` on and before `end`, whose slot may still hold an item.
    pub(super) fn first_in_use(&self, from: u64, end: u64) -> u64 {
        let mut position = from;
        while position != end && self.is_free(position) {
            position = position.wrapping_add(1);
        }
        position
    }

    /// The owner: moves the items at `from..to` to the start of a new buffer.
    ///
    /// # Safety
    ///
    /// The owner has claimed the items.
    pub(super) unsafe fn move_to(&self, new: &Self, from: u64, to: u64) {
        for i in 0..to.wrapping_sub(from) {
            // SAFETY: the items are the owner's, and no thread knows the new buffer. It has more
            // slots than there are items.
            unsafe {
                new.cells.write(new.first.wrapping_add(i), self.cells.read(from.wrapping_add(i)))
            };
        }
    }

    /// Drops the items at `from..to`. No thread uses the queue any more.
    pub(super) fn drop_items(&self, from: u64, to: u64) {
        let mut left = 0..to.wrapping_sub(from);
        drop_each(|| {
            let position = from.wrapping_add(left.next()?);
            // SAFETY: no thread has claimed the item, and none can.
            Some(unsafe { self.cells.read(position) })
        });
    }
}

/// All buffers of a queue, newest first. They live as long as the queue. Together the older ones
/// are shorter than the newest.
pub(super) struct Buffers<T> {
    newest: AtomicPtr<Buffer<T>>,
}

impl<T> Buffers<T> {
    pub(super) fn new(buffer: Box<Buffer<T>>) -> Self {
        Self { newest: AtomicPtr::new(Box::into_raw(buffer)) }
    }

    /// The owner: the buffer into which it pushes.
    pub(super) fn newest(&self) -> &Buffer<T> {
        // SAFETY: it lives as long as the queue. Relaxed: the owner has written it.
        unsafe { &*self.newest.load(Ordering::Relaxed) }
    }

    /// A thief: the buffer of an item that it has claimed.
    pub(super) fn of(&self, position: u64) -> &Buffer<T> {
        // Acquire ↔ Release in `add`: the buffer, also if it is newer than the item. A buffer older
        // than the item's can't be found: the item was pushed after its buffer was added. SAFETY:
        // buffers live as long as the queue.
        let mut buffer = unsafe { &*self.newest.load(Ordering::Acquire) };
        buffer.made.is_before_now();
        while is_before(position, buffer.first) {
            // SAFETY: as above. The first buffer of all has the first position of all, so this is
            // not the first.
            buffer = unsafe { &*buffer.older };
        }
        buffer
    }

    /// The owner: adds a buffer.
    pub(super) fn add(&self, mut buffer: Box<Buffer<T>>) {
        buffer.older = self.newest.load(Ordering::Relaxed);
        // Release ↔ Acquire in `of`: the buffer.
        self.newest.store(Box::into_raw(buffer), Ordering::Release);
    }
}

impl<T> Drop for Buffers<T> {
    fn drop(&mut self) {
        let mut newest = self.newest.load(Ordering::Relaxed);
        while !newest.is_null() {
            // SAFETY: it was a box, and no handle is left.
            let buffer = unsafe { Box::from_raw(newest) };
            buffer.made.ends();
            newest = buffer.older;
        }
    }
}

/// Most slots at first: no machine has memory for more.
const MOST_SLOTS: usize = usize::MAX >> 10;

/// The first buffer.
pub(super) fn first<H: State>(config: Config) -> Result<Box<Buffer<H::Item>>, CapacityError> {
    config.only(&[])?;
    let slot = size_of::<H::Item>() + size_of::<AtomicU64>();
    let most = MOST_SLOTS.min(isize::MAX as usize / slot);
    let len = slots_up_to::<H>(most, config.capacity, 0)?;
    let bytes = len * slot;
    Buffer::new(config.first, len).ok_or(CapacityError::OutOfMemory { bytes })
}

/// The owner's view of the newest buffer. A value, so that the handle stays in registers when the
/// buffer changes.
pub(super) struct Here<T> {
    pub(super) cells: Cells<T>,
    /// The position before which there is certainly room.
    pub(super) limit: u64,
}

impl<T> Clone for Here<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), limit: self.limit }
    }
}

impl<T> Here<T> {
    pub(super) fn new(buffer: &Buffer<T>) -> Self {
        Self {
            cells: buffer.cells().clone(),
            limit: buffer.first.wrapping_add(buffer.len() as u64),
        }
    }

    /// The same, with the slots that thieves have given back. `None` if there is no free slot at
    /// `bottom`.
    pub(super) fn with_room(self, buffer: &Buffer<T>, bottom: u64) -> Option<Self> {
        let len = buffer.len() as u64;
        let in_use = buffer.first_in_use(self.limit.wrapping_sub(len), bottom);
        let limit = in_use.wrapping_add(len);
        (limit != bottom).then_some(Self { limit, ..self })
    }
}
