//! Relaxed queues: looks at one sub-queue after the other.

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};
use loom::sync::Arc;

use super::Seeded;
use crate::Exploration;
use crate::explore::{both, explore};

pub(super) fn bugs() -> Vec<Seeded> {
    vec![
        Seeded {
            queue: "d-cbo",
            bug: "says empty when it has looked at each sub-queue once",
            sound: moved_behind_a_look::<false>,
            broken: moved_behind_a_look::<true>,
        },
        Seeded {
            queue: "radq",
            bug: "reads the number of pushes before the number of pops",
            sound: counted_while_it_moves::<false>,
            broken: counted_while_it_moves::<true>,
        },
    ]
}

/// The counters of a sub-queue.
struct Counters {
    pushes: AtomicU64,
    pops: AtomicU64,
}

impl Counters {
    fn of(items: u64) -> Self {
        Self { pushes: AtomicU64::new(items), pops: AtomicU64::new(0) }
    }

    fn push(&self) {
        self.pushes.store(self.pushes.load(Relaxed) + 1, Release);
    }

    fn pop(&self) {
        self.pops.store(self.pops.load(Relaxed) + 1, Release);
    }

    fn is_empty(&self) -> bool {
        let pops = self.pops.load(Acquire);
        self.pushes.load(Acquire) == pops
    }
}

/// An item is pushed into a sub-queue that was found empty, and then the item of the next sub-queue
/// is popped. There is always an item. Broken: no second look at the numbers of pushes.
fn moved_behind_a_look<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queues = Arc::new([Counters::of(0), Counters::of(1)]);
        let others = queues.clone();
        let work = move || {
            others[0].push();
            others[1].pop();
        };
        both(work, || {
            let pushes = || queues.each_ref().map(|queue| queue.pushes.load(Acquire));
            let before = pushes();
            let were_empty = queues.iter().all(Counters::is_empty);
            assert!(!were_empty || !BROKEN && before != pushes(), "there is always an item");
        });
    })
}

/// An item is pushed, and then the item before it is popped. There is always an item.
fn counted_while_it_moves<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queue = Arc::new(Counters::of(1));
        let other = queue.clone();
        let work = move || {
            other.push();
            other.pop();
        };
        both(work, || {
            let is_empty = match BROKEN {
                true => queue.pushes.load(Acquire) == queue.pops.load(Acquire),
                false => queue.is_empty(),
            };
            assert!(!is_empty, "there is always an item");
        });
    })
}
