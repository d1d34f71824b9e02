//! The source of random choices.

/// Random numbers that depend on a seed only: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The numbers that belong to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// A number below `limit`: one of 2³² that are evenly spread.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.any()) * u128::from(limit)) >> 32) as u64
    }
}
