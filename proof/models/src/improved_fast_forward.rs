//! `iffq`: partitions of more than one slot (paper 1 §4.2).
//!
//! The common models have partitions of one slot. So in these models no partition is partly full
//! and partly waiting to be cleared, and no slot is used twice.

use crate::chunks::{chunks_through, slices_through};
use crate::explore::{explore_sides, grouped, pop, pop_all, pop_until_closed, push, tiny};
use crate::item::Cargo;
use crate::one_to_one::transfer_through;
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};
use corelane_loom::fast_forward::batched::{Biffq, BiffqAny};
use corelane_loom::fast_forward::improved::{Iffq, IffqAny};
use corelane_loom::{Producer, SingleConsumer, SingleProducer};

pub(crate) fn models() -> Vec<Model> {
    let mut models = Vec::new();
    models.extend(of_queue(SingleSubject::wide::<IffqAny>()));
    models.extend(of_queue(SingleSubject::tokens::<Iffq>()));
    models.extend(of_queue(SingleSubject::wide::<BiffqAny>()));
    models.extend(of_queue(SingleSubject::tokens::<Biffq>()));
    models
}

fn of_queue<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = subject;
    vec![
        of.model("whole_lap", move || transfer_through(tickets, tiny(1), 4)),
        of.model("partition_transfer", move || transfer_through(tickets, grouped(1, 2), 2)),
        of.model("partition_chunks", move || {
            chunks_through(tickets, grouped(1, 2), |capacity| capacity + 1)
        }),
        of.model("partition_slices", move || slices_through(numbers, grouped(1, 2), 1)),
        of.model("first_wrap_uninitialised", move || first_wrap_uninitialised(tickets)),
        of.model("cleared_a_partition_late", move || cleared_a_partition_late(tickets)),
    ]
}

/// The producer stays a partition behind the consumer, even in the first lap.
fn first_wrap_uninitialised<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(1, 2),
        |mut tx| {
            let pushed = (0..).find(|&number| !push(&mut tx, number));
            (tx, pushed.expect("it becomes full"))
        },
        |mut rx| {
            let popped = u64::from(pop(&mut rx).is_some());
            (rx, popped)
        },
        |(tx, pushed), (mut rx, popped)| {
            assert_eq!(pushed, tx.slots() as u64, "one pop clears no partition");
            drop(tx);
            pop_until_closed(&mut rx, popped..pushed);
        },
    )
}

/// The consumer clears the slots of a partition together, when it is two partitions further.
fn cleared_a_partition_late<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(1, 2),
        |mut tx| {
            let capacity = tx.slots() as u64;
            for number in 0..capacity {
                assert!(push(&mut tx, number), "all slots of a new queue are free");
            }
            let free = tx.free_slots(usize::MAX);
            assert!(free == 0 || free == 2, "half a partition");
            for number in 0..free as u64 {
                assert!(push(&mut tx, capacity + number), "a slot that was counted");
            }
            (tx, capacity + free as u64)
        },
        |mut rx| {
            pop_all(&mut rx, 0..3);
            rx
        },
        |(tx, pushed), mut rx| {
            drop(tx);
            assert_eq!(rx.available(usize::MAX) as u64, pushed - 3);
            pop_until_closed(&mut rx, 3..pushed);
        },
    )
}
