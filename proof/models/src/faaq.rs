//! `faaq`: blocks that are handed over to fetch-and-add, and late additions (paper 3 §3.7.4).

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
        of.model("added_before_the_next_lap", move || added_in_the_next_lap(tickets, 0)),
        of.model("added_while_it_is_filled_again", move || added_in_the_next_lap(tickets, 1)),
        of.model("added_when_it_is_full_again", move || added_in_the_next_lap(tickets, 2)),
        of.model("added_behind_a_full_block", move || added_behind_a_full_block(tickets)),
        of.model("false_empty_behind_a_full_block", move || {
            false_empty_of_two_consumers(tickets, grouped(4, 2), 3, pop_finds_none)
        }),
    ]
}

/// A producer fills a block, and two consumers look for its items. Perhaps one hands the block over, and the other adds.
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

/// Two consumers find a full block. One of them may be stopped when it has marked the block as handed over.
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

/// A consumer is about to add to the position in a full block. Others empty the ring, and push `n` items into the block
/// again.
pub(crate) fn added_in_the_next_lap(new: Shared<Ticket>, n: usize) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(grouped(4, 2));
        let slots = tx.slots();
        let mut items = items::<Ticket>((slots + n) as u64).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(slots));
        let mut late = rx.another();
        // The handle is not dropped meanwhile: other models test that.
        let thread = start(move || (look(&mut late, 1), late));
        let mut popped = look(&mut rx, slots);
        pushed.extend(attempts(&mut tx, items));
        popped.extend(look(&mut rx, 1));
        assert!(popped.is_sorted(), "{popped:?}");
        let (more, _late) = join([thread]).remove(0);
        popped.extend(more);
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
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
