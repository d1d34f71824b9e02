//! Queues that are never full: a list of nodes, and a list of rings of one slot (Aldinucci 2012, §3
//! and §4).

use corelane_loom::fast_forward::FfqAny;
use corelane_loom::lamport::Lq;
use corelane_loom::mc_ring::McRing;
use corelane_loom::segmented::Uspsc;
use corelane_loom::{Config, Producer, SingleConsumer, SingleProducer, TryPushError};
use loom::hint::spin_loop;

use crate::explore::{
    done, explore_sides, grouped, pop, pop_all, pop_until_closed, push_all, push_now, tiny,
};
use crate::item::{Cargo, Number, Ticket, Wide};
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model, chunks, one_to_one};

/// Of models that every queue has: `msq` has no blocks, and no room when the consumers are gone.
pub(crate) const LEFT_OUT: &[&str] = &[
    "two_producers_in_a_block",
    "two_consumers_in_a_block",
    "another_producer_comes",
    "another_consumer_comes",
    "slices_of_two_producers",
    "slices_of_two_consumers",
    "handles_come_and_go",
    "false_empty_of_a_block",
    "false_empty_behind_a_head",
];

pub(crate) fn models() -> Vec<Model> {
    let SingleSubject { of, tickets, .. } = uspsc();
    let of_batches = SingleSubject::wide::<Uspsc<McRing>>().tickets;
    vec![
        of.model("theorem_2_case_4", move || theorem_2_case_4(tickets)),
        of.model("flushed_when_left", move || flushed_when_left(of_batches)),
    ]
}

/// A list of the simplest rings. Its default rings would need more executions, and test nothing
/// more of the list.
pub(crate) fn uspsc() -> SingleSubject<Wide<Ticket>, Wide<Number>> {
    SingleSubject::wide::<Uspsc<Lq>>()
}

/// Models of a list of the paper's rings.
pub(crate) fn mixed() -> Vec<Model> {
    let models = of_queue(SingleSubject::wide::<Uspsc<FfqAny>>()).into_iter();
    models.map(|model| model.variant("over_ffq")).collect()
}

/// The common models that don't fill the queue, and models with more items than a group has.
pub(crate) fn of_queue<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = subject;
    vec![
        of.model("transfer", move || transfer(tickets)),
        of.model("transfer_three", move || one_to_one::transfer_three(tickets)),
        of.model("producer_closes", move || one_to_one::producer_closes(tickets)),
        of.model("closing_is_ordered", move || one_to_one::closing_is_ordered(tickets)),
        of.model("teardown_races_push", move || teardown(tickets, tiny(2))),
        of.model("teardown_between_groups", move || teardown(tickets, tiny(1))),
        of.model("partial_commits", move || chunks::partial_commits(tickets)),
        of.model("abandoned_chunks", move || chunks::abandoned_chunks(tickets)),
        of.model("chunks_left_behind", move || chunks_left_behind(tickets)),
        of.model("chunks", move || chunks_of_two(tickets)),
        of.model("slices", move || slices(numbers)),
        of.model("observers", move || observers(tickets)),
        of.model("consumer_goes", move || consumer_goes(tickets)),
    ]
}

/// Items in groups of one, from push to pop.
fn transfer<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| push_all(&mut tx, 0..3),
        |mut rx| pop_until_closed(&mut rx, 0..3),
        done,
    )
}

/// Chunks of two where groups have one.
fn chunks_of_two<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let mut next = 0;
            while next < 3 {
                next += chunks::write_two(&mut tx, next);
            }
        },
        |mut rx| chunks::until_all(3, |next| chunks::read_two(&mut rx, next, 2)),
        done,
    )
}

/// Slices longer than a group.
fn slices<T: Cargo + Copy>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let items: Vec<_> = (0..3).map(Cargo::of).collect();
            assert_eq!(tx.push_slice(&items), 3, "there is always room");
        },
        |mut rx| chunks::until_all(3, |next| chunks::pop_two(&mut rx, next)),
        done,
    )
}

/// The items that a consumer counts beyond its group are there.
fn observers<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            for number in 0..3 {
                assert!(!tx.is_full() && tx.free_slots(2) > 0, "there is always room");
                push_now(&mut tx, number);
            }
        },
        |mut rx| {
            let there = rx.available(usize::MAX) as u64;
            assert!(there <= 3, "more items than were pushed");
            for number in 0..there {
                assert_eq!(pop(&mut rx), Some(number), "an item that was counted");
            }
            if !rx.is_empty() {
                assert_eq!(pop(&mut rx), Some(there), "the queue was not empty");
            }
            // Otherwise a push might say closed.
            rx
        },
        done,
    )
}

/// Pushes two items, unless the consumer is gone.
fn push_two<P: Producer<Item: Cargo>>(tx: &mut P) {
    for number in 0..2 {
        assert!(!matches!(tx.try_push(Cargo::of(number)), Err(TryPushError::Full(_))));
    }
}

/// Either side is dropped, and items are left behind; perhaps while a note of another group is on
/// its way, or a group on its way back.
fn teardown<T: Cargo>(new: Single<T>, config: Config) -> Exploration {
    explore_sides(
        new,
        config,
        |mut tx| push_two(&mut tx),
        |mut rx| {
            if let Some(number) = pop(&mut rx) {
                assert_eq!(number, 0, "first in, first out");
            }
        },
        done,
    )
}

/// The consumer is dropped with items that it has looked at and not popped.
fn chunks_left_behind<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| push_two(&mut tx),
        |mut rx| {
            let popped = chunks::read_two(&mut rx, 0, 1);
            chunks::read_two(&mut rx, popped, 0);
        },
        done,
    )
}

/// The consumer pops an item and is dropped. A producer that continues to push allocates no more
/// than a group, and is then told that the consumer is gone.
fn consumer_goes<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            push_now(&mut tx, 0);
            while !tx.is_closed() {
                spin_loop();
            }
            let pushed = (1..).take_while(|number| tx.try_push(Cargo::of(*number)).is_ok()).count();
            assert!(pushed <= 2, "no consumer will pop these");
            assert!(tx.is_full());
        },
        |mut rx| pop_all(&mut rx, 0..1),
        done,
    )
}

/// In a ring that publishes items in groups, the last items become visible when the producer goes
/// on to another ring.
fn flushed_when_left<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(8, 3),
        |mut tx| {
            for number in 0..9 {
                push_now(&mut tx, number);
            }
        },
        |mut rx| pop_until_closed(&mut rx, 0..9),
        done,
    )
}

/// The consumer finds its ring empty. The producer fills this ring, goes on to another ring and
/// fills that. Then the consumer observes that the producer has gone on.
fn theorem_2_case_4<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            push_now(&mut tx, 0);
            push_now(&mut tx, 1);
            tx
        },
        |mut rx| {
            let numbers: Vec<_> = (0..3).filter_map(|_| pop(&mut rx)).collect();
            (rx, numbers)
        },
        |tx, (mut rx, mut numbers)| {
            numbers.extend(std::iter::from_fn(|| pop(&mut rx)));
            assert_eq!(numbers, [0, 1], "a ring was left with an item in it");
            drop(tx);
        },
    )
}
