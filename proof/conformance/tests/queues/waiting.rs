//! Calls that wait, between real threads: each thread that can continue is woken (row
//! `lost_wakeup_on_notify`). Each check is also made on a queue that forgets to wake a thread. The
//! check must fail on that queue.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use corelane::{Consumer, Producer, locked};

/// A sending side that waits for room.
trait Sends: Clone + Send + 'static {
    fn push(&mut self, item: u64);
    fn try_push(&mut self, item: u64) -> bool;
}

/// A receiving side that waits for items, or until the queue is closed.
trait Receives: Clone + Send + 'static {
    fn pop(&mut self) -> Option<u64>;
    fn try_pop(&mut self) -> Option<u64>;
}

impl Sends for locked::Producer<u64> {
    fn push(&mut self, item: u64) {
        locked::Producer::push(self, item).expect("the consumers are there");
    }

    fn try_push(&mut self, item: u64) -> bool {
        Producer::try_push(self, item).is_ok()
    }
}

impl Receives for locked::Consumer<u64> {
    fn pop(&mut self) -> Option<u64> {
        locked::Consumer::pop(self).ok()
    }

    fn try_pop(&mut self) -> Option<u64> {
        Consumer::try_pop(self).ok()
    }
}

/// The bug of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// A thread is woken only when there was no item, or no room.
    WakesAtTheEdge,
    /// The last producer wakes only one of the waiting consumers.
    EndWakesOne,
}

struct Monitor {
    bug: Bug,
    capacity: usize,
    /// Items, and how many producers there are.
    state: Mutex<(VecDeque<u64>, usize)>,
    not_full: Condvar,
    not_empty: Condvar,
}

impl Monitor {
    fn wake(&self, condvar: &Condvar, at_the_edge: bool) {
        if at_the_edge || self.bug != Bug::WakesAtTheEdge {
            condvar.notify_one();
        }
    }

    fn put(&self, items: &mut VecDeque<u64>, item: u64) {
        items.push_back(item);
        self.wake(&self.not_empty, items.len() == 1);
    }

    fn take(&self, items: &mut VecDeque<u64>) -> Option<u64> {
        let item = items.pop_front()?;
        self.wake(&self.not_full, items.len() + 1 == self.capacity);
        Some(item)
    }
}

struct Tx(Arc<Monitor>);

#[derive(Clone)]
struct Rx(Arc<Monitor>);

/// A queue that has the bug.
fn broken(bug: Bug) -> impl Fn(usize) -> (Tx, Rx) {
    move |capacity| {
        let state = Mutex::new((VecDeque::new(), 1));
        let (not_full, not_empty) = (Condvar::new(), Condvar::new());
        let monitor = Arc::new(Monitor { bug, capacity, state, not_full, not_empty });
        (Tx(monitor.clone()), Rx(monitor))
    }
}

impl Clone for Tx {
    fn clone(&self) -> Self {
        self.0.state.lock().unwrap().1 += 1;
        Self(self.0.clone())
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let producers = &mut self.0.state.lock().unwrap().1;
        *producers -= 1;
        match *producers {
            0 if self.0.bug == Bug::EndWakesOne => self.0.not_empty.notify_one(),
            0 => self.0.not_empty.notify_all(),
            _ => {}
        }
    }
}

impl Sends for Tx {
    fn push(&mut self, item: u64) {
        let state = self.0.state.lock().unwrap();
        let is_full = |state: &mut (VecDeque<u64>, usize)| state.0.len() == self.0.capacity;
        let mut state = self.0.not_full.wait_while(state, is_full).unwrap();
        self.0.put(&mut state.0, item);
    }

    fn try_push(&mut self, item: u64) -> bool {
        let mut state = self.0.state.lock().unwrap();
        let has_room = state.0.len() < self.0.capacity;
        if has_room {
            self.0.put(&mut state.0, item);
        }
        has_room
    }
}

impl Receives for Rx {
    fn pop(&mut self) -> Option<u64> {
        let state = self.0.state.lock().unwrap();
        let is_empty = |state: &mut (VecDeque<u64>, usize)| state.0.is_empty() && state.1 > 0;
        let mut state = self.0.not_empty.wait_while(state, is_empty).unwrap();
        self.0.take(&mut state.0)
    }

    fn try_pop(&mut self) -> Option<u64> {
        self.0.take(&mut self.0.state.lock().unwrap().0)
    }
}

/// The longest time that a woken thread may take. The checks wait for so long to find a thread that
/// is still asleep.
const LONG: Duration = Duration::from_secs(100);
const SHORT: Duration = Duration::from_secs(1);

/// A thread's work. Returns the items that it has got.
type Task = Box<dyn FnOnce() -> Vec<u64> + Send>;

/// Runs each task in a thread of its own. Returns the items of all tasks, or `None` if a task
/// doesn't end in time.
fn in_time(patience: Duration, tasks: Vec<Task>) -> Option<Vec<u64>> {
    let (done, results) = mpsc::channel();
    let threads = tasks.len();
    for task in tasks {
        let done = done.clone();
        // Not joined: the thread may sleep for ever.
        thread::spawn(move || done.send(task()));
    }
    let results = (0..threads).map(|_| results.recv_timeout(patience).ok());
    results.collect::<Option<Vec<_>>>().map(|results| results.concat())
}

/// How many items each thread of a round pops or pushes.
const EACH: u64 = 2;

/// Threads push and pop equal numbers of items. Every other thread waits, the others retry.
fn as_many_as_wanted<S: Sends, R: Receives>(
    queue: impl Fn(usize) -> (S, R),
    patience: Duration,
) -> bool {
    (0..500).all(|round| {
        let (tx, rx) = queue(1 << (round % 3));
        let mut tasks: Vec<Task> = Vec::new();
        // One side sleeps before the other side starts.
        let pause = |late: bool| move || thread::sleep(Duration::from_millis(u64::from(late)));
        let (consumers, producers) = (pause(round % 2 == 0), pause(round % 2 == 1));
        for number in 0..4 {
            let (mut tx, mut rx) = (tx.clone(), rx.clone());
            let tries = number == round % 8;
            tasks.push(Box::new(move || {
                consumers();
                let pop = |_| match tries.then(|| rx.try_pop()).flatten() {
                    Some(item) => item,
                    None => rx.pop().expect("as many are sent"),
                };
                (0..EACH).map(pop).collect()
            }));
            tasks.push(Box::new(move || {
                producers();
                for item in number * EACH..(number + 1) * EACH {
                    if !(tries && tx.try_push(item)) {
                        tx.push(item);
                    }
                }
                Vec::new()
            }));
        }
        // While these handles exist, no call says closed.
        let Some(mut items) = in_time(patience, tasks) else { return false };
        drop((tx, rx));
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..4 * EACH), "{items:?}");
        true
    })
}

/// All waiting consumers are told that the queue is closed.
fn all_hear_of_the_end<S: Sends, R: Receives>(
    queue: impl Fn(usize) -> (S, R),
    patience: Duration,
) -> bool {
    (0..50).all(|round| {
        let (mut tx, rx) = queue(4);
        let mut tasks: Vec<Task> = Vec::new();
        for mut rx in vec![rx; 4] {
            tasks.push(Box::new(move || std::iter::from_fn(|| rx.pop()).collect()));
        }
        tasks.push(Box::new(move || {
            (0..round).for_each(|item| tx.push(item));
            // Time for the other threads to fall asleep, in most rounds.
            thread::sleep(Duration::from_millis(round % 3));
            Vec::new()
        }));
        let Some(mut items) = in_time(patience, tasks) else { return false };
        items.sort_unstable();
        assert!(items.iter().copied().eq(0..round), "{items:?}");
        true
    })
}

/// The library's queue that waits.
fn ours(capacity: usize) -> (locked::Producer<u64>, locked::Consumer<u64>) {
    locked::queue(capacity).expect("this capacity is possible")
}

#[test]
fn lost_wakeup_on_notify() {
    assert!(as_many_as_wanted(ours, LONG), "a thread sleeps on");
    assert!(as_many_as_wanted(broken(Bug::None), LONG));
    assert!(!as_many_as_wanted(broken(Bug::WakesAtTheEdge), SHORT), "the bug is not found");
}

#[test]
fn lost_wakeup_on_closing() {
    assert!(all_hear_of_the_end(ours, LONG), "a thread sleeps on");
    assert!(all_hear_of_the_end(broken(Bug::None), LONG));
    assert!(!all_hear_of_the_end(broken(Bug::EndWakesOne), SHORT), "the bug is not found");
}

/// A push that waits returns its item when the last consumer is dropped.
#[test]
fn closed_while_a_push_waits() {
    let (mut tx, rx) = ours(1);
    assert!(tx.push(0).is_ok());
    let other = rx.clone();
    let thread = thread::spawn(move || tx.push(1).map_err(locked::Closed::into_inner));
    drop(rx);
    thread::sleep(Duration::from_millis(5));
    assert!(!thread.is_finished(), "a consumer is left");
    drop(other);
    assert_eq!(thread.join().unwrap(), Err(1));
}
