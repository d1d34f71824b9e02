//! Items.

use std::num::NonZeroU64;

/// A number in a slot.
pub(crate) trait Item: Copy + Send + 'static {
    /// The item for number `n`.
    fn of(n: u64) -> Self;
    /// The number that the item was made from.
    fn number(self) -> u64;
}

impl Item for u64 {
    fn of(n: u64) -> Self {
        n
    }

    fn number(self) -> u64 {
        self
    }
}

impl Item for NonZeroU64 {
    fn of(n: u64) -> Self {
        Self::MIN.saturating_add(n)
    }

    fn number(self) -> u64 {
        self.get() - 1
    }
}
