//! `ring` in its modes: threads of a side that are done in the order in which they began, in any, or one at a time;
//! full, empty and in between (paper 3 §2.2).

use corelane_loom::ring::{HeadTail, InOrder, Mode, RelaxedTail, Ring};
use corelane_loom::{Consumer, Producer, TryPopError, TryPushError};
use loom::hint::spin_loop;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::shared::{
    all_are_there, are_equal, attempt, attempts, drain, items, join, look, push, start, take,
};
use crate::subject::{Many, Shared, Subject};
use crate::{Model, Run};

type S<P, C = P> = Many<Ring<P, C>>;

/// Those in which the sides must get along with each other, for sides in different modes. What threads of one side do
/// among themselves is the same whatever the other side does.
macro_rules! of_modes {
    ($($p:ident to $c:ident: $name:literal),+) => {
        [$(
            Model::new::<S<$p, $c>>(
                concat!("full_while_it_is_emptied_", $name),
                full_while_it_is_emptied::<$p, $c>,
            ),
            Model::new::<S<$p, $c>>(
                concat!("empty_while_it_is_filled_", $name),
                empty_while_it_is_filled::<$p, $c>,
            ),
            Model::new::<S<$p, $c>>(
                concat!("shown_in_the_order_taken_", $name),
                shown_in_the_order_taken::<$p, $c>,
            ),
            Model::new::<S<$p, $c>>(
                concat!("freed_by_the_last_consumer_", $name),
                freed_by_the_last_consumer::<$p, $c>,
            ),
        )+]
    };
}

pub(crate) fn models() -> Vec<Model> {
    let mut models = of_mode::<InOrder>();
    models.extend(of_mode::<RelaxedTail>());
    models.extend(of_mode::<HeadTail>());
    models.extend([
        Model::new::<S<RelaxedTail>>("shown_by_the_last", shown_by_the_last),
        Model::new::<S<RelaxedTail>>("freed_by_the_last", freed_by_the_last),
        Model::new::<S<HeadTail>>("kept_from_others", kept_from_others),
        Model::new::<S<HeadTail>>("looked_at_and_left", looked_at_and_left),
        Model::new::<S<HeadTail>>("claimed_before_others", claimed_before_others),
        Model::new::<S<HeadTail>>("claimed_and_left", claimed_and_left),
    ]);
    models
}

/// Of sides in different modes.
pub(crate) fn mixed() -> Vec<Model> {
    of_modes!(
        InOrder to RelaxedTail: "in_order_to_rts",
        InOrder to HeadTail: "in_order_to_hts",
        RelaxedTail to InOrder: "rts_to_in_order",
        RelaxedTail to HeadTail: "rts_to_hts",
        HeadTail to InOrder: "hts_to_in_order",
        HeadTail to RelaxedTail: "hts_to_rts"
    )
    .into()
}

fn of_mode<M: Mode>() -> Vec<Model> {
    vec![
        Model::new::<S<M>>("full_while_it_is_emptied", full_while_it_is_emptied::<M, M>),
        Model::new::<S<M>>("empty_while_it_is_filled", empty_while_it_is_filled::<M, M>),
        Model::new::<S<M>>("shown_in_the_order_taken", shown_in_the_order_taken::<M, M>),
        Model::new::<S<M>>("freed_in_the_order_taken", freed_in_the_order_taken::<M>),
        Model::new::<S<M>>("slices_longer_than_the_ring", slices_longer_than_the_ring::<M>),
        Model::new::<S<M>>("slices_of_nothing", slices_of_nothing::<M>),
        Model::new::<S<M>>("head_tail_reordered", head_tail_reordered::<M>),
        Model::new::<S<M>>(
            "head_tail_reordered_of_consumers",
            head_tail_reordered_of_consumers::<M>,
        ),
        Model::new::<S<M>>("freed_by_the_last_consumer", freed_by_the_last_consumer::<M, M>),
        Model::new::<S<M>>("all_or_nothing", all_or_nothing::<M>),
    ]
}

/// What a thread has told others.
fn told() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// One item, which one consumer is about to take, and another one has been told that it is gone: a push
/// that finds no room isn't told that the queue is full.
fn full_while_it_is_emptied<P: Mode, C: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<P, C>::channel(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let (mut one, mut other) = (S::<P, C>::another_consumer(&rx), rx);
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
fn empty_while_it_is_filled<P: Mode, C: Mode>() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = S::<P, C>::channel(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        let (mut one, mut other) = (S::<P, C>::another_producer(&tx), tx);
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
fn shown_in_the_order_taken<P: Mode, C: Mode>() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = <S<P, C> as Subject<Number>>::channel(tiny(4));
        let items = items::<Number>(4);
        let mut into = vec![items[0]; 4];
        let threads = [(<S<P, C> as Shared<Number>>::another_producer(&tx), 0), (tx, 2)];
        let threads = threads.map(|(mut tx, first)| {
            let items = items[first..][..2].to_vec();
            start(move || {
                // Busy is no answer.
                while tx.push_slice(&items) == 0 {
                    spin_loop();
                }
            })
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
fn freed_in_the_order_taken<M: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<M>::channel(tiny(2));
        let mut items = items::<Ticket>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut last = S::<M>::another_consumer(&rx);
        let threads =
            [S::<M>::another_consumer(&rx), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = [0, 1].into_iter().chain(attempts(&mut tx, items)).collect();
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// Slices that don't fit are pushed and popped by what there is, past the end of the ring.
fn slices_longer_than_the_ring<M: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = <S<M> as Subject<Number>>::channel(tiny(2));
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
fn slices_of_nothing<M: Mode>() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = <S<M> as Subject<Number>>::channel(tiny(1));
        let items = items::<Number>(2);
        let mut other = <S<M> as Shared<Number>>::another_producer(&tx);
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
fn head_tail_reordered<M: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::<M>::channel(tiny(1));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let threads = [S::<M>::another_producer(&tx), tx].map(|mut tx| {
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

/// Two consumers want the item that a producer brings, in a ring of so many slots that neither is in the other's way
/// anywhere.
fn head_tail_reordered_of_consumers<M: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<M>::channel(tiny(16));
        let item = items::<Ticket>(1).remove(0);
        let mut last = S::<M>::another_consumer(&rx);
        let threads =
            [S::<M>::another_consumer(&rx), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        assert!(attempt(&mut tx, item));
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 1);
    })
}

/// Two consumers pop an item each and go. A push may be told that they are gone, but then there is room.
fn freed_by_the_last_consumer<P: Mode, C: Mode>() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<P, C>::channel(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let threads =
            [S::<P, C>::another_consumer(&rx), rx].map(|mut rx| start(move || take(&mut rx)));
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

/// Two slices of three items for four slots, all or nothing: items of one are together.
fn all_or_nothing<M: Mode>() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = <S<M> as Subject<Number>>::channel(tiny(4));
        let items = items::<Number>(6);
        let mut into = vec![items[0]; 2];
        let threads = [(<S<M> as Shared<Number>>::another_producer(&tx), 0), (tx, 3)];
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
            Err(TryPopError::Closed) => panic!("three items are left, or a producer"),
            Err(_) => {}
        }
        let pushed = join(threads).concat();
        numbers.extend(drain(&mut rx));
        let is_whole = |three: &[u64]| three == [0, 1, 2] || three == [3, 4, 5];
        assert!(numbers.chunks(3).all(is_whole), "{numbers:?}");
        are_equal(numbers, pushed);
    })
}

/// One of two is done first with what it began last: only when both are is any of it shown, and all of it is.
fn shown_by_the_last() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = S::<RelaxedTail>::channel(tiny(16));
        let mut items = items::<Ticket>(3).into_iter();
        let mut next = || items.next().expect("there are three");
        let (mut one, mut other) = (S::<RelaxedTail>::another_producer(&tx), tx);
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

/// The same of consumers, in a ring that is full: only when both are done is any slot free.
fn freed_by_the_last() -> Run {
    explore(|| {
        // In fewer slots nobody goes on beside another one.
        let (mut tx, rx) = S::<RelaxedTail>::channel(tiny(8));
        let mut items = items::<Ticket>(9).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(8));
        assert_eq!(pushed.len(), 8);
        let (mut one, mut other) = (S::<RelaxedTail>::another_consumer(&rx), rx);
        let mut last = S::<RelaxedTail>::another_consumer(&other);
        let threads = [start(move || look(&mut one, 1)), start(move || look(&mut other, 1))];
        pushed.extend(attempts(&mut tx, items));
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}

/// What one consumer looks at another doesn't get; and of what it leaves all is there.
fn kept_from_others() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<HeadTail>::channel(tiny(2));
        let items = items::<Ticket>(2);
        assert_eq!(attempts(&mut tx, items.into_iter()), [0, 1]);
        let [mut one, mut other] = [(); 2].map(|()| S::<HeadTail>::another_consumer(&rx));
        let threads = [
            start(move || {
                let Ok(mut peeked) = one.peek(2) else { return Vec::new() };
                let (ahead, behind) = peeked.as_slices();
                let seen: Vec<_> = ahead.iter().chain(behind).map(Cargo::number).collect();
                let popped = peeked.next().map(|item| item.number());
                assert_eq!(popped, seen.first().copied(), "it is what was seen");
                Vec::from_iter(popped)
            }),
            start(move || look(&mut other, 1)),
        ];
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut { rx }));
        all_are_there(numbers, 2);
    })
}

/// One consumer looks at the only item and leaves it; the other takes it, whether it has seen the queue before or
/// after that: not before the first is done with looking.
fn looked_at_and_left() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::<HeadTail>::channel(tiny(1));
        let mut items = items::<Ticket>(2).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let [mut one, mut other] = [(); 2].map(|()| S::<HeadTail>::another_consumer(&rx));
        let threads = [
            start(move || {
                if let Ok(peeked) = one.peek(1) {
                    assert!(peeked.as_slices().0[0].number() < 2, "that was pushed");
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

/// One producer takes two slots and fills both, while another one tries to push: what the first has pushed is shown at
/// once, one behind the other.
fn claimed_before_others() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::<HeadTail>::channel(tiny(4));
        let mut items = items::<Ticket>(3).into_iter();
        let third = items.next_back().expect("there are three");
        let mut other = S::<HeadTail>::another_producer(&tx);
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

/// One producer takes the only slot and fills nothing, and another one pushes when the slot's last item has been taken:
/// nothing is lost, whichever comes first.
fn claimed_and_left() -> Run {
    explore_shared(|| {
        let (tx, mut rx) = S::<HeadTail>::channel(tiny(1));
        let [mut one, mut other] = [(); 2].map(|()| S::<HeadTail>::another_producer(&tx));
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
