//! The memory of the line ring: lines with items, and places between items.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::carrier::Carrier;
use crate::memory::{
    AtomicU64, Ordering, UnsafeCell, empty_cell, limit, prefetch_to_read, prefetch_to_write,
};
use crate::region::{Attach, Slots, array};

/// One line: `tail`, the position after the last item in it, and room for N items. If fewer than
/// two items fit into a line of the machine, it is several of these.
pub(super) struct Line<T> {
    pub(super) base: NonNull<u8>,
    pub(super) items: PhantomData<T>,
}

impl<T> Clone for Line<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Line<T> {}

impl<T> Line<T> {
    /// Bytes that a line should have.
    pub(super) const BYTES: usize = 64;
    pub(super) const ALIGN: usize = larger(Self::BYTES, align_of::<T>());
    /// Items that fit beside 8 bytes, whatever the size of atomics and cells.
    const FIT: usize = match size_of::<T>() {
        0 => Self::BYTES,
        size => Self::BYTES.saturating_sub(larger(8, align_of::<T>())) / size,
    };
    /// Whether `tail` has a line of its own, and several lines of items follow. For still larger
    /// items, each item has a `tail`, which costs less than another line.
    pub(super) const IS_GROUP: bool = Self::FIT < 2 && size_of::<T>() <= 1024;
    /// Distance, in lines, from the line that a side enters to the line that it prefetches.
    const AHEAD: usize = if Self::IS_GROUP { 2 } else { 16 };
    /// A side prefetches while at least this many lines before it are known to be free for it.
    pub(super) const KNOWN: usize = if Self::IS_GROUP { 4 } else { Self::AHEAD };
    /// Whether the producer prefetches. With longer groups, a close consumer, whose processor
    /// prefetches too, takes more of the prefetched lines before the producer writes them.
    pub(super) const PRODUCER_FETCHES: bool = Self::STRIDE <= 9 * Self::BYTES;
    /// Where the items begin: behind `tail`.
    pub(super) const ITEMS_AT: usize = {
        let at = size_of::<AtomicU64>().next_multiple_of(align_of::<UnsafeCell<T>>());
        if Self::IS_GROUP { larger(Self::BYTES, at) } else { at }
    };
    /// Items in a line.
    pub(super) const N: usize =
        if Self::IS_GROUP { limit(8, 1) as usize } else { larger(1, Self::FIT) };
    /// Bytes from one line to the next.
    pub(super) const STRIDE: usize =
        (Self::ITEMS_AT + Self::N * size_of::<UnsafeCell<T>>()).next_multiple_of(Self::ALIGN);

    pub(super) fn at(base: NonNull<u8>) -> Self {
        Self { base, items: PhantomData }
    }

    #[inline]
    pub(super) fn tail(&self) -> &AtomicU64 {
        // SAFETY: every line was made with its `tail` at its start.
        unsafe { self.base.cast().as_ref() }
    }

    #[inline]
    pub(super) fn item(&self, i: usize) -> &UnsafeCell<MaybeUninit<T>> {
        debug_assert!(i < Self::N);
        // SAFETY: every line was made with N cells from `ITEMS_AT` on.
        unsafe { self.base.add(Self::ITEMS_AT).cast::<UnsafeCell<_>>().add(i).as_ref() }
    }

    /// # Safety
    ///
    /// The caller is the producer, and may access the line from `i` on.
    #[inline]
    pub(super) unsafe fn write(&self, i: usize, item: T) {
        // SAFETY: the caller's contract.
        self.item(i).with_mut(|slot| unsafe { (*slot).write(item) });
    }

    /// Moves `n` items at `from` into the places from `i` on.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write), and for the `n` items at `from`.
    #[inline]
    pub(super) unsafe fn write_run(&self, i: usize, from: *const T, n: usize) {
        // SAFETY: the caller's contract.
        let write = |at: usize| unsafe { self.write(i + at, from.add(at).read()) };
        match n == Self::N {
            // Of a known length: the compiler makes it wide moves.
            true => (0..Self::N).for_each(write),
            false => (0..n).for_each(write),
        }
    }

    /// Moves the `n` items from `i` on to `to`.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read), and there is room for `n` items at `to`.
    #[inline]
    pub(super) unsafe fn read_run(&self, i: usize, to: *mut T, n: usize) {
        // SAFETY: the caller's contract.
        let read = |at: usize| unsafe { to.add(at).write(self.read(i + at)) };
        match n == Self::N {
            // As in `write_run`.
            true => (0..Self::N).for_each(read),
            false => (0..n).for_each(read),
        }
    }

    /// Prefetches the line that lies [`AHEAD`](Self::AHEAD) lines after this line, for writing: both
    /// sides write each line. A group is prefetched with all its slots.
    #[inline(always)]
    pub(super) fn fetch_ahead(&self) {
        let base = self.base.as_ptr().wrapping_add(Self::AHEAD * Self::STRIDE);
        let bytes = if Self::IS_GROUP { Self::STRIDE } else { 1 };
        for at in (0..bytes).step_by(Self::BYTES) {
            prefetch_to_write(base.wrapping_add(at));
        }
    }

    /// Prefetches the lines of item `i` of a group, for writing, if they are few. No item if the
    /// group is at its end.
    ///
    /// In a dialogue the producer then has these lines when it writes the item, and waits for
    /// `tail` only. With large items a stream would be slower.
    #[inline(always)]
    pub(super) fn fetch_to_write(&self, i: usize) {
        if Self::IS_GROUP && size_of::<T>() <= 4 * Self::BYTES && i < Self::N {
            self.each_line(i, prefetch_to_write);
        }
    }

    /// Prefetches the line of item `i` of a group, for reading, if the item is small.
    ///
    /// The consumer does this at each look for the item. So when the producer has invalidated the
    /// consumer's copies of `tail` and of the item, both lines come back at the same time.
    #[inline(always)]
    pub(super) fn fetch_to_read(&self, i: usize) {
        if Self::IS_GROUP && size_of::<T>() <= Self::BYTES && i < Self::N {
            self.each_line(i, prefetch_to_read);
        }
    }

    /// Calls `fetch` with an address in each line of item `i`.
    #[inline(always)]
    fn each_line(&self, i: usize, fetch: impl Fn(*const u8)) {
        let item = core::ptr::from_ref(self.item(i)).cast::<u8>();
        // The item may begin in the middle of a line.
        let last = size_of::<T>() - 1;
        (0..last).step_by(Self::BYTES).chain([last]).for_each(|at| fetch(item.wrapping_add(at)));
    }

    /// # Safety
    ///
    /// The caller is the consumer, has seen a `tail` behind item `i`, and reads the item once.
    #[inline]
    pub(super) unsafe fn read(&self, i: usize) -> T {
        // SAFETY: the caller's contract.
        self.item(i).with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// As [`write`](Self::write), of the item that is in the carrier.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write). There is an item.
    #[inline]
    pub(super) unsafe fn write_from(&self, i: usize, item: &mut Carrier<T>) {
        // SAFETY: the caller's contract.
        self.item(i).with_mut(|slot| unsafe { item.empty_into(slot.cast()) });
    }

    /// As [`read`](Self::read), into an empty carrier.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read). The carrier is empty.
    #[inline]
    pub(super) unsafe fn read_into(&self, i: usize, item: &mut Carrier<T>) {
        // SAFETY: the caller's contract.
        self.item(i).with(|slot| unsafe { item.fill(slot.cast()) });
    }

    /// Hands the lines of slots back whose items were read, from `i` on: see
    /// [`Consumer::leave`](super::Consumer::leave).
    ///
    /// # Safety
    ///
    /// The caller is the consumer, and reads these `n` items no more.
    #[inline]
    pub(super) unsafe fn hand_back(&self, i: usize, n: usize) {
        if Self::IS_GROUP {
            for i in i..i + n {
                self.item(i).with_mut(|slot| {
                    for at in (0..size_of::<T>()).step_by(Self::BYTES) {
                        // SAFETY: `at` is inside the slot. Only the consumer accesses it, and its
                        // item was read.
                        unsafe { slot.cast::<u8>().add(at).write(0) };
                    }
                });
            }
        }
    }

    /// Items in the line, which starts at position `start` in this lap.
    #[inline]
    pub(super) fn filled(&self, start: u64) -> usize {
        // Acquire ↔ Release in `Producer::show`: the items.
        let filled = self.tail().load(Ordering::Acquire).wrapping_sub(start);
        // A `tail` from an earlier lap is before `start`. Only another process that is not to be
        // trusted can have written more than N.
        if (filled as i64) < 0 { 0 } else { (filled as usize).min(Self::N) }
    }
}

const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// The lines of a ring.
pub(crate) struct Lines<T> {
    pub(super) first: Line<T>,
    pub(super) last: Line<T>,
}

impl<T> Clone for Lines<T> {
    fn clone(&self) -> Self {
        Self { first: self.first, last: self.last }
    }
}

impl<T> Lines<T> {
    pub(super) fn len(&self) -> usize {
        self.index(self.last) as usize + 1
    }

    #[inline]
    pub(super) fn after(&self, line: Line<T>) -> Line<T> {
        if line.base == self.last.base {
            return self.first;
        }
        // SAFETY: this is not the last line, so one more line lies behind it.
        Line::at(unsafe { line.base.add(Line::<T>::STRIDE) })
    }

    pub(super) fn get(&self, index: u64) -> Line<T> {
        // SAFETY: indices come from `index` or are below `len`.
        Line::at(unsafe { self.first.base.add(index as usize * Line::<T>::STRIDE) })
    }

    pub(super) fn index(&self, line: Line<T>) -> u64 {
        ((line.base.addr().get() - self.first.base.addr().get()) / Line::<T>::STRIDE) as u64
    }
}

impl<T> Slots for Lines<T> {
    const SLOT: Layout = match Layout::from_size_align(Line::<T>::STRIDE, Line::<T>::ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("a line of items has a layout"),
    };
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, len)
    }

    unsafe fn init(variables: NonNull<u8>, base: NonNull<u8>, len: usize) -> Self {
        // SAFETY: the caller's contract.
        let lines = unsafe { Self::attach(variables, base, len) };
        for index in 0..len as u64 {
            let line = lines.get(index).base;
            // SAFETY: `tail` and the cells are inside the line, and aligned.
            unsafe {
                line.cast().write(AtomicU64::new(0));
                let cells = line.add(Line::<T>::ITEMS_AT).cast::<UnsafeCell<MaybeUninit<T>>>();
                for i in 0..Line::<T>::N {
                    empty_cell(cells.add(i).as_ptr());
                }
            }
        }
        lines
    }

    unsafe fn finish(&self) {
        for index in 0..self.len() as u64 {
            let line = self.get(index).base;
            // SAFETY: `init` wrote all of this, and it is not used any more.
            unsafe {
                let cells = line.add(Line::<T>::ITEMS_AT).cast::<UnsafeCell<MaybeUninit<T>>>();
                for i in 0..Line::<T>::N {
                    cells.add(i).drop_in_place();
                }
                line.cast::<AtomicU64>().drop_in_place();
            }
        }
    }
}

impl<T> Attach for Lines<T> {
    unsafe fn attach(_: NonNull<u8>, base: NonNull<u8>, len: usize) -> Self {
        // SAFETY: by the caller's contract there is room for `len` lines.
        let last = unsafe { base.add((len - 1) * Line::<T>::STRIDE) };
        Self { first: Line::at(base), last: Line::at(last) }
    }
}

/// A place in the ring: between two items of a line.
pub(super) struct Place<T> {
    pub(super) line: Line<T>,
    /// Position of the line's first item.
    pub(super) start: u64,
    /// Number of items in the line before this place.
    pub(super) i: usize,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T> Place<T> {
    #[inline]
    pub(super) fn enter_next(&mut self, lines: &Lines<T>) {
        self.line = lines.after(self.line);
        self.start = self.start.wrapping_add(Line::<T>::N as u64);
        self.i = 0;
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.i == Line::<T>::N
    }

    #[inline]
    pub(super) fn enter_next_if_done(&mut self, lines: &Lines<T>) {
        if self.is_done() {
            self.enter_next(lines);
        }
    }
}
