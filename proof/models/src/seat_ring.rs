//! `seatring`: producers and consumers that take slots from each other, records that are held, and
//! what dead handles have left.
//!
//! Rings have two slots, and four lines besides the longest record.

use corelane_loom::seat_ring::{Consumer, Heir, INFO, Producer};
use corelane_loom::{Config, TryPopError, bytes::ClaimError};
use loom::hint::spin_loop;

use crate::explore::{both, explore, explore_shared};
use crate::queue::Of;
use crate::shared::{all_are_there, join, start};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::other(INFO);
    vec![
        of.model("laps_of_slots", laps_of_slots),
        of.model("two_producers_of_records", two_producers_of_records),
        of.model("two_producers_make_room", two_producers_make_room),
        of.model("two_consumers_of_records", two_consumers_of_records),
        of.model("lines_are_given_back", lines_are_given_back),
        of.model("held_and_given_back", held_and_given_back),
        of.model("given_up_in_front", given_up_in_front),
        of.model("records_before_closed", records_before_closed),
        of.model("reader_has_died", reader_has_died),
        of.model("forgotten_by_a_dead_helper", forgotten_by_a_dead_helper),
        of.model("writer_has_died", writer_has_died),
        of.model("records_are_counted", records_are_counted),
        of.model("lines_that_another_gave_back", lines_that_another_gave_back),
        of.model("slot_of_a_free_record", slot_of_a_free_record),
        of.model("set_back_meanwhile", set_back_meanwhile),
    ]
}

/// Both sides. The counters wrap after two records.
fn sides() -> (Heir, Heir) {
    Heir::both(Config::new(256).block(64).first(u64::MAX - 1)).expect("small")
}

/// Pushes these records, each a line, and returns how many had room.
fn push(tx: &mut Producer, numbers: std::ops::Range<u64>) -> u64 {
    let push = |number: &u64| match tx.try_push(&number.to_ne_bytes()) {
        Ok(()) => true,
        Err(error) => {
            assert!(matches!(error, ClaimError::Full | ClaimError::Busy));
            false
        }
    };
    numbers.take_while(push).count() as u64
}

/// Looks `looks` times, and returns the numbers of the records.
fn look(rx: &mut Consumer, looks: u64) -> Vec<u64> {
    (0..looks).filter_map(|_| rx.try_pop().ok().map(|record| number(&record))).collect()
}

fn number(record: &[u8]) -> u64 {
    u64::from_ne_bytes(record.try_into().expect("a whole number"))
}

/// All that is left.
fn drain(rx: &mut Consumer) -> Vec<u64> {
    std::iter::from_fn(|| rx.try_pop().ok().map(|record| number(&record))).collect()
}

/// A producer writes to slots and lines whose records were read.
fn laps_of_slots() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let (mut tx, mut rx) = (tx.producer(0), rx.consumer(0));
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

/// Two producers take slots, while a consumer looks.
fn two_producers_of_records() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        let producers = [(tx.clone(), 0), (tx, 1)].map(|(tx, seat)| {
            start(move || {
                let mut tx = tx.producer(seat);
                while push(&mut tx, seat.into()..u64::from(seat) + 1) == 0 {
                    spin_loop();
                }
            })
        });
        let mut rx = rx.consumer(0);
        let mut popped = look(&mut rx, 2);
        join(producers);
        popped.extend(drain(&mut rx));
        all_are_there(popped, 2);
    })
}

/// Two producers find the ring full, and make room of the same records.
fn two_producers_make_room() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        let mut rx = rx.consumer(0);
        let (mut first, second) = (tx.clone().producer(0), tx.producer(1));
        assert_eq!(push(&mut first, 0..2), 2);
        assert_eq!(look(&mut rx, 1), [0]);
        let producers = [(first, 2), (second, 3)]
            .map(|(mut tx, number)| start(move || push(&mut tx, number..number + 1)));
        let mut popped = look(&mut rx, 1);
        let pushed = join(producers).iter().sum::<u64>();
        popped.extend(drain(&mut rx));
        assert!(pushed >= 1 && popped[0] == 1 && popped.len() as u64 == 1 + pushed);
    })
}

/// Two consumers take from two records, behind which a producer pushes more.
fn two_consumers_of_records() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        let mut tx = tx.producer(0);
        assert_eq!(push(&mut tx, 0..2), 2);
        let consumers = [(rx.clone(), 0), (rx.clone(), 1)]
            .map(|(rx, seat)| start(move || look(&mut rx.consumer(seat), 1)));
        let pushed = 2 + push(&mut tx, 2..3);
        let mut popped = join(consumers);
        popped.push(drain(&mut rx.consumer(2)));
        all_are_there(popped.concat(), pushed);
    })
}

/// There is a slot, but the lines are those of a long record, which a consumer reads.
fn lines_are_given_back() -> Exploration {
    explore(|| {
        let (tx, rx) = Heir::both(Config::new(512).block(512).first(u64::MAX - 1)).expect("small");
        let (mut tx, mut rx) = (tx.producer(0), rx.consumer(0));
        assert!(tx.try_push(&[1; 512]).is_ok() && tx.try_push(&[2; 512]).is_ok());
        let (pushed, mut rx) = both(
            move || tx.try_push(&[3; 256]).is_ok(),
            || {
                assert_eq!(*rx.try_pop().expect("it was pushed"), [1; 512]);
                rx
            },
        );
        assert_eq!(*rx.try_pop().expect("it was pushed"), [2; 512]);
        assert_eq!(rx.try_pop().is_ok_and(|record| *record == [3; 256]), pushed);
    })
}

/// A consumer holds two records, and gives the newer one back first. The producer needs both slots
/// in order.
fn held_and_given_back() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let (mut tx, mut rx) = (tx.producer(0), rx.consumer(0));
        assert_eq!(push(&mut tx, 0..2), 2);
        let [first, second] = [(); 2].map(|()| rx.try_pop().expect("it is there").suspend());
        let (pushed, mut rx) = both(
            move || 2 + push(&mut tx, 2..4),
            || {
                rx.give_back(second);
                rx.give_back(first);
                rx
            },
        );
        assert_eq!(drain(&mut rx), (2..pushed).collect::<Vec<_>>());
    })
}

/// A claim is given up in front of a record.
fn given_up_in_front() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        let (mut first, mut second) = (tx.clone().producer(0), tx.producer(1));
        let first = start(move || drop(first.try_claim(8)));
        let second = start(move || assert!((0..9).any(|_| push(&mut second, 0..1) == 1)));
        let mut rx = rx.consumer(0);
        let mut popped = look(&mut rx, 1);
        join([first]);
        join([second]);
        popped.extend(drain(&mut rx));
        assert_eq!(popped, [0]);
    })
}

/// The records that are left when the last producer goes are popped before a pop says closed.
fn records_before_closed() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut rx = rx.consumer(0);
        both(
            move || assert_eq!(push(&mut tx.producer(0), 0..1), 1),
            || {
                let mut popped = 0;
                let end = loop {
                    match rx.try_pop() {
                        Ok(_) => popped += 1,
                        Err(TryPopError::Empty | TryPopError::Busy) => spin_loop(),
                        Err(end) => break end,
                    }
                };
                assert_eq!((popped, end), (1, TryPopError::Closed));
            },
        );
    })
}

/// A consumer has died while it read the first record. A new one with its seat recovers the record,
/// while another one takes records.
fn reader_has_died() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        assert_eq!(push(&mut tx.clone().producer(0), 0..2), 2);
        let mut dead = rx.clone().consumer(0);
        let _ = dead.try_pop().expect("it is there").suspend();
        let (heirs, others) = (rx.clone(), rx.clone());
        let heir = start(move || look(&mut heirs.consumer(0), 1));
        let other = start(move || look(&mut others.consumer(1), 1));
        let mut popped = join([heir, other]);
        popped.push(drain(&mut rx.consumer(2)));
        all_are_there(popped.concat(), 2);
        drop((dead, tx));
    })
}

/// As before, but the record is full again, and the helper has died before it told the consumers.
fn forgotten_by_a_dead_helper() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut tx = tx.producer(0);
        assert_eq!(push(&mut tx, 0..2), 2);
        let mut rx = rx.consumer(0);
        let first = rx.try_pop().expect("it is there").suspend();
        rx.return_untold(first);
        assert_eq!(look(&mut rx, 2), [1], "nothing says that the first record is back");
        let (pushed, mut rx) = both(
            move || 2 + push(&mut tx, 2..4),
            || {
                assert!(rx.find_forgotten());
                rx
            },
        );
        let popped = drain(&mut rx);
        assert_eq!(popped[0], 0);
        assert_eq!(popped.len() as u64, pushed - 1);
    })
}

/// A producer has died while it wrote the first record. A new one with its seat gives the record up,
/// while a consumer looks.
fn writer_has_died() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut dead = tx.clone().producer(0);
        let _ = dead.try_claim(8).expect("there is room").suspend();
        assert_eq!(push(&mut tx.clone().producer(1), 0..1), 1);
        let mut rx = rx.consumer(0);
        let ((pushed, tx), (mut rx, mut popped)) = both(
            move || {
                let mut tx = tx.producer(0);
                (1 + push(&mut tx, 1..2), tx)
            },
            || {
                let popped = look(&mut rx, 1);
                (rx, popped)
            },
        );
        popped.extend(drain(&mut rx));
        assert_eq!(popped, (0..pushed).collect::<Vec<_>>());
        drop((dead, tx));
    })
}

/// When both pushes have returned, both records are counted.
fn records_are_counted() -> Exploration {
    explore_shared(|| {
        let (tx, rx) = sides();
        let producers = [(tx.clone(), 0), (tx, 1)].map(|(tx, seat)| {
            start(move || {
                let mut tx = tx.producer(seat);
                while push(&mut tx, seat.into()..u64::from(seat) + 1) == 0 {
                    spin_loop();
                }
            })
        });
        join(producers);
        let rx = rx.consumer(0);
        assert_eq!(rx.records(), 2);
    })
}

/// A producer that finds no room has given lines back, which another one then uses. The
/// slots of the latter were never used before.
fn lines_that_another_gave_back() -> Exploration {
    explore_shared(|| {
        // 8 slots, 16 lines and 8 more.
        let config = Config::new(1024).block(512).first(u64::MAX - 1);
        let (tx, rx) = Heir::both(config).expect("small");
        let mut rx = rx.consumer(0);
        let mut first = tx.clone().producer(0);
        for len in [256, 512, 512] {
            first.try_push(&vec![1; len]).expect("there is room");
        }
        let mut second = tx.producer(1);
        let late =
            start(move || [200, 256].map(|len| second.try_push(&vec![2; len]).is_ok()).to_vec());
        let first = start(move || vec![first.try_push(&[3; 512]).is_ok()]);
        assert_eq!(*rx.try_pop().expect("it is there"), [1; 256]);
        let pushed = join([first, late]).concat().into_iter().filter(|&ok| ok).count();
        let left = std::iter::from_fn(|| rx.try_pop().ok().map(|_| ())).count();
        assert_eq!(left, 2 + pushed);
    })
}

/// While a producer looks for free records, another one takes the slot of such a record.
fn slot_of_a_free_record() -> Exploration {
    explore(|| {
        // 2 slots, 4 lines and 4 more.
        let (tx, rx) = Heir::both(Config::new(256).block(256).first(u64::MAX - 1)).expect("small");
        let mut rx = rx.consumer(0);
        let (mut first, mut second) = (tx.clone().producer(0), tx.producer(1));
        assert!(first.try_push(&[0]).is_ok() && first.try_push(&[1]).is_ok());
        drop(rx.try_pop().expect("it is there"));
        let ((), mut second) = both(
            move || _ = first.try_push(&[4; 200]),
            move || {
                let _ = second.try_push(&[2; 256]);
                second
            },
        );
        assert_eq!(*rx.try_pop().expect("it is there"), [1]);
        let _ = second.try_push(&[3; 256]);
        let next = rx.try_pop().map(|record| record.to_vec());
        assert!(next.is_ok_and(|bytes| bytes == [2; 256] || bytes == [4; 200]), "overwritten");
    })
}

/// A record is full again while a consumer moves behind it.
fn set_back_meanwhile() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut tx = tx.producer(0);
        assert_eq!(push(&mut tx, 0..2), 2);
        let (mut first, mut second) = (rx.clone().consumer(0), rx.clone().consumer(1));
        let _ = first.try_pop().expect("it is there").suspend();
        let _ = second.try_pop().expect("it is there").suspend();
        // The first one has died: consumers look at the first record again, and then at the second.
        let mut heir = rx.clone().consumer(0);
        let held = heir.try_pop().expect("it is there again").suspend();
        let (last, rescuer) = (rx.clone(), rx.clone());
        let mut looks = rx.consumer(2);
        let (popped, _) = both(move || look(&mut looks, 1), move || rescuer.consumer(1));
        let mut all = popped;
        all.extend(drain(&mut last.consumer(3)));
        assert_eq!(all, [1]);
        heir.give_back(held);
        drop((first, second, tx));
    })
}
