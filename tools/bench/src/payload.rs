//! The items: a number in the slot, a number in a box, or a pointer to a buffer (paper 1 §5.1).

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corelane::slot::Token;
use vswitch_core::Frame;

/// An item that carries a number.
pub(crate) trait Payload: Copy + Send + Sync + 'static {
    /// The buffers for the items of a queue with this capacity.
    fn pool(_capacity: usize) -> Pool {
        NO_POOL
    }

    /// The item with this number. Its buffer, if any, is in `pool`.
    fn make(pool: Pool, number: u64) -> Self;

    /// The item's number, possibly only the low half.
    ///
    /// # Safety
    ///
    /// The item was made and is not yet freed.
    unsafe fn read(self) -> u64;

    /// Whether `value`, which [`read`](Self::read) has returned, is the value of item `number`.
    #[inline(always)]
    fn is(value: u64, number: u64) -> bool {
        value == number
    }

    /// Frees the memory that [`make`](Self::make) has allocated.
    ///
    /// # Safety
    ///
    /// The item was made. Neither it nor a copy of it is used any more.
    #[inline(always)]
    unsafe fn free(self) {}

    /// Reads the item's number and frees the item.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free).
    #[inline(always)]
    unsafe fn take(self) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            let number = self.read();
            self.free();
            number
        }
    }

    /// An initial value for buffers of items; it is never read.
    fn blank(pool: Pool) -> Self {
        Self::make(pool, 0)
    }

    /// Writes `bytes` of contents, if this payload has contents.
    #[inline(always)]
    fn fill(self, _bytes: u32) {}

    /// Reads `bytes` of contents, if this payload has contents.
    #[inline(always)]
    fn sum(self, _bytes: u32) -> u64 {
        0
    }
}

impl Payload for u64 {
    #[inline(always)]
    fn make(_: Pool, number: u64) -> Self {
        number
    }

    #[inline(always)]
    unsafe fn read(self) -> u64 {
        self
    }
}

impl Payload for NonZeroU64 {
    #[inline(always)]
    fn make(_: Pool, number: u64) -> Self {
        Self::MIN.saturating_add(number)
    }

    #[inline(always)]
    unsafe fn read(self) -> u64 {
        self.get() - 1
    }
}

/// A number in a heap buffer of its own, which the producer allocates and the consumer frees.
///
/// Like a box, but it can be copied, as all items here, so that batches work in the same way for
/// all queues.
#[derive(Clone, Copy)]
pub(crate) struct Parcel(NonNull<u64>);

// SAFETY: the thread that has the parcel owns the number, as with a box.
unsafe impl Send for Parcel {}
// SAFETY: a shared parcel can only be copied.
unsafe impl Sync for Parcel {}

// SAFETY: the pointer is not null and comes back unchanged.
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

impl Parcel {
    /// An initial value for buffers; it is never used.
    pub(crate) fn dangling() -> Self {
        Self(NonNull::dangling())
    }

    /// Any box in place of one of a number.
    pub(crate) fn of_box<T>(item: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(item)).cast())
    }

    /// The box.
    ///
    /// # Safety
    ///
    /// The parcel was made by [`of_box`](Self::of_box) of a `Box<T>`, and no copy of it is converted
    /// back.
    pub(crate) unsafe fn into_box<T>(self) -> Box<T> {
        // SAFETY: the caller's contract.
        unsafe { Box::from_raw(self.0.cast().as_ptr()) }
    }

    /// A number in place of a pointer. It is not 0.
    pub(crate) fn of_number(number: u64) -> Self {
        let address = NonZeroUsize::new(number as usize).expect("numbers begin at 1");
        Self(NonNull::without_provenance(address))
    }

    /// The number, if it was made of one.
    pub(crate) fn number(self) -> u64 {
        self.0.addr().get() as u64
    }

    /// A packet in place of a number.
    pub(crate) fn of_frame(frame: Frame) -> Self {
        Self(frame.into_raw().cast())
    }

    /// The packet.
    ///
    /// # Safety
    ///
    /// It was made by [`of_frame`](Self::of_frame), and no copy of it is converted back.
    pub(crate) unsafe fn into_frame(self) -> Frame {
        // SAFETY: the caller's contract.
        unsafe { Frame::from_raw(self.0.cast()) }
    }
}

impl Payload for Parcel {
    #[inline(always)]
    fn make(_: Pool, number: u64) -> Self {
        Self(NonNull::from(Box::leak(Box::new(number))))
    }

    #[inline(always)]
    unsafe fn read(self) -> u64 {
        // SAFETY: by the caller's contract the box exists.
        unsafe { *self.0.as_ptr() }
    }

    #[inline(always)]
    unsafe fn free(self) {
        // SAFETY: the pointer came from a box, and by the caller's contract is converted back into
        // a box once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }

    fn blank(_: Pool) -> Self {
        Self(NonNull::dangling())
    }
}

/// One buffer of the pool: a page, so that the prefetcher, which stops at page boundaries, can't
/// guess the next buffer.
#[repr(C, align(4096))]
pub(crate) struct Buffer {
    number: AtomicU32,
    contents: [AtomicU64; 511],
}

/// A pointer to a buffer.
pub(crate) type Indirect = &'static Buffer;

/// The buffers, used cyclically. There are twice as many as slots, so that the producer never
/// writes into a buffer that the consumer still reads.
pub(crate) type Pool = &'static [Buffer];

/// For items that don't point to buffers.
pub(crate) const NO_POOL: Pool = &[];

impl Buffer {
    fn words(&self, bytes: u32) -> &[AtomicU64] {
        let words = (bytes as usize).div_ceil(8).min(self.contents.len());
        &self.contents[..words]
    }
}

// The queue orders these accesses. They are relaxed atomics, so that a broken queue is reported as
// wrong and is not undefined behaviour.
impl Payload for Indirect {
    /// The pool of this process for this capacity. It is kept, because mapping 32 MiB for every
    /// cell would cause page faults in the measurement.
    fn pool(capacity: usize) -> Pool {
        static POOLS: Mutex<BTreeMap<usize, Pool>> = Mutex::new(BTreeMap::new());
        let wanted = 4 * capacity.next_power_of_two();
        let buffer =
            |_| Buffer { number: AtomicU32::new(0), contents: [const { AtomicU64::new(0) }; 511] };
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        pools.entry(wanted).or_insert_with(|| Vec::leak((0..wanted).map(buffer).collect()))
    }

    #[inline(always)]
    fn make(pool: Pool, number: u64) -> Self {
        let buffer = &pool[number as usize & (pool.len() - 1)];
        buffer.number.store(number as u32, Ordering::Relaxed);
        buffer
    }

    #[inline(always)]
    unsafe fn read(self) -> u64 {
        u64::from(self.number.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn is(value: u64, number: u64) -> bool {
        value as u32 == number as u32
    }

    fn blank(pool: Pool) -> Self {
        &pool[0]
    }

    fn fill(self, bytes: u32) {
        for word in self.words(bytes) {
            word.store(u64::from(bytes), Ordering::Relaxed);
        }
    }

    fn sum(self, bytes: u32) -> u64 {
        self.words(bytes).iter().fold(0, |sum, w| sum.wrapping_add(w.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<P: Payload>() {
        let pool = P::pool(16);
        for number in [0, 1, 31, 32, 1000, 63 << 56 | 1 << 40] {
            let item = P::make(pool, number);
            // SAFETY: the item was made, and is freed once.
            unsafe {
                assert!(P::is(item.read(), number));
                assert!(!P::is(item.take(), number + 1));
            }
        }
    }

    #[test]
    fn items_keep_their_number() {
        check::<u64>();
        check::<NonZeroU64>();
        check::<Parcel>();
        check::<Indirect>();
    }

    #[test]
    fn a_buffer_is_a_page_and_longer_contents_are_cut() {
        assert_eq!(size_of::<Buffer>(), 4096);
        let item = Indirect::make(Indirect::pool(16), 7);
        item.fill(9000);
        assert_eq!(item.sum(16), 18_000);
    }
}
