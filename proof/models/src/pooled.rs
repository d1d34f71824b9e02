//! Queues whose nodes are in a pool, and are used again while other threads may still know them.

use corelane_loom::list::pooled::MsqPool;
use corelane_loom::rings::pooled::LcrqPoolAny;

use crate::explore::{explore_shared, explore_twice_preempted, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::shared::{all_are_there, are_equal, attempt, drain, items, look, push, start};
use crate::watcher::count_values;
use crate::{Exploration, Model, rings, without};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = SharedSubject::<Ticket, Number>::new::<MsqPool>();
    let mut models = vec![of.model("nodes_come_back", move || nodes_come_back(tickets))];
    let SharedSubject { of, tickets, .. } = SharedSubject::<Ticket, Number>::new::<LcrqPoolAny>();
    models.extend([
        of.model("rings_come_back", move || rings_come_back(tickets)),
        of.model("entered_when_opened_again", move || entered_when_opened_again(tickets)),
        of.model("opened_again_behind_all_pops", move || opened_again_behind_all_pops(tickets)),
    ]);
    let lcrq = SharedSubject::new::<LcrqPoolAny>;
    // These models never fill the rings.
    models.extend(without(rings::LEFT_OUT, rings::of_queue(lcrq())));
    models.extend(rings::of_rings(lcrq()));
    models
}

/// A producer is stopped in a push. Meanwhile the other handles use each node and make it free
/// again: the first free node is the same, and another node is behind it. Or the node that was the
/// last one is free, and no node is behind it.
pub(crate) fn nodes_come_back<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut late = tx.another();
        let mut items = items::<T>(4);
        let last = items.pop().expect("there are four");
        let mut items = items.into_iter().enumerate();
        // The handle is dropped after the thread has ended: a drop has steps, too.
        let thread = start(move || (attempt(&mut late, last), late));
        let mut pushed = Vec::new();
        let mut push = |n| {
            for (number, item) in items.by_ref().take(n) {
                pushed.extend(attempt(&mut tx, item).then_some(number as u64));
            }
        };
        push(2);
        let mut popped = look(&mut rx, 2);
        push(1);
        let (is_last, _late) = thread.join();
        count_values(false);
        pushed.extend(is_last.then_some(3));
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// A consumer is about to enter a ring. Meanwhile the other handles leave the ring, and use it
/// again behind another ring. So the consumer must not take an item there.
pub(crate) fn rings_come_back<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let clones = rx.another();
        let mut items = items::<T>(4).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        // The handles are dropped after the thread has ended: a drop has steps, too.
        let thread = start(move || {
            let mut late = clones.another();
            (look(&mut late, 1), late, clones)
        });
        let mut numbers = look(&mut rx, 2);
        items.for_each(|item| push(&mut tx, item));
        let (popped, _late, _clones) = thread.join();
        count_values(false);
        let rest = drain(&mut rx);
        assert!(popped.iter().all(|late| rest.iter().all(|number| late < number)), "{rest:?}");
        numbers.extend(popped.into_iter().chain(rest));
        all_are_there(numbers, 4);
    })
}

/// A ring is used again, and a new handle enters it at once: the handle finds the ring open.
fn entered_when_opened_again<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut items = items::<T>(5).into_iter();
        items.by_ref().take(2).for_each(|item| push(&mut tx, item));
        assert_eq!(look(&mut rx, 2), [0, 1]);
        items.by_ref().take(1).for_each(|item| push(&mut tx, item));
        // The first ring is free, and the second one is full.
        let clones = tx.another();
        let [third, last] = [(); 2].map(|()| items.next().expect("there are five"));
        // The handles are dropped after the thread has ended: a drop has steps, too.
        let thread = start(move || {
            let mut late = clones.another();
            push(&mut late, last);
            (late, clones)
        });
        push(&mut tx, third);
        let _handles = thread.join();
        count_values(false);
        let numbers = drain(&mut rx);
        assert_eq!(numbers[0], 2);
        are_equal(numbers, vec![2, 3, 4]);
    })
}

/// Two consumers leave an empty ring, and each has got a position there. The ring is used again
/// behind both positions.
fn opened_again_behind_all_pops<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_twice_preempted(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut late = rx.another();
        let mut items = items::<T>(6).into_iter();
        let mut next = || items.next().expect("there are six");
        // A consumer that has just popped an item takes the next position without looking into the
        // slot first.
        push(&mut tx, next());
        assert_eq!(look(&mut late, 1), [0]);
        push(&mut tx, next());
        assert_eq!(look(&mut rx, 1), [1]);
        push(&mut tx, next());
        // This one closes the ring.
        push(&mut tx, next());
        assert_eq!(look(&mut rx, 1), [2]);
        let last = [next(), next()];
        // The handle is dropped after the thread has ended: a drop has steps, too.
        let thread = start(move || (look(&mut late, 1), late));
        let mut numbers = look(&mut rx, 1);
        last.into_iter().for_each(|item| push(&mut tx, item));
        let (popped, _late) = thread.join();
        count_values(false);
        numbers.extend(popped.into_iter().chain(drain(&mut rx)));
        are_equal(numbers, vec![3, 4, 5]);
    })
}
