//! Lines of items.

use coherence::pause;
use corelane_sim::line_ring::Heir;
use corelane_sim::{CapacityError, Config, Consumer, Producer};

use super::{Done, ITEMS};

/// Items of 3 words: two of them in a line. Items of 8 words: groups of 8, with a line for each.
pub(super) type Item<const W: usize> = [u64; W];

fn item<const W: usize>(number: u64) -> Item<W> {
    let mut item = [!number; W];
    item[0] = number;
    item
}

fn number<const W: usize>(item: Item<W>) -> u64 {
    assert_eq!(item, self::item(item[0]), "an item is incomplete");
    item[0]
}

/// How a thread pushes or pops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Single,
    Slices,
    Chunks,
}

impl Way {
    pub(super) fn of(seed: u64) -> Self {
        [Self::Single, Self::Slices, Self::Chunks][seed as usize % 3]
    }

    /// Items that an interrupted call may have moved.
    fn most(self) -> u64 {
        if self == Self::Single { 1 } else { MOST as u64 }
    }
}

/// Both sides of a small ring.
pub(super) fn sides<const W: usize>(
    seed: u64,
) -> Result<(Heir<Item<W>>, Heir<Item<W>>), CapacityError> {
    Heir::both(Config::new(1 + seed as usize % 5).first(0_u64.wrapping_sub(seed % 7)))
}

/// Most items of a slice or chunk.
const MOST: usize = 5;

/// Pushes all items from the queue's position on. A thread that is dead goes no further; it only
/// ends its call.
pub(super) fn push<const W: usize>(side: Heir<Item<W>>, way: Way, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut tx) = side.producer() else {
        // It was killed before its first push.
        assert!(is_dead(), "no producer can have left the ring so");
        return;
    };
    let mut next = tx.count();
    if done.is_dead.get() && !is_victim {
        done.check_position(next, way.most());
    }
    while next < ITEMS && !is_dead() {
        let most = MOST.min((ITEMS - next) as usize);
        let pushed = match way {
            Way::Single => u64::from(Producer::try_push(&mut tx, item(next)).is_ok()),
            Way::Slices => {
                let items: Vec<_> = (next..).take(most).map(item).collect();
                Producer::push_slice(&mut tx, &items) as u64
            }
            Way::Chunks => match tx.write_chunk_uninit(most) {
                Ok(chunk) => chunk.fill_from_iter((next..).take(most).map(item)) as u64,
                Err(_) => 0,
            },
        };
        if is_dead() {
            return;
        }
        next += pushed;
        if is_victim {
            done.returned.set(next);
        }
        if pushed == 0 {
            pause(1);
        }
    }
    if !is_victim {
        check_room(&mut tx, done);
    }
}

/// All slots come back, also those that a dead process had.
fn check_room<const W: usize>(tx: &mut impl Producer<Item = Item<W>>, done: &Done) {
    while done.popped.get() < ITEMS {
        pause(1);
    }
    for n in 0..tx.capacity() {
        // What the consumer has given back may still be in its store buffer.
        let is_pushed = (0..1000).any(|_| {
            pause(1);
            tx.try_push(item(0)).is_ok()
        });
        assert!(is_pushed, "room for {n} items of {}", tx.capacity());
    }
}

/// Pops all items from the queue's position on.
pub(super) fn pop<const W: usize>(side: Heir<Item<W>>, way: Way, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut rx) = side.consumer() else {
        assert!(is_dead(), "no consumer can have left the ring so");
        return;
    };
    let from = rx.count();
    if done.is_dead.get() && !is_victim {
        done.check_position(from, way.most());
        // The pops that were interrupted have happened.
        done.popped.set(from);
    }
    while !is_dead() && done.popped.get() < ITEMS {
        let popped: Vec<_> = match way {
            Way::Single => Consumer::try_pop(&mut rx).into_iter().collect(),
            Way::Slices => {
                let mut items = [item(0); MOST];
                let n = Consumer::pop_slice(&mut rx, &mut items);
                items[..n].to_vec()
            }
            Way::Chunks => match rx.read_chunk(MOST) {
                Ok(chunk) => {
                    let (first, second) = chunk.as_slices();
                    let items = [first, second].concat();
                    chunk.commit_all();
                    items
                }
                Err(_) => Vec::new(),
            },
        };
        if is_dead() {
            return;
        }
        if popped.is_empty() {
            pause(1);
        }
        popped.into_iter().for_each(|item| done.pop(number(item)));
        if is_victim {
            done.returned.set(done.popped.get());
        }
    }
}
