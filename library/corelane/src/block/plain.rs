//! Items that may be overwritten while they are read: copied word by word, and used only if they weren't.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::marker::PhantomData;
use core::ptr::NonNull;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::memory::{AtomicU64, Ordering, UnsafeCell};
use crate::region::{Slots, array};

/// Data that is nothing but its bytes: no padding, no destructor, and any bytes are a value.
///
/// Numbers, arrays of them, and what derives these traits of the crate `zerocopy` (0.8). It is implemented for
/// all of them.
///
/// ```
/// use corelane::overwrite;
/// use zerocopy::{FromBytes, Immutable, IntoBytes}; // zerocopy = { version = "0.8", features = ["derive"] }
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
/// #[repr(C)]
/// struct Sample {
///     time: u64,
///     value: f32,
///     source: u32, // no padding behind `value`
/// }
///
/// let (mut tx, mut rx) = overwrite::queue(64)?;
/// tx.try_push(Sample { time: 1, value: 0.5, source: 7 }).ok();
/// assert_eq!(rx.try_pop()?.source, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    label = "items that may be overwritten must be plain data",
    note = "derive `Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable` for it, with \
            `#[repr(C)]` and no padding"
)]
pub trait Plain: Copy + Send + FromBytes + IntoBytes + Immutable {}

impl<T: Copy + Send + FromBytes + IntoBytes + Immutable> Plain for T {}

const BYTES: usize = size_of::<u64>();

/// A word of an item.
struct Word {
    value: AtomicU64,
    /// Takes no room, and shows the model checker that writers come one after the other.
    writer: UnsafeCell<()>,
}

/// Slots for items that are copied word by word.
///
/// Each word is an atomic, so that reading is not a data race; an item may come out as parts of two. Writers must
/// not be at work at once.
#[derive(Debug)]
pub struct Words<T> {
    base: NonNull<Word>,
    mask: usize,
    items: PhantomData<T>,
}

impl<T> Clone for Words<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T> Words<T> {
    /// Words of a slot.
    const EACH: usize = size_of::<T>().div_ceil(BYTES);
    /// Bytes of an item in words that it fills.
    const WHOLE: usize = size_of::<T>() / BYTES * BYTES;

    /// The slot at `position`.
    #[inline]
    fn slot(&self, position: u64) -> &[Word] {
        let index = position as usize & self.mask;
        // SAFETY: `init` wrote `EACH` words for each of `mask + 1` slots, and the mask keeps the index among
        // them.
        unsafe {
            NonNull::slice_from_raw_parts(self.base.add(index * Self::EACH), Self::EACH).as_ref()
        }
    }
}

impl<T: Plain> Words<T> {
    /// Writes `item` into the slot at `position`.
    #[inline]
    #[track_caller]
    pub(crate) fn store(&self, position: u64, item: &T) {
        let (whole, rest) = item.as_bytes().split_at(Self::WHOLE);
        let mut last = [0; BYTES];
        last[..rest.len()].copy_from_slice(rest);
        for (word, bytes) in
            self.slot(position).iter().zip(whole.chunks_exact(BYTES).chain([&last[..]]))
        {
            word.writer.with_mut(|_| ());
            // Relaxed: what it must come after and before is up to the algorithm.
            let bytes = bytes.try_into().expect("they are a word's");
            word.value.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Reads what is in the slot at `position`.
    #[inline]
    #[track_caller]
    pub(crate) fn load(&self, position: u64) -> T {
        let mut item = T::new_zeroed();
        let (whole, rest) = item.as_mut_bytes().split_at_mut(Self::WHOLE);
        let mut last = [0; BYTES];
        for (word, bytes) in
            self.slot(position).iter().zip(whole.chunks_exact_mut(BYTES).chain([&mut last[..]]))
        {
            // Relaxed: as in `store`.
            bytes.copy_from_slice(&word.value.load(Ordering::Relaxed).to_ne_bytes());
        }
        rest.copy_from_slice(&last[..rest.len()]);
        item
    }
}

impl<T> Slots for Words<T> {
    const SLOT: Layout = match Layout::array::<Word>(Self::EACH) {
        Ok(layout) => layout,
        Err(_) => panic!("an item is as large as all memory"),
    };
    type Shape = usize;

    fn slots(len: usize) -> Result<Layout, LayoutError> {
        array(Self::SLOT, len)
    }

    unsafe fn init(_: NonNull<u8>, slots: NonNull<u8>, len: usize) -> Self {
        let base = slots.cast::<Word>();
        for word in 0..len * Self::EACH {
            let empty = Word { value: AtomicU64::new(0), writer: UnsafeCell::new(()) };
            // SAFETY: by the caller's word there is room for all slots.
            unsafe { base.add(word).write(empty) };
        }
        Self { base, mask: len - 1, items: PhantomData }
    }

    unsafe fn finish(&self) {
        for word in 0..(self.mask + 1) * Self::EACH {
            // SAFETY: each was written by `init`, and is not used any more.
            unsafe {
                self.base.add(word).as_ref().writer.with_mut(|_| ());
                self.base.add(word).drop_in_place();
            }
        }
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
            assert_eq!(words.load(position), *item);
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
    }
}
