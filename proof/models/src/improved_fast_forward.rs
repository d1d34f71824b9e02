//! `iffq`: partitions of more than one slot (paper 1 §4.2).
//!
//! With partitions of one slot, as the common models have them, no partition is in part full and in
//! part waiting to be cleared; and their items are too few for a slot to be used twice.

use crate::chunks::{chunks_through, slices_through};
use crate::common::transfer_through;
use crate::explore::{explore_sides, grouped, pop, pop_all, pop_until_closed, push, tiny};
use crate::item::{Number, Ticket};
use crate::subject::Single;
use crate::{Model, Run};
use corelane_loom::{Producer, SingleConsumer, SingleProducer};

pub(crate) fn models<S: Single<Ticket> + Single<Number, Item: Copy>>() -> Vec<Model> {
    vec![
        Model::new::<S>("whole_lap", || transfer_through::<S>(tiny(1), 4)),
        Model::new::<S>("partition_transfer", || transfer_through::<S>(grouped(1, 2), 2)),
        Model::new::<S>("partition_chunks", || {
            chunks_through::<S>(grouped(1, 2), |capacity| capacity + 1)
        }),
        Model::new::<S>("partition_slices", || slices_through::<S>(grouped(1, 2), 1)),
        Model::new::<S>("first_wrap_uninitialised", first_wrap_uninitialised::<S>),
        Model::new::<S>("cleared_a_partition_late", cleared_a_partition_late::<S>),
    ]
}

/// In the first lap, too, the producer stays a partition behind the consumer.
fn first_wrap_uninitialised<S: Single<Ticket>>() -> Run {
    explore_sides::<S, Ticket, _, _>(
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
            assert_eq!(pushed, tx.capacity() as u64, "one pop clears no partition");
            drop(tx);
            pop_until_closed(&mut rx, popped..pushed);
        },
    )
}

/// Slots come back a partition at a time, when the consumer is two further.
fn cleared_a_partition_late<S: Single<Ticket>>() -> Run {
    explore_sides::<S, Ticket, _, _>(
        grouped(1, 2),
        |mut tx| {
            let capacity = tx.capacity() as u64;
            for number in 0..capacity {
                assert!(push(&mut tx, number), "a new queue holds its capacity");
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
