//! `seqring`: consumers copy items that may be overwritten meanwhile, and a producer may be stopped
//! in the middle of a push.

use corelane_loom::overwrite::Plain;
use corelane_loom::seq_ring::{Consumer, Heir, Producer, SeqRing};
use corelane_loom::{Config, TryPopError};

use crate::explore::{done, explore_shared, explore_sides, tiny};
use crate::item::Cargo;
use crate::overwrite::{Pair, drain, nothing_is_unaccounted_for, push_all};
use crate::queue::{Of, own};
use crate::shared::{self, join, look, start};
use crate::thread::Thread;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::any::<SeqRing, Pair>();
    vec![
        of.model("overwrites", overwrites),
        of.model("overwrites_slices", overwrites_slices),
        of.model("closes_when_overwritten", closes_when_overwritten),
        of.model("teardown_races_push", teardown_races_push),
        of.model("two_producers_overwrite", two_producers_overwrite),
        of.model("producer_stands_still", producer_stands_still),
        of.model("producer_stands_still_for_two_laps", producer_stands_still_for_two_laps),
        of.model("overwritten_while_read", overwritten_while_read),
        of.model("two_consumers_overtaken", two_consumers_overtaken),
        of.model("false_empty_when_overtaken", || false_empty_when_overtaken(false)),
        of.model("false_empty_when_both_are_overtaken", || false_empty_when_overtaken(true)),
        of.model("false_empty_while_two_overwrite", false_empty_while_two_overwrite),
        of.model("producer_comes_and_goes", producer_comes_and_goes),
        of.model("consumer_comes_and_goes", consumer_comes_and_goes),
        of.model("consumer_pops_and_goes", consumer_pops_and_goes),
        of.model("snapshot_while_overwritten", snapshot_while_overwritten),
        of.model("snapshot_beside_two_producers", snapshot_beside_two_producers),
        of.model("all_get_all", all_get_all),
        of.model("producer_follows_another", producer_follows_another),
    ]
}

fn queue<T: Plain>(config: Config) -> (Producer<T>, Consumer<T>) {
    own::<SeqRing, T>(config)
}

/// The producer pushes more items than fit, while the consumer looks for them.
fn overwrites() -> Exploration {
    explore_sides(
        queue::<Pair>,
        tiny(2),
        |mut tx| push_all(&mut tx, 0..4),
        |mut rx| {
            let numbers = look(&mut rx, 2);
            (rx, numbers)
        },
        |(), (mut rx, mut numbers)| {
            numbers.extend(drain(&mut rx));
            assert!(numbers.ends_with(&[2, 3]) || rx.lost() < 2, "{numbers:?}");
            nothing_is_unaccounted_for(&[numbers], rx.lost(), 4);
        },
    )
}

/// The same with slices.
fn overwrites_slices() -> Exploration {
    explore_sides(
        queue::<Pair>,
        tiny(2),
        |mut tx| assert_eq!(tx.push_slice(&[0, 1, 2].map(Pair::of)), 3),
        |mut rx| {
            let mut into = [Pair::of(99); 2];
            let n = rx.pop_slice(&mut into);
            (rx, into[..n].iter().map(Cargo::number).collect::<Vec<_>>())
        },
        |(), (mut rx, mut numbers)| {
            numbers.extend(drain(&mut rx));
            nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
        },
    )
}

/// The items that are left when the producer is dropped are popped before a pop says closed.
fn closes_when_overwritten() -> Exploration {
    explore_sides(
        queue::<Pair>,
        tiny(2),
        |mut tx| push_all(&mut tx, 0..3),
        |mut rx| {
            let numbers = shared::pop_to_the_end(&mut rx);
            assert!(numbers.ends_with(&[1, 2]), "{numbers:?}");
            nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
        },
        done,
    )
}

/// The consumer is dropped while the producer pushes its last item and is dropped. The last handle
/// frees the memory that both have used.
fn teardown_races_push() -> Exploration {
    explore_sides(queue::<Pair>, tiny(2), |mut tx| push_all(&mut tx, 0..1), drop, done)
}

/// Two threads push more items than fit, while the consumer looks for them.
fn two_producers_overwrite() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(tiny(2));
        push_all(&mut tx, 0..1);
        let threads = [(tx.clone(), 1), (tx, 2)]
            .map(|(mut tx, number)| start(move || tx.push(Pair::of(number))));
        let mut numbers = look(&mut rx, 2);
        join(threads);
        numbers.extend(drain(&mut rx));
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
    })
}

/// A producer may be stopped in the middle of a push. No other producer writes to its slot
/// meanwhile.
fn producer_stands_still() -> Exploration {
    stands_still(3)
}

/// The same when the other producer goes round the ring twice.
fn producer_stands_still_for_two_laps() -> Exploration {
    stands_still(5)
}

fn stands_still(end: u64) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let mut other = tx.clone();
        let thread = start(move || push_all(&mut other, 0..1));
        push_all(&mut tx, 1..end);
        join([thread]);
        let mut numbers = drain(&mut rx);
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), end);
    })
}

/// An item that is overwritten while it is copied isn't returned, with several handles on both
/// sides.
fn overwritten_while_read() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(tiny(2));
        let (_other_tx, _other_rx) = (tx.clone(), rx.clone());
        push_all(&mut tx, 0..2);
        let producer = start(move || push_all(&mut tx, 2..3));
        let mut numbers = look(&mut rx, 1);
        join([producer]);
        numbers.extend(drain(&mut rx));
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
    })
}

/// Two consumers are overtaken: one of them counts each item that both miss.
fn two_consumers_overtaken() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..2);
        let consumers: [Thread<_>; 2] = [rx.clone(), rx.clone()].map(|mut rx| {
            start(move || {
                let numbers = look(&mut rx, 1);
                (numbers, rx.lost())
            })
        });
        push_all(&mut tx, 2..3);
        let (mut popped, lost): (Vec<_>, Vec<_>) = join(consumers).into_iter().unzip();
        popped.push(drain(&mut rx));
        nothing_is_unaccounted_for(&popped, lost.iter().sum::<u64>() + rx.lost(), 3);
    })
}

/// Two items are pushed while a consumer pops the oldest item, which may be overwritten. There is
/// always an item, so the pop doesn't say empty.
fn false_empty_when_overtaken(has_other: bool) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let _other = has_other.then(|| rx.clone());
        push_all(&mut tx, 0..3);
        let producer = start(move || push_all(&mut tx, 3..5));
        assert!(rx.try_pop().is_ok(), "at any time there was an item");
        join([producer]);
    })
}

/// The same if two producers overwrite: the pop may say busy.
fn false_empty_while_two_overwrite() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..1);
        let threads =
            [(tx.clone(), 1), (tx, 2)].map(|(mut tx, number)| start(move || tx.push(number)));
        assert_ne!(rx.try_pop(), Err(TryPopError::Empty), "at any time there was an item");
        join(threads);
    })
}

/// A producer is cloned while the consumer looks for items. It is alone again when its clone has
/// pushed and was dropped.
fn producer_comes_and_goes() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let consumer = start(move || {
            let numbers = look(&mut rx, 2);
            (rx, numbers)
        });
        push_all(&mut tx, 0..1);
        let mut other = tx.clone();
        push_all(&mut other, 1..2);
        drop(other);
        push_all(&mut tx, 2..4);
        let (mut rx, mut numbers) = join([consumer]).remove(0);
        numbers.extend(drain(&mut rx));
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 4);
    })
}

/// A consumer is cloned while the producer overwrites. It is alone again when its clone has popped
/// and was dropped.
fn consumer_comes_and_goes() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..2);
        let producer = start(move || push_all(&mut tx, 2..5));
        let mut other = rx.clone();
        let mut popped = vec![look(&mut other, 1)];
        let lost = other.lost();
        drop(other);
        popped.push(look(&mut rx, 2));
        join([producer]);
        popped.push(drain(&mut rx));
        nothing_is_unaccounted_for(&popped, lost + rx.lost(), 5);
    })
}

/// A consumer pops an item and is dropped, just when another consumer checks whether it is alone.
fn consumer_pops_and_goes() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..3);
        let mut other = rx.clone();
        let consumer = start(move || (look(&mut other, 2), other.lost()));
        let mut popped = vec![look(&mut rx, 1)];
        let (numbers, lost) = join([consumer]).remove(0);
        popped.extend([numbers, drain(&mut rx)]);
        nothing_is_unaccounted_for(&popped, lost + rx.lost(), 3);
    })
}

/// Checks a snapshot: items are whole, and successive; the last one is `newest` or newer.
fn check(rx: &mut Consumer<Pair>, newest: u64) {
    let mut items = Vec::new();
    rx.snapshot(&mut items);
    let numbers: Vec<_> = items.iter().map(Cargo::number).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    assert!(numbers.last().is_none_or(|last| *last >= newest), "{numbers:?}");
}

/// A snapshot is taken while the producer overwrites.
fn snapshot_while_overwritten() -> Exploration {
    explore_sides(
        |config| {
            let (mut tx, rx) = queue::<Pair>(config);
            push_all(&mut tx, 0..2);
            (tx, rx)
        },
        tiny(2),
        |mut tx| push_all(&mut tx, 2..4),
        |mut rx| {
            check(&mut rx, 1);
            rx
        },
        |(), mut rx| {
            let mut items = Vec::new();
            assert_eq!((rx.snapshot(&mut items), items), (2, [2, 3].map(Pair::of).into()));
        },
    )
}

/// A snapshot is taken while two producers push items that fit: it has the finished items. A later
/// snapshot has all items.
fn snapshot_beside_two_producers() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(tiny(2));
        push_all(&mut tx, 0..1);
        let mut other = tx.clone();
        let producer = start(move || other.push(Pair::of(1)));
        tx.push(Pair::of(2));
        let mut items = Vec::new();
        rx.snapshot(&mut items);
        assert!(items.contains(&Pair::of(2)), "{items:?}");
        join([producer]);
        items.clear();
        assert_eq!(rx.snapshot(&mut items) + items.len() as u64, 3);
        assert_eq!(items.len(), 2, "{items:?}");
    })
}

/// Two consumers that get all items, each for itself.
fn all_get_all() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = Heir::<Pair>::both(tiny(2)).expect("small");
        let mut tx = tx.producer();
        let consumers = [rx.clone(), rx].map(Heir::consumer).map(|mut rx| {
            start(move || {
                let numbers = look(&mut rx, 2);
                (rx, numbers)
            })
        });
        push_all(&mut tx, 0..3);
        for (mut rx, mut numbers) in join(consumers) {
            numbers.extend(drain(&mut rx));
            nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
        }
    })
}

/// A producer goes on where another one has stopped, while a consumer pops.
fn producer_follows_another() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = Heir::<Pair>::both(tiny(2)).expect("small");
        let mut rx = rx.consumer();
        let producer = start(move || {
            let mut first = tx.clone().producer();
            push_all(&mut first, 0..2);
            let mut second = tx.producer();
            assert_eq!(second.count(), first.count());
            push_all(&mut second, 2..4);
        });
        let mut numbers = look(&mut rx, 2);
        join([producer]);
        numbers.extend(drain(&mut rx));
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 4);
    })
}
