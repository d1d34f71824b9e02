//! The workers of a pool that sleep and search, without queues.

use std::sync::Arc;
use std::task::{Wake, Waker};

use corelane_loom::memory::{AtomicBool, AtomicU64, Condvar, Mutex, Ordering};
use corelane_loom::steal::bwos::fifo;
use corelane_loom::steal::pool::idle::Idle;

use crate::explore::{both, explore};
use crate::queue::Of;
use crate::shared::start;
use crate::steal::{blocks_of, numbers, push};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::other(fifo::INFO);
    vec![
        of.model("pool_pushed_as_one_falls_asleep", pushed_as_one_falls_asleep),
        of.model("pool_pushed_as_a_search_ends", pushed_as_a_search_ends),
        of.model("pool_pushed_as_a_search_succeeds", pushed_as_a_search_succeeds),
        of.model("pool_pushed_twice_while_two_sleep", pushed_twice_while_two_sleep),
        of.model("pool_counts_one_that_wakes", counts_one_that_wakes),
        of.model("pool_waits_until_all_sleep", waits_until_all_sleep),
        of.model("pool_waits_for_what_was_just_pushed", waits_for_what_was_just_pushed),
        of.model("pool_pushed_without_a_notification", pushed_without_a_notification),
        of.model("pool_sleeps_while_another_seizes", sleeps_while_another_seizes),
    ]
}

/// How often a worker was woken.
pub(crate) struct Wakes {
    number: Mutex<u64>,
    changed: Condvar,
}

impl Wakes {
    pub(crate) fn none() -> Arc<Self> {
        Arc::new(Self { number: Mutex::new(0), changed: Condvar::new() })
    }

    /// Blocks the thread until it was woken again.
    pub(crate) fn wait_after(&self, seen: u64) {
        let mut number = self.number.lock();
        while *number == seen {
            number = self.changed.wait(number);
        }
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        *self.number.lock() += 1;
        self.changed.notify_all();
    }
}

/// Workers, of which each can be woken, and tasks, of which only the number counts.
struct Crew {
    idle: Idle,
    tasks: AtomicU64,
    wakes: Vec<Arc<Wakes>>,
}

/// What a worker has come to.
#[derive(Debug, PartialEq, Eq)]
enum State {
    HasTask,
    Asleep,
}

impl Crew {
    fn of(workers: usize) -> Arc<Self> {
        let wakes = (0..workers).map(|_| Wakes::none()).collect();
        Arc::new(Self { idle: Idle::default(), tasks: AtomicU64::new(0), wakes })
    }

    fn has_more(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) > 0
    }

    fn push(&self) {
        self.tasks.fetch_add(1, Ordering::Relaxed);
        self.idle.notify();
    }

    fn take(&self) -> bool {
        let number = self.tasks.load(Ordering::Relaxed);
        number > 0
            && self
                .tasks
                .compare_exchange(number, number - 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn waker(&self, worker: usize) -> Waker {
        self.wakes[worker].clone().into()
    }

    fn is_woken(&self, worker: usize) -> bool {
        self.wakes(worker) > 0
    }

    fn wakes(&self, worker: usize) -> u64 {
        *self.wakes[worker].number.lock()
    }

    /// A worker that is counted as searching: it takes a task, or falls asleep.
    fn search(&self, worker: usize) -> State {
        self.search_or_sleep(worker).map_or(State::HasTask, |_| State::Asleep)
    }

    /// The same. The number of the sleeper, or `None` if it has taken a task.
    fn search_or_sleep(&self, worker: usize) -> Option<u64> {
        loop {
            if self.take() {
                self.idle.found(|| self.has_more());
                return None;
            }
            let sleeper = self.idle.announce(&self.waker(worker), || self.has_more());
            if sleeper.is_some() {
                return sleeper;
            }
        }
    }

    /// A worker that was never woken falls asleep.
    fn sleep(&self, worker: usize) {
        self.idle.begin();
        assert_eq!(self.search(worker), State::Asleep);
    }
}

/// A task comes when the only worker has found none.
fn pushed_as_one_falls_asleep() -> Exploration {
    explore(|| {
        let crew = Crew::of(1);
        let other = crew.clone();
        crew.idle.begin();
        let ((), state) = both(move || other.push(), || crew.search(0));
        assert!(state == State::HasTask || crew.is_woken(0));
    })
}

/// One worker sleeps. The other one searches, so that a push wakes nobody, and gives up.
fn pushed_as_a_search_ends() -> Exploration {
    explore(|| {
        let crew = Crew::of(2);
        crew.sleep(0);
        crew.idle.begin();
        let other = crew.clone();
        let ((), state) = both(move || other.push(), || crew.search(1));
        assert!(state == State::HasTask || crew.is_woken(0) || crew.is_woken(1));
    })
}

/// One worker sleeps. The other one searches, so that a push wakes nobody, and takes another task.
fn pushed_as_a_search_succeeds() -> Exploration {
    explore(|| {
        let crew = Crew::of(2);
        crew.sleep(0);
        crew.idle.begin();
        crew.tasks.store(1, Ordering::Relaxed);
        let other = crew.clone();
        let ((), state) = both(move || other.push(), || crew.search(1));
        assert!(state == State::HasTask && crew.is_woken(0));
    })
}

/// Two threads push while two workers sleep. The first worker that is woken wakes the other one.
fn pushed_twice_while_two_sleep() -> Exploration {
    explore(|| {
        let crew = Crew::of(2);
        crew.sleep(0);
        crew.sleep(1);
        let other = crew.clone();
        let ((), ()) = both(move || other.push(), || crew.push());
        // The worker that fell asleep last is woken first.
        assert!(crew.is_woken(1) && !crew.is_woken(0));
        assert_eq!(crew.search(1), State::HasTask);
        assert!(crew.is_woken(0));
        assert_eq!(crew.search(0), State::HasTask);
    })
}

/// A worker finds a task when it is about to sleep, and is woken for it, too: it is counted once.
/// Otherwise later pushes would wake nobody, or too many.
fn counts_one_that_wakes() -> Exploration {
    explore(|| {
        let crew = Crew::of(2);
        crew.idle.begin();
        let other = crew.clone();
        let ((), state) = both(move || other.push(), || crew.search(0));
        if state == State::Asleep {
            assert!(crew.is_woken(0));
            assert_eq!(crew.search(0), State::HasTask);
        }
        crew.sleep(1);
        crew.push();
        assert!(crew.is_woken(1));
    })
}

/// A thread pushes a task, and waits until it is done. The only worker may be about to sleep, and
/// finds the task at its last look.
fn waits_for_what_was_just_pushed() -> Exploration {
    explore(|| {
        let crew = Crew::of(1);
        crew.idle.begin();
        let [is_done, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (worker, done, over) = (crew.clone(), is_done.clone(), is_over.clone());
        let works = start(move || {
            let mut wakes = 0;
            while !over.load(Ordering::Relaxed) {
                let Some(sleeper) = worker.search_or_sleep(0) else {
                    done.store(true, Ordering::Relaxed);
                    worker.idle.begin();
                    continue;
                };
                worker.idle.tell_if_quiet(1);
                let waker = worker.waker(0);
                while !over.load(Ordering::Relaxed) && worker.idle.still_sleeps(sleeper, &waker) {
                    worker.wakes[0].wait_after(wakes);
                    wakes += 1;
                }
            }
        });
        crew.push();
        crew.idle.wait_until_quiet(1, || !crew.has_more());
        assert!(is_done.load(Ordering::Relaxed));
        is_over.store(true, Ordering::Relaxed);
        crew.waker(0).wake();
        works.join();
    })
}

/// A task is pushed without a notification, since a timer seems to be set that will have a worker
/// woken.
fn pushed_without_a_notification() -> Exploration {
    explore(|| {
        let crew = Crew::of(1);
        crew.sleep(0);
        let is_set = Arc::new(AtomicBool::new(true));
        let (other, timer) = (crew.clone(), is_set.clone());
        let ((), relies) = both(
            move || {
                timer.store(false, Ordering::Relaxed);
                other.idle.wake(|| other.has_more());
            },
            || {
                crew.tasks.fetch_add(1, Ordering::Relaxed);
                crew.idle.light_fence();
                is_set.load(Ordering::Relaxed)
            },
        );
        assert!(!relies || crew.is_woken(0));
    })
}

/// A thread waits until the only worker sleeps, which was woken for a task before.
fn waits_until_all_sleep() -> Exploration {
    explore(|| {
        let crew = Crew::of(1);
        crew.sleep(0);
        crew.push();
        assert!(crew.is_woken(0));
        let worker = crew.clone();
        let works = start(move || {
            assert_eq!(worker.search(0), State::HasTask);
            worker.idle.begin();
            assert_eq!(worker.search(0), State::Asleep);
            assert!(worker.idle.tell_if_quiet(1));
        });
        crew.idle.wait_until_quiet(1, || !crew.has_more());
        assert!(!crew.has_more());
        works.join();
    })
}

/// A worker finds that another one is about to seize a task, and sleeps: that one wakes it if there
/// is more.
fn sleeps_while_another_seizes() -> Exploration {
    explore(|| {
        let mut owner = fifo::queue_with(blocks_of(2)).expect("small");
        assert_eq!(push(&mut owner, 0..2), 2);
        let victim = owner.stealer();
        let crew = Crew::of(2);
        (0..2).for_each(|_| crew.idle.begin());
        let search = move |crew: &Crew, victim: &fifo::Stealer<_>, worker| {
            let has_more = || !victim.is_being_seized() && !victim.is_empty();
            loop {
                if !numbers(victim.try_seize(1)).is_empty() {
                    crew.idle.found(has_more);
                    return State::HasTask;
                }
                if crew.idle.announce(&crew.waker(worker), has_more).is_some() {
                    return State::Asleep;
                }
                loom::thread::yield_now();
            }
        };
        let (other, others) = (crew.clone(), victim.clone());
        let states = both(move || search(&other, &others, 0), || search(&crew, &victim, 1));
        let is_woken = (0..2).any(|worker| crew.is_woken(worker));
        assert!(victim.is_empty() || is_woken, "{states:?}");
        drop(owner);
    })
}
