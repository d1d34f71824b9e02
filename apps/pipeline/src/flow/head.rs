//! The beginning of a stream of bytes, put together from pieces in any order.

use std::ops::Range;

/// Bytes that are kept at most: the largest record of TLS, and a bit more.
pub(crate) const LONGEST: usize = (16 << 10) + 256;
/// Runs of bytes with holes between them, at most.
const MOST_RUNS: usize = 32;

/// The first bytes of a stream. Where pieces overlap, the bytes that came first stay.
#[derive(Debug, Default)]
pub(crate) struct Head {
    bytes: Vec<u8>,
    /// Runs of bytes that are here, in order, without an empty one.
    runs: Vec<Range<usize>>,
}

impl Head {
    /// Adds a piece that begins `offset` bytes behind the begin of the stream. What is beyond the
    /// longest head, or would make too many holes, is left out.
    pub(crate) fn insert(&mut self, offset: usize, piece: &[u8]) {
        let end = offset.saturating_add(piece.len()).min(LONGEST);
        if offset >= end || (self.runs.len() >= MOST_RUNS && !self.touches(offset, end)) {
            return;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let mut at = offset;
        for run in self.runs.iter().chain([&(end..end)]).filter(|run| run.end > offset) {
            let hole = at..run.start.clamp(at, end);
            self.bytes[hole.clone()]
                .copy_from_slice(&piece[hole.start - offset..hole.end - offset]);
            at = run.end.clamp(at, end);
        }
        self.note(offset..end);
    }

    fn touches(&self, offset: usize, end: usize) -> bool {
        self.runs.iter().any(|run| run.start <= end && offset <= run.end)
    }

    /// Joins `new` with the runs that it touches.
    fn note(&mut self, mut new: Range<usize>) {
        self.runs.retain(|run| {
            let is_apart = run.end < new.start || new.end < run.start;
            if !is_apart {
                new = run.start.min(new.start)..run.end.max(new.end);
            }
            is_apart
        });
        let at = self.runs.partition_point(|run| run.start < new.start);
        self.runs.insert(at, new);
    }

    /// Moves what is here `by` bytes further from the begin: the stream began earlier than it
    /// seemed.
    pub(crate) fn shift(&mut self, by: usize) {
        let runs = std::mem::take(&mut self.runs);
        let bytes = std::mem::take(&mut self.bytes);
        runs.into_iter().for_each(|run| self.insert(run.start + by, &bytes[run]));
    }

    /// The bytes from the begin of the stream up to the first hole.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.runs.first() {
            Some(run) if run.start == 0 => &self.bytes[..run.end],
            _ => &[],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether no further byte would be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes().len() == LONGEST
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.runs.capacity() * size_of::<Range<usize>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_bytes_stay_and_holes_wait() {
        let mut head = Head::default();
        head.insert(4, b"efg");
        assert_eq!(head.bytes(), b"");
        head.insert(2, b"CDEF");
        head.insert(0, b"ab");
        assert_eq!(head.bytes(), b"abCDefg");
        head.shift(1);
        assert_eq!(head.bytes(), b"");
        head.insert(0, b"_????");
        assert_eq!(head.bytes(), b"_abCDefg");
    }

    #[test]
    fn it_has_bounds() {
        let mut head = Head::default();
        head.insert(LONGEST - 1, b"ab");
        head.insert(LONGEST, b"c");
        head.insert(usize::MAX, b"c");
        (0..1000).for_each(|n| head.insert(2 * n + 2, b"x"));
        assert!(head.runs.len() <= MOST_RUNS && head.bytes.len() == LONGEST);
        head.insert(0, &[7; LONGEST]);
        assert!(head.is_full());
    }

    proptest! {
        /// As bytes that are written one by one where none is yet.
        #[test]
        fn it_is_what_single_bytes_would_make(pieces in vec((0..200_usize, vec(any::<u8>(), 0..60)), 0..20)) {
            let (mut head, mut simple) = (Head::default(), [None; 300]);
            for (offset, piece) in &pieces {
                head.insert(*offset, piece);
                for (place, byte) in simple[*offset..].iter_mut().zip(piece) {
                    place.get_or_insert(*byte);
                }
            }
            let expected: Vec<u8> = simple.iter().map_while(|byte| *byte).collect();
            prop_assert_eq!(head.bytes(), expected);
        }
    }
}
