//! Lanes of byte records of several producers and several consumers.

use std::collections::HashMap;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use corelane::bytes::ClaimError;
use corelane::shm::{Error, Lane, Lanes};
use corelane::{TryPopError, wait::Strategy};

use super::{Nonsense, Random, Tick, spawn, stress};

/// Record `number` of a producer: both numbers, and bytes that follow from them.
fn record(from: u32, number: u32) -> Vec<u8> {
    let len = [3, 40, 100, 700][number as usize % 4];
    let mut bytes = [from.to_ne_bytes(), number.to_ne_bytes()].concat();
    bytes.resize(8 + len, (from ^ number) as u8);
    bytes
}

/// The producer of a whole record, and the record's number.
fn checked(bytes: &[u8]) -> (u32, u32) {
    let word = |at| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let (from, number) = (word(0), word(4));
    assert_eq!(bytes, record(from, number), "a part of a record is missing");
    (from, number)
}

/// The program of the other processes.
pub(super) fn child(role: &str, numbers: &str) {
    let lanes: Vec<_> = numbers
        .split(',')
        .map(|number| Lanes::<[u8]>::open_number(number.parse().unwrap()).unwrap())
        .collect();
    let me = std::process::id();
    match role {
        "push messages for ever" => {
            let mut tx = lanes[0].producer().unwrap();
            for number in 0.. {
                tx.push(&record(me, number)).unwrap();
            }
        }
        "pass messages on" => {
            let (rx, mut tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            let strategy = if me % 2 == 0 { Strategy::Sleep } else { Strategy::Adaptive };
            let mut rx = rx.strategy(strategy);
            // A record is given back when it has been passed on.
            while let Some(record) = rx.pop() {
                tx.push(&record).unwrap();
            }
        }
        "hold a message" => {
            let mut rx = lanes[0].consumer().unwrap();
            let _record = rx.pop().unwrap();
            lanes[1].producer().unwrap().push(b"held").unwrap();
            thread::sleep(Duration::from_secs(60));
        }
        "claim a message" => {
            let mut tx = lanes[0].producer().unwrap();
            let _claim = tx.claim(10).unwrap();
            lanes[1].producer().unwrap().push(b"claimed").unwrap();
            thread::sleep(Duration::from_secs(60));
        }
        other => panic!("no role {other}"),
    }
}

/// Processes that push and processes that pass on are killed and replaced. No record is lost, and
/// each death of a process that passes on may double one.
#[test]
fn killed_processes_of_many_records() {
    for capacity in [1 << 12, 1 << 16] {
        let make = || Lanes::<[u8]>::create(capacity).unwrap();
        let (messages, passed) = (make(), make());
        // All sides stay open while all processes of one happen to be dead.
        let (open, passing) = ((messages.producer(), messages.consumer()), passed.producer());
        let mut rx = passed.consumer().unwrap();
        let start = |at: usize| match at {
            0..3 => spawn("push messages for ever", &[&messages]),
            _ => spawn("pass messages on", &[&messages, &passed]),
        };
        let mut processes: Vec<Child> = (0..6).map(start).collect();
        let mut seen = HashMap::<u32, HashMap<u32, usize>>::new();
        let mut add = |bytes: &[u8]| {
            let (from, number) = checked(bytes);
            *seen.entry(from).or_default().entry(number).or_default() += 1;
        };
        let (mut random, mut killed) = (Random(capacity as u64 + 9), 0);
        for _ in 0..(20.0 * stress()) as u64 {
            let at = random.next() as usize % processes.len();
            let end = Instant::now() + Duration::from_micros(random.next() % 20_000);
            while Instant::now() < end {
                rx.try_pop().iter().for_each(|record| add(record));
            }
            processes[at].kill().unwrap();
            processes[at].wait().unwrap();
            killed += usize::from(at >= 3);
            processes[at] = start(at);
            // The others go on.
            match rx.pop_timeout(Duration::from_secs(20)) {
                Ok(record) => add(&record),
                Err(_) => panic!("nothing comes any more"),
            }
        }
        for process in &mut processes[..3] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        drop(open);
        // The consumers find out that the producers are dead, and then end. The last one may only
        // just have begun.
        for process in &mut processes[3..] {
            let status = loop {
                rx.pop_timeout(Duration::from_millis(1)).iter().for_each(|record| add(record));
                if let Some(status) = process.try_wait().unwrap() {
                    break status;
                }
            };
            assert!(status.success());
        }
        drop(passing);
        while let Some(record) = rx.pop() {
            add(&record);
        }
        let mut doubled = 0;
        for numbers in seen.values() {
            let last = *numbers.keys().max().unwrap() as usize;
            let lost = (0..=last as u32).find(|number| !numbers.contains_key(number));
            assert_eq!(lost, None, "record of {} is lost", last + 1);
            doubled += numbers.values().sum::<usize>() - numbers.len();
        }
        assert!(doubled <= killed, "{doubled} came twice, with {killed} deaths");
        assert!(messages.consumer().unwrap().records() == 0);
    }
}

#[test]
fn a_record_of_a_consumer_that_was_killed_comes_again() {
    let make = || Lanes::<[u8]>::create_for_records(100, 2).unwrap();
    let (messages, told) = (make(), make());
    let (mut tx, mut rx) = (messages.producer().unwrap(), messages.consumer().unwrap());
    tx.push(b"first").unwrap();
    tx.push(b"second").unwrap();
    let mut process = spawn("hold a message", &[&messages, &told]);
    assert_eq!(*told.consumer().unwrap().pop().unwrap(), *b"held");
    assert_eq!(*rx.pop().unwrap(), *b"second");
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty), "the process has it");
    assert!(matches!(tx.try_claim(1), Err(ClaimError::Full)), "room comes back in order");
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(*rx.pop_timeout(Duration::from_secs(10)).unwrap(), *b"first");
    tx.push(b"third").unwrap();
    assert_eq!(*rx.pop().unwrap(), *b"third");
}

#[test]
fn a_claim_of_a_producer_that_was_killed_holds_nothing_up() {
    let make = || Lanes::<[u8]>::create_for_records(100, 2).unwrap();
    let (messages, told) = (make(), make());
    let (mut tx, mut rx) = (messages.producer().unwrap(), messages.consumer().unwrap());
    let mut process = spawn("claim a message", &[&messages, &told]);
    assert_eq!(*told.consumer().unwrap().pop().unwrap(), *b"claimed");
    tx.push(b"behind").unwrap();
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Busy));
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(*rx.pop_timeout(Duration::from_secs(10)).unwrap(), *b"behind");
    assert_eq!(rx.records(), 0);
}

#[test]
fn the_promised_records_fit_at_any_place() {
    let lanes = Lanes::<[u8]>::create_for_records(1000, 3).unwrap();
    let (mut tx, mut rx) = (lanes.producer().unwrap(), lanes.consumer().unwrap());
    assert_eq!(lanes.max_len(), 1000);
    assert_eq!(tx.try_claim(1001).err(), Some(ClaimError::TooLarge { len: 1001, most: 1000 }));
    for round in 0..100_u8 {
        for _ in 0..3 {
            tx.try_push(&[round; 1000]).expect("it is promised");
        }
        assert_eq!(rx.records(), 3);
        for _ in 0..3 {
            assert_eq!(*rx.try_pop().unwrap(), [round; 1000]);
        }
        for len in 0..usize::from(round) % 9 {
            tx.try_push(&vec![round; 60 * len]).unwrap();
            assert_eq!(rx.try_pop().unwrap().len(), 60 * len);
        }
    }
}

#[test]
fn a_limit_is_exact() {
    let lanes = Lanes::<[u8]>::create(1 << 16).unwrap();
    let (mut tx, mut other) =
        (lanes.producer().unwrap().limit(5), lanes.producer().unwrap().limit(5));
    let mut rx = lanes.consumer().unwrap();
    for _ in 0..50 {
        for number in 0..5 {
            let tx = if number % 2 == 0 { &mut tx } else { &mut other };
            tx.try_push(b"one").unwrap();
        }
        assert_eq!(tx.try_push(b"six"), Err(ClaimError::Full));
        assert_eq!(other.try_push(b"six"), Err(ClaimError::Full));
        assert_eq!(tx.records(), 5);
        while rx.try_pop().is_ok() {}
    }
}

#[test]
fn lanes_of_records_are_no_others() {
    let lanes = Lanes::<[u8]>::create(1 << 12).unwrap();
    assert!(matches!(Lane::<[u8]>::open(&lanes), Err(Error::Differs { .. })));
    assert!(matches!(Lanes::<Tick>::open(&lanes), Err(Error::Differs { .. })));
    assert!(matches!(Lanes::<[u8]>::create(0), Err(Error::Capacity(_))));
    let lane = Lane::<[u8]>::create(1 << 12).unwrap();
    assert!(matches!(Lanes::<[u8]>::open(&lane), Err(Error::Differs { .. })));
}

/// Another process writes nonsense. No call panics, reads outside of the lane or loops for ever.
#[test]
fn nonsense_in_a_lane_of_many_records() {
    for seed in 0..(200.0 * stress()) as u64 {
        let lanes = Lanes::<[u8]>::create_for_records(300, 4).unwrap();
        let (mut tx, mut rx) = (lanes.producer().unwrap(), lanes.consumer().unwrap());
        let mut random = Random(seed + 1);
        let nonsense = Nonsense::new(&lanes, &mut random);
        for round in 0..50_usize {
            nonsense.write(&mut random);
            let _ = tx.try_push(&vec![1; round * 7 % 300]);
            let _ =
                rx.try_pop().map(|record| record.iter().map(|&byte| u64::from(byte)).sum::<u64>());
            let _ = (tx.records(), rx.records());
            if round % 10 == 9 {
                drop((tx, rx));
                (tx, rx) = (lanes.producer().unwrap(), lanes.consumer().unwrap());
            }
        }
    }
}

#[test]
fn a_producer_that_was_idle_for_many_laps_finds_room() {
    let lanes = Lanes::<[u8]>::create(1 << 13).unwrap();
    let (mut idle, mut tx) = (lanes.producer().unwrap(), lanes.producer().unwrap());
    let mut rx = lanes.consumer().unwrap();
    idle.try_push(b"first").unwrap();
    for _ in 0..500_000 {
        drop(rx.try_pop().unwrap());
        tx.try_push(b"other").unwrap();
    }
    assert_eq!(idle.try_push(b"again"), Ok(()));
}

#[test]
fn a_record_of_a_killed_consumer_comes_again_amid_others() {
    let make = || Lanes::<[u8]>::create_for_records(100, 50).unwrap();
    let (messages, told) = (make(), make());
    let (mut tx, mut rx) = (messages.producer().unwrap(), messages.consumer().unwrap());
    tx.push(b"first").unwrap();
    let mut process = spawn("hold a message", &[&messages, &told]);
    assert_eq!(*told.consumer().unwrap().pop().unwrap(), *b"held");
    process.kill().unwrap();
    process.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        tx.push(b"other").unwrap();
        if *rx.pop().unwrap() == *b"first" || rx.pop_timeout(Duration::from_millis(20)).is_ok() {
            return;
        }
    }
    panic!("it never came");
}
