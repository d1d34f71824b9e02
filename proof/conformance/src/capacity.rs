//! How many items fit, which capacities are refused, and when a queue may say full.

use corelane::{CapacityError, Config, Consumer, Producer, SingleProducer, TryPushError};

use crate::{Checked, Item, Single, Subject};
use corelane_harness::rng::Rng;

/// Capacities that queues are asked for.
fn capacities() -> impl Iterator<Item = usize> {
    (1..=70).chain([127, 128, 129, 1000, 4096])
}

/// A new queue holds exactly `slots()` items, and its capacity is at least the number asked for. A
/// relaxed queue may be full when it holds as many as its capacity.
pub fn exact_when_new<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for asked in capacities() {
        let mut queue = Checked::open(subject, Config::new(asked));
        assert!(queue.capacity() >= asked);
        assert!(queue.slots() >= queue.capacity());
        assert_eq!(queue.rx.capacity(), queue.capacity());
        let filled = queue.fill();
        assert!((queue.fewest_if_full()..=queue.slots()).contains(&filled));
        assert_eq!(queue.drain(), filled);
    }
}

/// The same if the queue is filled by chunks only.
pub fn exact_when_new_by_chunks<T: Item + Copy>(subject: &Single<T>) {
    for asked in capacities() {
        let mut queue = Checked::open(subject, Config::new(asked));
        assert!(!subject.info.bounded || queue.tx.free_slots(usize::MAX) == queue.slots());
        while queue.write_chunk(usize::MAX, usize::MAX) > 0 {}
        queue.observe();
        assert_eq!(queue.len(), queue.slots());
        while queue.read_chunk(usize::MAX, usize::MAX) > 0 {}
        assert_eq!(queue.len(), 0);
    }
}

/// In a new queue without a consumer, the producer never overwrites the slots that it filled first,
/// wherever counters start (row `first_wrap_uninitialised`).
pub fn first_wrap_uninitialised<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for first in (0..70).chain([127, 128, 1 << 32, u64::MAX - 40]) {
        let mut queue = Checked::open(subject, Config::new(20).first(first));
        for _ in 0..3 * queue.slots() {
            // `push` checks that a queue that has said full says full again.
            queue.push();
        }
        let filled = queue.len();
        assert!((queue.fewest_if_full()..=queue.slots()).contains(&filled));
        assert_eq!(queue.drain(), filled);
    }
}

/// At every fill level and offset, a push succeeds while fewer items are inside than the capacity
/// (row `false_full`).
pub fn false_full<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for asked in [1, 2, 3, 5, 8, 31, 64] {
        let mut queue = Checked::open(subject, Config::new(asked));
        for level in (0..=queue.slots()).step_by(1 + (asked / 8).max(queue.slots() / 100)) {
            for _ in 0..2 * queue.slots() + 1 {
                // Every push and pop checks its answer.
                while queue.len() < level && queue.push() {}
                queue.push();
                queue.pop();
                queue.pop();
            }
            queue.drain();
        }
    }
}

/// After every drain the capacity is free again, at every offset.
pub fn free_again_after_drain<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for asked in [1, 2, 5, 16, 60] {
        let mut queue = Checked::open(subject, Config::new(asked));
        for _ in 0..2 * queue.slots() + 2 {
            let filled = queue.fill();
            assert!(filled >= queue.capacity());
            queue.drain();
            queue.turn(1);
        }
    }
}

/// A queue that is asked to be exact says full at exactly the number of items asked for, at every
/// offset, or is refused.
pub fn exact<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for asked in [1, 2, 3, 5, 64, 100] {
        let config = Config::new(asked).exact();
        if let Err(error) = subject.try_open(config) {
            assert_eq!(error, CapacityError::Inexact);
            assert!(error.to_string().contains("exact number"), "{error}");
            return;
        }
        let mut queue = Checked::open(subject, config);
        assert_eq!((queue.capacity(), queue.slots()), (asked, asked));
        for _ in 0..2 * asked + 2 {
            assert_eq!(queue.fill(), asked);
            queue.drain();
            queue.turn(1);
        }
    }
}

/// A queue in use accepts an item whenever it has fewer items than its capacity, at every fill
/// level: a million random pushes and pops, towards one random level after the other.
pub fn random_levels<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for (seed, asked) in (0..).zip([1, 2, 7, 100, 1000]) {
        let (mut queue, mut rng) = (Checked::open(subject, Config::new(asked)), Rng::new(seed));
        let (most, mut left) = (queue.slots().min(2 * asked + 70), 200_000_usize);
        while left > 0 {
            let level = rng.below(most + 1);
            // A random walk: the sides cross ends of groups at all distances.
            for _ in 0..4 * (most + 1) {
                let up = queue.len() < level;
                // Every push and pop checks its answer.
                let _ = if up == (rng.below(4) > 0) { queue.push() } else { queue.pop() };
                left = left.saturating_sub(1);
            }
        }
    }
}

/// A push into a full queue returns its item and changes nothing.
pub fn full_gives_the_item_back<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    let (mut tx, mut rx) = subject.open(Config::new(4));
    while tx.try_push(Item::of(1)).is_ok() {}
    match tx.try_push(Item::of(2)) {
        Err(error @ TryPushError::Full(_)) => {
            assert_eq!(error.to_string(), "the queue is full");
            assert!(T::is(&error.into_inner(), 2));
        }
        other => panic!("{other:?} instead of full"),
    }
    tx.flush();
    assert!(rx.pop_iter().all(|item: T| item.is(1)));
}

/// The error that a queue for `asked` items is refused with.
fn refused<T: Item, P, C>(subject: &Subject<P, C>, asked: usize) -> CapacityError
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    let built = subject.try_open(Config::new(asked));
    built.err().unwrap_or_else(|| panic!("a queue for {asked} items was made"))
}

/// Impossible capacities are refused with an error that says which are possible (row
/// `capacity_overflow`).
pub fn capacity_overflow<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    let half = usize::MAX / 2;
    for asked in [0, usize::MAX, usize::MAX - 1, half, half + 1, half + 2, half - 1, half - 63] {
        let error = refused(subject, asked);
        let CapacityError::OutOfRange { asked: named, most } = error else {
            panic!("{error} for {asked}")
        };
        assert_eq!(named, asked);
        assert!(most > 1 << 40, "far more than any machine has memory for: {most}");
        let text = error.to_string();
        assert!(asked == 0 || text.contains(&asked.to_string()), "{text}");
        assert!(text.contains("choose"), "{text}");
        // The largest capacity that the error names does not overflow, but no machine has memory
        // for it.
        assert!(
            matches!(refused(subject, most), CapacityError::OutOfMemory { bytes } if bytes > most)
        );
        assert!(matches!(refused(subject, most + 1), CapacityError::OutOfRange { .. }));
    }
    for batch in [0, 1, 1 << 20, usize::MAX] {
        let build = |asked| subject.try_open(Config::new(asked).grouped(batch));
        for asked in [0, usize::MAX, half, half / 2] {
            assert!(build(asked).is_err(), "a queue for {asked} items in batches of {batch}");
        }
        assert!(build(1).is_ok_and(|(tx, _)| tx.capacity() >= 1));
    }
}
