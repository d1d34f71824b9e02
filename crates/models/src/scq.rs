//! `scq`: threads that get a position and then meet at its entry (Nikolaev 2019; paper 3 §2.2).

use corelane_loom::mpmc::scq::Scq;
use corelane_loom::{Consumer, Producer, TryPopError, TryPushError};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore_shared, tiny};
use crate::item::{Cargo, Ticket};
use crate::shared::{all_are_there, are_equal, attempts, drain, items, join, look, start, take};
use crate::subject::{Many, Shared, Subject};
use crate::{Model, Run};

type S = Many<Scq>;

pub(crate) fn models() -> Vec<Model> {
    vec![
        Model::new::<S>("taken_a_lap_later", taken_a_lap_later),
        Model::new::<S>("full_while_it_is_filled", full_while_it_is_filled),
        Model::new::<S>("full_no_longer", full_no_longer),
        Model::new::<S>("two_find_nothing", two_find_nothing),
        Model::new::<S>("never_full_behind_a_mark", never_full_behind_a_mark),
    ]
}

fn told() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// A consumer has set out to take an item, and others come to its entry a lap later, to take and to put.
fn taken_a_lap_later() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(4).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let mut late = S::another_consumer(&rx);
        let thread = start(move || look(&mut late, 1));
        let mut popped = look(&mut rx, 1);
        let mut pushed = vec![0, 1];
        for item in items {
            pushed.extend(attempts(&mut tx, [item].into_iter()));
            popped.extend(look(&mut rx, 1));
        }
        popped.extend(join([thread]).concat());
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// One item is there, and one is being pushed. Who is told that the queue is full has seen it there: what is pushed
/// later comes behind it.
fn full_while_it_is_filled() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let mut other = S::another_producer(&tx);
        let second = items.next().expect("the second");
        let thread = start(move || attempts(&mut other, [second].into_iter()));
        let third = tx.try_push(items.next().expect("the third"));
        let was_full = matches!(third, Err(TryPushError::Full(_)));
        let mut pushed = vec![0];
        pushed.extend(third.is_ok().then_some(2));
        // If it was full, what is there now was there then.
        let mut numbers = if was_full { look(&mut rx, 2) } else { Vec::new() };
        assert!(!was_full || numbers == [0, 1], "{numbers:?}");
        pushed.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        are_equal(numbers, pushed);
    })
}

/// A producer has been told that the queue is full, and then of a pop: it isn't told so again.
fn full_no_longer() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)), [0, 1]);
        let pushed = tx.try_push(items.next().expect("the third"));
        let Err(TryPushError::Full(item)) = pushed else { panic!("the queue is full") };
        let tell = told();
        let hear = tell.clone();
        let (mut one, mut other) = (S::another_consumer(&rx), rx);
        let threads = [
            start(move || {
                let number = take(&mut one);
                tell.store(true, Ordering::Release);
                number
            }),
            start(move || take(&mut other)),
        ];
        let is_told = hear.load(Ordering::Acquire);
        let pushed = tx.try_push(item);
        assert!(!(is_told && matches!(pushed, Err(TryPushError::Full(_)))), "an item was popped");
        all_are_there(join(threads), 2);
    })
}

/// Two consumers find nothing, and a producer comes by what they leave.
fn two_find_nothing() -> Run {
    explore_shared(|| {
        let (mut tx, rx) = S::channel(tiny(1));
        let mut last = S::another_consumer(&rx);
        let threads = [S::another_consumer(&rx), rx].map(|mut rx| start(move || look(&mut rx, 1)));
        let pushed = attempts(&mut tx, items::<Ticket>(1).into_iter());
        assert_eq!(pushed, [0], "there is room");
        let mut numbers = join(threads).concat();
        numbers.extend(drain(&mut last));
        all_are_there(numbers, 1);
    })
}

/// One item is there and popped before another one comes, so that two never are: nobody is told that the queue is full.
///
/// The consumer looks for the second item before it comes. Its producer then sees the mark that this leaves in the entry;
/// or, if that consumer has moved `tail` on, a position behind the mark, and with it what the consumer has put back into
/// the other ring before. Who sees the second item knows from that producer that the first has gone. Where sides look at
/// each other's counter only, as in the rings between one and one, both may be told so.
fn never_full_behind_a_mark() -> Run {
    explore_shared(|| {
        let (mut tx, mut rx) = S::channel(tiny(2));
        let mut items = items::<Ticket>(3).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let mut other = S::another_producer(&tx);
        let second = items.next().expect("the second");
        let third = items.next().expect("the third");
        let mut last = S::another_consumer(&rx);
        let consumer = start(move || {
            let numbers = look(&mut rx, 1);
            match rx.try_pop() {
                Ok(item) => ([&numbers[..], &[item.number()]].concat(), false),
                Err(error) => (numbers, error == TryPopError::Empty),
            }
        });
        let producer = start(move || match other.try_push(third) {
            Ok(()) => (vec![2], false),
            Err(error) => (vec![], matches!(error, TryPushError::Full(_))),
        });
        let mut pushed = vec![0];
        pushed.extend(attempts(&mut tx, [second].into_iter()));
        let (third, was_full) = join([producer]).remove(0);
        let (mut numbers, was_empty) = join([consumer]).remove(0);
        assert!(!(was_full && was_empty && numbers == [0]), "there were never two items");
        pushed.extend(third);
        numbers.extend(drain(&mut last));
        are_equal(numbers, pushed);
    })
}
