//! Random numbers that need not be good: xorshift.

/// A generator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator whose numbers differ from those of other seeds.
    pub(crate) const fn new(seed: u64) -> Self {
        // Any number but 0.
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `end`, which is less than 2^32.
    #[inline]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * end as u64) >> 32) as usize
    }
}
