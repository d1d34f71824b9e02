//! `bbq-spsc`: blocks of several slots, entered when they are empty, left when they are done (paper
//! 3 §2.4). With three blocks, positions leave out the fourth of each lap.

use corelane_loom::block::single::BbqSpsc;
use corelane_loom::{SingleConsumer, SingleProducer};

use crate::chunks::{chunks_through, slices_through};
use crate::explore::{done, explore_sides, grouped, pop, pop_until_closed, push, push_now, tiny};
use crate::item::Cargo;
use crate::one_to_one::transfer_through;
use crate::queue::{Single, SingleSubject};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SingleSubject { of, tickets, numbers } = SingleSubject::wide::<BbqSpsc>();
    vec![
        of.model("block_transfer", move || transfer_through(tickets, grouped(4, 2), 1)),
        of.model("block_chunks", move || {
            chunks_through(tickets, grouped(4, 2), |capacity| capacity + 1)
        }),
        of.model("block_slices", move || slices_through(numbers, grouped(4, 2), 1)),
        of.model("transfer_over_a_lap", move || transfer_through(tickets, tiny(3), 1)),
        of.model("chunks_over_a_lap", move || chunks_through(tickets, tiny(3), |slots| slots + 1)),
        of.model("slices_over_a_lap", move || slices_through(numbers, tiny(3), 1)),
        of.model("chunk_over_blocks", move || chunk_over_blocks(tickets)),
        of.model("commit_over_blocks", move || commit_over_blocks(tickets)),
        of.model("left_in_two_laps", move || left_in_two_laps(tickets)),
        of.model("full_until_a_block_is_empty", move || full_until_a_block_is_empty(tickets)),
        of.model("block_of_an_earlier_lap", move || block_of_an_earlier_lap(tickets)),
    ]
}

/// A chunk that ends in the next block: each block counts its own items, and the first block's
/// count is published first.
fn chunk_over_blocks<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            push_now(&mut tx, 0);
            let chunk = tx.write_chunk_uninit(3).expect("the queue is new");
            assert_eq!(chunk.fill_from_iter((1..4).map(Cargo::of)), 3);
        },
        |mut rx| pop_until_closed(&mut rx, 0..4),
        done,
    )
}

/// A chunk that is popped over the end of a block: then the first block is empty.
fn commit_over_blocks<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..4 {
                push_now(&mut tx, number);
            }
            (4..6).take_while(|number| push(&mut tx, *number)).count() as u64
        },
        |mut rx| {
            let popped = rx.read_chunk(3).map_or(0, |chunk| {
                let len = chunk.len();
                chunk.commit(len);
                len as u64
            });
            (rx, popped)
        },
        |more, (mut rx, popped)| {
            assert!(more == 0 || popped >= 2, "half a block was enough");
            assert_eq!(rx.available(usize::MAX) as u64, 4 + more - popped);
            pop_until_closed(&mut rx, popped..4 + more);
        },
    )
}

/// Both sides are dropped while items are left in a block that the consumer has visited in an
/// earlier lap.
fn left_in_two_laps<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..4 {
                push_now(&mut tx, number);
            }
            let _ = push(&mut tx, 4);
        },
        |mut rx| {
            while pop(&mut rx).is_some() {}
            rx
        },
        done,
    )
}

/// The producer continues when both slots of the block are free, and then pushes two items.
fn full_until_a_block_is_empty<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..4 {
                push_now(&mut tx, number);
            }
            let more = push(&mut tx, 4);
            assert!(!more || push(&mut tx, 5), "the block has two slots");
            if more { 6 } else { 4 }
        },
        |mut rx| {
            let popped = (0..2).filter(|_| pop(&mut rx).is_some()).count() as u64;
            (rx, popped)
        },
        |pushed, (mut rx, popped)| {
            assert!(pushed == 4 || popped == 2, "half a block was enough");
            pop_until_closed(&mut rx, popped..pushed);
        },
    )
}

/// The consumer has emptied a block and looks at the next block. If the producer hasn't entered
/// that block yet, its count is a lap old.
fn block_of_an_earlier_lap<T: Cargo>(new: Single<T>) -> Exploration {
    explore_sides(
        new,
        grouped(4, 2),
        |mut tx| {
            for number in 0..3 {
                push_now(&mut tx, number);
            }
            tx
        },
        |mut rx| {
            let popped = (0..4).filter(|_| pop(&mut rx).is_some()).count() as u64;
            assert!(popped <= 3);
            (rx, popped)
        },
        |tx, (mut rx, popped)| {
            assert_eq!(rx.available(usize::MAX) as u64, 3 - popped);
            drop(tx);
            pop_until_closed(&mut rx, popped..3);
        },
    )
}
