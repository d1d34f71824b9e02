//! The header of a record: one word, which the producer stores to publish the record.

/// Bytes of a word.
pub(super) const WORD: usize = size_of::<u64>();

/// Words of a cache line.
pub(super) const LINE: usize = 64 / WORD;

/// Longest record in bytes: what a header can say.
pub(super) const LONGEST: usize = Head::SKIP as usize - 2;

/// From this number of words on, a record takes whole cache lines. If such a record begins at a
/// line, so does the next record.
const LARGE: usize = 64;

/// Words of a record of `len` bytes, with its header.
#[inline(always)]
pub(super) fn words(len: usize) -> usize {
    let words = len.div_ceil(WORD) + 1;
    if words < LARGE { words } else { words.div_ceil(LINE) * LINE }
}

/// The low 32 bits of the record's number, and a kind: 0 if there is no record yet,
/// [`SKIP`](Self::SKIP) if the record begins at the start of the ring, and otherwise the record's
/// length plus 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head(pub(super) u64);

impl Head {
    const SKIP: u32 = u32::MAX;

    #[inline(always)]
    fn new(number: u64, kind: u32) -> Self {
        Self(number << 32 | u64::from(kind))
    }

    /// No record yet.
    #[inline(always)]
    pub(super) fn empty(number: u64) -> Self {
        Self::new(number, 0)
    }

    /// The record begins at the start of the ring.
    #[inline(always)]
    pub(super) fn skip(number: u64) -> Self {
        Self::new(number, Self::SKIP)
    }

    /// A record of `len` bytes, at most [`LONGEST`].
    #[inline(always)]
    pub(super) fn record(number: u64, len: usize) -> Self {
        debug_assert!(len <= LONGEST);
        Self::new(number, len as u32 + 1)
    }

    #[inline(always)]
    fn kind(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(super) fn is_record(self) -> bool {
        self.kind() != 0 && self.kind() != Self::SKIP
    }

    /// Whether record `number` begins at the start of the ring.
    #[inline(always)]
    pub(super) fn is_skip(self, number: u64) -> bool {
        self == Self::skip(number)
    }

    /// The length of record `number`, if it is there.
    #[inline(always)]
    pub(super) fn len(self, number: u64) -> Option<usize> {
        let is_there = self.is_record() && self.0 >> 32 == number & u64::from(u32::MAX);
        is_there.then(|| self.kind() as usize - 1)
    }

    /// The whole number of its record, which is `near`, or one less or more. `None` if it is
    /// another number.
    pub(super) fn number(self, near: u64) -> Option<u64> {
        [near.wrapping_sub(1), near, near.wrapping_add(1)]
            .into_iter()
            .find(|number| number & u64::from(u32::MAX) == self.0 >> 32)
    }
}
