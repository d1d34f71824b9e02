// Above 500 lines: a short function for each model, of which each can be read alone.

//! Several handles on a side: models of three threads, for every queue that allows several handles.
//!
//! Items must be made in order. So they are made before the threads start, and each thread gets
//! some of them.

use corelane_loom::{
    BoxedConsumer, BoxedProducer, Config, Consumer, Producer, TryPopError, TryPushError,
};
use loom::hint::spin_loop;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, grouped, tiny};
use crate::item::Cargo;
use crate::queue::{Another, Shared, SharedSubject};
use crate::thread::{Thread, spawn};
use crate::watcher::count_values;
use crate::{Exploration, Model};

/// The models of a queue that may have several producers or several consumers.
pub(crate) fn models<T: Cargo, N: Cargo + Copy>(subject: SharedSubject<T, N>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    let mut models = models_where_all_fits(subject);
    if of.info.sides.allow(2, 1) {
        models.extend([
            of.model("two_producers_and_one_slot", move || {
                two_producers_and_one_slot(tickets, tiny(2))
            }),
            of.model("full_of_two_producers", move || full_of_two_producers(tickets)),
            of.model("producer_a_lap_behind", move || producer_a_lap_behind(tickets)),
            of.model("false_full_of_two_producers", move || false_full_of_two_producers(tickets)),
            of.model("another_producer_goes", move || another_producer_goes(tickets)),
        ]);
    }
    if of.info.sides.allow(1, 2) {
        models.extend([
            of.model("two_consumers_behind_a_producer", move || {
                two_consumers_behind_a_producer(tickets, tiny(2))
            }),
            of.model("false_full", move || false_full(tickets)),
            of.model("false_full_behind_a_pop", move || false_full_behind_a_pop(tickets, tiny(2))),
            of.model("false_full_in_a_block", move || {
                false_full_behind_a_pop(tickets, grouped(4, 2))
            }),
            of.model("last_consumer_closes", move || last_consumer_closes(tickets)),
            of.model("two_consumers_empty_a_block", move || two_consumers_empty_a_block(tickets)),
            of.model("another_consumer_goes", move || another_consumer_goes(tickets)),
        ]);
    }
    // With three blocks, positions leave out a fourth block in each lap.
    let has_blocks = of.info.id.starts_with("bbq") || of.info.id == "faaq";
    if has_blocks && of.info.sides.allow(2, 1) {
        models.push(of.model("two_producers_enter_a_lap", move || {
            two_producers_and_one_slot(tickets, tiny(3))
        }));
    }
    if has_blocks && of.info.sides.allow(1, 2) {
        models.push(of.model("two_consumers_enter_a_lap", move || {
            two_consumers_behind_a_producer(tickets, tiny(3))
        }));
    }
    if of.info.sides.allow(2, 2) {
        models.push(of.model("consumer_a_lap_behind", move || consumer_a_lap_behind(tickets)));
    }
    models
}

/// Models that never push more items than fit. So they also hold for queues that overwrite.
pub(crate) fn models_where_all_fits<T: Cargo, N: Cargo + Copy>(
    subject: SharedSubject<T, N>,
) -> Vec<Model> {
    let SharedSubject { of, tickets, numbers } = subject;
    let mut models = Vec::new();
    if of.info.sides.allow(2, 1) {
        models.extend([
            of.model("two_producers", move || two_producers(tickets)),
            of.model("two_producers_in_a_block", move || two_producers_of(tickets, grouped(4, 2))),
            of.model("order_past_another_producer", move || order_past_another_producer(tickets)),
            of.model("false_empty", move || false_empty(tickets)),
            of.model("slices_of_two_producers", move || slices_of_two_producers(numbers)),
            of.model("last_producer_closes", move || last_producer_closes(tickets)),
            of.model("another_producer_comes", move || another_producer_comes(tickets)),
        ]);
    }
    if of.info.sides.allow(1, 2) {
        models.extend([
            of.model("two_consumers", move || two_consumers(tickets, tiny(2))),
            of.model("two_consumers_in_a_block", move || two_consumers(tickets, grouped(4, 2))),
            of.model("two_consumers_and_one_item", move || two_consumers_and_one_item(tickets)),
            of.model("slices_of_two_consumers", move || slices_of_two_consumers(numbers)),
            of.model("false_empty_of_a_block", move || {
                false_empty_of_two_consumers(tickets, grouped(4, 2), 2, pop_finds_none)
            }),
            of.model("false_empty_behind_a_head", move || {
                false_empty_of_two_consumers(tickets, tiny(4), 3, pop_finds_none)
            }),
            of.model("is_empty_behind_a_head", move || {
                false_empty_of_two_consumers(tickets, tiny(4), 3, Consumer::is_empty)
            }),
            of.model("another_consumer_comes", move || another_consumer_comes(tickets)),
        ]);
    }
    models
}

/// `n` items, numbered from 0.
pub(crate) fn items<T: Cargo>(n: u64) -> Vec<T> {
    (0..n).map(Cargo::of).collect()
}

/// Starts a thread. Until [`join`] several threads are at work.
pub(crate) fn start<R: 'static>(work: impl FnOnce() -> R + 'static) -> Thread<R> {
    count_values(true);
    spawn(work)
}

pub(crate) fn join<R: 'static>(threads: impl IntoIterator<Item = Thread<R>>) -> Vec<R> {
    let results = threads.into_iter().map(Thread::join).collect();
    count_values(false);
    results
}

/// Pushes `item` as soon as there is room.
pub(crate) fn push<P: Producer>(tx: &mut P, mut item: P::Item) {
    while let Err(error) = tx.try_push(item) {
        assert!(!matches!(error, TryPushError::Closed(_)), "the consumers are there");
        item = error.into_inner();
        spin_loop();
    }
}

/// Tries to push `item`. Returns whether there was room.
pub(crate) fn attempt<P: Producer>(tx: &mut P, item: P::Item) -> bool {
    match tx.try_push(item) {
        Ok(()) => true,
        Err(TryPushError::Closed(_)) => panic!("the consumers are there"),
        Err(_) => false,
    }
}

/// Tries to push `item`, and retries while the queue is busy. Returns whether there was room.
pub(crate) fn insist<P: Producer>(tx: &mut P, mut item: P::Item) -> bool {
    loop {
        match tx.try_push(item) {
            Ok(()) => return true,
            Err(TryPushError::Closed(_)) => panic!("the consumers are there"),
            Err(TryPushError::Full(_)) => return false,
            Err(TryPushError::Busy(again)) => item = again,
        }
        spin_loop();
    }
}

/// Pops an item, of which there is at least one, and retries while the queue is busy.
pub(crate) fn take<C: Consumer<Item: Cargo>>(rx: &mut C) -> u64 {
    loop {
        match rx.try_pop() {
            Ok(item) => return item.number(),
            Err(TryPopError::Busy) => spin_loop(),
            Err(_) => panic!("there is an item for each consumer, and no producer pushes"),
        }
    }
}

/// Pops all items that are there, while no other thread is at work.
pub(crate) fn drain<C: Consumer<Item: Cargo>>(rx: &mut C) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(item) => numbers.push(item.number()),
            Err(TryPopError::Busy) => panic!("no other thread is at work"),
            Err(_) => return numbers,
        }
    }
}

/// Pops until the queue is closed.
pub(crate) fn pop_to_the_end<C: Consumer<Item: Cargo>>(rx: &mut C) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(item) => numbers.push(item.number()),
            Err(TryPopError::Closed) => return numbers,
            Err(_) => spin_loop(),
        }
    }
}

/// Looks for an item `times` times, and returns the numbers of the items that it got.
pub(crate) fn look<C: Consumer<Item: Cargo>>(rx: &mut C, times: usize) -> Vec<u64> {
    (0..times).filter_map(|_| rx.try_pop().ok()).map(|item| item.number()).collect()
}

/// Tries to push `items`, and returns the numbers of the items for which there was room.
pub(crate) fn attempts<P: Producer<Item: Cargo>>(
    tx: &mut P,
    items: impl Iterator<Item = P::Item>,
) -> Vec<u64> {
    let numbered = items.map(|item| (item.number(), item));
    numbered.filter_map(|(number, item)| attempt(tx, item).then_some(number)).collect()
}

/// Checks that the popped items are the pushed items.
pub(crate) fn are_equal(mut popped: Vec<u64>, mut pushed: Vec<u64>) {
    popped.sort_unstable();
    pushed.sort_unstable();
    assert_eq!(popped, pushed);
}

/// Checks that each of the first `n` items is there once.
pub(crate) fn all_are_there(mut numbers: Vec<u64>, n: u64) {
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..n), "{numbers:?} instead of {n} items");
}

/// Two threads push an item each, while the consumer looks for them.
pub(crate) fn two_producers<T: Cargo>(new: Shared<T>) -> Exploration {
    two_producers_of(new, tiny(2))
}

pub(crate) fn two_producers_of<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(config);
        let mut items = items::<T>(2).into_iter();
        let threads = [tx.another(), tx].map(|mut tx| {
            let item = items.next().expect("there are two");
            start(move || push(&mut tx, item))
        });
        let mut numbers = look(&mut rx, 2);
        join(threads);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
        assert!(matches!(rx.try_pop(), Err(TryPopError::Closed)));
    })
}

/// The queue is full, an item is popped, and two producers compete for its slot.
fn two_producers_and_one_slot<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(config);
        let capacity = tx.slots() as u64;
        let mut items = items::<T>(capacity + 2).into_iter();
        items.by_ref().take(capacity as usize).for_each(|item| push(&mut tx, item));
        let threads = [tx.another(), tx].map(|mut tx| {
            let item = items.next().expect("there are two more");
            start(move || attempt(&mut tx, item))
        });
        let mut numbers = vec![rx.try_pop().expect("it is full").number()];
        let pushed = join(threads).into_iter().filter(|pushed| *pushed).count();
        assert!(pushed <= 1, "two items for one slot");
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers.len(), capacity as usize + pushed);
        assert!(numbers.iter().copied().take(capacity as usize).eq(0..capacity), "{numbers:?}");
    })
}

/// One thread's items stay in order, whatever another thread pushes between them.
fn order_past_another_producer<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut other = tx.another();
        let mut items = items::<T>(3).into_iter();
        let mut next = || items.next().expect("there are three");
        let (first, second, third) = (next(), next(), next());
        let threads = [
            start(move || {
                push(&mut tx, first);
                push(&mut tx, second);
            }),
            start(move || push(&mut other, third)),
        ];
        let mut numbers = look(&mut rx, 2);
        join(threads);
        numbers.extend(drain(&mut rx));
        let place = |number| numbers.iter().position(|n| *n == number);
        assert!(place(0) < place(1), "{numbers:?}");
        all_are_there(numbers, 3);
    })
}

/// A consumer that has been told of a finished push is not told that the queue is empty.
pub(crate) fn false_empty<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut other = tx.another();
        let mut items = items::<T>(2).into_iter();
        let (first, second) = (items.next().expect("one"), items.next().expect("two"));
        let told = loom::sync::Arc::new(AtomicBool::new(false));
        let tell = told.clone();
        let threads = [
            start(move || {
                push(&mut tx, first);
                tell.store(true, Ordering::Release);
                tx
            }),
            start(move || {
                push(&mut other, second);
                other
            }),
        ];
        let is_told = told.load(Ordering::Acquire);
        let mut numbers = match rx.try_pop() {
            Ok(item) => vec![item.number()],
            Err(TryPopError::Busy) => Vec::new(),
            Err(_) => {
                assert!(!is_told, "an item was pushed before");
                Vec::new()
            }
        };
        join(threads);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
    })
}

/// Two threads fill a new queue: each slot is free to both.
fn full_of_two_producers<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(tx.slots() as u64 + 1);
        let spare = items.pop().expect("one more than fit");
        let mut other = tx.another();
        let (mut mine, mut theirs) = (tx.another(), tx);
        let half = items.split_off(items.len() / 2);
        let fill = |tx: &mut BoxedProducer<T>, items: Vec<T>| {
            for item in items {
                assert!(insist(tx, item), "all slots of a new queue are free");
            }
        };
        let thread = start(move || fill(&mut theirs, half));
        fill(&mut mine, items);
        join([thread]);
        assert!(matches!(other.try_push(spare), Err(TryPushError::Full(_))));
        let n = other.slots() as u64;
        all_are_there(drain(&mut rx), n);
    })
}

/// Two threads push a slice each, over the end of a block.
fn slices_of_two_producers<T: Cargo + Copy>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(grouped(4, 2));
        let items = items::<T>(4);
        let threads = [(tx.another(), 0), (tx, 2)].map(|(mut tx, first)| {
            let items = items[first..][..2].to_vec();
            start(move || {
                let pushed = loop {
                    match tx.push_slice(&items) {
                        0 => spin_loop(),
                        n => break n,
                    }
                };
                assert_eq!(pushed, 2, "there is room");
            })
        });
        join(threads);
        let numbers = drain(&mut rx);
        for first in [0, 2] {
            let place = |number| numbers.iter().position(|n| *n == number);
            assert!(place(first) < place(first + 1), "{numbers:?}");
        }
        all_are_there(numbers, 4);
    })
}

/// Two producers push an item each and are dropped: a pop says closed only after both items were
/// popped.
fn last_producer_closes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(2).into_iter();
        let threads = [tx.another(), tx].map(|mut tx| {
            let item = items.next().expect("there are two");
            start(move || push(&mut tx, item))
        });
        all_are_there(pop_to_the_end(&mut rx), 2);
        join(threads);
    })
}

/// A thread is stopped in a push, while the others go once round the ring.
fn producer_a_lap_behind<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut other = tx.another();
        let mut items = items::<T>(6);
        let late = items.pop().expect("there are six");
        let mut items = items.into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(2));
        let thread = start(move || attempt(&mut other, late));
        pushed.extend(attempts(&mut tx, items.by_ref().take(2)));
        let mut popped = look(&mut rx, 2);
        pushed.extend(attempts(&mut tx, items));
        pushed.extend(join([thread])[0].then_some(5));
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// A thread is stopped in a pop, while the others go once round the ring, past an unfinished push.
/// This needs two preemptions.
fn consumer_a_lap_behind<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let (mut unfinished, mut other) = (tx.another(), rx.another());
        let mut items = items::<T>(3).into_iter();
        let mut next = || items.next().expect("there are three");
        push(&mut tx, next());
        let (second, third) = (next(), next());
        // The handles are not dropped here: other models test that.
        let slow = start(move || (attempt(&mut unfinished, second), unfinished));
        let fast = start(move || (look(&mut other, 1), attempt(&mut tx, third), other, tx));
        let mut popped = look(&mut rx, 1);
        let (is_second, _unfinished) = slow.join();
        let (more, is_third, _other, _tx) = fast.join();
        count_values(false);
        popped.extend(more);
        popped.extend(drain(&mut rx));
        let pushed = [(0, true), (1, is_second), (2, is_third)].into_iter().filter(|(_, is)| *is);
        are_equal(popped, pushed.map(|(number, _)| number).collect());
    })
}

/// There is always room: the next item is pushed only after the item in the queue was popped. So
/// neither of two producers is told that the queue is full.
fn false_full_of_two_producers<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(4).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        assert_eq!(look(&mut rx, 1), [0]);
        let (first, second) = (items.next().expect("one"), items.next().expect("two"));
        let mut other = tx.another();
        let told = loom::sync::Arc::new(AtomicBool::new(false));
        let hear = told.clone();
        let is_never_full = |tx: &mut BoxedProducer<T>, item| {
            let pushed = tx.try_push(item);
            assert!(!matches!(pushed, Err(TryPushError::Full(_))), "one slot is always free");
        };
        let threads = [
            start(move || is_never_full(&mut tx, first)),
            start(move || {
                if hear.load(Ordering::Acquire) {
                    is_never_full(&mut other, second);
                }
            }),
        ];
        if rx.try_pop().is_ok() {
            told.store(true, Ordering::Release);
        }
        join(threads);
    })
}

/// A producer has filled half a block when it is cloned.
fn another_producer_comes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut items = items::<T>(3).into_iter();
        let mut next = || items.next().expect("there are three");
        let (first, second, third) = (next(), next(), next());
        let consumer = start(move || {
            let numbers = look(&mut rx, 2);
            (rx, numbers)
        });
        push(&mut tx, first);
        let mut other = tx.another();
        let producer = start(move || push(&mut other, second));
        push(&mut tx, third);
        let (mut rx, mut numbers) = join([consumer]).remove(0);
        join([producer]);
        numbers.extend(drain(&mut rx));
        let place = |number| numbers.iter().position(|n| *n == number);
        assert!(place(0) < place(1) && place(0) < place(2), "{numbers:?}");
        all_are_there(numbers, 3);
    })
}

/// A producer is alone again when the other producer has pushed and was dropped, and continues as
/// before.
fn another_producer_goes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut other = tx.another();
        let mut items = items::<T>(3).into_iter();
        let first = items.next().expect("there are three");
        let thread = start(move || push(&mut other, first));
        let mut popped = Vec::new();
        let mut pushed = vec![0];
        for item in items {
            pushed.extend(attempts(&mut tx, [item].into_iter()));
            popped.extend(look(&mut rx, 1));
        }
        join([thread]);
        popped.extend(drain(&mut rx));
        assert!(popped.iter().filter(|number| **number > 0).is_sorted(), "{popped:?}");
        are_equal(popped, pushed);
    })
}

/// Two threads look for an item each, and there are two items: each thread gets one, the older item
/// first.
pub(crate) fn two_consumers<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(config);
        items::<T>(2).into_iter().for_each(|item| push(&mut tx, item));
        let mut other = rx.another();
        let thread = start(move || take(&mut other));
        let mut numbers = vec![take(&mut rx)];
        numbers.extend(join([thread]));
        all_are_there(numbers, 2);
    })
}

/// Two consumers look for the items of a producer, which goes on to the next lap. One consumer gets
/// each item, in order.
fn two_consumers_behind_a_producer<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(config);
        let n = tx.slots() as u64;
        let mut items = items::<T>(n + 1).into_iter();
        items.by_ref().take(n as usize).for_each(|item| push(&mut tx, item));
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = attempt(&mut tx, items.next().expect("one more"));
        let mut numbers = join(threads);
        numbers.push(drain(&mut last));
        assert!(numbers.iter().all(|numbers| numbers.is_sorted()), "{numbers:?}");
        all_are_there(numbers.concat(), n + u64::from(pushed));
    })
}

/// One item and two consumers: one consumer gets the item.
pub(crate) fn two_consumers_and_one_item<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        push(&mut tx, items::<T>(1).remove(0));
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 1);
        numbers.extend(join([thread]).concat());
        assert_eq!(numbers, [0], "the queue can't be busy");
    })
}

/// A producer that has been told that all items were popped is not told that the queue is full.
fn false_full<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let n = tx.slots() as u64;
        let mut items = items::<T>(n + 1).into_iter();
        items.by_ref().take(n as usize).for_each(|item| push(&mut tx, item));
        let told = loom::sync::Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let last = rx.another();
        let mut handles = [rx.another(), rx].into_iter().enumerate();
        let threads = [(); 2].map(|()| {
            let ((number, mut rx), told) = (handles.next().expect("there are two"), told.clone());
            start(move || {
                let taken = take(&mut rx);
                told[number].store(true, Ordering::Release);
                taken
            })
        });
        let is_told = told.iter().all(|told| told.load(Ordering::Acquire));
        let pushed = attempt(&mut tx, items.next().expect("one more"));
        assert!(pushed || !is_told || n > 2, "the queue was empty");
        let mut numbers = join(threads);
        let mut last = last;
        numbers.extend(drain(&mut last));
        all_are_there(numbers, n + u64::from(pushed));
    })
}

/// A pop is unfinished, and the pop of the next item has ended. A producer that has observed this
/// is not told that the queue is full.
fn false_full_behind_a_pop<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(config);
        let n = tx.slots() as u64;
        let certain = tx.capacity() as u64;
        let mut items = items::<T>(n + 1).into_iter();
        items.by_ref().take(n as usize).for_each(|item| push(&mut tx, item));
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 1);
        let pushed = tx.try_push(items.next().expect("one more"));
        let is_full = matches!(pushed, Err(TryPushError::Full(_)));
        assert!(!is_full || numbers != [1] || n - 2 >= certain, "two items have been taken");
        numbers.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, n + u64::from(pushed.is_ok()));
    })
}

/// Two threads pop a slice each, over the end of a block, while the producer continues.
fn slices_of_two_consumers<T: Cargo + Copy>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(grouped(4, 2));
        let items = items::<T>(4);
        assert_eq!(tx.push_slice(&items[..3]), 3);
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| {
            let mut into = vec![items[3]; 2];
            start(move || {
                let n = rx.pop_slice(&mut into);
                into.iter().take(n).map(Cargo::number).collect::<Vec<_>>()
            })
        });
        assert!(attempt(&mut tx, items[3]));
        let mut numbers = join(threads);
        numbers.push(drain(&mut last));
        assert!(numbers.iter().all(|numbers| numbers.is_sorted()), "{numbers:?}");
        all_are_there(numbers.concat(), 4);
    })
}

/// Two consumers are dropped while the producer waits for room: the push returns the item when both
/// are gone.
fn last_consumer_closes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let mut items = items::<T>(tx.slots() as u64 + 1);
        let spare = items.pop().expect("one more than fit");
        items.into_iter().for_each(|item| push(&mut tx, item));
        let threads = [rx.another(), rx].map(|rx| start(move || drop(rx)));
        let mut item = spare;
        while let Err(error) = tx.try_push(item) {
            if matches!(error, TryPushError::Closed(_)) {
                break;
            }
            item = error.into_inner();
            spin_loop();
        }
        assert!(tx.is_closed());
        join(threads);
    })
}

/// Two threads empty a block together, and the producer fills it again.
fn two_consumers_empty_a_block<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(grouped(4, 2));
        let n = tx.slots() as u64;
        let mut items = items::<T>(n + 2).into_iter();
        items.by_ref().take(n as usize).for_each(|item| push(&mut tx, item));
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = (0..n).chain(attempts(&mut tx, items)).collect();
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// A consumer has emptied half a block when it is cloned.
fn another_consumer_comes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut items = items::<T>(3).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        let last = items.next().expect("there are three");
        let producer = start(move || push(&mut tx, last));
        assert_eq!(look(&mut rx, 1), [0]);
        let mut other = rx.another();
        let consumer = start(move || look(&mut other, 1));
        let mut numbers = vec![0];
        numbers.extend(look(&mut rx, 1));
        numbers.extend(join([consumer]).concat());
        join([producer]);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 3);
    })
}

/// A consumer is alone again when the other consumer has popped and was dropped, and continues as
/// before.
fn another_consumer_goes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let n = tx.slots() as u64;
        let mut items = items::<T>(n + 2).into_iter();
        items.by_ref().take(n as usize).for_each(|item| push(&mut tx, item));
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 2);
        let pushed = (0..n).chain(attempts(&mut tx, items)).collect();
        numbers.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// There is always an item: one consumer pops all but one of `n` items, after the last one was
/// pushed. The other consumer has observed the first item, and is not told that the queue is empty.
pub(crate) fn false_empty_of_two_consumers<T: Cargo>(
    new: Shared<T>,
    config: Config,
    n: u64,
    is_empty: fn(&mut BoxedConsumer<T>) -> bool,
) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(config);
        let mut items = items::<T>(n).into_iter();
        let [first, all] = [(); 2].map(|()| loom::sync::Arc::new(AtomicBool::new(false)));
        let (mut one, mut other) = (rx.another(), rx);
        let (hear_first, hear_all) = (first.clone(), all.clone());
        let threads = [
            start(move || {
                if hear_all.load(Ordering::Acquire) {
                    look(&mut one, n as usize - 1);
                }
                one
            }),
            start(move || {
                if hear_first.load(Ordering::Acquire) {
                    assert!(!is_empty(&mut other), "an item is there");
                }
                other
            }),
        ];
        push(&mut tx, items.next().expect("the first"));
        first.store(true, Ordering::Release);
        items.for_each(|item| push(&mut tx, item));
        all.store(true, Ordering::Release);
        join(threads);
    })
}

/// Whether a pop says that there is no item.
pub(crate) fn pop_finds_none<T: Cargo>(rx: &mut BoxedConsumer<T>) -> bool {
    !matches!(rx.try_pop().map(drop), Ok(()) | Err(TryPopError::Busy))
}
