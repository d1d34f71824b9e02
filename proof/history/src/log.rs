//! A thread's notes of its operations: one word each, and the stamps between them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// An item's identity: the thread that pushed it, and its number among the thread's pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    /// The thread that pushes it.
    pub producer: usize,
    /// Number of pushes by this thread before.
    pub sequence: u64,
}

impl Value {
    const SEQUENCE_BITS: u32 = 45;

    /// The value as a number, in a queue and in a log.
    pub fn number(self) -> u64 {
        (self.producer as u64) << Self::SEQUENCE_BITS | self.sequence
    }

    /// The value of `number`, if the number is a value's.
    pub fn of(number: u64) -> Self {
        let sequence = number & ((1 << Self::SEQUENCE_BITS) - 1);
        Self { producer: (number >> Self::SEQUENCE_BITS) as usize, sequence }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.producer, self.sequence)
    }
}

/// One word of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The time, in nanoseconds.
    Stamp(u64),
    /// So many pushes, whose values are the next of this thread.
    Pushes(u64),
    /// A pop that returned the value with this number.
    Pop(u64),
    /// A pop that found the queue empty.
    Empty,
    /// A push that found the queue full.
    Full,
    /// From here on all earlier pushes are visible.
    Flush,
    /// A pop that has not returned.
    PopPending,
    /// A pop that returned the number of items that its consumer has missed.
    Missed(u64),
}

impl Word {
    const PAYLOAD_BITS: u32 = 61;
    const PAYLOAD: u64 = (1 << Self::PAYLOAD_BITS) - 1;

    fn pack(self) -> u64 {
        let (kind, payload) = match self {
            Self::Stamp(time) => (0, time),
            Self::Pushes(n) => (1, n),
            // A number that no thread can have pushed stays such a number when it is cut to the
            // width of a word.
            Self::Pop(number) => (2, number.min(Self::PAYLOAD)),
            Self::Empty => (3, 0),
            Self::Full => (4, 0),
            Self::Flush => (5, 0),
            Self::PopPending => (6, 0),
            Self::Missed(n) => (7, n),
        };
        kind << Self::PAYLOAD_BITS | payload
    }

    fn unpack(word: u64) -> Self {
        let payload = word & Self::PAYLOAD;
        match word >> Self::PAYLOAD_BITS {
            0 => Self::Stamp(payload),
            1 => Self::Pushes(payload),
            2 => Self::Pop(payload),
            3 => Self::Empty,
            4 => Self::Full,
            5 => Self::Flush,
            6 => Self::PopPending,
            _ => Self::Missed(payload),
        }
    }
}

/// The interval of an operation: from a time before its call to a time after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The operation was not called before this time.
    pub invoked: u64,
    /// The operation did not run after this time. [`PENDING`](Self::PENDING) if it has not
    /// returned.
    pub answered: u64,
}

impl Span {
    /// The answer of an operation that has not returned.
    pub const PENDING: u64 = u64::MAX;

    /// The interval of an operation that was never called.
    pub const NEVER: Self = Self::at(Self::PENDING);

    /// An operation that happened at this instant.
    pub const fn at(time: u64) -> Self {
        Self { invoked: time, answered: time }
    }
}

/// The operations of one thread in their order, with stamps between them.
///
/// The interval of an operation is from the last stamp before it to the first one after it. So
/// back-to-back operations share a stamp, and several operations between two stamps share an
/// interval; their order is that of the log. Operations after the last stamp are pending.
///
/// All memory is allocated at the start, and only the thread that writes the log accesses it.
pub struct Log {
    // Atomic, because a compiler never moves a store to an atomic across a fence, even if it knows
    // that no other thread sees the store.
    words: Box<[AtomicU64]>,
    len: usize,
}

impl Log {
    /// An empty log with room for `words` words: an operation and a stamp take one word each.
    pub fn with_room(words: usize) -> Self {
        Self { words: (0..words).map(|_| AtomicU64::new(0)).collect(), len: 0 }
    }

    /// Words that still fit.
    pub fn room(&self) -> usize {
        self.words.len() - self.len
    }

    /// Notes the time.
    #[inline]
    pub fn stamp(&mut self, time: u64) {
        self.append(Word::Stamp(time));
    }

    /// Notes `n` pushes.
    #[inline]
    pub fn pushes(&mut self, n: u64) {
        match self.last() {
            Some(Word::Pushes(before)) => self.replace(Word::Pushes(before + n)),
            _ => self.append(Word::Pushes(n)),
        }
    }

    /// Notes a pop that returned the value with this [number](Value::number).
    #[inline]
    pub fn pop(&mut self, number: u64) {
        self.append(Word::Pop(number));
    }

    /// Notes a pop that said that this consumer has missed `n` items.
    #[inline]
    pub fn missed(&mut self, n: u64) {
        self.append(Word::Missed(n));
    }

    /// Notes a pop that found the queue empty.
    #[inline]
    pub fn empty(&mut self) {
        self.append_once(Word::Empty);
    }

    /// Notes a push that found the queue full.
    #[inline]
    pub fn full(&mut self) {
        self.append_once(Word::Full);
    }

    /// Notes that all earlier pushes are visible.
    #[inline]
    pub fn flush(&mut self) {
        self.append_once(Word::Flush);
    }

    /// Notes a pop that has not returned, as the last thing.
    pub fn pop_pending(&mut self) {
        self.append(Word::PopPending);
    }

    #[inline]
    fn append(&mut self, word: Word) {
        self.words[self.len].store(word.pack(), Ordering::Relaxed);
        self.len += 1;
    }

    /// Notes an answer, unless it repeats the last one between the same two stamps.
    #[inline]
    fn append_once(&mut self, word: Word) {
        if self.last() != Some(word) {
            self.append(word);
        }
    }

    fn replace(&mut self, word: Word) {
        self.words[self.len - 1].store(word.pack(), Ordering::Relaxed);
    }

    /// The last word.
    pub(super) fn last(&self) -> Option<Word> {
        let last = self.len.checked_sub(1)?;
        Some(Word::unpack(self.words[last].load(Ordering::Relaxed)))
    }

    /// The operations in their order, each with its interval.
    pub(super) fn operations(&self) -> impl Iterator<Item = (Span, Word)> {
        let mut invoked = 0;
        self.words[..self.len].split_inclusive(is_stamp).flat_map(move |group| {
            let end = group.last().map(unpack);
            let answered = match end {
                Some(Word::Stamp(time)) => time,
                _ => Span::PENDING,
            };
            let span = Span { invoked, answered };
            invoked = answered;
            group
                .iter()
                .map(unpack)
                .filter(|word| !matches!(word, Word::Stamp(_)))
                .map(move |word| (span, word))
        })
    }
}

fn unpack(word: &AtomicU64) -> Word {
    Word::unpack(word.load(Ordering::Relaxed))
}

fn is_stamp(word: &AtomicU64) -> bool {
    matches!(unpack(word), Word::Stamp(_))
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words[..self.len].iter().map(unpack)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let words = [
            Word::Stamp(12),
            Word::Pushes(3),
            Word::Pop(Value { producer: 7, sequence: 9 }.number()),
            Word::Empty,
            Word::Full,
            Word::Flush,
            Word::PopPending,
            Word::Missed(5),
        ];
        for word in words {
            assert_eq!(Word::unpack(word.pack()), word);
        }
        assert_eq!(Word::unpack(Word::Pop(u64::MAX).pack()), Word::Pop(Word::PAYLOAD));
    }

    #[test]
    fn operations_between_two_stamps_share_them() {
        let mut log = Log::with_room(10);
        for time in [1, 5, 6] {
            log.stamp(time);
            log.pushes(1);
            log.pushes(1);
        }
        let spans: Vec<_> = log.operations().collect();
        let span = |invoked, answered| (Span { invoked, answered }, Word::Pushes(2));
        assert_eq!(spans, [span(1, 5), span(5, 6), span(6, Span::PENDING)]);
    }
}
