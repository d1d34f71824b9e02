//! What each side does per item besides the queue: emulated load, as in paper 000 §5.1.

use std::hint::black_box;

use crate::clock::Clock;

/// Per-item work of one side.
///
/// Both calls pass a value through. Were the load independent of the item, the processor would
/// run it while it waits for the item's cache line, and the miss would cost nothing.
pub(crate) trait Work: Copy {
    /// The producer's work, done before `value` is known.
    fn produce(&mut self, value: u64) -> u64;
    /// The consumer's work, begun when `value` has arrived.
    fn consume(&mut self, value: u64);
}

/// No load: the queue alone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Free {
    sum: u64,
}

impl Work for Free {
    #[inline(always)]
    fn produce(&mut self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn consume(&mut self, value: u64) {
        self.sum = black_box(self.sum.wrapping_add(value));
    }
}

/// Spins for a fixed time per item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    clock: Clock,
    ticks: u64,
    /// Grows while spinning; depends on every item before.
    trash: u64,
    /// Zero, which the compiler can't know: carries a dependency without changing a value.
    zero: u64,
}

impl Busy {
    /// Work of `ns` nanoseconds per item.
    pub(crate) fn new(ns: u64) -> Self {
        let clock = Clock::get();
        Self { clock, ticks: clock.ticks(ns), trash: 0, zero: black_box(0) }
    }

    #[inline(always)]
    fn spin(&mut self) {
        let end = self.clock.now() + self.ticks + (self.trash & self.zero);
        while self.clock.now() < end {
            self.trash = black_box(self.trash.wrapping_add(1));
        }
    }
}

impl Work for Busy {
    #[inline(always)]
    fn produce(&mut self, value: u64) -> u64 {
        self.spin();
        value + (self.trash & self.zero)
    }

    #[inline(always)]
    fn consume(&mut self, value: u64) {
        self.trash = black_box(self.trash.wrapping_add(value));
        self.spin();
    }
}
