//! `ring` in its modes: threads of a side finish in the order in which they began, in any order, or
//! one at a time; full, empty and in between (paper 3 §2.2).

use corelane_loom::ring::{HeadTail, InOrder, Mode, RelaxedTail, Ring};
use corelane_loom::{TryPopError, TryPushError};
use loom::hint::spin_loop;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject, own};
use crate::shared::{
    all_are_there, are_equal, attempt, attempts, drain, items, join, look, push, start, take,
};
use crate::{Exploration, Model};

/// Of models that every queue has, with one call of a side at a time: each call changes the only
/// word of its side twice.
pub(crate) const LEFT_OUT: &[&str] = &[
    "order_past_another_producer",
    "false_empty_behind_a_head",
    "producer_a_lap_behind",
    "another_producer_goes",
    "another_consumer_goes",
];

pub(crate) fn models() -> Vec<Model> {
    let mut models = of_mode::<InOrder>();
    models.extend(of_mode::<RelaxedTail>());
    models.extend(of_mode::<HeadTail>());
    let SharedSubject { of, tickets, .. } = subject::<RelaxedTail, RelaxedTail>();
    models.extend([
        of.model("shown_by_the_last", move || shown_by_the_last(tickets)),
        of.model("freed_by_the_last", move || freed_by_the_last(tickets)),
    ]);
    let of = subject::<HeadTail, HeadTail>().of;
    models.extend([
        of.model("kept_from_others", kept_from_others),
        of.model("looked_at_and_left", looked_at_and_left),
        of.model("claimed_before_others", claimed_before_others),
        of.model("claimed_and_left", claimed_and_left),
    ]);
    models
}

/// Models of sides in different modes.
pub(crate) fn mixed() -> Vec<Model> {
    let of_modes = [
        ("in_order_to_rts", of_sides::<InOrder, RelaxedTail>()),
        ("in_order_to_hts", of_sides::<InOrder, HeadTail>()),
        ("rts_to_in_order", of_sides::<RelaxedTail, InOrder>()),
        ("rts_to_hts", of_sides::<RelaxedTail, HeadTail>()),
        ("hts_to_in_order", of_sides::<HeadTail, InOrder>()),
        ("hts_to_rts", of_sides::<HeadTail, RelaxedTail>()),
    ];
    let named = |(modes, models): (_, [Model; 4])| models.map(|model| model.variant(modes));
    of_modes.into_iter().flat_map(named).collect()
}

fn subject<P: Mode, C: Mode>() -> SharedSubject<Ticket, Number> {
    SharedSubject::new::<Ring<P, C>>()
}

/// Models of the cooperation of both sides, for sides in different modes. The cooperation of
/// threads on one side doesn't depend on the other side's mode.
fn of_sides<P: Mode, C: Mode>() -> [Model; 4] {
    let SharedSubject { of, tickets, numbers } = subject::<P, C>();
    [
        of.model("full_while_it_is_emptied", move || full_while_it_is_emptied(tickets)),
        of.model("empty_while_it_is_filled", move || empty_while_it_is_filled(tickets)),
        of.model("shown_in_the_order_taken", move || shown_in_the_order_taken(numbers)),
        of.model("freed_by_the_last_consumer", move || freed_by_the_last_consumer(tickets)),
    ]
}

fn of_mode<M: Mode>() -> Vec<Model> {
    let SharedSubject { of, tickets, numbers } = subject::<M, M>();
    let mut models = Vec::from(of_sides::<M, M>());
    models.extend([
        of.model("freed_in_the_order_taken", move || freed_in_the_order_taken(tickets)),
        of.model("slices_longer_than_the_ring", move || slices_longer_than_the_ring(numbers)),
        of.model("slices_of_nothing", move || slices_of_nothing(numbers)),
        of.model("head_tail_reordered", move || head_tail_reordered(tickets)),
        of.model("head_tail_reordered_of_consumers", move || {
            head_tail_reordered_of_consumers(tickets)
        }),
        of.model("all_or_nothing", all_or_nothing::<M>),
    ]);
    models
}

/// A flag by which one thread tells another that something has happened.
fn told() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// One consumer is taking the only item, and another consumer has been told that the queue is
/// empty. Then a push that finds no room doesn't say full.
fn full_while_it_is_emptied(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let (mut one, mut other) = (rx.another(), rx);
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

/// The opposite: one producer is filling the only slot, and another producer has been told that the
/// queue is full. Then a pop doesn't say empty.
fn empty_while_it_is_filled(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        let (mut one, mut other) = (tx.another(), tx);
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

/// Two producers reserve a slice each and finish in any order: the second slice doesn't become
/// visible before the first, and neither slice is split.
fn shown_in_the_order_taken(new: Shared<Number>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(4));
        let items = items::<Number>(4);
        let mut into = vec![items[0]; 4];
        let threads = [(tx.another(), 0), (tx, 2)];
        let threads = threads.map(|(mut tx, first)| {
            let items = items[first..][..2].to_vec();
            start(move || {
                // Busy: tries again.
                while tx.push_slice(&items) == 0 {
                    spin_loop();
                }
            })
        });
        let n = rx.pop_slice(&mut into);
        assert!(n.is_multiple_of(2), "the items of a slice become visible together");
        join(threads);
        let mut numbers: Vec<_> = into.iter().take(n).map(Cargo::number).collect();
        numbers.extend(drain(&mut rx));
        assert!(numbers == [0, 1, 2, 3] || numbers == [2, 3, 0, 1], "{numbers:?}");
    })
}

/// Two consumers take an item each and finish in any order: no slot becomes free before all earlier
/// slots.
fn freed_in_the_order_taken(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let mut items = items::<Ticket>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = [0, 1].into_iter().chain(attempts(&mut tx, items)).collect();
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// Slices that don't fit are pushed and popped in parts, past the end of the ring.
fn slices_longer_than_the_ring(new: Shared<Number>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
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

/// Empty slices change nothing, whatever other threads do.
fn slices_of_nothing(new: Shared<Number>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(1));
        let items = items::<Number>(2);
        let mut other = tx.another();
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

/// Two producers compete for the slot that a consumer frees. A producer that observes the other's
/// item in the slot also observes that the slot was freed. Otherwise the number of free slots would
/// be negative, which wraps to a large number (row `head_tail_reordered`).
fn head_tail_reordered(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [tx.another(), tx].map(|mut tx| {
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

/// Two consumers compete for the item that a producer pushes. The ring is so large that nothing
/// else delays them.
fn head_tail_reordered_of_consumers(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(16));
        let item = items::<Ticket>(1).remove(0);
        let mut last = rx.another();
        let threads = [rx.another(), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        assert!(attempt(&mut tx, item));
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 1);
    })
}

/// Two consumers pop an item each and are dropped. A push may say closed, but then there is room.
fn freed_by_the_last_consumer(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let threads = [rx.another(), rx].map(|mut rx| start(move || take(&mut rx)));
        let item = items.next().expect("the third");
        match tx.try_push(item) {
            Err(TryPushError::Closed(item)) => {
                assert!(tx.try_push(item).is_ok(), "both items have been popped");
            }
            pushed => drop(pushed),
        }
        all_are_there(join(threads), 2);
    })
}

/// Two slices of three items for four slots, all or nothing: the items of a slice stay together.
fn all_or_nothing<M: Mode>() -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = own::<Ring<M>, Number>(tiny(4));
        let items = items::<Number>(6);
        let mut into = vec![items[0]; 2];
        let threads = [(tx.clone(), 0), (tx, 3)];
        let threads = threads.map(|(mut tx, first)| {
            let items = items[first..][..3].to_vec();
            start(move || match tx.push_bulk(&items) {
                Ok(()) => items.iter().map(Cargo::number).collect(),
                Err(_) => Vec::new(),
            })
        });
        let mut numbers = Vec::new();
        match rx.pop_bulk(&mut into) {
            Ok(()) => numbers.extend(into.iter().map(Cargo::number)),
            Err(TryPopError::Closed) => panic!("there are three items or a producer"),
            Err(_) => {}
        }
        let pushed = join(threads).concat();
        numbers.extend(drain(&mut rx));
        let is_whole = |three: &[u64]| three == [0, 1, 2] || three == [3, 4, 5];
        assert!(numbers.chunks(3).all(is_whole), "{numbers:?}");
        are_equal(numbers, pushed);
    })
}

/// The first push to begin may finish last. No item becomes visible before it has finished, and
/// then all do.
fn shown_by_the_last(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(16));
        let mut items = items::<Ticket>(3).into_iter();
        let mut next = || items.next().expect("there are three");
        let (mut one, mut other) = (tx.another(), tx);
        let (first, second, third) = (next(), next(), next());
        let threads = [
            start(move || push(&mut one, first)),
            start(move || {
                push(&mut other, second);
                push(&mut other, third);
            }),
        ];
        let mut numbers = look(&mut rx, 3);
        join(threads);
        numbers.extend(drain(&mut rx));
        let place = |number| numbers.iter().position(|n| *n == number);
        assert!(place(1) < place(2), "{numbers:?}");
        all_are_there(numbers, 3);
    })
}

/// The same for two consumers of a full ring: no slot becomes free before both have finished.
fn freed_by_the_last(new: Shared<Ticket>) -> Exploration {
    explore(move || {
        // With fewer slots, no thread would work beside another.
        let (mut tx, rx) = new(tiny(8));
        let mut items = items::<Ticket>(9).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(8));
        assert_eq!(pushed.len(), 8);
        let (mut one, mut other) = (rx.another(), rx);
        let mut last = other.another();
        let threads = [start(move || look(&mut one, 1)), start(move || look(&mut other, 1))];
        pushed.extend(attempts(&mut tx, items));
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// While one consumer looks at items, another consumer doesn't get them. The items that the first
/// consumer leaves stay in the queue.
fn kept_from_others() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = own::<Ring<HeadTail>, Ticket>(tiny(2));
        let items = items::<Ticket>(2);
        assert_eq!(attempts(&mut tx, items.into_iter()), [0, 1]);
        let [mut one, mut other] = [(); 2].map(|()| rx.clone());
        let threads = [
            start(move || {
                let Ok(mut peeked) = one.peek(2) else {
                    return Vec::new();
                };
                let (ahead, behind) = peeked.as_slices();
                let seen: Vec<_> = ahead.iter().chain(behind).map(Cargo::number).collect();
                let popped = peeked.next().map(|item| item.number());
                assert_eq!(popped, seen.first().copied(), "the popped item was looked at");
                Vec::from_iter(popped)
            }),
            start(move || look(&mut other, 1)),
        ];
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut { rx }));
        all_are_there(numbers, 2);
    })
}

/// One consumer looks at the only item and leaves it. The other consumer may take the item, but not
/// while the first one looks.
fn looked_at_and_left() -> Exploration {
    explore_shared(|| {
        let (mut tx, rx) = own::<Ring<HeadTail>, Ticket>(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let [mut one, mut other] = [(); 2].map(|()| rx.clone());
        let threads = [
            start(move || {
                if let Ok(peeked) = one.peek(1) {
                    assert!(peeked.as_slices().0[0].number() < 2, "the item was pushed");
                }
                Vec::new()
            }),
            start(move || look(&mut other, 1)),
        ];
        let pushed = attempts(&mut tx, items);
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut { rx }));
        are_equal(numbers, [vec![0], pushed].concat());
    })
}

/// One producer claims two slots and fills both, while another producer tries to push: the first
/// producer's items become visible together, one behind the other.
fn claimed_before_others() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = own::<Ring<HeadTail>, Ticket>(tiny(4));
        let mut items = items::<Ticket>(3).into_iter();
        let third = items.next_back().expect("there are three");
        let mut other = tx.clone();
        let threads = [
            start(move || match tx.claim(2) {
                Ok(mut claimed) => {
                    items.for_each(|item| claimed.push(item).expect("there are two slots"));
                    vec![0, 1]
                }
                Err(_) => vec![],
            }),
            start(move || attempts(&mut other, [third].into_iter())),
        ];
        let mut numbers: Vec<_> = match rx.peek(4) {
            Ok(peeked) => peeked.map(|item| item.number()).collect(),
            Err(_) => vec![],
        };
        let first = numbers.iter().position(|number| *number == 0);
        assert!(first.is_none_or(|at| numbers.get(at + 1) == Some(&1)), "{numbers:?}");
        let pushed = join(threads).concat();
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// One producer claims the only slot and fills nothing. Another producer pushes when the slot's
/// last item has been taken. No item is lost, whichever producer is first.
fn claimed_and_left() -> Exploration {
    explore_shared(|| {
        let (tx, mut rx) = own::<Ring<HeadTail>, Ticket>(tiny(1));
        let [mut one, mut other] = [(); 2].map(|()| tx.clone());
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut { tx }, items.by_ref().take(1)), [0]);
        let threads = [
            start(move || {
                drop(one.claim(1));
                Vec::new()
            }),
            start(move || attempts(&mut other, items)),
        ];
        let mut numbers = look(&mut rx, 1);
        let pushed = join(threads).concat();
        numbers.extend(drain(&mut rx));
        are_equal(numbers, [vec![0], pushed].concat());
    })
}
