//! `cnq`: capsules that are closed, shared, left and used again (paper 3, ch. 3).

use corelane_loom::{BoxedProducer, Config};

use crate::explore::explore_shared;
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::shared::{all_are_there, attempts, drain, items, join, look, push, start};
use crate::{Exploration, Model};

pub(crate) fn models(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    vec![
        of.model("closed_by_another", move || closed_by_another(tickets)),
        of.model("left_to_another", move || left_to_another(tickets)),
        of.model("another_comes_to_share", move || another_comes_to_share(tickets)),
        of.model("finished_by_two", move || finished_by_two(tickets)),
        of.model("read_when_used_again", move || read_when_used_again(tickets)),
        of.model("popped_while_filled", move || popped_while_filled(tickets)),
    ]
}

/// Capsules of `size` slots, each a group.
fn capsules(capacity: usize, size: usize) -> Config {
    Config::new(capacity).relaxation(3 * size).block(size).first(u64::MAX - 8)
}

/// A producer pushes into its capsule, while another producer gets two groups ahead, and closes
/// the capsule.
fn closed_by_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut slow, mut rx) = new(capsules(6, 2));
        let mut items = items::<T>(5).into_iter();
        push(&mut slow, items.next().expect("there are five"));
        let (second, mut tx) = (items.next().expect("as above"), slow.another());
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)).len(), 2, "a capsule is full");
        let thread = start(move || {
            push(&mut slow, second);
            slow
        });
        assert_eq!(attempts(&mut tx, items).len(), 1, "there is room");
        let _slow = join([thread]);
        all_are_there(drain(&mut rx), 5);
    })
}

/// A producer is dropped in the middle of its capsule, while another one looks for a capsule to
/// share.
fn left_to_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(4, 2));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("there are three"));
        let mut other = tx.another();
        let thread = start(move || drop(tx));
        items.for_each(|item| push(&mut other, item));
        join([thread]);
        all_are_there(drain(&mut rx), 3);
    })
}

/// Two producers without a capsule push at the same time. Each shares one, or has its own.
fn another_comes_to_share<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(capsules(4, 2));
        let mut items = items::<T>(3).into_iter();
        let mut all = [tx.another(), tx.another()];
        push(&mut all[0], items.next().expect("there are three"));
        let threads = all.map(|mut tx: BoxedProducer<T>| {
            let item = items.next().expect("as above");
            start(move || {
                push(&mut tx, item);
                tx
            })
        });
        let _all = join(threads);
        all_are_there(drain(&mut rx), 3);
    })
}

/// Two consumers take the last items of a group, and both find it finished. Meanwhile its capsule
/// may be used again.
fn finished_by_two<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(1, 1));
        let mut items = items::<T>(5).into_iter();
        push(&mut tx, items.next().expect("there are five"));
        let mut other = rx.another();
        let thread = start(move || (look(&mut other, 1), other));
        let mut numbers = look(&mut rx, 1);
        let mut pushed = 1;
        for item in items {
            pushed += attempts(&mut tx, [item].into_iter()).len() as u64;
            numbers.extend(look(&mut rx, 1));
        }
        let (more, _other) = join([thread]).remove(0);
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, pushed);
    })
}

/// A consumer is reading an item, while others empty the queue, and a producer comes to its slot
/// again.
fn read_when_used_again<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(2, 1));
        let mut items = items::<T>(6).into_iter();
        push(&mut tx, items.next().expect("there are six"));
        let mut other = rx.another();
        let thread = start(move || (look(&mut other, 1), other));
        let (mut numbers, mut pushed) = (Vec::new(), 1);
        for item in items {
            pushed += attempts(&mut tx, [item].into_iter()).len() as u64;
            numbers.extend(look(&mut rx, 1));
        }
        let (more, _other) = join([thread]).remove(0);
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, pushed);
    })
}

/// Two consumers take items of a capsule that its producer is filling.
fn popped_while_filled<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(4, 4));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("there are three"));
        let mut other = rx.another();
        let producer = start(move || {
            items.for_each(|item| push(&mut tx, item));
            (Vec::new(), Some(tx), None)
        });
        let consumer = start(move || (look(&mut other, 1), None, Some(other)));
        let mut numbers = look(&mut rx, 1);
        let [(_, _tx, _), (more, _, _other)] =
            join([producer, consumer]).try_into().expect("two threads");
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 3);
    })
}
