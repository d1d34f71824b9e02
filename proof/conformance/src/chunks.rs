//! Batches: lent slots and items, slices and iterators.

use corelane::{
    BoxedSingleConsumer, BoxedSingleProducer, Config, Consumer, Memory, Producer, SingleConsumer,
    SingleProducer,
};

use crate::{Checked, Item, Single};
use corelane_harness::ledger::{explode, must_explode};

/// A checked queue between one producer and one consumer.
type CheckedSingle<T> = Checked<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>;

/// Every length at every offset with every partial commit, in a small ring.
pub fn every_length_at_every_offset<T: Item + Copy>(subject: &Single<T>) {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let mut queue = Checked::open(subject, Config::new(8).memory(memory));
        // Longer batches only repeat the steps of a batch of many groups.
        let most = queue.slots().min(12);
        for n in 0..=most + 1 {
            for k in 0..=n {
                for _ in 0..queue.slots().min(20) {
                    queue.write_chunk(n, k);
                    queue.read_chunk(k, k / 2);
                    queue.read_chunk(n, n);
                    queue.drain();
                    queue.turn(1);
                }
            }
        }
    }
}

/// Around the end of a ring of whole pages, where the second mapping of mirrored slots begins.
pub fn around_the_end_of_pages<T: Item + Copy>(subject: &Single<T>) {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let mut queue = Checked::open(subject, Config::new(512).memory(memory));
        let most = queue.slots();
        for n in [1, 2, 31, 63, 64, 65, most / 2, most - 1, most, most + 1] {
            for _ in 0..6 {
                while queue.write_chunk(n, n) > 0 {}
                while queue.read_chunk(n, n) > 0 {}
                queue.turn(1);
            }
        }
    }
}

/// Calls `check` with a queue at each fill level, and with each length of a chunk.
fn at_every_level<T: Item>(subject: &Single<T>, check: impl Fn(&mut CheckedSingle<T>, usize)) {
    for capacity in [1, 8, 30] {
        let mut queue = Checked::open(subject, Config::new(capacity));
        for n in 0..=queue.slots() + 1 {
            for level in 0..=queue.slots() {
                queue.push_iter(level, true);
                check(&mut queue, n);
                queue.drain();
                queue.turn(1);
            }
        }
    }
}

/// A chunk of exactly n items is lent if there are n items. A list of rings may have fewer items in
/// a ring. Then the error's number of items can be read, so that a loop takes all items.
///
/// Real bugs: a ring of 8192 items lent only 64 of them, however many were there.
pub fn read_chunk_exact<T: Item>(subject: &Single<T>) {
    at_every_level(subject, |queue, n| {
        while n > 0 && !queue.is_empty() {
            if let Err(len) = queue.read_chunk_exact(n) {
                assert!(!subject.info.bounded || queue.len() < n, "{len} of {n} items");
                assert_eq!(queue.read_chunk_exact(len), Ok(()), "so many are there");
                assert!(len > 0, "a loop would not end");
            }
        }
        assert_eq!(queue.read_chunk_exact(0), Ok(()));
    });
}

/// A chunk of exactly n slots is lent if n slots are free. A list of rings lends a chunk of up to a
/// ring, whatever is free in the producer's ring.
pub fn write_chunk_exact(subject: &Single<u64>) {
    at_every_level(subject, |queue, n| {
        let promised = queue.capacity().saturating_sub(queue.len());
        // A list is limited to the capacity asked for, and has rings of a third.
        let one_ring = if subject.info.bounded { n } else { queue.capacity().div_ceil(3) };
        if let Err(len) = queue.write_chunk_exact(n) {
            assert!(n > promised.min(one_ring), "{len} of {n}, {promised} free");
            assert_eq!(queue.write_chunk_exact(len), Ok(()), "so many are free");
        }
        assert_eq!(queue.write_chunk_exact(0), Ok(()));
    });
}

/// Slots that hold default items: every length at every fill level, with every partial commit.
pub fn write_chunk(subject: &Single<u64>) {
    at_every_level(subject, |queue, n| {
        for k in [0, n / 2, n] {
            queue.write_over_defaults(n, k);
        }
    });
    let (mut tx, mut rx) = subject.open(Config::new(8));
    for n in (0..8).chain(0..8) {
        // So that the slots hold other values.
        tx.push_iter([7; 8]);
        tx.flush();
        assert!(rx.pop_iter().eq([7; 8]));
        let mut written = 0;
        while written < n {
            let chunk = tx.write_chunk(n - written).expect("the queue is empty");
            written += chunk.len();
            chunk.commit_all();
        }
        tx.flush();
        assert!(rx.pop_iter().eq((0..n).map(|_| 0)));
    }
}

/// A dropped chunk changes nothing, however often, and whatever is called in between.
pub fn dropped_chunks<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(30));
    for n in 1..=queue.slots() {
        queue.push_iter(n, true);
        let _ = queue.rx.read_chunk(n);
        let _ = queue.tx.write_chunk_uninit(n);
        queue.read_chunk(n, 0);
        queue.write_chunk(n, 0);
        queue.observe();
        // From now on some items come from a private buffer and some from their slots.
        queue.pop();
        queue.read_chunk(n + 3, n / 2);
        queue.push_iter(3, false);
        queue.pop_iter(2);
        queue.take_chunk(n / 3, 1);
        queue.drain();
    }
}

/// Items can be changed in place before they are taken, or left changed in the queue.
pub fn changed_in_place<T: Item + Copy>(subject: &Single<T>) {
    let (mut tx, mut rx) = subject.open(Config::new(8));
    tx.push_iter([1, 2, 3, 4].map(Item::of));
    tx.flush();
    let mut chunk = rx.read_chunk(3).unwrap();
    let (first, second) = chunk.as_mut_slices();
    for item in first.iter_mut().chain(second) {
        *item = Item::of(7);
    }
    chunk.commit(1);
    let rest: Vec<T> = rx.pop_iter().collect();
    assert!(rest.len() == 3 && rest[0].is(7) && rest[1].is(7) && rest[2].is(4));
}

/// A commit of more items than the chunk has panics and commits nothing.
pub fn commit_of_too_many<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(8));
    queue.push_iter(3, true);
    let silent = |f: &mut dyn FnMut()| {
        // Silences the message of the library's assertion.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        std::panic::set_hook(hook);
        assert!(result.is_err(), "nothing panicked");
    };
    silent(&mut || queue.rx.read_chunk(2).unwrap().commit(3));
    // SAFETY: none needed: the call must panic before it accesses a slot.
    silent(&mut || unsafe { queue.tx.write_chunk_uninit(2).unwrap().commit(3) });
    queue.observe();
    assert_eq!(queue.drain(), 3);
}

/// Empty batches do nothing, whether the queue is empty, full or in between (row
/// `zero_length_batch`).
pub fn zero_length_batch<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(8));
    for fill in 0..3 {
        assert!(queue.tx.write_chunk_uninit(0).unwrap().is_empty());
        assert!(queue.rx.read_chunk(0).unwrap().is_empty());
        let nothing = [
            queue.write_chunk(0, 0),
            queue.write_chunk(3, 0),
            queue.read_chunk(0, 0),
            queue.read_chunk(3, 0),
            queue.take_chunk(0, 0),
            queue.push_iter(0, true),
            queue.push_iter(0, false),
            queue.pop_iter(0),
            queue.push_slice(0),
            queue.pop_slice(0),
        ];
        assert_eq!(nothing, [0; 10]);
        queue.observe();
        match fill {
            0 => assert!(queue.push()),
            _ => assert!(queue.fill() > 0 || fill == 2),
        }
    }
    queue.drain();
}

/// Batches larger than the ring, and than any private buffer, are split or cut, and never overrun
/// the buffer (row `batch_larger_than_buffer`).
pub fn batch_larger_than_buffer<T: Item + Copy>(subject: &Single<T>) {
    for capacity in [1, 3, 60, 64, 65, 300] {
        let mut queue = Checked::open(subject, Config::new(capacity));
        for n in [1, 31, 63, 64, 65, 66, 127, 128, 129, 200, 1000] {
            queue.push_slice(n);
            queue.pop_slice(n);
            queue.push_iter(n, true);
            queue.pop_iter(n);
            queue.push_iter(n, false);
            queue.pop_slice(n);
            queue.write_chunk(n, n);
            queue.take_chunk(n, n);
            queue.push_slice(n);
            while queue.read_chunk(n, n) > 0 {}
            queue.drain();
            queue.turn(1);
        }
    }
}

/// An iterator whose hint is wrong costs nothing but time.
pub fn lying_size_hint<T: Item + Copy>(subject: &Single<T>) {
    struct Lying<I>(I, (usize, Option<usize>));
    impl<I: Iterator> Iterator for Lying<I> {
        type Item = I::Item;
        fn next(&mut self) -> Option<I::Item> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            self.1
        }
    }

    let (mut tx, mut rx) = subject.open(Config::new(20));
    for hint in [(0, Some(0)), (0, Some(3)), (100, Some(100)), (usize::MAX, None)] {
        let mut items = Lying((0..9).map(Item::of), hint);
        let mut done = tx.push_iter(items.by_ref());
        tx.flush();
        let rest: Vec<T> = items.0.collect();
        assert_eq!(done + rest.len(), 9, "no item is lost for the hint {hint:?}");
        done += tx.push_slice(&rest);
        tx.flush();
        assert_eq!(done, 9);
        assert!(rx.pop_iter().zip(0..).all(|(item, n): (T, _)| item.is(n)));
    }
}

/// When an iterator panics, the items that it gave before are pushed, and the queue stays usable.
pub fn panicking_iterator<T: Item + Copy>(subject: &Single<T>) {
    for before in [0, 1, 5, 64, 70] {
        let (mut tx, mut rx) = subject.open(Config::new(200));
        let items = |from: u64| {
            (from..).map(move |n| if n == from + before { explode() } else { Item::of(n) })
        };
        must_explode(|| tx.push_iter(items(0)));
        let mut more = items(before);
        must_explode(|| {
            loop {
                tx.write_chunk_uninit(20).unwrap().fill_from_iter(more.by_ref());
            }
        });
        assert!(tx.try_push(Item::of(2 * before)).is_ok());
        tx.flush();
        let all: Vec<T> = rx.pop_iter().collect();
        assert!(all.iter().zip(0..).all(|(item, n)| item.is(n)), "after {before}");
        assert_eq!(all.len() as u64, 2 * before + 1);
    }
}
