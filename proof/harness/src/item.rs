//! Items that say which number they were made from.

use std::num::NonZeroU64;

/// An item that says which number it was made from.
pub trait Item: Send + 'static {
    /// The item for number `n`.
    fn of(n: u64) -> Self;
    /// Whether this is the item for number `n`, as far as the type can tell.
    fn is(&self, n: u64) -> bool;
}

impl Item for u64 {
    fn of(n: u64) -> Self {
        n
    }

    fn is(&self, n: u64) -> bool {
        *self == n
    }
}

impl Item for NonZeroU64 {
    fn of(n: u64) -> Self {
        Self::MIN.saturating_add(n)
    }

    fn is(&self, n: u64) -> bool {
        *self == Self::of(n)
    }
}
