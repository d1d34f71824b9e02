//! `ring`: threads of a side that are done in the order in which they began, full, empty and in between
//! (001 §2.2).

use corelane_loom::mpmc::ring::PlainRing;
use corelane_loom::{Consumer, Producer, TryPopError, TryPushError};
use loom::hint::spin_loop;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::shared::{all_are_there, are_equal, attempt, attempts, drain, items, join, look, start};
use crate::subject::{Many, Shared, Subject};
use crate::{Model, Run};

type S = Many<PlainRing>;

pub(crate) fn models() -> Vec<Model> {
    vec![
        Model::new::<S>("full_while_it_is_emptied", full_while_it_is_emptied),
        Model::new::<S>("empty_while_it_is_filled", empty_while_it_is_filled),
        Model::new::<S>("shown_in_the_order_taken", shown_in_the_order_taken),
        Model::new::<S>("freed_in_the_order_taken", freed_in_the_order_taken),
        Model::new::<S>("slices_longer_than_the_ring", slices_longer_than_the_ring),
        Model::new::<S>("slices_of_nothing", slices_of_nothing),
        Model::new::<S>("head_tail_reordered", head_tail_reordered),
        Model::new::<S>("head_tail_reordered_of_consumers", head_tail_reordered_of_consumers),
        Model::new::<S>("freed_by_the_last_consumer", freed_by_the_last_consumer),
    ]
}

/// What a thread has told others.
fn told() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// One item, which one consumer is about to take, and another one has been told that it is gone: a push
/// that finds no room isn't told that the queue is full.
fn full_while_it_is_emptied() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let (mut one, mut other) = (S::another_consumer(&rx), rx);
        let tell = told();
        let hear = tell.clone();
        let threads = [
            start(move || drop(look(&mut one, 1))),
            start(move || {
                if matches!(other.try_pop(), Err(TryPopError::Empty)) {
                    tell.store(true, Ordering::Release);
                }
            }),
        ];
        let is_told = hear.load(Ordering::Acquire);
        let pushed = tx.try_push(items.next().expect("the second"));
        assert!(!(is_told && matches!(pushed, Err(TryPushError::Full(_)))), "it was empty");
        join(threads);
    })
}

/// The same the other way round: one producer is about to fill the only slot, and another one has been told
/// that there is no other. A pop isn't told that there is no item.
fn empty_while_it_is_filled() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = S::channel(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        let (mut one, mut other) = (S::another_producer(&tx), tx);
        let (first, second) = (items.next().expect("one"), items.next().expect("two"));
        let tell = told();
        let hear = tell.clone();
        let threads = [
            start(move || _ = attempt(&mut one, first)),
            start(move || {
                if matches!(other.try_push(second), Err(TryPushError::Full(_))) {
                    tell.store(true, Ordering::Release);
                }
            }),
        ];
        let is_told = hear.load(Ordering::Acquire);
        let popped = rx.try_pop();
        assert!(!is_told || popped.is_ok(), "it was full");
        drop(popped);
        join(threads);
    })
}

/// Two slices, taken in any order and finished in any: the second is not seen before the first, and
/// neither is cut by the other.
fn shown_in_the_order_taken() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = <S as Subject<Number>>::channel(tiny(4));
        let items = items::<Number>(4);
        let mut into = vec![items[0]; 4];
        let threads = [(<S as Shared<Number>>::another_producer(&tx), 0), (tx, 2)];
        let threads = threads.map(|(mut tx, first)| {
            let items = items[first..][..2].to_vec();
            start(move || assert_eq!(tx.push_slice(&items), 2, "there is room"))
        });
        let n = rx.pop_slice(&mut into);
        assert!(n.is_multiple_of(2), "a slice is shown at once");
        join(threads);
        let mut numbers: Vec<_> = into.iter().take(n).map(Cargo::number).collect();
        numbers.extend(drain(&mut rx));
        assert!(numbers == [0, 1, 2, 3] || numbers == [2, 3, 0, 1], "{numbers:?}");
    })
}

/// Two consumers take an item each and finish in any order: a slot that is free comes after all those
/// before it are.
fn freed_in_the_order_taken() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut last = S::another_consumer(&rx);
        let threads = [S::another_consumer(&rx), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = [0, 1].into_iter().chain(attempts(&mut tx, items)).collect();
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// Slices that don't fit are pushed and popped by what there is, past the end of the ring.
fn slices_longer_than_the_ring() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = <S as Subject<Number>>::channel(tiny(2));
        let items = items::<Number>(4);
        let mut into = vec![items[0]; 3];
        let thread = start(move || {
            let mut rest = &items[..];
            while !rest.is_empty() {
                let n = tx.push_slice(rest);
                assert!(n <= 2, "there are two slots");
                rest = &rest[n..];
                if n == 0 {
                    spin_loop();
                }
            }
        });
        let mut numbers = Vec::new();
        while numbers.len() < 4 {
            let n = rx.pop_slice(&mut into);
            assert!(n <= 2, "there are two slots");
            numbers.extend(into.iter().take(n).map(Cargo::number));
            if n == 0 {
                spin_loop();
            }
        }
        join([thread]);
        assert_eq!(numbers, [0, 1, 2, 3]);
    })
}

/// Slices without items change nothing, whatever others do.
fn slices_of_nothing() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = <S as Subject<Number>>::channel(tiny(1));
        let items = items::<Number>(2);
        let mut other = <S as Shared<Number>>::another_producer(&tx);
        let pushed = items.clone();
        let thread = start(move || {
            let mut tx = tx;
            attempts(&mut tx, pushed.into_iter())
        });
        assert_eq!((other.push_slice(&[]), rx.pop_slice(&mut [])), (0, 0));
        let mut numbers = look(&mut rx, 1);
        assert_eq!((other.push_slice(&[]), rx.pop_slice(&mut [])), (0, 0));
        let pushed = join([thread]).concat();
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// Two producers want the slot that a consumer frees. Who has seen the other's item in it has also seen it
/// free: otherwise there would be less than no room, which is a lot (row `head_tail_reordered`).
fn head_tail_reordered() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::channel(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [S::another_producer(&tx), tx].map(|mut tx| {
            let item = items.next().expect("there are two more");
            start(move || attempts(&mut tx, [item].into_iter()))
        });
        let mut numbers = look(&mut rx, 1);
        let pushed = [0].into_iter().chain(join(threads).concat()).collect::<Vec<_>>();
        assert!(pushed.len() <= 2, "two items for one slot");
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// Two consumers want the item that a producer brings.
fn head_tail_reordered_of_consumers() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(2));
        let item = items::<Ticket>(1).remove(0);
        let mut last = S::another_consumer(&rx);
        let threads = [S::another_consumer(&rx), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        assert!(attempt(&mut tx, item));
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 1);
    })
}

/// Two consumers pop an item each and go. A push may be told that they are gone, but then there is room.
fn freed_by_the_last_consumer() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let threads = [S::another_consumer(&rx), rx].map(|mut rx| {
            start(move || {
                let numbers = look(&mut rx, 1);
                assert_eq!(numbers.len(), 1, "there are two items");
                numbers
            })
        });
        let item = items.next().expect("the third");
        match tx.try_push(item) {
            Err(TryPushError::Closed(item)) => {
                assert!(tx.try_push(item).is_ok(), "both items have been popped");
            }
            pushed => drop(pushed),
        }
        all_are_there(join(threads).concat(), 2);
    })
}
