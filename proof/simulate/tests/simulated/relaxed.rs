//! Relaxed queues, and a bug that the tests must detect.

use std::time::Instant;

use coherence::{Machine, Schedule, pause};
use corelane::{Consumer as _, Producer as _};
use corelane_harness::loose::{self, Bug};
use corelane_sim::{
    Built, CapacityError, Config, Consumer, Info, Producer, Sides, TryPopError, TryPushError,
};
use corelane_simulate::{Failure, Queue, Room, Team, all_shared};

/// The bugs by number.
const ALL: [Bug; 4] = [Bug::Nothing, Bug::TooFar, Bug::TooLate, Bug::Loses];

/// The relaxed queue behind a lock, with the bug of this number. A call is one step, before and
/// after which other threads may run. The queue's k is `TIMES` times the k that the queue tells.
struct Loose<const BUG: u8, const TIMES: usize = 1>;

struct Tx<T>(loose::Tx<T>);

struct Rx<T, const TIMES: usize>(loose::Rx<T>);

/// `call` as one step.
fn step<R>(call: impl FnOnce() -> R) -> R {
    pause(1);
    let answer = call();
    pause(1);
    answer
}

impl<T> Producer for Tx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        step(|| self.0.try_push(item)).map_err(|error| match error {
            corelane::TryPushError::Full(item) => TryPushError::Full(item),
            corelane::TryPushError::Busy(item) => TryPushError::Busy(item),
            corelane::TryPushError::Closed(item) => TryPushError::Closed(item),
        })
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self(self.0.clone()))
    }
}

impl<T, const TIMES: usize> Consumer for Rx<T, TIMES> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        step(|| self.0.try_pop()).map_err(|error| match error {
            corelane::TryPopError::Empty => TryPopError::Empty,
            corelane::TryPopError::Busy => TryPopError::Busy,
            corelane::TryPopError::Closed => TryPopError::Closed,
        })
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn relaxation(&self) -> usize {
        self.0.relaxation() / TIMES
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self(self.0.clone()))
    }
}

impl<T: Send, const BUG: u8, const TIMES: usize> corelane_sim::Queue<T> for Loose<BUG, TIMES> {
    const INFO: Info = Info { id: "loose", sides: Sides::ManyToMany, relaxed: true, ..Info::RING };
    type Producer = Tx<T>;
    type Consumer = Rx<T, TIMES>;

    fn with(config: Config) -> Built<Tx<T>, Rx<T, TIMES>> {
        let Config { capacity, relaxation, .. } = config;
        let config = corelane::Config::new(capacity);
        let config = relaxation.map_or(config, |k| config.relaxation(TIMES * k));
        let most = usize::MAX;
        let refused = |_| CapacityError::OutOfRange { asked: capacity, most };
        let (tx, rx) = loose::queue(config, ALL[BUG as usize]).map_err(refused)?;
        Ok((Tx(tx), Rx(rx)))
    }
}

/// Checks that a run under a random schedule fails with this message.
#[track_caller]
fn assert_noticed<const BUG: u8>(expected: &[&str]) {
    let queue = Queue::shared::<Loose<BUG>>();
    let failed = (0..2_000).find_map(|seed| queue.replay(seed, Schedule::Random).err());
    let failed = failed.expect("a run fails");
    assert!(expected.iter().any(|words| failed.what.contains(words)), "{failed}");
}

#[test]
fn items_that_leave_out_of_turn_are_noticed() {
    let words = ["-FIFO: Disorder", "was popped after"];
    assert_noticed::<1>(&words);
    assert_noticed::<2>(&words);
}

#[test]
fn lost_items_are_noticed() {
    assert_noticed::<3>(&["0 lost"]);
}

#[test]
fn nothing_is_noticed_without_a_bug() {
    let queue = Queue::shared::<Loose<0>>();
    queue.test(0..500).unwrap();
    queue.test_waiting(0..200).unwrap();
    queue.test_stopped(0..200, Room::For(64)).unwrap();
}

/// 48 producers and 40 consumers, which let the queue fill, on the machine with 88 threads.
fn crowd(relaxation: Option<usize>) -> Team {
    let machine = Machine::x86_88t();
    let small = Team::new(machine);
    Team {
        producers: 48,
        consumers: 40,
        capacity: 4096,
        relaxation,
        warm_up: 500,
        items: 2_000,
        ..small
    }
}

/// Each relaxed queue under 88 threads, with its own k and with others.
#[test]
fn disorder_of_88_threads() {
    let all: Vec<_> = all_shared().iter().filter(|queue| queue.info.relaxed).copied().collect();
    for queue in [&all[..], &[Queue::shared::<Loose<0>>()]].concat() {
        for k in [None, Some(1), Some(32), Some(2048)] {
            let begin = Instant::now();
            match queue.team(&crowd(k)) {
                Ok(run) => {
                    println!(
                        "{} {k:?}: {:?}, {:.1?}",
                        queue.id,
                        run.journey.disorder,
                        begin.elapsed()
                    )
                }
                Err(Failure::Capacity(error)) if k.is_some() => {
                    println!("{} refuses {k:?}: {error}", queue.id)
                }
                Err(failure) => panic!("{} {k:?}: {failure}", queue.id),
            }
        }
    }
}

/// Of calls that overlap, nothing is certain. So a k must be wrong by more than the number of threads.
#[test]
fn too_much_disorder_of_88_threads_is_noticed() {
    let queue = Queue::shared::<Loose<0, 4>>();
    let failure = queue.team(&crowd(Some(128))).err();
    let is_noticed = matches!(failure, Some(Failure::Disorder { k: 128, .. }));
    assert!(is_noticed, "{failure:?}");
}
