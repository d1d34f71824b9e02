//! Batches: models of lent slots, lent items, slices and counts, for every queue between one
//! producer and one consumer.

use corelane_loom::{
    Config, Consumer, Producer, SingleConsumer, SingleProducer, TryPopError, TryPushError,
};
use loom::hint::spin_loop;

use crate::explore::{
    done, explore_sides, pop, pop_all, pop_until_closed, push_all, push_now, tiny,
};
use crate::item::{Cargo, reclaim};
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};

/// The models of a queue that move batches.
pub(crate) fn models<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = subject;
    vec![
        of.model("chunks", move || chunks_through(tickets, tiny(2), |capacity| capacity + 1)),
        of.model("partial_commits", move || partial_commits(tickets)),
        of.model("abandoned_chunks", move || abandoned_chunks(tickets)),
        of.model("chunks_left_behind", move || chunks_left_behind(tickets)),
        of.model("used_in_place", move || used_in_place(tickets)),
        of.model("slices", move || slices_through(numbers, tiny(2), 1)),
        of.model("observers", move || observers(tickets)),
    ]
}

/// Fills a chunk of two slots, or fewer if fewer are free, with items from `number` on; returns how
/// many.
pub(crate) fn write_two<P: SingleProducer<Item: Cargo>>(tx: &mut P, number: u64) -> u64 {
    match tx.write_chunk_uninit(2) {
        Ok(chunk) => chunk.fill_from_iter((number..number + 2).map(Cargo::of)) as u64,
        Err(TryPushError::Full(())) => 0,
        Err(error) => panic!("writing a chunk: {error}"),
    }
}

/// Reads a chunk of two items, or fewer if fewer are there; the first is item `number`. Commits at
/// most `n` items, or drops the chunk if `n` is 0. Returns how many items it committed.
pub(crate) fn read_two<C: SingleConsumer<Item: Cargo>>(rx: &mut C, number: u64, n: usize) -> u64 {
    match rx.read_chunk(2) {
        Ok(chunk) => {
            let (first, second) = chunk.as_slices();
            assert!((1..=2).contains(&(first.len() + second.len())));
            for (expected, item) in (number..).zip(first.iter().chain(second)) {
                assert_eq!(item.number(), expected, "first in, first out");
            }
            let n = n.min(chunk.len());
            if n > 0 {
                chunk.commit(n);
            }
            n as u64
        }
        Err(TryPopError::Empty) => 0,
        Err(error) => panic!("reading a chunk: {error}"),
    }
}

/// Calls `step` with the number of items moved so far, until `items` are moved. `step` returns how
/// many more items it has moved. If it has moved none, the other side runs.
pub(crate) fn until_all(items: u64, mut step: impl FnMut(u64) -> u64) {
    let mut so_far = 0;
    while so_far < items {
        match step(so_far) {
            0 => spin_loop(),
            n => so_far += n,
        }
    }
}

/// Moves chunks of two past the end of the ring. `items` computes the number of items from the
/// capacity. An odd number is rounded up.
pub(crate) fn chunks_through<T: Cargo>(
    new: Single<T>,
    config: Config,
    items: fn(u64) -> u64,
) -> Exploration {
    explore_sides(
        new,
        config,
        move |mut tx| {
            let items = items(tx.slots() as u64).next_multiple_of(2);
            let mut next = 0;
            while next < items - 1 {
                match write_two(&mut tx, next) {
                    0 => spin_loop(),
                    n => next += n,
                }
            }
            push_all(&mut tx, next..items);
            tx.flush();
        },
        move |mut rx| {
            let items = items(rx.slots() as u64).next_multiple_of(2);
            until_all(items, |next| read_two(&mut rx, next, 2));
        },
        done,
    )
}

/// Chunks of two: only the first slot is written, or only the first item is popped.
pub(crate) fn partial_commits<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| {
            for number in 0..3 {
                while !write_one_of_two(&mut tx, number) {
                    spin_loop();
                }
            }
        },
        |mut rx| until_all(3, |next| read_two(&mut rx, next, 1)),
        done,
    )
}

/// Commits a single item of a chunk of two, if there is room.
fn write_one_of_two<P: SingleProducer<Item: Cargo>>(tx: &mut P, number: u64) -> bool {
    let Ok(mut chunk) = tx.write_chunk_uninit(2) else { return false };
    let (first, second) = chunk.as_mut_slices();
    let slot = first.iter_mut().chain(second).next().expect("chunks are not empty");
    slot.write(Cargo::of(number));
    // SAFETY: the first slot is written.
    unsafe { chunk.commit(1) };
    true
}

/// Chunks that are dropped without a commit leave the queue as it was.
pub(crate) fn abandoned_chunks<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| {
            drop(tx.write_chunk_uninit(2));
            push_now(&mut tx, 0);
            drop(tx.write_chunk_uninit(2));
            push_now(&mut tx, 1);
        },
        |mut rx| {
            read_two(&mut rx, 0, 0);
            pop_all(&mut rx, 0..1);
            read_two(&mut rx, 1, 0);
            pop_until_closed(&mut rx, 1..2);
        },
        done,
    )
}

/// The consumer is dropped while the queue has items that the consumer has read and not popped, and
/// other items. Each item is dropped once.
fn chunks_left_behind<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| {
            push_now(&mut tx, 0);
            push_now(&mut tx, 1);
        },
        |mut rx| {
            let popped = read_two(&mut rx, 0, 1);
            read_two(&mut rx, popped, 0);
        },
        done,
    )
}

/// Items are used in place, in a queue for C items: all accesses to item k before its chunk is
/// committed happen before the push of item k + C.
fn used_in_place<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let capacity = tx.slots() as u64;
            push_all(&mut tx, 0..capacity);
            while write_two(&mut tx, capacity) == 0 {
                spin_loop();
            }
            reclaim(0);
        },
        |mut rx| {
            until_all(rx.slots() as u64, |next| read_two(&mut rx, next, 2));
            rx
        },
        done,
    )
}

/// Pops a slice of up to two items, the first of them `number`, and returns how many it got.
pub(crate) fn pop_two<C: Consumer<Item: Cargo + Copy>>(rx: &mut C, number: u64) -> u64 {
    let mut into = [Cargo::of(u64::MAX - 1); 2];
    let n = rx.pop_slice(&mut into);
    for (expected, item) in (number..).zip(&into[..n]) {
        assert_eq!(item.number(), expected, "first in, first out");
    }
    n as u64
}

/// More items than fit, as slices of items that can be copied.
pub(crate) fn slices_through<T: Cargo + Copy>(
    new: Single<T>,
    config: Config,
    more: u64,
) -> Exploration {
    explore_sides(
        new,
        config,
        move |mut tx| {
            let items: Vec<_> = (0..tx.slots() as u64 + more).map(Cargo::of).collect();
            until_all(items.len() as u64, |next| tx.push_slice(&items[next as usize..]) as u64);
            tx.flush();
        },
        move |mut rx| {
            until_all(rx.slots() as u64 + more, |next| pop_two(&mut rx, next));
        },
        done,
    )
}

/// The free slots and items that the observers count can be pushed and popped.
fn observers<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let mut pushed = 0;
            for _ in 0..2 {
                let free = tx.free_slots(usize::MAX);
                assert!(free <= tx.slots(), "more free slots than slots");
                assert!(free > 0 || pushed > 0, "a new queue is not full");
                for _ in 0..free {
                    push_now(&mut tx, pushed);
                    pushed += 1;
                }
            }
            if !tx.is_full() {
                push_now(&mut tx, pushed);
            }
        },
        |mut rx| {
            let mut popped = 0;
            for _ in 0..2 {
                let there = rx.available(usize::MAX);
                assert!(there <= rx.slots(), "more items than slots");
                for _ in 0..there {
                    assert_eq!(pop(&mut rx), Some(popped), "an item that was counted");
                    popped += 1;
                }
            }
            if !rx.is_empty() {
                assert_eq!(pop(&mut rx), Some(popped), "the queue was not empty");
            }
        },
        done,
    )
}
