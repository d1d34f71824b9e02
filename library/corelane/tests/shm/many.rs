//! Lanes of several producers and several consumers.

use std::collections::HashMap;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Error, Lane, Lanes};
use corelane::wait::Strategy;
use corelane::{TryPopError, TryPushError};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{Nonsense, Random, Tick, spawn, stress};

/// Item `number` of a producer.
#[derive(Debug, Clone, Copy, PartialEq, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Job {
    from: u64,
    number: u64,
    check: u64,
}

impl Job {
    fn new(from: u64, number: u64) -> Self {
        Self { from, number, check: !(from.wrapping_mul(number)) }
    }

    fn checked(self) -> (u64, u64) {
        assert_eq!(self, Self::new(self.from, self.number), "a part of an item is missing");
        (self.from, self.number)
    }
}

const SOME: u64 = 20_000;

/// The program of the other processes.
pub(super) fn child(role: &str, numbers: &str) {
    let lanes: Vec<_> = numbers
        .split(',')
        .map(|number| Lanes::<Job>::open_number(number.parse().unwrap()).unwrap())
        .collect();
    let me = u64::from(std::process::id());
    match role {
        "push some jobs" => {
            let mut tx = lanes[0].producer().unwrap();
            tx.push_all((0..SOME).map(|number| Job::new(me, number))).unwrap();
        }
        "push jobs for ever" => {
            let mut tx = lanes[0].producer().unwrap();
            for number in 0.. {
                tx.push(Job::new(me, number)).unwrap();
            }
        }
        "pass jobs on" => {
            let (rx, mut tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            // Half of the processes sleep at once.
            let strategy = if me % 2 == 0 { Strategy::Sleep } else { Strategy::Adaptive };
            let mut rx = rx.strategy(strategy);
            while let Some(job) = rx.pop() {
                tx.push(job).unwrap();
            }
        }
        other => panic!("no role {other}"),
    }
}

/// What has come: each item once, and those of a producer that came the same way in order.
#[derive(Default)]
struct Seen {
    numbers: HashMap<u64, Vec<u64>>,
}

impl Seen {
    fn add(&mut self, job: Job) {
        let (from, number) = job.checked();
        self.numbers.entry(from).or_default().push(number);
    }

    /// Checks that each item has come once, but up to `lost` of them, and returns how many have
    /// not.
    fn check(mut self, lost: usize) -> usize {
        let mut missing = 0;
        for numbers in self.numbers.values_mut() {
            numbers.sort_unstable();
            let len = numbers.len();
            numbers.dedup();
            assert_eq!(numbers.len(), len, "an item has come twice");
            missing += numbers[len - 1] as usize + 1 - len;
        }
        assert!(missing <= lost, "{missing} are missing, and at most {lost} may be");
        missing
    }
}

#[test]
fn jobs_of_several_processes_come_once() {
    for (consumers, capacity) in [(1, 64), (3, 7)] {
        let lanes = Lanes::<Job>::create_for_producers(4, capacity).unwrap();
        // Until all processes have pushed: one may end before the next begins.
        let tx = lanes.producer().unwrap();
        let processes: Vec<_> = (0..3).map(|_| spawn("push some jobs", &[&lanes])).collect();
        let takers: Vec<_> = (0..consumers)
            .map(|_| {
                let mut rx = lanes.consumer().unwrap();
                thread::spawn(move || {
                    let jobs: Vec<_> = rx.iter().collect();
                    let mut last = HashMap::new();
                    for job in &jobs {
                        let before = last.insert(job.from, job.number);
                        assert!(before < Some(job.number), "the items of a producer come in order");
                    }
                    jobs
                })
            })
            .collect();
        processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().success()));
        drop(tx);
        let mut seen = Seen::default();
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).for_each(|job| seen.add(job));
        assert!(seen.numbers.len() <= 3);
        assert_eq!(seen.numbers.values().map(Vec::len).sum::<usize>(), 3 * SOME as usize);
        assert_eq!(seen.check(0), 0);
    }
}

/// Processes that push and processes that pass on are killed and replaced. Others go on.
#[test]
fn killed_processes_of_many() {
    for capacity in [3, 200] {
        let jobs = Lanes::<Job>::create_for_producers(4, capacity).unwrap();
        let passed = Lanes::<Job>::create_for_producers(4, capacity).unwrap();
        // All sides stay open while all processes of one happen to be dead.
        let open = (jobs.producer(), passed.producer(), jobs.consumer());
        let mut rx = passed.consumer().unwrap();
        let start = |at: usize| match at {
            0..3 => spawn("push jobs for ever", &[&jobs]),
            _ => spawn("pass jobs on", &[&jobs, &passed]),
        };
        let mut processes: Vec<Child> = (0..6).map(start).collect();
        let (mut seen, mut random, mut killed) = (Seen::default(), Random(capacity as u64 + 9), 0);
        for _ in 0..(20.0 * stress()) as u64 {
            let at = random.next() as usize % processes.len();
            let end = Instant::now() + Duration::from_micros(random.next() % 20_000);
            while Instant::now() < end {
                rx.try_pop().into_iter().for_each(|job| seen.add(job));
            }
            processes[at].kill().unwrap();
            processes[at].wait().unwrap();
            // One that passed on may have had an item.
            killed += usize::from(at >= 3);
            processes[at] = start(at);
            // The others go on.
            if let Ok(job) = rx.pop_timeout(Duration::from_secs(20)) {
                seen.add(job);
            } else {
                panic!("nothing comes any more");
            }
        }
        for process in &mut processes[..3] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        drop(open);
        // The consumers find out that the producers are dead, and then end.
        while let Some(job) = rx.pop() {
            seen.add(job);
        }
        processes[3..].iter_mut().for_each(|process| assert!(process.wait().unwrap().success()));
        assert!(jobs.consumer().unwrap().is_empty());
        seen.check(killed);
    }
}

#[test]
fn a_ring_for_a_consumer_that_was_killed_is_not_lost() {
    let (jobs, passed) =
        (Lanes::<Job>::create_for_producers(1, 8), Lanes::<Job>::create_for_producers(8, 8));
    let (jobs, passed) = (jobs.unwrap(), passed.unwrap());
    let (mut tx, mut rx) = (jobs.producer().unwrap(), passed.consumer().unwrap());
    let mut processes: Vec<_> = (0..4).map(|_| spawn("pass jobs on", &[&jobs, &passed])).collect();
    for number in 0..8 {
        thread::sleep(Duration::from_millis(30));
        if let Some(mut process) = (number % 2 == 1).then(|| processes.pop()).flatten() {
            if !processes.is_empty() {
                // It sleeps, most likely.
                process.kill().unwrap();
                process.wait().unwrap();
            } else {
                processes.push(process);
            }
        }
        tx.push(Job::new(0, number)).unwrap();
        assert_eq!(rx.pop_timeout(Duration::from_secs(20)), Ok(Job::new(0, number)));
    }
    drop(tx);
    processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().success()));
}

#[test]
fn seats_are_taken_and_come_back() {
    let lanes = Lanes::<Tick>::create_for_producers(2, 4).unwrap();
    assert_eq!(lanes.producers(), 2);
    let (first, second) = (lanes.producer().unwrap(), lanes.producer().unwrap());
    assert_eq!(
        lanes.producer().unwrap_err().to_string(),
        "live processes have all 2 sending sides of the lanes; end one, or make lanes for more"
    );
    let rx = lanes.consumer().unwrap();
    assert!(rx.has_peer() && first.has_peer() && !rx.is_closed());
    drop(first);
    assert!(rx.has_peer() && !rx.is_closed());
    let third = lanes.producer().unwrap();
    drop((second, third));
    assert!(!rx.has_peer() && rx.is_closed());
    let mut tx = lanes.producer().unwrap();
    assert!(rx.has_peer() && !rx.is_closed());
    let other = lanes.consumer().unwrap();
    drop(rx);
    assert!(!tx.is_closed());
    drop(other);
    assert!(tx.is_closed() && !tx.has_peer());
    assert!((0..4).all(|n| tx.try_push(Tick::new(n)).is_ok()));
    assert_eq!(tx.try_push(Tick::new(4)), Err(TryPushError::Closed(Tick::new(4))));
    assert!(tx.push(Tick::new(4)).is_err());
    // What was pushed stays for the next one.
    let mut rx = lanes.consumer().unwrap();
    drop(tx);
    assert_eq!(rx.iter().map(Tick::checked).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
}

#[test]
fn a_producer_goes_on_in_the_lane_of_another() {
    let lanes = Lanes::<Tick>::create_for_producers(1, 4).unwrap();
    let mut rx = lanes.consumer().unwrap();
    let (mut pushed, mut popped) = (0, 0);
    for turn in 0..50 {
        let mut tx = lanes.producer().unwrap();
        for _ in 0..turn % 7 {
            pushed += u64::from(tx.try_push(Tick::new(pushed)).is_ok());
        }
        for _ in 0..turn % 4 {
            if let Ok(tick) = rx.try_pop() {
                assert_eq!(tick.checked(), popped);
                popped += 1;
            }
        }
        assert_eq!((rx.len() as u64, tx.len() as u64), (pushed - popped, pushed - popped));
    }
    let mut left = [Tick::new(0); 9];
    let n = rx.pop_slice(&mut left);
    assert_eq!(
        left[..n].iter().map(|tick| tick.checked()).collect::<Vec<_>>(),
        (popped..pushed).collect::<Vec<_>>()
    );
}

#[test]
fn lanes_are_not_opened_as_a_lane() {
    let lanes = Lanes::<Tick>::create(10).unwrap();
    assert_eq!(
        Lane::<Tick>::open(&lanes).unwrap_err().to_string(),
        "the lane carries items of several producers (Lanes), and is opened for items; open it for what it carries"
    );
    assert!(Lanes::<u64>::open(&lanes).is_err());
    assert_eq!(Lanes::<Tick>::open(&lanes).unwrap().producers(), 16);
    for (producers, capacity) in [(0, 1), (1, 0), (1 << 20, 1), (1, usize::MAX), (1 << 16, 1 << 50)]
    {
        let made = Lanes::<Tick>::create_for_producers(producers, capacity);
        assert!(matches!(made, Err(Error::Capacity(_))), "{producers}, {capacity}");
    }
}

/// A process that writes nonsense into the memory.
#[test]
fn lying_peer_of_many() {
    let mut random = Random(77);
    let end = Instant::now() + Duration::from_secs_f64(0.5 * stress());
    let mut runs = 0;
    while Instant::now() < end || runs < 3 {
        runs += 1;
        let lanes = Lanes::<Tick>::create_for_producers(
            1 + random.next() as usize % 3,
            1 + random.next() as usize % 50,
        );
        let lanes = lanes.unwrap();
        let nonsense = Nonsense::new(&lanes, &mut random);
        let (mut tx, mut rx) = (lanes.producer().unwrap(), lanes.consumer().unwrap());
        for n in 0..3000 {
            if random.next() % 8 == 0 {
                nonsense.write(&mut random);
            }
            match random.next() % 12 {
                0..4 => _ = tx.try_push(Tick::new(n)),
                4..8 => _ = rx.try_pop(),
                8 => _ = (tx.len(), rx.len(), tx.is_full(), rx.is_empty(), tx.is_closed()),
                9 => {
                    _ = tx.push_slice(&[Tick::new(n); 20]);
                    _ = rx.pop_slice(&mut [Tick::new(0); 20]);
                }
                10 => {
                    _ = (tx.has_peer(), rx.has_peer());
                    _ = rx.pop_timeout(Duration::from_micros(1));
                    _ = tx.push_timeout(Tick::new(n), Duration::from_micros(1));
                }
                _ => {
                    drop(tx);
                    match lanes.producer() {
                        Ok(next) => tx = next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    }
                    drop(rx);
                    rx = lanes.consumer().unwrap();
                }
            }
        }
    }
}
