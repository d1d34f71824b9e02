//! Recording: the two ends of an interval.

use std::sync::atomic::{Ordering, fence};
use std::time::Instant;

use crate::log::{Log, Word};

/// The clock that all threads of a history read.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// Writes a thread's log, and decides when to read the clock.
///
/// # Why the intervals are never too narrow
///
/// A stamp ends the interval of the operations before it and begins the interval of the operations
/// after it. Between the clock and the accesses of an operation there is a sequentially consistent
/// fence, on either side:
///
/// - *Before the clock*: the operation's stores may still wait in a store buffer when the operation
///   returns. The fence delays all later loads until these stores are visible to all threads.
///   Reading the clock starts with a load that it waits for (on Linux), or comes after a barrier
///   (x86's `lfence; rdtsc`), so it is later. So an operation whose stores another thread may not
///   see yet has not ended.
/// - *After the clock*: a processor may begin later loads before a clock is read, even x86 around
///   `rdtsc`. The stamp is stored to the log first, which needs the clock's value, and the fence
///   lets no later load pass this store. So no operation reads memory before it has begun.
///
/// C11 has no clocks. But all threads read the same monotonic clock ([`Instant`] promises that). So
/// if one stamp is smaller than another, the fence before the first stamp precedes the fence after
/// the second stamp in the single order of all such fences. Then loads after the second fence see
/// the stores before the first (C11 §7.17.3, fences in S): an operation that begins sees all
/// operations that have ended.
///
/// The fences hide bugs: no store ever waits beyond a stamp. Therefore stamps can be left out. With
/// a *period* of k there is a stamp only after every k-th operation. The operations between share
/// one wide interval, in which the queue runs at its own speed.
#[derive(Debug)]
pub struct Recorder {
    clock: Clock,
    log: Log,
    period: u32,
    unstamped: u32,
    /// Words that are reserved for operations that move an item.
    reserved: usize,
}

impl Recorder {
    /// Most words that one operation needs: its own word and two stamps.
    pub const WORDS: usize = 3;

    /// Begins a log with room for `moves` operations that move an item, and as many others.
    /// Operations beyond that are not noted. There is a stamp after every `period`-th operation.
    pub fn new(clock: Clock, moves: usize, period: u32) -> Self {
        let log = Log::with_room(Self::WORDS * (2 * moves + 64));
        let reserved = Self::WORDS * (moves + 1);
        let mut recorder = Self { clock, log, period, unstamped: 0, reserved };
        recorder.stamp();
        recorder
    }

    /// Reads the clock.
    #[inline]
    pub fn stamp(&mut self) {
        fence(Ordering::SeqCst);
        let now = self.clock.now();
        self.log.stamp(now);
        fence(Ordering::SeqCst);
        self.unstamped = 0;
    }

    /// Begins a new interval after a pause without operations.
    ///
    /// Otherwise the first operation after the pause would have an interval as wide as the pause.
    pub fn resume(&mut self) {
        // Two stamps in a row: the first ends the interval before the pause.
        if self.has_spare() {
            self.stamp();
        }
    }

    /// Whether `n` more operations fit into the log.
    #[inline]
    pub fn has_room(&self, n: usize) -> bool {
        self.log.room() >= Self::WORDS * (n + 1)
    }

    /// Notes that `n` items were pushed.
    #[inline]
    pub fn pushed(&mut self, n: usize) {
        if n > 0 {
            self.log.pushes(n as u64);
            self.use_reserve(n);
        }
    }

    /// Notes that the item with this number was popped.
    #[inline]
    pub fn popped(&mut self, number: u64) {
        self.log.pop(number);
        self.use_reserve(1);
    }

    /// Notes an answer that this consumer has missed `n` items.
    #[inline]
    pub fn missed(&mut self, n: u64) {
        self.log.missed(n);
        // As a pop of the first of them.
        self.use_reserve(1);
    }

    /// Notes an answer that the queue is empty.
    #[inline]
    pub fn empty(&mut self) {
        if self.has_spare() {
            self.log.empty();
        }
    }

    /// Notes an answer that the queue is full.
    #[inline]
    pub fn full(&mut self) {
        if self.has_spare() {
            self.log.full();
        }
    }

    /// Notes that all pushed items are visible.
    #[inline]
    pub fn flushed(&mut self) {
        if self.has_spare() {
            self.log.flush();
        }
    }

    /// Called after an operation, or a batch, that was noted.
    #[inline]
    pub fn done(&mut self) {
        self.unstamped += 1;
        let stamped = matches!(self.log.last(), Some(Word::Stamp(_)));
        if self.unstamped >= self.period && !stamped {
            self.stamp();
        }
    }

    /// Ends the last interval.
    pub fn finish(mut self) -> Log {
        self.stamp();
        self.log
    }

    /// Whether there is room for an operation that moves no item.
    fn has_spare(&self) -> bool {
        self.log.room() >= self.reserved + Self::WORDS
    }

    fn use_reserve(&mut self, moves: usize) {
        self.reserved = self.reserved.saturating_sub(Self::WORDS * moves).max(Self::WORDS);
    }
}
