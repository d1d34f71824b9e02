//! What travels: a number in the slot, or a pointer to a buffer (paper 1 §5.1).

use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An item that carries its sequence number.
pub(crate) trait Payload: Copy + Send + Sync + 'static {
    /// The item number `sequence`. For buffers, of a queue of `capacity` items at most.
    type Source: Copy + Send + Sync;

    /// Where items of a queue for `capacity` items come from.
    fn source(capacity: usize) -> Self::Source;
    fn make(source: Self::Source, sequence: u64) -> Self;
    /// What the consumer reads: the sequence number, possibly only its low half.
    fn read(self) -> u64;
    /// Whether `value`, which [`read`](Self::read) gave, is that of item `sequence`.
    fn is(value: u64, sequence: u64) -> bool;
    /// Something to fill a buffer of items with before any has arrived.
    fn blank(source: Self::Source) -> Self {
        Self::make(source, 0)
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
    type Source = ();

    fn source(_capacity: usize) {}

    #[inline(always)]
    fn make((): (), sequence: u64) -> Self {
        sequence
    }

    #[inline(always)]
    fn read(self) -> u64 {
        self
    }

    #[inline(always)]
    fn is(value: u64, sequence: u64) -> bool {
        value == sequence
    }
}

impl Payload for NonZeroU64 {
    type Source = ();

    fn source(_capacity: usize) {}

    #[inline(always)]
    fn make((): (), sequence: u64) -> Self {
        Self::MIN.saturating_add(sequence)
    }

    #[inline(always)]
    fn read(self) -> u64 {
        self.get() - 1
    }

    #[inline(always)]
    fn is(value: u64, sequence: u64) -> bool {
        value == sequence
    }
}

/// One buffer of the pool: a page, so that the prefetcher, which stops at page boundaries, can't
/// guess the next.
#[derive(Debug)]
#[repr(C, align(4096))]
pub(crate) struct Buffer {
    sequence: AtomicU32,
    contents: [AtomicU64; 511],
}

/// A pointer to a buffer.
pub(crate) type Indirect = &'static Buffer;

/// The buffers, cyclic. There are twice as many as the queue has slots, so that the producer never
/// writes into one the consumer still reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    buffers: &'static [Buffer],
}

impl Pool {
    /// The pool of this process. A run has one capacity, so there is one pool, and it is kept:
    /// mapping 32 MiB anew for every cell would be measured as page faults.
    fn get(capacity: usize) -> Self {
        static BUFFERS: OnceLock<Vec<Buffer>> = OnceLock::new();
        let wanted = 2 * capacity.next_power_of_two();
        let buffers = BUFFERS.get_or_init(|| (0..wanted).map(|_| Buffer::new()).collect());
        assert!(buffers.len() >= wanted, "one capacity per run");
        Self { buffers }
    }
}

impl Buffer {
    fn new() -> Self {
        Self { sequence: AtomicU32::new(0), contents: [const { AtomicU64::new(0) }; 511] }
    }

    fn words(&self, bytes: u32) -> &[AtomicU64] {
        let words = (bytes as usize).div_ceil(8).min(self.contents.len());
        &self.contents[..words]
    }
}

// The queue orders these accesses. They are relaxed atomics so that a queue that doesn't is
// reported as wrong instead of being undefined.
impl Payload for Indirect {
    type Source = Pool;

    fn source(capacity: usize) -> Pool {
        Pool::get(capacity)
    }

    #[inline(always)]
    fn make(pool: Pool, sequence: u64) -> Self {
        let buffer = &pool.buffers[sequence as usize & (pool.buffers.len() - 1)];
        buffer.sequence.store(sequence as u32, Ordering::Relaxed);
        buffer
    }

    #[inline(always)]
    fn read(self) -> u64 {
        u64::from(self.sequence.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn is(value: u64, sequence: u64) -> bool {
        value as u32 == sequence as u32
    }

    fn blank(pool: Pool) -> Self {
        &pool.buffers[0]
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
        let source = P::source(16);
        for sequence in [0, 1, 31, 32, 1000] {
            let item = P::make(source, sequence);
            assert!(P::is(item.read(), sequence));
            assert!(!P::is(item.read(), sequence + 1));
        }
    }

    #[test]
    fn items_know_their_number() {
        check::<u64>();
        check::<NonZeroU64>();
        check::<Indirect>();
    }

    #[test]
    fn a_buffer_is_a_page() {
        assert_eq!(size_of::<Buffer>(), 4096);
    }

    #[test]
    fn contents_longer_than_a_buffer_are_cut() {
        let item = Indirect::make(Indirect::source(16), 7);
        item.fill(9000);
        assert_eq!(item.sum(16), 18_000);
    }
}
