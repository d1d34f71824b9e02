//! Numbers of 128 bits, which loom doesn't have: a number of 64 bits stands for each value of a
//! variable.

use std::cell::RefCell;

use super::{AtomicU64, Ordering};

/// A number of 128 bits.
#[derive(Debug)]
pub struct AtomicU128 {
    /// The place of its value among `values`.
    value: AtomicU64,
    /// All values that it has had, or was to have. Not modelled: only their order counts.
    values: RefCell<Vec<u128>>,
}

// SAFETY: all threads of a model are coroutines of one thread, and the cell is not in use when
// another coroutine goes on.
unsafe impl Sync for AtomicU128 {}

impl AtomicU128 {
    /// An atomic that holds `value`.
    #[track_caller]
    pub fn new(value: u128) -> Self {
        Self { value: AtomicU64::new(0), values: RefCell::new(vec![value]) }
    }

    /// The number that stands for `value`.
    fn place(&self, value: u128) -> u64 {
        let mut values = self.values.borrow_mut();
        let place = values.iter().position(|other| *other == value).unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        });
        place as u64
    }

    fn value(&self, place: u64) -> u128 {
        self.values.borrow()[place as usize]
    }

    /// Reads one of the values that the memory model allows here.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> u128 {
        self.value(self.value.load(order))
    }

    /// Writes `new` if the value is `current`; returns the old value.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: u128,
        new: u128,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u128, u128> {
        let (from, to) = (self.place(current), self.place(new));
        let exchanged = self.value.compare_exchange(from, to, success, failure);
        exchanged.map(|place| self.value(place)).map_err(|place| self.value(place))
    }
}

/// There is always such an exchange.
pub fn can_exchange_two_words() -> bool {
    true
}
