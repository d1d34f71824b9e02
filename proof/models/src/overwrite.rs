//! `bbq-drop-old`: consumers read items that may be overwritten meanwhile (paper 3 §2.4.3), and the
//! three bugs of §2.5.

use std::ops::Range;

use corelane_loom::block::overwriting::{BbqDropOld, Consumer, Producer};
use corelane_loom::overwrite::Plain;
use corelane_loom::{Config, Consumer as Pops, Producer as Sends, TryPopError, TryPushError};

use crate::explore::{done, explore_shared, explore_sides, grouped, tiny};
use crate::item::Cargo;
use crate::queue::{Of, own};
use crate::shared::{self, join, look, start};
use crate::thread::Thread;
use crate::{Exploration, Model};

/// An item of two words, so that a mix of two items is detected.
pub(crate) type Pair = [u64; 2];

impl Cargo for Pair {
    fn of(number: u64) -> Self {
        [number; 2]
    }

    fn number(&self) -> u64 {
        assert_eq!(self[0], self[1], "half an item");
        self[0]
    }
}

/// An item of one word, where there are too many executions with two.
impl Cargo for u64 {
    fn of(number: u64) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }
}

pub(crate) fn models() -> Vec<Model> {
    let of = Of::any::<BbqDropOld, Pair>();
    vec![
        of.model("overwrites", || overwrites(tiny(2), 4)),
        of.model("overwrites_blocks", || overwrites(grouped(4, 2), 7)),
        of.model("overwrites_slices", overwrites_slices),
        of.model("closes_when_overwritten", closes_when_overwritten),
        of.model("teardown_races_push", teardown_races_push),
        of.model("bug_1_busy_behind_another", bug_1_busy_behind_another),
        of.model("bug_2_empty_at_the_same_lap", bug_2_empty_at_the_same_lap),
        of.model("bug_3_overwritten_while_read", bug_3_overwritten_while_read),
        of.model("bug_3_behind_another", bug_3_behind_another),
        of.model("two_producers_overwrite", two_producers_overwrite),
        of.model("producer_stands_still", producer_stands_still),
        of.model("two_consumers_overtaken", || two_consumers_overtaken(tiny(2), 1)),
        of.model("overtaken_in_a_block", || two_consumers_overtaken(grouped(4, 2), 1)),
        of.model("overtaken_twice", overtaken_twice),
        of.model("producer_moves_within_a_block", producer_moves_within_a_block),
        of.model("false_empty_when_overtaken", || false_empty_when_overtaken(3, false)),
        of.model("false_empty_when_both_are_overtaken", || false_empty_when_overtaken(3, true)),
        of.model("false_empty_while_read", || false_empty_when_overtaken(1, false)),
        of.model("false_empty_while_two_overwrite", false_empty_while_two_overwrite),
        of.model("producer_with_an_old_head", producer_with_an_old_head),
        of.model("slice_with_an_old_head", slice_with_an_old_head),
        of.model("producer_comes_and_goes", producer_comes_and_goes),
        of.model("consumer_comes_and_goes", consumer_comes_and_goes),
    ]
}

/// A queue with as many slots as `config` asks for. It keeps the items of all blocks but one.
fn queue<T: Plain>(mut config: Config) -> (Producer<T>, Consumer<T>) {
    config.capacity = (config.capacity - 1).max(1);
    own::<BbqDropOld, T>(config)
}

/// Pushes these items, which overwrite old ones if need be.
pub(crate) fn push_all<T: Cargo>(tx: &mut impl Sends<Item = T>, numbers: Range<u64>) {
    for number in numbers {
        assert!(tx.try_push(Cargo::of(number)).is_ok(), "no push is stopped in the middle");
    }
}

/// Pops all items that are left, while no other thread is at work.
pub(crate) fn drain<T: Cargo>(rx: &mut impl Pops<Item = T>) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(item) => numbers.push(item.number()),
            Err(TryPopError::Busy) => panic!("no other thread is at work"),
            Err(_) => return numbers,
        }
    }
}

/// Checks that each consumer got items in order, and that the popped and the `lost` items together
/// are the `pushed` items.
pub(crate) fn nothing_is_unaccounted_for(popped: &[Vec<u64>], lost: u64, pushed: u64) {
    assert!(popped.iter().all(|numbers| numbers.is_sorted()), "{popped:?}");
    let mut all = popped.concat();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{popped:?}");
    assert_eq!(all.len() as u64 + lost, pushed, "popped {popped:?}, lost {lost}");
}

/// The producer pushes more items than fit, while the consumer looks for them.
fn overwrites(config: Config, items: u64) -> Exploration {
    explore_sides(
        queue::<Pair>,
        config,
        move |mut tx| push_all(&mut tx, 0..items),
        |mut rx| {
            let numbers = look(&mut rx, 2);
            (rx, numbers)
        },
        move |(), (mut rx, mut numbers)| {
            numbers.extend(drain(&mut rx));
            assert_eq!(numbers.last(), Some(&(items - 1)), "the newest is kept");
            nothing_is_unaccounted_for(&[numbers], rx.lost(), items);
        },
    )
}

/// The same with slices.
fn overwrites_slices() -> Exploration {
    explore_sides(
        queue::<Pair>,
        grouped(4, 2),
        |mut tx| {
            assert_eq!(tx.push_slice(&[0, 1, 2].map(Pair::of)), 3);
            assert_eq!(tx.push_slice(&[3, 4, 5].map(Pair::of)), 3);
        },
        |mut rx| {
            let mut into = [Pair::of(99); 3];
            let n = rx.pop_slice(&mut into);
            (rx, into[..n].iter().map(Cargo::number).collect::<Vec<_>>())
        },
        |(), (mut rx, mut numbers)| {
            numbers.extend(drain(&mut rx));
            nothing_is_unaccounted_for(&[numbers], rx.lost(), 6);
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
            assert_eq!(numbers.last(), Some(&2), "{numbers:?}");
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

/// §2.5, bug 1: a block that another producer has already entered in this lap doesn't count as
/// unfinished.
fn bug_1_busy_behind_another() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(grouped(4, 2));
        push_all(&mut tx, 0..4);
        let threads = [(tx.clone(), 4), (tx, 5)].map(|(mut tx, number)| {
            start(move || tx.try_push(Pair::of(number)).expect("the last lap is finished"))
        });
        join(threads);
        let numbers = drain(&mut rx);
        assert_eq!(numbers.len(), 4, "{numbers:?}");
        assert_eq!((&numbers[..2], rx.lost()), (&[2, 3][..], 2));
    })
}

/// §2.5, bug 2: consumers that find every block finished, in the same lap, don't loop for ever.
fn bug_2_empty_at_the_same_lap() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(tiny(2));
        push_all(&mut tx, 0..2);
        assert_eq!(drain(&mut rx), [0, 1]);
        let mut other = rx.clone();
        let producer = start(move || push_all(&mut tx, 2..3));
        let consumer = start(move || (look(&mut other, 1), other.lost()));
        let mut popped = vec![look(&mut rx, 1)];
        join([producer]);
        let (numbers, lost) = join([consumer]).remove(0);
        popped.extend([numbers, drain(&mut rx)]);
        nothing_is_unaccounted_for(&popped, lost + rx.lost(), 1);
    })
}

/// §2.5, bug 3: an item that a fast producer overwrites while it is read isn't returned, with
/// several handles too.
fn bug_3_overwritten_while_read() -> Exploration {
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

/// The same with a producer that writes to a block that another producer has entered.
fn bug_3_behind_another() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(grouped(4, 2));
        push_all(&mut tx, 0..4);
        let mut other = tx.clone();
        let producer = start(move || push_all(&mut other, 4..5));
        let consumer = start(move || {
            let numbers = look(&mut rx, 1);
            (rx, numbers)
        });
        push_all(&mut tx, 5..6);
        join([producer]);
        let (mut rx, mut numbers) = join([consumer]).remove(0);
        numbers.extend(drain(&mut rx));
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 6);
    })
}

/// Two threads push more items than fit, while the consumer looks for them.
fn two_producers_overwrite() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<Pair>(tiny(2));
        push_all(&mut tx, 0..1);
        let threads = [(tx.clone(), 1), (tx, 2)].map(|(mut tx, number)| {
            start(move || tx.try_push(Pair::of(number)).expect("no producer is a lap behind"))
        });
        let mut numbers = look(&mut rx, 2);
        join(threads);
        numbers.extend(drain(&mut rx));
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 3);
    })
}

/// A producer may be stopped in the middle of a push. A push a lap later says busy. No accepted
/// item is lost uncounted.
fn producer_stands_still() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let mut other = tx.clone();
        let thread = start(move || push_all(&mut other, 0..1));
        let mut pushed = 1;
        for number in 1..3 {
            match tx.try_push(number) {
                Ok(()) => pushed += 1,
                Err(error) => assert!(matches!(error, TryPushError::Busy(_)), "{error:?}"),
            }
        }
        join([thread]);
        let mut numbers = drain(&mut rx);
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), pushed);
    })
}

/// Two consumers are overtaken: one of them counts each item that both miss.
fn two_consumers_overtaken(config: Config, more: u64) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = queue::<u64>(config);
        let fit = tx.slots() as u64;
        let items = fit + more;
        push_all(&mut tx, 0..fit);
        let consumers: [Thread<_>; 2] = [rx.clone(), rx.clone()].map(|mut rx| {
            start(move || {
                let numbers = look(&mut rx, 1);
                (numbers, rx.lost())
            })
        });
        push_all(&mut tx, fit..items);
        let (mut popped, lost): (Vec<_>, Vec<_>) = join(consumers).into_iter().unzip();
        popped.push(drain(&mut rx));
        nothing_is_unaccounted_for(&popped, lost.iter().sum::<u64>() + rx.lost(), items);
    })
}

/// One of two consumers is overtaken by more than a lap.
fn overtaken_twice() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let other = rx.clone();
        push_all(&mut tx, 0..2);
        let producer = start(move || push_all(&mut tx, 2..5));
        let mut numbers = look(&mut rx, 1);
        join([producer]);
        numbers.extend(drain(&mut rx));
        nothing_is_unaccounted_for(&[numbers], rx.lost() + other.lost(), 5);
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

/// The only producer enters a block in one thread, and moves to another thread within the block.
fn producer_moves_within_a_block() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(grouped(4, 2));
        push_all(&mut tx, 0..4);
        assert_eq!(rx.try_pop(), Ok(0));
        let consumer = start(move || {
            let numbers = look(&mut rx, 1);
            (rx, numbers)
        });
        push_all(&mut tx, 4..5);
        join([start(move || push_all(&mut tx, 5..6))]);
        let (mut rx, mut numbers) = join([consumer]).remove(0);
        numbers.extend(drain(&mut rx));
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 5);
    })
}

/// Two items are pushed while a consumer pops the oldest item, which may be overwritten. There is
/// always an item, so the pop doesn't say empty.
fn false_empty_when_overtaken(pushed: u64, has_other: bool) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        let _other = has_other.then(|| rx.clone());
        push_all(&mut tx, 0..pushed);
        let producer = start(move || push_all(&mut tx, pushed..pushed + 2));
        assert!(rx.try_pop().is_ok(), "at any time there was an item");
        join([producer]);
    })
}

/// The same if two producers overwrite: the pop may say busy.
fn false_empty_while_two_overwrite() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..1);
        let threads = [(tx.clone(), 1), (tx, 2)]
            .map(|(mut tx, number)| start(move || (tx.try_push(number).is_ok(), tx)));
        assert_ne!(rx.try_pop(), Err(TryPopError::Empty), "at any time there was an item");
        join(threads);
    })
}

/// A producer has read a head that other producers have moved on a lap ago.
fn producer_with_an_old_head() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(tiny(2));
        push_all(&mut tx, 0..1);
        let mut other = tx.clone();
        let thread = start(move || (1..3).filter(|&n| other.try_push(n).is_ok()).count() as u64);
        let mine = u64::from(tx.try_push(3).is_ok());
        let theirs = join([thread]).remove(0);
        let mut numbers = drain(&mut rx);
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), 1 + mine + theirs);
    })
}

/// A slice is pushed with a head that other producers have moved on a lap ago, over items that one
/// of them has written. The producer that entered the block again has executed no fence since: a
/// fence would order the two writes by chance.
fn slice_with_an_old_head() -> Exploration {
    explore_shared(|| {
        let (mut tx, mut rx) = queue::<u64>(grouped(4, 2));
        push_all(&mut tx, 0..1);
        let (mut late, mut other) = (tx.clone(), tx.clone());
        let late = start(move || late.push_slice(&[5, 6]) as u64);
        let filling = start(move || other.push_slice(&[1, 2, 3]) as u64);
        let mut pushed = 1 + join([filling]).remove(0);
        pushed += u64::from(tx.try_push(4).is_ok());
        pushed += join([late]).remove(0);
        let mut numbers = drain(&mut rx);
        numbers.sort_unstable();
        nothing_is_unaccounted_for(&[numbers], rx.lost(), pushed);
    })
}
