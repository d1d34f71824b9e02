//! Lists between several threads, which are never full: of rings (Morrison, Afek 2013; Romanov,
//! Koval 2023; paper 5 §IV.B), and of nodes (Michael, Scott 1996).
//!
//! Rings have one slot or two here, so that threads go from one to the next all the time. A handle
//! that accesses a freed node panics: the facade checks each access.

use corelane_loom::list::michael_scott::Msq;
use corelane_loom::rings::lcrq::LcrqAny;
use corelane_loom::rings::lprq::Lprq;
use corelane_loom::{Config, TryPushError};
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore_shared, explore_twice_preempted, tiny};
use crate::hazard;
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Of, Shared, SharedSubject};
use crate::shared::{
    all_are_there, are_equal, attempts, drain, items, join, look, models_where_all_fits, push,
    start, two_producers_of,
};
use crate::watcher::count_values;
use crate::{Exploration, Model};

/// Of models that every queue has: there are no blocks.
pub(crate) const LEFT_OUT: &[&str] = &[
    "two_producers_in_a_block",
    "two_consumers_in_a_block",
    "another_producer_comes",
    "another_consumer_comes",
];

pub(crate) fn models() -> Vec<Model> {
    let mut models = of_rings(SharedSubject::new::<LcrqAny>());
    let lprq = SharedSubject::new::<Lprq>();
    models.extend(hazard::models(lprq.of));
    models.extend(of_rings(lprq));
    let SharedSubject::<Ticket, Number> { of, tickets, .. } = SharedSubject::new::<Msq>();
    models.push(of.model("helped_push", move || helped_push(tickets)));
    models
}

/// The common models that don't fill the queue, and models of threads that move from one ring, or
/// node, to the next.
pub(crate) fn of_queue(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    let mut models = models_where_all_fits(subject);
    models.extend(of_list(of, tickets));
    models
}

/// Models of threads that move from one ring, node or segment of a list to the next. Each has room
/// for one item.
pub(crate) fn of_list(of: Of, tickets: Shared<Ticket>) -> Vec<Model> {
    vec![
        of.model("pushed_while_another_is_hung", move || pushed_while_another_is_hung(tickets)),
        of.model("left_by_two", move || left_by_two(tickets)),
        of.model("late_producer", move || late_producer(tickets)),
        of.model("late_consumer", move || late_consumer(tickets)),
        of.model("late_counts", move || late_counts(tickets)),
        of.model("false_empty_between_rings", move || false_empty_between_rings(tickets)),
        of.model("handles_come_and_go", move || handles_come_and_go(tickets)),
        of.model("consumers_go", move || consumers_go(tickets)),
        of.model("teardown_races_push", move || teardown_races_push(tickets)),
    ]
}

/// Models of rings whose threads get a position and then meet in its slot.
pub(crate) fn of_rings(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    vec![
        of.model("one_pop_too_many", move || one_pop_too_many(tickets, tiny(2))),
        of.model("taken_a_lap_later", move || taken_a_lap_later(tickets)),
        of.model("given_while_in_use", move || given_while_in_use(tickets)),
        of.model("producer_comes", move || producer_comes(tickets)),
        of.model("two_pops_too_many", move || two_pops_too_many(tickets)),
        of.model("two_producers_in_a_slot", move || two_producers_of(tickets, tiny(1))),
        of.model("one_pop_too_many_in_a_slot", move || one_pop_too_many(tickets, tiny(1))),
    ]
}

/// A ring for one item is filled, closed and followed by another ring, while the consumer looks for
/// items. The item that was pushed just before the ring was closed is not lost.
fn pushed_while_another_is_hung<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let items = items::<T>(2);
        let thread = start(move || items.into_iter().for_each(|item| push(&mut tx, item)));
        let mut numbers = look(&mut rx, 2);
        join([thread]);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [0, 1]);
    })
}

/// Two threads leave an empty ring at the same time: the ring is retired once, and neither thread
/// accesses it after it was freed.
fn left_by_two<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        items::<T>(2).into_iter().for_each(|item| push(&mut tx, item));
        let mut other = rx.another();
        assert_eq!(look(&mut rx, 1), [0]);
        let thread = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 1);
        numbers.extend(join([thread]).concat());
        assert_eq!(numbers, [1], "one of the threads gets the item");
    })
}

/// A producer pushes while it is still in a ring, or at a node, that other threads have left.
fn late_producer<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut late = tx.another();
        let mut items = items::<T>(3).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        let last = items.next().expect("there are three");
        let thread = start(move || push(&mut late, last));
        let mut numbers = look(&mut rx, 2);
        join([thread]);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [0, 1, 2]);
    })
}

/// Handles are in a ring, or at a node, that others leave while the handles count. One item stays.
fn late_counts<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let (mut late_tx, mut late_rx) = (tx.another(), rx.another());
        items::<T>(3).into_iter().for_each(|item| push(&mut tx, item));
        let thread = start(move || {
            assert!(!late_rx.is_empty());
            assert!((1..=3).contains(&late_tx.len()));
        });
        let mut numbers = look(&mut rx, 2);
        join([thread]);
        // A ring that was full may count an item more.
        assert!(matches!(rx.len(), 1 | 2) && !rx.is_empty());
        numbers.extend(drain(&mut rx));
        assert_eq!((numbers, rx.is_empty()), (vec![0, 1, 2], true));
    })
}

/// A consumer pops while it is still in a ring, or at a node, that other threads have left.
fn late_consumer<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut late = rx.another();
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        push(&mut tx, items.next().expect("another"));
        let thread = start(move || look(&mut late, 1));
        let mut numbers = look(&mut rx, 2);
        assert!(numbers.is_sorted(), "{numbers:?}");
        numbers.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
    })
}

/// There are two items, in a ring each. One consumer pops an item after both were pushed. The other
/// consumer starts after the first push. There is always an item, so the other consumer's pop
/// doesn't say empty.
fn false_empty_between_rings<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(1));
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let all = loom::sync::Arc::new(AtomicBool::new(false));
        let (mut one, mut other) = (rx.another(), rx.another());
        let hear = all.clone();
        let threads = [
            // The handles are dropped after the threads have ended: a drop has steps, too.
            start(move || {
                if hear.load(Ordering::Acquire) {
                    assert_eq!(one.try_pop().map(|_| ()), Ok(()), "an item is there");
                }
                one
            }),
            start(move || {
                assert_eq!(other.try_pop().map(|_| ()), Ok(()), "an item is there");
                other
            }),
        ];
        push(&mut tx, items.next().expect("another"));
        all.store(true, Ordering::Release);
        join(threads);
    })
}

/// A consumer leaves a ring, or nodes, and scans the hazards. Meanwhile another thread drops a
/// handle and makes two: the second new handle reuses the record of the dropped handle.
fn handles_come_and_go<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let idle = rx.another();
        items::<T>(2).into_iter().for_each(|item| push(&mut tx, item));
        let thread = start(move || {
            let first = idle.another();
            drop(idle);
            let mut second = first.another();
            (look(&mut second, 1), first, second)
        });
        let mut numbers = look(&mut rx, 2);
        let (popped, _first, _second) = thread.join();
        count_values(false);
        numbers.extend(popped);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
    })
}

/// The consumers are dropped. Pushes allocate no more than one ring, and then say closed. The items
/// that are left are dropped once.
fn consumers_go<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(1));
        let mut other = rx.another();
        let thread = start(move || {
            let numbers = look(&mut other, 1);
            drop(other);
            numbers
        });
        drop(rx);
        let mut is_told = false;
        for item in items::<T>(2) {
            match tx.try_push(item) {
                Ok(()) => assert!(!is_told, "a push after closed succeeded"),
                Err(TryPushError::Closed(_)) => is_told = true,
                Err(_) => panic!("there is memory"),
            }
        }
        join([thread]);
        assert!(tx.is_closed());
    })
}

/// Either side is dropped, and items are left behind, perhaps in several rings.
fn teardown_races_push<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let last = items.next().expect("another");
        let thread = start(move || {
            assert!(!matches!(tx.try_push(last), Err(TryPushError::Full(_))));
        });
        look(&mut rx, 1);
        drop(rx);
        join([thread]);
    })
}

/// A consumer is taking an item, and another consumer gets the position of the same slot a lap
/// later. The other consumer leaves a mark, and an item that is pushed meanwhile goes into another
/// slot.
fn given_while_in_use<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_twice_preempted(move || {
        let (mut tx, mut last) = new(tiny(1));
        let mut items = items::<T>(4).into_iter();
        let mut next = || items.next().expect("there are four");
        // A consumer that has just popped an item takes the next position without looking into the
        // slot first.
        let consumers = [0, 1].map(|number| {
            let mut rx = last.another();
            push(&mut tx, next());
            assert_eq!(look(&mut rx, 1), [number]);
            rx
        });
        push(&mut tx, next());
        let (item, [mut one, mut other]) = (next(), consumers);
        // The handles are dropped after the threads have ended: a drop has steps, too.
        let consumer = start(move || (look(&mut other, 1), other));
        let producer = start(move || {
            push(&mut tx, item);
            tx
        });
        let mut numbers = look(&mut one, 1);
        let _tx = producer.join();
        let (popped, _other) = consumer.join();
        count_values(false);
        numbers.extend(popped);
        numbers.extend(drain(&mut last));
        are_equal(numbers, vec![2, 3]);
    })
}

/// A producer appends a node, another producer moves `tail` to this node in its place, and a third
/// producer reads the node from `tail`.
fn helped_push<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_twice_preempted(move || {
        let (tx, mut rx) = new(tiny(1));
        let threads = items::<T>(3).into_iter().map(|item| {
            let mut tx = tx.another();
            // The handles are dropped after the threads have ended: a drop has steps, too.
            start(move || {
                push(&mut tx, item);
                tx
            })
        });
        join(threads.collect::<Vec<_>>());
        all_are_there(drain(&mut rx), 3);
    })
}

/// A consumer has popped an item, and looks for the next item while it is being pushed. The
/// consumer may take the position first; then the item goes to another position.
fn one_pop_too_many<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(config);
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let last = items.next().expect("another");
        let thread = start(move || push(&mut tx, last));
        let mut numbers = look(&mut rx, 2);
        join([thread]);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [0, 1]);
    })
}

/// The same with two consumers: one of them moves `tail` past both positions, perhaps before the
/// other has looked into its slot.
fn two_pops_too_many<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut one) = new(tiny(2));
        let mut other = one.another();
        let mut items = items::<T>(3).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        // A consumer that has just popped an item takes the next position without looking into the
        // slot first.
        assert_eq!((look(&mut one, 1), look(&mut other, 1)), (vec![0], vec![1]));
        let last = items.next().expect("a third");
        let consumer = start(move || (look(&mut other, 1), other));
        let producer = start(move || push(&mut tx, last));
        let mut numbers = look(&mut one, 1);
        producer.join();
        let (more, _other) = consumer.join();
        count_values(false);
        numbers.extend(more);
        numbers.extend(drain(&mut one));
        assert_eq!(numbers, [2]);
    })
}

/// A new handle starts in the ring that another producer has just appended: the ring is
/// initialized.
pub(crate) fn producer_comes<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let late = tx.another();
        let mut items = items::<T>(4).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        let third = items.next().expect("there are four");
        let thread = start(move || push(&mut tx, third));
        push(&mut late.another(), items.next().expect("there are four"));
        join([thread]);
        all_are_there(drain(&mut rx), 4);
    })
}

/// A consumer is about to take an item. Other threads visit its slot a lap later, to take and to
/// put an item.
fn taken_a_lap_later<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut late = rx.another();
        let thread = start(move || look(&mut late, 1));
        let mut popped = look(&mut rx, 1);
        let mut pushed = vec![0, 1];
        for item in items {
            pushed.push(item.number());
            push(&mut tx, item);
            popped.extend(look(&mut rx, 1));
        }
        popped.extend(join([thread]).concat());
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}
