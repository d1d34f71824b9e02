//! Lanes of byte records.

use std::thread;
use std::time::{Duration, Instant};

use corelane::TryPopError;
use corelane::bytes::ClaimError;
use corelane::shm::{Error, Lane, Peer};

use super::{Nonsense, Random, descriptors, spawn, stress};

/// Record `number`: its length and its bytes follow from the number.
fn fill(bytes: &mut [u8], number: u64) {
    let mut random = Random(number + 1);
    let (head, rest) = bytes.split_at_mut(8);
    head.copy_from_slice(&number.to_ne_bytes());
    rest.fill_with(|| random.next() as u8);
}

fn len(number: u64, most: usize) -> usize {
    8 + (Random(number ^ 77).next() as usize) % (most - 7)
}

/// The number of a record that is whole.
fn number(record: &[u8], most: usize) -> u64 {
    let number = u64::from_ne_bytes(record[..8].try_into().unwrap());
    let mut expected = vec![0; len(number, most)];
    fill(&mut expected, number);
    assert!(record == expected, "record {number} is damaged");
    number
}

/// The program of the other processes.
pub(super) fn child(role: &str, numbers: &str) {
    let lanes: Vec<_> = numbers
        .split(',')
        .map(|number| Lane::<[u8]>::open_number(number.parse().unwrap()).unwrap())
        .collect();
    match role {
        "push records for ever" => {
            let mut tx = lanes[0].producer().unwrap();
            loop {
                let number = tx.position();
                let len = len(number, tx.max_len());
                let mut claim = tx.claim(tx.max_len()).unwrap();
                fill(&mut claim[..len], number);
                claim.commit_len(len);
            }
        }
        "pass records on" => {
            let (mut rx, mut tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            while let Some(record) = rx.pop() {
                tx.push(&record).unwrap();
            }
        }
        other => panic!("no role {other}"),
    }
}

#[test]
fn killed_peer_that_pushes_records() {
    for capacity in [64, 100_000] {
        let lane = Lane::<[u8]>::create(capacity).unwrap();
        let most = lane.max_len();
        let mut rx = lane.consumer().unwrap();
        let (mut random, mut expected) = (Random(capacity as u64), 0);
        let kills = (30.0 * stress()) as u64;
        for _ in 0..kills {
            let mut process = spawn("push records for ever", &[&lane]);
            assert!(rx.wait_for_peer(Duration::from_secs(10)));
            let end = Instant::now() + Duration::from_micros(random.next() % 3000);
            while Instant::now() < end {
                if let Ok(record) = rx.pop_timeout(Duration::from_micros(100)) {
                    assert_eq!(number(&record, most), expected);
                    expected += 1;
                }
            }
            process.kill().unwrap();
            process.wait().unwrap();
            assert_eq!(rx.peer(), Peer::Died);
            // What was pushed before is there, and then the end.
            while let Some(record) = rx.pop() {
                assert_eq!(number(&record, most), expected);
                expected += 1;
            }
            assert_eq!(rx.position(), expected);
        }
        assert!(expected > kills, "{expected} records for {kills} kills");
    }
}

#[test]
fn killed_peer_that_pops_records() {
    let lane = || Lane::<[u8]>::create(1000).unwrap();
    let (there, back) = (lane(), lane());
    let (mut tx, mut rx) = (there.producer().unwrap(), back.consumer().unwrap());
    let (mut random, mut next, mut in_flight) = (Random(5), 0, 0);
    let kills = (30.0 * stress()) as u64;
    for _ in 0..kills {
        let mut process = spawn("pass records on", &[&there, &back]);
        assert!(tx.wait_for_peer(Duration::from_secs(10)));
        assert!(rx.wait_for_peer(Duration::from_secs(10)));
        let end = Instant::now() + Duration::from_micros(random.next() % 3000);
        let (most, before) = (tx.max_len(), next);
        let mut see = |record: &[u8]| {
            let number = number(record, most);
            // A record whose pop was interrupted is popped again, and may have been passed on.
            assert!(number + 1 >= next, "{number} came late");
            in_flight += number.saturating_sub(next) + u64::from(number + 1 == next);
            next = number + 1;
            next
        };
        let mut now = before;
        // At least one record, however late the process gets a core.
        while Instant::now() < end || now == before {
            let position = tx.position();
            if let Ok(mut claim) = tx.try_claim(len(position, most)) {
                fill(&mut claim, position);
                claim.commit();
            }
            match rx.try_pop() {
                Ok(record) => now = see(&record),
                Err(_) => thread::yield_now(),
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!((tx.peer(), rx.peer()), (Peer::Died, Peer::Died));
        while let Some(record) = rx.pop() {
            see(&record);
        }
    }
    assert!(in_flight <= kills, "{in_flight} records are lost or doubled after {kills} kills");
    assert!(next > kills, "{next} records for {kills} kills");
}

#[test]
fn a_lane_of_records_is_no_lane_of_items() {
    let (records, items) = (Lane::<[u8]>::create(100).unwrap(), Lane::<u64>::create(100).unwrap());
    let error = Lane::<u64>::open(&records).unwrap_err().to_string();
    assert!(error.contains("carries byte records ([u8]), and is opened for items"), "{error}");
    let error = Lane::<[u8]>::open(&items).unwrap_err().to_string();
    assert!(error.contains("carries items, and is opened for byte records ([u8])"), "{error}");
    let mut tx = records.producer().unwrap();
    let most = tx.max_len();
    assert_eq!(tx.claim(most + 1).err(), Some(ClaimError::TooLarge { len: most + 1, most }));
    assert!(tx.capacity() >= 100 && most >= 16);
    assert!(descriptors() > 0);
}

/// A process that writes nonsense into the memory. Records may be wrong, but lie inside the lane.
#[test]
fn lying_peer_with_records() {
    let mut random = Random(3);
    let end = Instant::now() + Duration::from_secs_f64(0.5 * stress());
    let mut runs = 0;
    while Instant::now() < end || runs < 3 {
        runs += 1;
        let lane = Lane::<[u8]>::create(1 + random.next() as usize % 2000).unwrap();
        let nonsense = Nonsense::new(&lane, &mut random);
        let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
        for _ in 0..3000 {
            if random.next() % 8 == 0 {
                nonsense.write(&mut random);
            }
            match random.next() % 12 {
                0..5 => {
                    let len = random.next() as usize % (tx.max_len() + 1);
                    if let Ok(mut claim) = tx.try_claim(len) {
                        claim.fill(7);
                        claim.commit();
                    }
                }
                5..10 => match rx.try_pop() {
                    Ok(record) => _ = record.iter().map(|&byte| u64::from(byte)).sum::<u64>(),
                    Err(error) => assert!(error != TryPopError::Busy),
                },
                10 => {
                    _ = (tx.peer(), rx.peer(), tx.position(), rx.position());
                    _ = (tx.is_closed(), rx.is_closed());
                }
                _ => {
                    drop(tx);
                    match lane.producer() {
                        Ok(next) => tx = next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    }
                    drop(rx);
                    match lane.consumer() {
                        Ok(next) => rx = next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }
}

/// Headers with the right number and any length, at each word where one may be.
#[test]
fn lying_peer_that_knows_the_headers() {
    let mut random = Random(11);
    for _ in 0..(300.0 * stress()) as u64 + 3 {
        let lane = Lane::<[u8]>::create(1 + random.next() as usize % 900).unwrap();
        let nonsense = Nonsense::new(&lane, &mut random);
        let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
        for _ in 0..60 {
            if random.next() % 3 == 0 {
                let number = [tx.position(), rx.position()][random.next() as usize % 2] as u32;
                let kind = match random.next() % 5 {
                    0 => 0,
                    1 => u32::MAX,
                    2 => u32::MAX - 1,
                    3 => random.next() as u32 % 1000,
                    _ => random.next() as u32,
                };
                nonsense.write_everywhere(u64::from(number) << 32 | u64::from(kind), &mut random);
            }
            match random.next() % 4 {
                0 => {
                    if let Ok(mut claim) = tx.try_claim(random.next() as usize % (tx.max_len() + 1))
                    {
                        claim.fill(9);
                        claim.commit();
                    }
                }
                1 => _ = rx.try_pop().map(|record| record.iter().fold(0, |all, byte| all ^ byte)),
                2 => {
                    drop(tx);
                    let Ok(next) = lane.producer() else { break };
                    tx = next;
                }
                _ => {
                    drop(rx);
                    let Ok(next) = lane.consumer() else { break };
                    rx = next;
                }
            }
        }
    }
}

#[test]
fn a_lane_for_frames_has_room_for_them() {
    for (longest, frames) in [(1, 1), (65_536, 4), (1000, 3), (505, 7)] {
        let lane = Lane::<[u8]>::create_for_records(longest, frames).unwrap();
        let other = Lane::<[u8]>::open(&lane).unwrap();
        assert!(lane.max_len() >= longest && other.max_len() == lane.max_len());
        let (mut tx, mut rx) = (lane.producer().unwrap(), other.consumer().unwrap());
        for round in 0..20 {
            (0..frames).for_each(|_| tx.try_claim(longest).unwrap().commit());
            for _ in 0..frames - round % 2 {
                assert_eq!(rx.try_pop().unwrap().len(), longest);
            }
            (0..round % 2).for_each(|_| drop(rx.try_pop().unwrap()));
        }
    }
    let error = Lane::<[u8]>::create_for_records(usize::MAX, 3).unwrap_err();
    assert!(matches!(error, Error::Capacity(_)), "{error}");
}

#[test]
fn short_waits_find_out_that_a_process_was_killed() {
    let lane = Lane::<[u8]>::create(1000).unwrap();
    let mut rx = lane.consumer().unwrap();
    let mut process = spawn("push records for ever", &[&lane]);
    assert!(rx.pop_timeout(Duration::from_secs(10)).is_ok());
    process.kill().unwrap();
    process.wait().unwrap();
    let begin = Instant::now();
    while rx.pop_timeout(Duration::from_millis(20)).map(drop) != Err(TryPopError::Closed) {
        assert!(begin.elapsed() < Duration::from_secs(5), "it never finds out");
    }
}
