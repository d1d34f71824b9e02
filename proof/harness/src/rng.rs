//! Random numbers that are the same in every run.

/// A generator after Marsaglia (xorshift64).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize) % limit
    }
}
