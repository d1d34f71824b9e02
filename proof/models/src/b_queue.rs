//! `bqueue`: looking ahead by a batch, and going back (paper 2 §3).

use corelane_loom::SingleConsumer;

use crate::chunks::{chunks_through, slices_through};
use crate::common::transfer_through;
use crate::explore::{
    done, explore_sides, grouped, pop, pop_all, pop_until_closed, push, push_all, push_now,
};
use crate::item::{Number, Ticket};
use crate::subject::Single;
use crate::{Model, Run};

pub(crate) fn models<S: Single<Ticket> + Single<Number, Item: Copy>>() -> Vec<Model> {
    vec![
        Model::new::<S>("batch_transfer", || transfer_through::<S>(grouped(4, 2), 1)),
        Model::new::<S>("batch_chunks", || {
            chunks_through::<S>(grouped(4, 2), |capacity| capacity + 1)
        }),
        Model::new::<S>("batch_slices", || slices_through::<S>(grouped(4, 2), 1)),
        Model::new::<S>("backtracking", backtracking::<S>),
        Model::new::<S>("history", history::<S>),
        Model::new::<S>("probe_of_a_batch", probe_of_a_batch::<S>),
    ]
}

/// The consumer looks four slots ahead, and at two and one when that is empty.
fn backtracking<S: Single<Ticket>>() -> Run {
    explore_sides::<S, Ticket, _, _>(
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

/// How far the consumer looks depends on how far it got the last times. When nothing was there it
/// forgets that, and sees the next single item.
fn history<S: Single<Ticket>>() -> Run {
    explore_sides::<S, Ticket, _, _>(
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

/// The producer needs a whole batch of free slots, and then uses it without looking again.
fn probe_of_a_batch<S: Single<Ticket>>() -> Run {
    explore_sides::<S, Ticket, _, _>(
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
            assert!(pushed == 4 || popped == 2, "half a batch was enough");
            assert_eq!(rx.available(usize::MAX) as u64, pushed - popped);
            pop_until_closed(&mut rx, popped..pushed);
        },
    )
}
