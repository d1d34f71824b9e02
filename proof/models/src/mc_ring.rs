//! `mcring`: publication a batch at a time (paper 2 §2.5).

use corelane_loom::mc_ring::McRing;
use corelane_loom::{Producer, SingleConsumer, SingleProducer};

use crate::chunks::chunks_through;
use crate::explore::{done, explore_sides, grouped, pop_all, pop_until_closed, push_now};
use crate::item::Cargo;
use crate::one_to_one::transfer_through;
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SingleSubject { of, tickets, .. } = SingleSubject::wide::<McRing>();
    vec![
        of.model("batch_transfer", move || transfer_through(tickets, grouped(4, 2), 1)),
        of.model("batch_is_clamped", move || transfer_through(tickets, grouped(2, 100), 1)),
        of.model("batch_chunks", move || {
            chunks_through(tickets, grouped(4, 2), |capacity| capacity + 1)
        }),
        of.model("delayed_publication", move || delayed_publication(tickets)),
        of.model("flush_publishes", move || flush_publishes(tickets)),
        of.model("freed_a_batch_late", move || freed_a_batch_late(tickets)),
    ]
}

/// Items become visible in pairs. A single last item becomes visible when the producer is dropped.
fn delayed_publication<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..3 {
                push_now(&mut tx, number);
            }
        },
        |mut rx| {
            assert_ne!(rx.available(usize::MAX), 1, "half a batch");
            pop_until_closed(&mut rx, 0..3);
        },
        done,
    )
}

/// After `flush` a consumer may wait for items of a batch that is not full yet.
fn flush_publishes<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            push_now(&mut tx, 0);
            tx.flush();
            tx
        },
        |mut rx| {
            pop_all(&mut rx, 0..1);
            rx
        },
        |mut tx, mut rx| {
            // The next batch starts where the flush has ended this one.
            push_now(&mut tx, 1);
            assert_eq!(rx.available(1), 0, "half a batch");
            push_now(&mut tx, 2);
            pop_all(&mut rx, 1..3);
        },
    )
}

/// The two slots of a batch become free together.
fn freed_a_batch_late<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..4 {
                push_now(&mut tx, number);
            }
            let free = tx.free_slots(usize::MAX);
            assert!(free == 0 || free == 2, "half a batch");
        },
        |mut rx| {
            pop_all(&mut rx, 0..3);
            rx
        },
        done,
    )
}
