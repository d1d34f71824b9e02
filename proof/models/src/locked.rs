//! `locked`: calls that wait, beside calls that don't (row `lost_wakeup_on_notify`).
//!
//! A thread that is never woken ends the model: loom finds that no thread can continue.

use corelane_loom::Config;
use corelane_loom::locked::{Closed, Consumer, Locked, Producer};

use crate::explore::{explore_shared, explore_sides, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Of, own};
use crate::shared::{all_are_there, are_equal, attempts, drain, items, join, look, start};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::any::<Locked, Ticket>();
    vec![
        of.model("waiting_transfer", waiting_transfer),
        of.model("two_consumers_wait", two_consumers_wait),
        of.model("two_consumers_wait_for_a_slice", two_consumers_wait_for_a_slice),
        of.model("two_producers_wait", two_producers_wait),
        of.model("two_producers_wait_for_a_slice", two_producers_wait_for_a_slice),
        of.model("one_consumer_waits_and_one_does_not", one_consumer_waits_and_one_does_not),
        of.model("one_producer_waits_and_one_does_not", one_producer_waits_and_one_does_not),
        of.model("both_sides_wait", both_sides_wait),
        of.model("closed_while_consumers_wait", closed_while_consumers_wait),
        of.model("closed_while_producers_wait", closed_while_producers_wait),
        of.model("closed_by_the_last_of_two_producers", closed_by_the_last_of_two_producers),
        of.model("closed_by_the_last_of_two_consumers", closed_by_the_last_of_two_consumers),
        of.model("clones_hold_it_open", clones_hold_it_open),
    ]
}

fn new<T: Send>(config: Config) -> (Producer<T>, Consumer<T>) {
    own::<Locked, T>(config)
}

/// Waits for an item, and returns its number.
fn pop(rx: &mut Consumer<Ticket>) -> u64 {
    rx.pop().expect("an item comes").number()
}

/// Pushes an item, after waiting for room.
fn push(tx: &mut Producer<Ticket>, item: Ticket) {
    tx.push(item).expect("the consumers are there");
}

/// One slot: each side waits for the other. In the end the consumer is told that the queue is
/// closed.
fn waiting_transfer() -> Exploration {
    explore_sides(
        new::<Ticket>,
        tiny(1),
        |mut tx| (0..3).for_each(|number| push(&mut tx, Cargo::of(number))),
        |mut rx| {
            assert_eq!([pop(&mut rx), pop(&mut rx), pop(&mut rx)], [0, 1, 2]);
            assert!(matches!(rx.pop(), Err(Closed { .. })));
        },
        |(), ()| {},
    )
}

/// Two consumers wait, and two items come.
fn two_consumers_wait() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = new::<Ticket>(tiny(2));
        let items = items::<Ticket>(2).into_iter();
        let threads = [rx.clone(), rx].map(|mut rx| start(move || pop(&mut rx)));
        assert_eq!(attempts(&mut tx, items), [0, 1]);
        all_are_there(join(threads), 2);
    })
}

/// Two consumers wait, and two items come in one slice. No item comes before.
fn two_consumers_wait_for_a_slice() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = new::<Number>(tiny(2));
        let items = items::<Number>(2);
        let rxs = [rx.clone(), rx];
        let threads = rxs.map(|mut rx| start(move || rx.pop().expect("an item comes").number()));
        assert_eq!((tx.push_slice(&[]), tx.push_slice(&items)), (0, 2));
        all_are_there(join(threads), 2);
    })
}

/// Two producers wait, and two items are popped.
fn two_producers_wait() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = new::<Ticket>(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [tx.clone(), tx].map(|mut tx| {
            let item = items.next().expect("there are two more");
            start(move || push(&mut tx, item))
        });
        let mut numbers = look(&mut rx, 1);
        assert_eq!(numbers, [0]);
        numbers.push(pop(&mut rx));
        join(threads);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 3);
    })
}

/// Two producers wait, and two items are popped at once.
fn two_producers_wait_for_a_slice() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = new::<Number>(tiny(2));
        let items = items::<Number>(4);
        assert_eq!(tx.push_slice(&items[..2]), 2);
        let txs = [(tx.clone(), items[2]), (tx, items[3])];
        let threads =
            txs.map(|(mut tx, item)| start(move || tx.push(item).expect("the consumer is there")));
        let mut into = [items[0]; 2];
        assert_eq!((rx.pop_slice(&mut []), rx.pop_slice(&mut into)), (0, 2));
        join(threads);
        let mut numbers: Vec<_> = into.iter().map(Cargo::number).collect();
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 4);
    })
}

/// One consumer waits. Another consumer, which doesn't wait, may take the item that the first is
/// woken for.
fn one_consumer_waits_and_one_does_not() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = new::<Ticket>(tiny(2));
        let items = items::<Ticket>(2).into_iter();
        let mut last = rx.clone();
        let (mut patient, mut hasty) = (rx.clone(), rx);
        let threads = [start(move || vec![pop(&mut patient)]), start(move || look(&mut hasty, 1))];
        assert_eq!(attempts(&mut tx, items), [0, 1]);
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 2);
    })
}

/// One producer waits. Another producer, which doesn't wait, may take the slot that the first is
/// woken for.
fn one_producer_waits_and_one_does_not() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = new::<Ticket>(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let (first, second) = (items.next().expect("one"), items.next().expect("two"));
        let (mut patient, mut hasty) = (tx.clone(), tx);
        let threads = [
            start(move || {
                push(&mut patient, first);
                vec![0, 1]
            }),
            start(move || attempts(&mut hasty, [second].into_iter())),
        ];
        let mut numbers = vec![pop(&mut rx), pop(&mut rx)];
        let pushed = join(threads).concat();
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// Two producers and a consumer wait for each other at one slot.
fn both_sides_wait() -> Exploration {
    explore_shared(|| {
        let (tx, mut rx) = new::<Ticket>(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        let threads = [tx.clone(), tx].map(|mut tx| {
            let item = items.next().expect("there are two");
            start(move || push(&mut tx, item))
        });
        let numbers = vec![pop(&mut rx), pop(&mut rx)];
        assert!(matches!(rx.pop(), Err(Closed { .. })));
        join(threads);
        all_are_there(numbers, 2);
    })
}

/// Two consumers wait. The producer pushes an item and is dropped: one consumer gets the item, both
/// are woken.
fn closed_while_consumers_wait() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = new::<Ticket>(tiny(2));
        let items = items::<Ticket>(1).into_iter();
        let threads = [rx.clone(), rx]
            .map(|mut rx| start(move || rx.pop().ok().map(|item: Ticket| item.number())));
        assert_eq!(attempts(&mut tx, items), [0]);
        drop(tx);
        all_are_there(join(threads).into_iter().flatten().collect(), 1);
    })
}

/// Two producers wait. The consumer pops an item and is dropped: one producer finds room, the other
/// gets its item back or finds room.
fn closed_while_producers_wait() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = new::<Ticket>(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [tx.clone(), tx].map(|mut tx| {
            let item = items.next().expect("there are two more");
            start(move || {
                let number = item.number();
                match tx.push(item) {
                    Ok(()) => true,
                    Err(closed) => {
                        assert_eq!(closed.into_inner().number(), number, "the item comes back");
                        assert!(tx.is_closed());
                        false
                    }
                }
            })
        });
        assert_eq!(look(&mut rx, 1), [0]);
        drop(rx);
        let pushed = join(threads).into_iter().filter(|pushed| *pushed).count();
        assert_eq!(pushed, 1, "there was room for one");
    })
}

/// A consumer waits while two producers are dropped. One of them has pushed an item.
fn closed_by_the_last_of_two_producers() -> Exploration {
    explore_shared(|| {
        let (tx, mut rx) = new::<Ticket>(tiny(2));
        let item = items::<Ticket>(1).remove(0);
        let (mut tx, other) = (tx.clone(), tx);
        let threads = [start(move || push(&mut tx, item)), start(move || drop(other))];
        assert_eq!(pop(&mut rx), 0);
        assert!(matches!(rx.pop(), Err(Closed { .. })) && rx.is_closed());
        join(threads);
    })
}

/// A producer waits for room while two consumers are dropped.
fn closed_by_the_last_of_two_consumers() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = new::<Ticket>(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [rx.clone(), rx].map(|rx| start(move || drop(rx)));
        let refused = tx.push(items.next().expect("the second"));
        assert!(refused.is_err_and(|closed| closed.into_inner().number() == 1));
        join(threads);
    })
}

/// A producer is dropped after it was cloned: a waiting consumer is not told that the queue is
/// closed.
fn clones_hold_it_open() -> Exploration {
    explore_shared(|| {
        let (tx, mut rx) = new::<Ticket>(tiny(2));
        let item = items::<Ticket>(1).remove(0);
        let consumer = start(move || pop(&mut rx));
        let mut other = tx.clone();
        let producer = start(move || push(&mut other, item));
        drop(tx);
        join([producer]);
        assert_eq!(join([consumer]), [0]);
    })
}
