//! Lanes of which each consumer gets all items.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Broadcast, Error};
use corelane::wait::Strategy;
use corelane::{TryPopError, TryPushError};
use futures_executor::block_on;

use super::{Nonsense, Random, Tick, spawn, stress};

/// The program of the other processes.
pub(super) fn child(role: &str, number: &str) {
    let feed = Broadcast::<Tick>::open_number(number.parse().unwrap()).unwrap();
    match role {
        "publish for ever" => {
            let mut tx = feed.producer().unwrap();
            loop {
                tx.push(Tick::new(tx.position())).unwrap();
                if tx.position() % 1000 == 0 {
                    thread::sleep(Duration::from_micros(50));
                }
            }
        }
        other => panic!("no role {other}"),
    }
}

/// Each process gets all items, whichever publisher sent them, or counts them as lost. The
/// publishers are killed.
#[test]
fn killed_publishers() {
    for capacity in [4, 1 << 16] {
        let feed = Broadcast::<Tick>::create(capacity).unwrap();
        let mut subscribers: Vec<_> = (0..2).map(|_| feed.consumer().unwrap()).collect();
        let (mut next, mut random) = ([0; 2], Random(capacity as u64));
        for _ in 0..(20.0 * stress()) as u64 {
            let mut process = spawn("publish for ever", &[&feed]);
            subscribers.iter().for_each(|rx| assert!(rx.wait_for_peer(Duration::from_secs(10))));
            let end = Instant::now() + Duration::from_micros(random.next() % 3000);
            let mut see = |at: usize, tick: Tick, lost: u64| {
                assert_eq!(tick.checked() - lost, next[at], "an item is missing, or came twice");
                next[at] += 1;
            };
            while Instant::now() < end {
                for (at, rx) in subscribers.iter_mut().enumerate() {
                    if let Ok(tick) = rx.pop_timeout(Duration::from_micros(100)) {
                        see(at, tick, rx.lost());
                    }
                }
            }
            process.kill().unwrap();
            process.wait().unwrap();
            for (at, rx) in subscribers.iter_mut().enumerate() {
                assert!(!rx.has_peer(), "it is dead");
                while let Some(tick) = rx.pop() {
                    see(at, tick, rx.lost());
                }
            }
            let tx = feed.producer().unwrap();
            assert_eq!(tx.position(), next[0] + subscribers[0].lost());
            assert_eq!(tx.position(), next[1] + subscribers[1].lost());
        }
    }
}

#[test]
fn all_that_sleep_are_woken_by_one_item() {
    let feed = Broadcast::<Tick>::create(100).unwrap();
    let mut tx = feed.producer().unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut rx = feed.consumer().unwrap().strategy(Strategy::Sleep);
            thread::spawn(move || rx.iter().map(Tick::checked).sum::<u64>())
        })
        .collect();
    let mut rx = feed.consumer().unwrap();
    let task = thread::spawn(move || {
        block_on(async {
            let mut sum = 0;
            while let Some(tick) = rx.pop_async().await {
                sum += tick.checked();
            }
            sum
        })
    });
    for number in 0..50 {
        thread::sleep(Duration::from_millis(1));
        tx.push(Tick::new(number)).unwrap();
    }
    drop(tx);
    for thread in threads.into_iter().chain([task]) {
        assert_eq!(thread.join().unwrap(), 49 * 50 / 2);
    }
}

#[test]
fn late_subscribers_begin_with_the_next_item_and_slow_ones_lose_some() {
    let feed = Broadcast::<Tick>::create(8).unwrap();
    let mut tx = feed.producer().unwrap();
    assert!(!tx.has_peer());
    let mut slow = feed.consumer().unwrap();
    assert!(tx.has_peer() && slow.has_peer());
    (0..100).for_each(|number| tx.push(Tick::new(number)).unwrap());
    let mut late = feed.consumer().unwrap();
    assert_eq!(late.try_pop(), Err(TryPopError::Empty));
    tx.push(Tick::new(100)).unwrap();
    assert_eq!((late.try_pop(), late.lost()), (Ok(Tick::new(100)), 0));
    let left: Vec<_> = slow.pop_iter().map(Tick::checked).collect();
    assert_eq!((left, slow.lost()), ((93..=100).collect(), 93));
    let taken = feed.producer().unwrap_err();
    assert_eq!(
        taken.to_string(),
        "a live process has the producer of this lane; end it, or make a lane for each producer"
    );
    drop(tx);
    assert_eq!(late.pop(), None);
    // A publisher pushes also if nobody listens.
    drop((late, slow));
    let mut tx = feed.producer().unwrap();
    assert_eq!(tx.position(), 101);
    assert_eq!(tx.try_push(Tick::new(101)), Ok::<_, TryPushError<_>>(()));
}

#[test]
fn a_reader_gets_all_and_writes_nothing() {
    let feed = Broadcast::<Tick>::create(64).unwrap();
    let path = format!("/proc/self/fd/{}", feed.as_fd().as_raw_fd());
    let to_read = File::open(path).unwrap();
    let mut rx = Broadcast::<Tick>::read_only(&to_read).unwrap();
    assert!(!rx.has_peer());
    let mut tx = feed.producer().unwrap();
    assert!(rx.has_peer() && !tx.has_peer(), "nobody knows of a reader");
    let sums = thread::spawn(move || {
        let sum = rx.iter().map(Tick::checked).sum::<u64>();
        // The lane is mapped twice here: to be read and written, and to be read.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.lines().any(|line| line.contains("r--s") && line.contains("corelane")));
        (sum, rx.position(), rx.lost())
    });
    for number in 0..1000 {
        tx.push(Tick::new(number)).unwrap();
        if number % 50 == 0 {
            thread::sleep(Duration::from_millis(3));
        }
    }
    drop(tx);
    let (sum, position, lost) = sums.join().unwrap();
    assert_eq!((position, lost == 0), (1000, sum == 999 * 1000 / 2));
    // It goes round the ring as others do.
    let mut rx = Broadcast::<Tick>::read_only(&feed).unwrap();
    let mut tx = feed.producer().unwrap();
    tx.push_all((1000..1300).map(Tick::new)).unwrap();
    let left: Vec<_> = rx.pop_iter().map(Tick::checked).collect();
    assert_eq!((left, rx.lost()), ((1236..1300).collect(), 236));
    let mut items = [Tick::new(0); 9];
    tx.push(Tick::new(1300)).unwrap();
    assert_eq!((rx.pop_slice(&mut items), items[0]), (1, Tick::new(1300)));
    assert!(Broadcast::<u64>::read_only(&feed).is_err());
}

/// A process that writes nonsense into the memory.
#[test]
fn lying_peer_of_a_broadcast() {
    let mut random = Random(55);
    let end = Instant::now() + Duration::from_secs_f64(0.5 * stress());
    let mut runs = 0;
    while Instant::now() < end || runs < 3 {
        runs += 1;
        let feed = Broadcast::<Tick>::create(1 + random.next() as usize % 200).unwrap();
        let nonsense = Nonsense::new(&feed, &mut random);
        let (mut tx, mut rx) = (feed.producer().unwrap(), feed.consumer().unwrap());
        for n in 0..3000 {
            if random.next() % 8 == 0 {
                nonsense.write(&mut random);
            }
            match random.next() % 12 {
                0..4 => tx.push(Tick::new(n)).unwrap(),
                4..8 => _ = rx.try_pop(),
                8 => _ = (tx.len(), rx.len(), tx.is_full(), rx.is_empty(), tx.is_closed()),
                9 => {
                    _ = tx.push_slice(&[Tick::new(n); 20]);
                    _ = rx.pop_slice(&mut [Tick::new(0); 20]);
                }
                10 => {
                    _ = (tx.has_peer(), rx.has_peer(), tx.position(), rx.lost());
                    _ = rx.pop_timeout(Duration::from_micros(1));
                }
                _ => {
                    drop((tx, rx));
                    tx = match feed.producer() {
                        Ok(next) => next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    };
                    rx = feed.consumer().unwrap();
                }
            }
        }
    }
}
