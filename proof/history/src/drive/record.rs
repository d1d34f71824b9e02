//! Recording: what happens at the two ends of an interval.

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

/// A thread's log while it is written: it decides when to look at the clock.
///
/// # Why the intervals are never too narrow
///
/// A stamp ends the interval of what came before and begins that of what follows. Between the accesses
/// of an operation and the clock there is a sequentially consistent fence on either side:
///
/// - *Before the clock*: the operation's stores may still wait in a store buffer when it returns. The
///   fence lets nothing later be read until they are visible to all, and the clock, which itself begins
///   with a load that it waits for (on Linux), or is read behind a barrier (x86's `lfence; rdtsc`), is
///   later. So an operation that another thread may overlook has not ended.
/// - *After the clock*: a processor may begin later loads before a clock is read, even x86 around
///   `rdtsc`. The stamp is stored to the log first, which needs the clock's value, and the fence lets
///   no later load pass that store. So no operation reads memory before it has begun.
///
/// In C11's terms clocks do not exist. But if one stamp is smaller than another, the clock being one and
/// monotonic ([`Instant`] promises that), the fence before the first precedes the fence after the second
/// in the single order of all such fences. Then what was written before the first is not overlooked by
/// reads after the second (C11 §7.17.3, fences in S): an operation that ended is seen by one that begins.
///
/// The fences hide bugs: no store ever waits beyond a stamp. Hence a stamp can be left out. With a
/// *period* of k only every k-th operation is followed by one, and all between share one wide interval,
/// in which the queue runs at its own speed.
#[derive(Debug)]
pub struct Recorder {
    clock: Clock,
    log: Log,
    period: u32,
    unstamped: u32,
    /// Words that only what moved an item may use.
    reserved: usize,
}

impl Recorder {
    /// Most words that one operation needs: its own and two stamps.
    pub const WORDS: usize = 3;

    /// Begins a log with room for `moves` operations that move an item, and as many others; what is
    /// beyond stays unnoted. There is a stamp after every `period`-th operation.
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

    /// Begins a new interval after a pause, in which nothing was done.
    ///
    /// Without it the first operation after the pause would have an interval as wide as the pause.
    pub fn resume(&mut self) {
        // Two stamps in a row: the first ends what was before the pause.
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

    /// Ends an operation, or a batch, that is noted.
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

    /// Whether there is room for what moves nothing.
    fn has_spare(&self) -> bool {
        self.log.room() >= self.reserved + Self::WORDS
    }

    fn use_reserve(&mut self, moves: usize) {
        self.reserved = self.reserved.saturating_sub(Self::WORDS * moves).max(Self::WORDS);
    }
}
