//! Queues whose items may leave out of turn: models of what they promise nevertheless.

use corelane_loom::{BoxedProducer, Config, Consumer, TryPopError, TryPushError};
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::rings::{false_empty_between_rings, teardown_races_push};
use crate::shared::{
    all_are_there, are_equal, attempts, consumer_a_lap_behind, drain, false_empty, items, join,
    last_producer_closes, look, pop_to_the_end, producer_a_lap_behind, push, start, take,
    two_consumers, two_consumers_and_one_item, two_producers_of,
};
use crate::{Exploration, Model};

/// Models that every relaxed queue has.
pub(crate) fn of_queue(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    let mut models = vec![
        of.model("pushed_while_popped", move || pushed_while_popped(tickets, tiny(2))),
        of.model("pushed_in_order", move || pushed_while_popped(tickets, tiny(2).relaxation(1))),
        of.model("two_producers", move || two_producers_of(tickets, tiny(2))),
        of.model("false_empty", move || false_empty(tickets)),
        of.model("false_empty_between_two", move || false_empty_between_rings(tickets)),
        of.model("last_producer_closes", move || last_producer_closes(tickets)),
        of.model("two_consumers", move || two_consumers(tickets, tiny(2))),
        of.model("two_consumers_and_one_item", move || two_consumers_and_one_item(tickets)),
        of.model("closed_while_popped", move || closed_while_popped(tickets)),
        of.model("teardown_races_push", move || teardown_races_push(tickets)),
    ];
    if of.info.bounded {
        models.extend([
            of.model("producer_a_lap_behind", move || producer_a_lap_behind(tickets)),
            of.model("consumer_a_lap_behind", move || consumer_a_lap_behind(tickets)),
            of.model("filled_by_two", move || filled_by_two(tickets)),
            of.model("filled_while_popped", move || filled_while_popped(tickets)),
            of.model("false_full_behind_pops", move || false_full_behind_pops(tickets)),
        ]);
    }
    models
}

/// Two items are pushed while a consumer looks for them.
fn pushed_while_popped<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(config);
        let items = items::<T>(2);
        let thread = start(move || items.into_iter().for_each(|item| push(&mut tx, item)));
        let mut numbers = look(&mut rx, 2);
        join([thread]);
        numbers.extend(drain(&mut rx));
        assert!(rx.relaxation() > 1 || numbers.is_sorted(), "{numbers:?}");
        all_are_there(numbers, 2);
        assert!(matches!(rx.try_pop(), Err(TryPopError::Closed)));
    })
}

/// A producer pushes and is dropped, while two consumers pop until the queue is closed.
fn closed_while_popped<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let last = items.next().expect("another");
        let mut other = rx.another();
        let threads = [
            start(move || {
                push(&mut tx, last);
                Vec::new()
            }),
            start(move || pop_to_the_end(&mut other)),
        ];
        let mut numbers = pop_to_the_end(&mut rx);
        numbers.extend(join(threads).concat());
        all_are_there(numbers, 2);
    })
}

/// Two threads push as many items as fit, and none of them is told that the queue is full.
fn filled_by_two<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut mine = items::<T>(tx.capacity() as u64);
        let theirs = mine.split_off(mine.len() / 2);
        let mut other = tx.another();
        let fill = |tx: &mut BoxedProducer<T>, items: Vec<T>| {
            for mut item in items {
                while let Err(error) = tx.try_push(item) {
                    assert!(!matches!(error, TryPushError::Full(_)), "there is room");
                    item = error.into_inner();
                    loom::hint::spin_loop();
                }
            }
        };
        let thread = start(move || fill(&mut other, theirs));
        fill(&mut tx, mine);
        join([thread]);
        let n = tx.capacity() as u64;
        all_are_there(drain(&mut rx), n);
    })
}

/// The queue is full. A producer goes on to push while a consumer pops, over the end of the lap.
fn filled_while_popped<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let slots = tx.slots();
        let mut items = items::<T>(slots as u64 + 3).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(slots + 1));
        assert!(pushed.len() >= tx.capacity());
        let thread = start(move || attempts(&mut tx, items));
        let mut popped = look(&mut rx, 3);
        pushed.extend(join([thread]).concat());
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// The queue is full. Two threads pop an item each. A producer that knows that all items have left
/// is not told that the queue is full.
fn false_full_behind_pops<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let mut items = items::<T>(tx.slots() as u64 + 2);
        let last = items.pop().expect("there are some");
        let pushed = attempts(&mut tx, items.into_iter());
        let told = loom::sync::Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let mut last_rx = rx.another();
        let mut popped = look(&mut last_rx, pushed.len() - 2);
        let mut handles = [rx.another(), rx].into_iter().enumerate();
        let threads = [(); 2].map(|()| {
            let ((i, mut rx), told) = (handles.next().expect("there are two"), told.clone());
            start(move || {
                let number = take(&mut rx);
                told[i].store(true, Ordering::Release);
                (number, rx)
            })
        });
        let are_gone = told.iter().all(|told| told.load(Ordering::Acquire));
        let result = tx.try_push(last);
        assert!(!are_gone || result.is_ok(), "the queue is empty");
        popped.extend(join(threads).into_iter().map(|(number, _rx)| number));
        drop(result);
        popped.extend(drain(&mut last_rx));
        assert!(popped.len() >= pushed.len());
    })
}
