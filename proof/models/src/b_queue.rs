//! `bqueue`: looking ahead by a batch, and going back (paper 2 §3).

use corelane_loom::SingleConsumer;
use corelane_loom::b_queue::{BQueue, BQueueAny};

use crate::chunks::{chunks_through, slices_through};
use crate::explore::{
    done, explore_sides, grouped, pop, pop_all, pop_until_closed, push, push_all, push_now,
};
use crate::item::Cargo;
use crate::one_to_one::transfer_through;
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let mut models = Vec::new();
    models.extend(of_queue(SingleSubject::wide::<BQueueAny>()));
    models.extend(of_queue(SingleSubject::tokens::<BQueue>()));
    models
}

fn of_queue<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = subject;
    vec![
        of.model("batch_transfer", move || transfer_through(tickets, grouped(4, 2), 1)),
        of.model("batch_chunks", move || {
            chunks_through(tickets, grouped(4, 2), |capacity| capacity + 1)
        }),
        of.model("batch_slices", move || slices_through(numbers, grouped(4, 2), 1)),
        of.model("backtracking", move || backtracking(tickets)),
        of.model("history", move || history(tickets)),
        of.model("probe_of_a_batch", move || probe_of_a_batch(tickets)),
    ]
}

/// The consumer looks four slots ahead. If that slot is empty, it looks two slots ahead, then one.
fn backtracking<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(8, 4),
        |mut tx| {
            for number in 0..5 {
                push_now(&mut tx, number);
            }
        },
        |mut rx| pop_until_closed(&mut rx, 0..5),
        done,
    )
}

/// How far the consumer looks ahead depends on its last search. A consumer that finds no full slot
/// forgets its history, and then finds the next single item.
fn history<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            push_all(&mut tx, 0..3);
            tx
        },
        |mut rx| {
            pop_all(&mut rx, 0..3);
            assert_eq!(pop(&mut rx), None);
            rx
        },
        |mut tx, mut rx| {
            push_now(&mut tx, 3);
            assert_eq!(pop(&mut rx), Some(3), "one item is enough");
        },
    )
}

/// The producer needs a whole batch of free slots, and then fills the batch without another look.
fn probe_of_a_batch<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..4 {
                push_now(&mut tx, number);
            }
            let more = push(&mut tx, 4);
            assert!(!more || push(&mut tx, 5), "the batch has two slots");
            if more { 6 } else { 4 }
        },
        |mut rx| {
            let popped = (0..2).filter(|_| pop(&mut rx).is_some()).count() as u64;
            (rx, popped)
        },
        |pushed, (mut rx, popped)| {
            assert!(pushed == 4 || popped == 2, "half a free batch was enough");
            assert_eq!(rx.available(usize::MAX) as u64, pushed - popped);
            pop_until_closed(&mut rx, popped..pushed);
        },
    )
}
