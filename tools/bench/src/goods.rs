//! What travels: a number that says whose it is, in a word or in a box.

use std::num::NonZeroU64;
use std::ptr::NonNull;

use corelane::slot::Token;

/// Bits of an item's number below its producer.
const COUNT_BITS: u32 = 56;

/// The number of a producer's item. Its `count` grows from item to item, and is not 0.
#[inline(always)]
pub(crate) fn number(producer: u8, count: u64) -> u64 {
    (u64::from(producer) << COUNT_BITS) | count
}

#[inline(always)]
pub(crate) fn split(number: u64) -> (u8, u64) {
    ((number >> COUNT_BITS) as u8, number & ((1 << COUNT_BITS) - 1))
}

/// An item that carries a number.
pub(crate) trait Goods: Copy + Send + Sync + 'static {
    fn pack(number: u64) -> Self;

    /// Its number. Frees what [`pack`](Self::pack) allocated.
    ///
    /// # Safety
    ///
    /// Each packed item is unpacked once.
    unsafe fn unpack(self) -> u64;

    /// An item of its own with the same number, as a copy is unless it has a box.
    ///
    /// # Safety
    ///
    /// The item is packed and not yet unpacked.
    #[inline(always)]
    unsafe fn duplicate(self) -> Self {
        self
    }

    /// Something to fill a buffer of items with before any has arrived; not to be unpacked.
    fn blank() -> Self;
}

impl Goods for u64 {
    #[inline(always)]
    fn pack(number: u64) -> Self {
        number
    }

    #[inline(always)]
    unsafe fn unpack(self) -> u64 {
        self
    }

    fn blank() -> Self {
        0
    }
}

impl Goods for NonZeroU64 {
    #[inline(always)]
    fn pack(number: u64) -> Self {
        Self::MIN.saturating_add(number)
    }

    #[inline(always)]
    unsafe fn unpack(self) -> u64 {
        self.get() - 1
    }

    fn blank() -> Self {
        Self::MIN
    }
}

/// A number in a heap buffer of its own, which the producer allocates and the consumer frees.
///
/// A box in all but name: it can be copied, as all items here can, so that batches work alike for all queues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parcel(NonNull<u64>);

// SAFETY: who has the parcel owns the number, as with a box.
unsafe impl Send for Parcel {}
// SAFETY: nothing can be done through a shared parcel but copy it.
unsafe impl Sync for Parcel {}

// SAFETY: the pointer is not null and comes back as it was.
unsafe impl Token for Parcel {
    #[inline]
    fn into_word(self) -> NonNull<()> {
        self.0.cast()
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.cast())
    }
}

impl Goods for Parcel {
    #[inline(always)]
    fn pack(number: u64) -> Self {
        Self(NonNull::from(Box::leak(Box::new(number))))
    }

    #[inline(always)]
    unsafe fn unpack(self) -> u64 {
        // SAFETY: the pointer came from a box, and by the caller's word goes back into one once.
        *unsafe { Box::from_raw(self.0.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn duplicate(self) -> Self {
        // SAFETY: the caller's word: the box is there.
        Self::pack(unsafe { *self.0.as_ptr() })
    }

    fn blank() -> Self {
        Self(NonNull::dangling())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_producer_and_count() {
        for (producer, count) in [(0, 1), (63, 1), (7, (1 << COUNT_BITS) - 1)] {
            assert_eq!(split(number(producer, count)), (producer, count));
        }
    }

    fn check<G: Goods>() {
        for n in [number(0, 1), number(63, 1 << 40)] {
            let item = G::pack(n);
            // SAFETY: while it is packed; each once.
            unsafe {
                let copy = item.duplicate();
                assert_eq!((item.unpack(), copy.unpack()), (n, n));
            }
        }
    }

    #[test]
    fn goods_keep_their_number() {
        check::<u64>();
        check::<NonZeroU64>();
        check::<Parcel>();
    }
}
