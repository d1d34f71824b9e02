//! `blq`: publishing items and freeing slots are calls of their own, apart from push and pop (paper
//! 1 §3.3).

use corelane_loom::TryPushError;
use corelane_loom::lamport::batched::{Blq, Consumer, Producer};
use loom::hint::spin_loop;

use crate::explore::{done, explore_sides, pop_until_closed, push_all, tiny};
use crate::item::{Cargo, Ticket, Wide};
use crate::queue::{Of, SingleSubject, own};
use crate::{Exploration, Model, whole_lines};

type Item = Wide<Ticket>;

pub(crate) fn models() -> Vec<Model> {
    let mut models = whole_lines::models(SingleSubject::narrow::<Blq>(), 3);
    let of = Of::any::<Blq, Item>();
    models.extend([
        of.model("flush_shows_all", flush_shows_all),
        of.model("full_of_unpublished", full_of_unpublished),
        of.model("freed_together", freed_together),
    ]);
    models
}

fn push_local(tx: &mut Producer<Item>, number: u64) -> bool {
    match tx.push_local(Item::of(number)) {
        Ok(()) => true,
        Err(TryPushError::Full(item)) => {
            assert_eq!(item.number(), number, "the item comes back");
            false
        }
        Err(error) => panic!("pushing item {number}: {error}"),
    }
}

fn pop_local(rx: &mut Consumer<Item>) -> Option<u64> {
    rx.pop_local().map(|item| item.number())
}

/// Items that were pushed without publication become visible together: by `flush`, or when the
/// producer is dropped.
fn flush_shows_all() -> Exploration {
    explore_sides(
        own::<Blq, Item>,
        tiny(3),
        |mut tx| {
            assert!(push_local(&mut tx, 0) && push_local(&mut tx, 1));
            tx.flush();
            assert!(push_local(&mut tx, 2));
        },
        |mut rx| {
            assert_ne!(rx.available(2), 1, "half of what was published");
            pop_until_closed(&mut rx, 0..3);
        },
        done,
    )
}

/// A queue full of unpublished items stays full for the producer, and empty for the consumer.
fn full_of_unpublished() -> Exploration {
    explore_sides(
        own::<Blq, Item>,
        tiny(1),
        |mut tx| {
            assert!(push_local(&mut tx, 0));
            assert!(!push_local(&mut tx, 1), "no pop can have made room");
            tx.flush();
            push_all(&mut tx, 1..2);
        },
        |mut rx| pop_until_closed(&mut rx, 0..2),
        done,
    )
}

/// Slots of items that were popped without publication become free together: by `free`, or when the
/// consumer is dropped.
fn freed_together() -> Exploration {
    explore_sides(
        own::<Blq, Item>,
        tiny(1),
        |mut tx| {
            push_all(&mut tx, 0..3);
        },
        |mut rx| {
            while pop_local(&mut rx) != Some(0) {
                spin_loop();
            }
            assert_eq!(pop_local(&mut rx), None, "the slot is not free yet");
            rx.free();
            while pop_local(&mut rx) != Some(1) {
                spin_loop();
            }
            // Item 2 finds room only if the slot is given back here as well.
            rx.free();
            pop_until_closed(&mut rx, 2..3);
        },
        done,
    )
}
