//! `faaq`: blocks that are handed over to fetch-and-add, and late additions (paper 3 §3.7.4).

use corelane_loom::TryPushError;
use corelane_loom::block::fetch_add::Faaq;

use crate::explore::{explore_shared, grouped};
use crate::item::{Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::shared::{
    all_are_there, are_equal, attempts, drain, false_empty_of_two_consumers, items, join, look,
    pop_finds_none, start,
};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = SharedSubject::<Ticket, Number>::new::<Faaq>();
    vec![
        of.model("handed_over_while_it_is_filled", move || handed_over_while_it_is_filled(tickets)),
        of.model("handed_over_by_another", move || handed_over_by_another(tickets)),
        of.model("added_before_the_next_lap", move || added_in_the_next_lap(tickets, 0, 3)),
        of.model("added_while_it_is_filled_again", move || added_in_the_next_lap(tickets, 1, 3)),
        of.model("added_when_it_is_full_again", move || added_in_the_next_lap(tickets, 2, 3)),
        of.model("false_full_behind_an_exchange", move || false_full_behind_an_exchange(tickets)),
        of.model("another_goes_in_the_next_block", move || another_goes_in_the_next_block(tickets)),
        of.model("added_behind_a_full_block", move || added_behind_a_full_block(tickets)),
        of.model("false_empty_behind_a_full_block", move || {
            false_empty_of_two_consumers(tickets, grouped(4, 2), 3, pop_finds_none)
        }),
    ]
}

/// A producer fills a block, and two consumers look for its items. Perhaps one hands the block
/// over, and the other adds.
fn handed_over_while_it_is_filled(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut other = rx.another();
        let items = items::<Ticket>(2).into_iter();
        let producer = start(move || attempts(&mut tx, items));
        let consumer = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 1);
        let [pushed, more] = join([producer, consumer]).try_into().expect("two threads");
        assert_eq!(pushed, [0, 1], "there is room");
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
    })
}

/// Two consumers find a full block. One of them may be stopped when it has marked the block as
/// handed over.
fn handed_over_by_another(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(8, 4));
        assert_eq!(attempts(&mut tx, items::<Ticket>(4).into_iter()), [0, 1, 2, 3]);
        assert_eq!(look(&mut rx, 1), [0], "the only consumer reads in order");
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 1));
        let mut numbers = look(&mut rx, 2);
        assert!(numbers.is_sorted() && numbers.len() == 2, "{numbers:?}");
        numbers.extend(join([thread]).concat());
        numbers.push(0);
        all_are_there(numbers, 4);
    })
}

/// A consumer is about to add to the position in a full block. Others empty the ring, and push `n`
/// items into the block again. In the end `fit` items fit.
pub(crate) fn added_in_the_next_lap(new: Shared<Ticket>, n: usize, fit: usize) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let slots = tx.slots();
        let mut items = items::<Ticket>((slots + n + fit) as u64).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(slots));
        let mut late = rx.another();
        // The handle is not dropped meanwhile: other models test that.
        let thread = start(move || (look(&mut late, 1), late));
        let mut popped = look(&mut rx, slots);
        pushed.extend(attempts(&mut tx, items.by_ref().take(n)));
        popped.extend(look(&mut rx, 1));
        assert!(popped.is_sorted(), "{popped:?}");
        let (more, _late) = join([thread]).remove(0);
        popped.extend(more);
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
        assert_eq!(attempts(&mut tx, items).len(), fit, "the queue is empty");
    })
}

/// A pop from a block that was not full is unfinished. Then the block is filled, and the pop of its
/// last item has ended. A producer that has observed this is not told that the queue is full.
fn false_full_behind_an_exchange(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let mut items = items::<Ticket>(5).into_iter();
        assert_eq!(attempts(&mut tx, items.by_ref().take(1)), [0]);
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 1));
        assert_eq!(attempts(&mut tx, items.by_ref().take(3)), [1, 2, 3]);
        let mut numbers = look(&mut rx, 1);
        let pushed = tx.try_push(items.next().expect("the fifth"));
        let is_full = matches!(pushed, Err(TryPushError::Full(_)));
        assert!(!is_full || numbers != [1], "two items have been taken");
        numbers.extend(join([thread]).concat());
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 4 + u64::from(pushed.is_ok()));
    })
}

/// Two consumers empty a block. One of them hands the next block over and is dropped. The other one
/// goes on alone, in the middle of that block, and is cloned there.
fn another_goes_in_the_next_block(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(8, 4));
        assert_eq!(attempts(&mut tx, items::<Ticket>(8).into_iter()).len(), 8, "there is room");
        let mut other = rx.another();
        let mut numbers = look(&mut rx, 3);
        let thread = start(move || look(&mut other, 2));
        numbers.extend(look(&mut rx, 1));
        let mut again = rx.another();
        numbers.extend(look(&mut again, 1));
        numbers.extend(drain(&mut rx));
        assert!(numbers.is_sorted(), "{numbers:?}");
        numbers.extend(join([thread]).concat());
        all_are_there(numbers, 8);
    })
}

/// Two consumers take all items of a full block, and then look for the item behind it.
fn added_behind_a_full_block(new: Shared<Ticket>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        assert_eq!(attempts(&mut tx, items::<Ticket>(3).into_iter()), [0, 1, 2]);
        let mut other = rx.another();
        let thread = start(move || look(&mut other, 2));
        let mut numbers = look(&mut rx, 2);
        let more = join([thread]).concat();
        assert!(numbers.is_sorted() && more.is_sorted(), "{numbers:?} {more:?}");
        numbers.extend(more);
        all_are_there(numbers, 3);
    })
}
