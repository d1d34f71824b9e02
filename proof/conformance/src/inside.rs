//! The items that must be in a queue, of which a pop takes one of the oldest.

use std::collections::VecDeque;

use crate::Item;

/// An item in a queue.
#[derive(Debug)]
struct Held {
    number: u64,
    /// How many younger items have been popped.
    passed: usize,
}

/// The numbers of the items in a k-FIFO queue that one thread uses.
#[derive(Debug)]
pub(crate) struct Inside {
    k: usize,
    /// The oldest item is the first.
    items: VecDeque<Held>,
}

impl Inside {
    /// No items, in a queue with this [`relaxation`](corelane::Consumer::relaxation).
    pub(crate) fn new(k: usize) -> Self {
        assert!(k > 0, "a pop takes one of no items");
        Self { k, items: VecDeque::new() }
    }

    /// Notes that an item with this number was pushed.
    pub(crate) fn push(&mut self, number: u64) {
        self.items.push_back(Held { number, passed: 0 });
    }

    /// Checks that a popped item is one of the k oldest, and that no item is passed over k times.
    ///
    /// Items of some types look like others. Then the popped item is taken for the oldest that it
    /// may be.
    pub(crate) fn pop<T: Item>(&mut self, item: &T) {
        let place = self.items.iter().position(|held| item.is(held.number));
        let place = place.expect("popped, but not inside: made up, or popped before");
        let (k, number) = (self.k, self.items[place].number);
        assert!(place < k, "item {number} has a rank error of {place} in a {k}-FIFO queue");
        self.items.iter_mut().take(place).for_each(|older| older.passed += 1);
        // No item was passed over more often than an older one.
        let Held { number, passed } = self.items[0];
        assert!(place == 0 || passed < k, "item {number} has a delay of {k} in a {k}-FIFO queue");
        self.items.remove(place);
    }
}
