//! Places in the ring, in words.

/// A place where a header is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Grows with each word, also with those that are skipped.
    pub(super) position: u64,
    /// The place in the ring: 0 in the first word.
    pub(super) index: usize,
}

impl Place {
    /// The start of a ring whose first position is `first`.
    pub(super) fn start(first: u64) -> Self {
        Self { position: first, index: 0 }
    }

    /// The place of a position, in a ring of `len` words.
    pub(super) fn of(position: u64, first: u64, len: usize) -> Self {
        Self { position, index: (position.wrapping_sub(first) % len as u64) as usize }
    }

    /// Words to the end of the ring.
    #[inline(always)]
    pub(super) fn left(self, len: usize) -> usize {
        len - self.index
    }

    /// The place behind `n` words, at most those to the end of the ring.
    #[inline(always)]
    pub(super) fn after(self, n: usize, len: usize) -> Self {
        let index = self.index + n;
        let position = self.position.wrapping_add(n as u64);
        Self { position, index: if index == len { 0 } else { index } }
    }

    /// The start of the next lap.
    pub(super) fn next_lap(self, len: usize) -> Self {
        self.after(self.left(len), len)
    }
}
