//! Single items: models of one producer and one consumer, for every queue.

use corelane_loom::{Config, Producer, TryPopError, TryPushError};
use loom::hint::spin_loop;

use crate::explore::{
    done, explore_sides, pop, pop_all, pop_until_closed, push, push_all, push_now, tiny,
};
use crate::item::{Cargo, reclaim};
use crate::queue::{New, Of, Rx, Tx};
use crate::{Exploration, Model};

/// The models of a queue that move single items.
pub(crate) fn models<P: Tx, C: Rx>(of: Of, new: New<P, C>) -> Vec<Model> {
    vec![
        of.model("transfer", move || transfer(new)),
        of.model("transfer_three", move || transfer_three(new)),
        of.model("attempts", move || attempts(new)),
        of.model("pool_of_buffers", move || pool_of_buffers(new)),
        of.model("producer_closes", move || producer_closes(new)),
        of.model("consumer_closes", move || consumer_closes(new)),
        of.model("closing_is_ordered", move || closing_is_ordered(new)),
        of.model("teardown_races_push", move || teardown_races_push(new)),
    ]
}

/// More items than slots through the smallest ring: full, empty, and round the end.
pub(crate) fn transfer<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    transfer_through(new, tiny(1), 2)
}

/// Moves `more` items than fit. The drop of the producer publishes the last ones.
pub(crate) fn transfer_through<P: Tx, C: Rx>(
    new: New<P, C>,
    config: Config,
    more: u64,
) -> Exploration {
    explore_sides(
        new,
        config,
        move |mut tx| {
            let items = tx.slots() as u64 + more;
            push_all(&mut tx, 0..items);
        },
        move |mut rx| {
            let items = rx.slots() as u64 + more;
            pop_until_closed(&mut rx, 0..items);
        },
        done,
    )
}

/// Three items through a ring of two or a little more, so that the sides work on different slots.
pub(crate) fn transfer_three<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| push_all(&mut tx, 0..3),
        |mut rx| pop_all(&mut rx, 0..3),
        done,
    )
}

/// Neither side waits. All accepted items come out in order, now or later, and no others. The queue
/// never has more items than fit. Afterwards all slots are free again.
pub(crate) fn attempts<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let capacity = tx.slots() as u64;
            let mut pushed = 0;
            for attempt in 0..capacity + 2 {
                let accepted = push(&mut tx, pushed);
                assert!(accepted || attempt >= capacity, "all slots of a new queue are free");
                pushed += u64::from(accepted);
            }
            (tx, pushed)
        },
        |mut rx| {
            let mut popped = 0;
            for _ in 0..3 {
                if let Some(number) = pop(&mut rx) {
                    assert_eq!(number, popped, "first in, first out");
                    popped += 1;
                }
            }
            (rx, popped)
        },
        |(mut tx, pushed), (mut rx, popped)| {
            let capacity = tx.slots() as u64;
            assert!(pushed <= popped + capacity, "more items than slots were accepted");
            for number in popped..pushed {
                assert_eq!(pop(&mut rx), Some(number), "a completed push is visible");
            }
            assert_eq!(pop(&mut rx), None);
            for number in pushed..pushed + tx.capacity() as u64 {
                push_now(&mut tx, number);
            }
        },
    )
}

/// In a queue of C slots, all that the consumer did before it popped item k happens before the push
/// of item k + C returns. So the producer may count, and reuse the buffer of item k.
fn pool_of_buffers<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            let capacity = tx.slots() as u64;
            for number in 0..capacity + 2 {
                push_all(&mut tx, number..number + 1);
                // Item k - 1 is used up before item k is popped.
                if number > capacity {
                    reclaim(number - capacity - 1);
                }
            }
        },
        |mut rx| {
            let items = rx.slots() as u64 + 2;
            pop_all(&mut rx, 0..items);
        },
        done,
    )
}

/// The producer is dropped right after its last push: a consumer gets all items first, then
/// `Closed` for ever.
pub(crate) fn producer_closes<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| {
            push_now(&mut tx, 0);
            push_now(&mut tx, 1);
        },
        |mut rx| {
            pop_until_closed(&mut rx, 0..2);
            assert!(rx.is_closed());
            assert!(matches!(rx.try_pop(), Err(TryPopError::Closed)));
        },
        done,
    )
}

/// The consumer is dropped while the producer waits for room: the push returns the item.
fn consumer_closes<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| push_until_closed(&mut tx),
        |mut rx| {
            if let Some(number) = pop(&mut rx) {
                assert_eq!(number, 0, "first in, first out");
            }
        },
        done,
    )
}

/// Pushes items, each as soon as there is room, until the consumer is gone.
fn push_until_closed<P: Producer<Item: Cargo>>(tx: &mut P) {
    for number in 0.. {
        let mut item = Cargo::of(number);
        while let Err(error) = tx.try_push(item) {
            let closed = matches!(error, TryPushError::Closed(_));
            item = error.into_inner();
            assert_eq!(item.number(), number, "the item comes back");
            if closed {
                return;
            }
            spin_loop();
        }
    }
}

/// All that the consumer did happens before the producer sees that the consumer is gone.
pub(crate) fn closing_is_ordered<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(1),
        |mut tx| {
            push_now(&mut tx, 0);
            while !tx.is_closed() {
                spin_loop();
            }
            reclaim(0);
        },
        |mut rx| pop_all(&mut rx, 0..1),
        done,
    )
}

/// Either side is dropped at any moment, and items are left behind. Each item is dropped once.
fn teardown_races_push<P: Tx, C: Rx>(new: New<P, C>) -> Exploration {
    explore_sides(
        new,
        tiny(2),
        |mut tx| {
            push_now(&mut tx, 0);
            push_now(&mut tx, 1);
        },
        |mut rx| {
            if let Some(number) = pop(&mut rx) {
                assert_eq!(number, 0, "first in, first out");
            }
        },
        done,
    )
}
