//! `lanes`: consumers that take from the same lane, and producers that go on where others stopped.

use corelane_loom::lanes::{Consumer, Heir, INFO, Producer};
use corelane_loom::{Config, TryPopError};

use crate::explore::{both, explore, explore_shared};
use crate::item::Cargo;
use crate::overwrite::Pair;
use crate::queue::Of;
use crate::shared::{all_are_there, drain, join, look, start};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::other(INFO);
    vec![
        of.model("laps_of_a_lane", laps_of_a_lane),
        of.model("two_consumers_of_a_lane", two_consumers_of_a_lane),
        of.model("two_consumers_give_back", two_consumers_give_back),
        of.model("given_back_by_another", given_back_by_another),
        of.model("slices_of_a_lane", slices_of_a_lane),
        of.model("false_empty_when_overtaken", false_empty_when_overtaken),
        of.model("two_lanes", two_lanes),
        of.model("lanes_before_closed", before_closed),
        of.model("lane_producer_follows_another", producer_follows_another),
        of.model("lane_watched_from_both_sides", watched_from_both_sides),
    ]
}

/// Two slots in each lane, whose counters are about to wrap.
fn sides(lanes: usize) -> (Heir<Pair>, Heir<Pair>) {
    Heir::both(lanes, Config::new(2).first(u64::MAX - 1)).expect("small")
}

/// A lane with its producer, and one consumer.
fn lane() -> (Producer<Pair>, Consumer<Pair>) {
    let (tx, rx) = sides(1);
    (tx.producer(0).expect("it is new"), rx.consumer())
}

/// Pushes these items, and returns how many had room.
fn push(tx: &mut Producer<Pair>, numbers: std::ops::Range<u64>) -> u64 {
    numbers.take_while(|&number| tx.try_push(Pair::of(number)).is_ok()).count() as u64
}

/// The producer writes to slots of which items are being copied.
fn laps_of_a_lane() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = lane();
        assert_eq!(push(&mut tx, 0..3), 2);
        let (pushed, (mut rx, mut popped)) = both(
            move || 2 + push(&mut tx, 2..4),
            || {
                let popped = look(&mut rx, 2);
                (rx, popped)
            },
        );
        popped.extend(drain(&mut rx));
        assert_eq!(popped, (0..pushed).collect::<Vec<_>>());
    })
}

/// Two consumers take from a lane, to which the producer pushes a second lap.
fn two_consumers_of_a_lane() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides(1);
        let mut tx = tx.producer(0).expect("it is new");
        assert_eq!(push(&mut tx, 0..2), 2);
        let consumers =
            [rx.clone(), rx.clone()].map(|rx| start(move || look(&mut rx.consumer(), 2)));
        let pushed = 2 + push(&mut tx, 2..4);
        let mut popped = join(consumers);
        popped.push(drain(&mut rx.consumer()));
        assert!(popped.iter().all(|numbers| numbers.is_sorted()));
        all_are_there(popped.concat(), pushed);
    })
}

/// Two consumers take a group of two slots, one each, and give it back. A lane has four slots.
fn two_consumers_give_back() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = Heir::<Pair>::both(1, Config::new(3).first(u64::MAX - 1)).expect("small");
        let mut tx = tx.producer(0).expect("it is new");
        assert_eq!(push(&mut tx, 0..5), 4);
        let consumers =
            [rx.clone(), rx.clone()].map(|rx| start(move || look(&mut rx.consumer(), 1)));
        let pushed = 4 + push(&mut tx, 4..6);
        let mut popped = join(consumers);
        assert_eq!(pushed + push(&mut tx, pushed..7), 6, "both slots are given back");
        popped.push(drain(&mut rx.consumer()));
        all_are_there(popped.concat(), 6);
    })
}

/// A consumer that finds a lane empty gives back what another one has read, and not given back yet.
/// The producer needs it.
fn given_back_by_another() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = Heir::<Pair>::both(1, Config::new(3).first(u64::MAX - 1)).expect("small");
        let mut tx = tx.producer(0).expect("it is new");
        assert_eq!(push(&mut tx, 0..2), 2);
        let (first, second) = (rx.clone(), rx.clone());
        let first = start(move || look(&mut first.consumer(), 2));
        let second = start(move || look(&mut second.consumer(), 1));
        let pushed = 2 + push(&mut tx, 2..6);
        let mut popped = join([first, second]);
        popped.push(drain(&mut rx.consumer()));
        all_are_there(popped.concat(), pushed);
    })
}

/// Two consumers take slices of a lane.
fn slices_of_a_lane() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides(1);
        let mut tx = tx.producer(0).expect("it is new");
        assert_eq!(push(&mut tx, 0..1), 1);
        let slice = |rx: Heir<Pair>| {
            start(move || {
                let mut into = [Pair::of(9); 2];
                let taken = rx.consumer().pop_slice(&mut into);
                into[..taken].iter().map(Cargo::number).collect::<Vec<_>>()
            })
        };
        let consumers = [rx.clone(), rx.clone()].map(slice);
        let pushed = 1 + push(&mut tx, 1..3);
        let mut popped = join(consumers);
        popped.push(drain(&mut rx.consumer()));
        all_are_there(popped.concat(), pushed);
    })
}

/// A consumer is overtaken by another one and by the producer. There is always an item, so its pop
/// doesn't say empty.
fn false_empty_when_overtaken() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides(1);
        let mut tx = tx.producer(0).expect("it is new");
        assert_eq!(push(&mut tx, 0..2), 2);
        let other = rx.clone();
        let other = start(move || assert!(other.consumer().try_pop().is_ok()));
        let producer = start(move || push(&mut tx, 2..3));
        assert!(rx.consumer().try_pop().is_ok(), "at any time there was an item");
        join([other]);
        join([producer]);
    })
}

/// Two producers, each in its lane.
fn two_lanes() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides(2);
        let producers = [(tx.clone(), 0), (tx, 1)].map(|(tx, number)| {
            start(move || {
                let mut tx = tx.producer(number as usize).expect("it is new");
                assert_eq!(push(&mut tx, number..number + 1), 1);
            })
        });
        let mut rx = rx.consumer();
        let mut popped = look(&mut rx, 2);
        join(producers);
        popped.extend(drain(&mut rx));
        all_are_there(popped, 2);
    })
}

/// The items that are left when the last producer goes are popped before a pop says closed.
fn before_closed() -> Exploration {
    explore(|| {
        let (tx, rx) = sides(2);
        let mut rx = rx.consumer();
        both(
            move || {
                let mut tx = tx.producer(1).expect("it is new");
                assert_eq!(push(&mut tx, 0..1), 1);
            },
            || {
                let mut popped = 0;
                let end = loop {
                    match rx.try_pop() {
                        Ok(_) => popped += 1,
                        Err(TryPopError::Empty) => loom::hint::spin_loop(),
                        Err(end) => break end,
                    }
                };
                assert_eq!((popped, end), (1, TryPopError::Closed));
            },
        );
    })
}

/// A producer goes on where another one has stopped, while a consumer takes the items of both.
fn producer_follows_another() -> Exploration {
    explore(|| {
        let (tx, rx) = sides(1);
        let mut rx = rx.consumer();
        let next = tx.clone();
        let ((tx, pushed), mut popped) = both(
            move || {
                let mut first = tx.producer(0).expect("it is new");
                assert_eq!(push(&mut first, 0..2), 2);
                let mut second = next.producer(0).expect("the first has left it so");
                assert_eq!(second.count(), first.count());
                let pushed = 2 + push(&mut second, 2..4);
                (second, pushed)
            },
            || (look(&mut rx, 2), rx),
        );
        popped.0.extend(drain(&mut popped.1));
        assert_eq!(popped.0, (0..pushed).collect::<Vec<_>>());
        drop(tx);
    })
}

/// Each side asks how much is inside while the other one works.
fn watched_from_both_sides() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = lane();
        assert_eq!(push(&mut tx, 0..1), 1);
        both(
            move || {
                assert!(tx.len() <= 1);
                assert_eq!(push(&mut tx, 1..2), 1);
                assert!((1..=2).contains(&tx.len()));
            },
            move || {
                assert!((1..=2).contains(&rx.len()) && !rx.is_empty());
                assert_eq!(rx.try_pop(), Ok(Pair::of(0)));
                assert!(rx.len() <= 1);
            },
        );
    })
}
