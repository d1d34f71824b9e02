//! A ring that overwrites, of which each consumer gets all items. Its producer is killed.

use std::cell::Cell;

use coherence::pause;
use corelane_sim::seq_ring::Heir;
use corelane_sim::{CapacityError, Config, Consumer};

use super::{Done, ITEMS};

type Item = [u64; 2];

fn item(number: u64) -> Item {
    [number, !number]
}

/// Both sides of a ring that keeps 2 to 16 items.
pub(super) fn sides(seed: u64) -> Result<(Heir<Item>, Heir<Item>), CapacityError> {
    Heir::both(Config::new(2 << (seed % 4)))
}

/// Pushes all items from the ring's position on. A thread that is dead goes no further.
pub(super) fn push(side: Heir<Item>, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let mut tx = side.producer();
    if done.is_dead.get() && !is_victim {
        done.check_position(tx.count(), 1);
    }
    while tx.count() < ITEMS && !is_dead() {
        tx.push(item(tx.count()));
        if is_dead() {
            return;
        }
        if is_victim {
            done.returned.set(tx.count());
        }
        pause(3);
    }
}

/// Pops all items, or counts them as lost.
pub(super) fn pop(side: Heir<Item>, done: &Done, _: bool) {
    // Before the first push.
    let mut rx = side.consumer();
    let begin = Cell::new(None);
    while done.popped.get() < ITEMS {
        match rx.try_pop() {
            Ok(found) => {
                assert_eq!(found, item(found[0]), "an item is incomplete");
                let (number, lost) = (found[0], Consumer::lost(&rx));
                // It may have begun after the first items.
                let first = begin.get().unwrap_or(number - lost);
                begin.set(Some(first));
                let before = done.popped.replace(number + 1);
                assert!(number >= before, "an item came twice");
                assert!(number >= first + lost, "an item was not lost");
            }
            Err(_) => pause(1),
        }
    }
}
