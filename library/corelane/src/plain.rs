//! Items that may be overwritten while they are read: a reader copies them word by word, and uses
//! the copy only if no producer wrote meanwhile.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use zerocopy::{Immutable, IntoBytes};

use crate::memory::{AtomicU64, Ordering, Read, UnsafeCell, prefetch_to_write};
use crate::region::{Attach, Slots, array};

/// Data that is nothing but its bytes: no padding, no destructor, no references.
///
/// Numbers, `bool`, `char`, `NonZeroU64` and similar types, arrays of these, and types that derive
/// the following traits of the crate `zerocopy` (0.8): structs without padding, and enums without
/// fields. Plain is implemented for all types with these traits. Tuples are not plain, because the
/// compiler decides where they have padding.
///
/// Not every pattern of bits needs to be a value. A consumer copies bytes, and uses them as an item
/// only when it knows that no producer has written to them meanwhile.
///
/// ```
/// use corelane::overwrite;
/// use zerocopy::{Immutable, IntoBytes}; // zerocopy = { version = "0.8", features = ["derive"] }
///
/// #[derive(Debug, PartialEq, Clone, Copy, IntoBytes, Immutable)]
/// #[repr(u8)]
/// enum Kind {
///     Begin,
///     End,
/// }
///
/// #[derive(Clone, Copy, IntoBytes, Immutable)]
/// #[repr(C)]
/// struct Event {
///     time: u64,
///     value: f32,
///     source: [u8; 2],
///     kind: Kind,
///     is_last: bool, // no padding behind it: 16 bytes
/// }
///
/// let (mut tx, mut rx) = overwrite::queue(64)?;
/// tx.try_push(Event { time: 1, value: 0.5, source: *b"io", kind: Kind::End, is_last: true }).ok();
/// assert_eq!(rx.try_pop()?.kind, Kind::End);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "items that may be overwritten must be plain data",
    note = "derive `Clone, Copy, zerocopy::IntoBytes, zerocopy::Immutable` for it, with `#[repr(C)]` and no padding; for an \
            enum without fields, with `#[repr(u8)]`"
)]
pub trait Plain: Copy + Send + IntoBytes + Immutable {}

impl<T: Copy + Send + IntoBytes + Immutable> Plain for T {}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lines that are prefetched of one slot.
const MOST_LINES: usize = 16;

const BYTES: usize = size_of::<u64>();

/// A word of an item.
struct Word {
    value: AtomicU64,
    /// Takes no room. It shows the model checker that no two writers write at the same time.
    writer: UnsafeCell<()>,
    /// Takes no room either. It shows the model checker that the reads whose copies are used are
    /// over before the next write.
    read: Read,
}

/// Slots for items that are copied word by word. Each item is behind `STAMPS` words of the
/// algorithm.
///
/// Each word is an atomic, so that a concurrent read is no data race. A copy may mix parts of two
/// items. No two threads may write a slot at the same time.
#[derive(Debug)]
pub struct Words<T, const STAMPS: usize = 0> {
    base: NonNull<Word>,
    len: usize,
    mask: usize,
    items: PhantomData<T>,
}

impl<T, const STAMPS: usize> Clone for Words<T, STAMPS> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T, const STAMPS: usize> Words<T, STAMPS> {
    /// Words of a slot.
    const EACH: usize = STAMPS + size_of::<T>().div_ceil(BYTES);

    /// The slot at `position`.
    #[inline]
    fn slot(&self, position: u64) -> &[Word] {
        let index = position as usize & self.mask;
        // SAFETY: `init` wrote `EACH` words for each of `len` slots, and the mask keeps the index
        // among them, since positions without a slot are left out.
        unsafe {
            NonNull::slice_from_raw_parts(self.base.add(index * Self::EACH), Self::EACH).as_ref()
        }
    }
}

impl<T> Words<T, 1> {
    /// Number of slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    /// Part `number` of the slots, if they are cut into parts of `len`, a power of two.
    #[inline]
    pub(crate) fn part(&self, number: usize, len: usize) -> Self {
        debug_assert!((number + 1) * len <= self.len, "there is no such part");
        // SAFETY: `init` wrote `EACH` words for each of the slots.
        let base = unsafe { self.base.add(number * len * Self::EACH) };
        Self { base, len, mask: len - 1, items: PhantomData }
    }

    /// For the model checker: the item before `position` has been read in this slot.
    #[inline]
    pub(crate) fn note_read(&self, position: u64) {
        self.slot(position)[0].read.note(position);
    }

    /// For the model checker: `position` is about to be written.
    #[inline]
    pub(crate) fn is_read(&self, position: u64) {
        self.slot(position)[0].read.is_over(position);
    }

    /// The stamp of the slot at `position`.
    #[inline]
    pub(crate) fn stamp(&self, position: u64) -> &AtomicU64 {
        &self.slot(position)[0].value
    }
}

impl<T: Plain, const STAMPS: usize> Words<T, STAMPS> {
    /// Writes `item` into the slot at `position`.
    #[inline]
    #[track_caller]
    pub(crate) fn store(&self, position: u64, item: &T) {
        let bytes = item.as_bytes().as_ptr();
        self.each_word(position, |word, at, n| {
            let mut value = [0; BYTES];
            // SAFETY: the item has `n` bytes from `at` on.
            unsafe { ptr::copy_nonoverlapping(bytes.add(at), value.as_mut_ptr(), n) };
            word.writer.with_mut(|_| ());
            // Relaxed: the algorithm orders it.
            word.value.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        });
    }

    /// Copies the slot at `position`: an item, unless a producer wrote meanwhile.
    #[inline]
    #[track_caller]
    pub(crate) fn load(&self, position: u64) -> MaybeUninit<T> {
        let mut item = MaybeUninit::<T>::uninit();
        let bytes = item.as_mut_ptr().cast::<u8>();
        self.each_word(position, |word, at, n| {
            // Relaxed: as in `store`.
            let value = word.value.load(Ordering::Relaxed).to_ne_bytes();
            // SAFETY: the item has `n` bytes from `at` on.
            unsafe { ptr::copy_nonoverlapping(value.as_ptr(), bytes.add(at), n) };
        });
        item
    }

    /// Prefetches the slot behind that at `position`, for writing: up to [`MOST_LINES`] lines, but
    /// not the first one, which consumers read. Slots may begin in the middle of a line. Behind the
    /// last slot, no slot of the ring is prefetched.
    #[inline(always)]
    pub(crate) fn fetch_next(&self, position: u64) {
        let bytes = const { Self::EACH * BYTES };
        let next = self.slot(position).as_ptr().wrapping_add(Self::EACH).cast::<u8>();
        for line in 1..(bytes / LINE).min(MOST_LINES) + 1 {
            prefetch_to_write(next.wrapping_add(line * LINE));
        }
    }

    /// Calls `each` for the words of the item at `position`, with the place and number of the
    /// word's bytes in the item. The number is a constant where that is inlined.
    #[inline(always)]
    fn each_word(&self, position: u64, mut each: impl FnMut(&Word, usize, usize)) {
        let words = &self.slot(position)[STAMPS..];
        let (whole, rest) = const { (size_of::<T>() / BYTES, size_of::<T>() % BYTES) };
        for (i, word) in words[..whole].iter().enumerate() {
            each(word, i * BYTES, BYTES);
        }
        if rest > 0 {
            each(&words[whole], whole * BYTES, rest);
        }
    }
}

impl<T, const STAMPS: usize> Slots for Words<T, STAMPS> {
    const SLOT: Layout = match Layout::array::<Word>(Self::EACH) {
        Ok(layout) => layout,
        Err(_) => panic!("an item is as large as all memory"),
    };
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, len)
    }

    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        let base = slots.cast::<Word>();
        for word in 0..len * Self::EACH {
            let empty =
                Word { value: AtomicU64::new(0), writer: UnsafeCell::new(()), read: Read::new() };
            // SAFETY: by the caller's contract there is room for all slots.
            unsafe { base.add(word).write(empty) };
        }
        // SAFETY: all words were written.
        unsafe { Self::attach(variables, slots, len) }
    }

    unsafe fn finish(&self) {
        for word in 0..self.len * Self::EACH {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe {
                self.base.add(word).as_ref().writer.with_mut(|_| ());
                self.base.add(word).drop_in_place();
            }
        }
    }
}

impl<T, const STAMPS: usize> Attach for Words<T, STAMPS> {
    unsafe fn attach(_: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        let mask = len.next_power_of_two() - 1;
        Self { base: slots.cast(), len, mask, items: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `items` into slots, and reads them.
    fn round_trip<T: Plain + PartialEq + core::fmt::Debug>(items: &[T]) {
        let len = items.len().next_power_of_two();
        let layout = Words::<T>::slots(len).unwrap();
        let mut memory = alloc::vec![0u64; layout.size() / BYTES];
        let memory = NonNull::new(memory.as_mut_ptr()).unwrap().cast();
        // SAFETY: the memory is large enough, aligned, and this array's alone.
        let words = unsafe { Words::<T>::init(NonNull::dangling(), memory, len) };
        for (position, item) in (u64::MAX - 1..=u64::MAX).chain(0..).zip(items) {
            words.store(position, item);
            // SAFETY: this thread has just written it.
            assert_eq!(unsafe { words.load(position).assume_init() }, *item);
        }
        // SAFETY: it is not used any more.
        unsafe { words.finish() };
    }

    #[test]
    fn items_of_any_size_come_out_as_they_went_in() {
        round_trip(&[(); 3]);
        round_trip(&[1u8, 2, 3, 255]);
        round_trip(&[[1u8, 2, 3], [4, 5, 6], [7, 8, 9]]);
        round_trip(&[u64::MAX, 0, 7]);
        round_trip(&[[1u32, 2, 3], [4, 5, u32::MAX]]);
        round_trip(&[[1u64; 9], [2; 9]]);
        round_trip(&[true, false]);
        round_trip(&['a', char::MAX]);
    }
}
