//! Threads that are late, are stopped, or compete for an item.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use corelane::{Config, Consumer, Producer, TryPopError, TryPushError};

use super::stress::{Habits, Numbered, stream};
use super::{Handles, at_most, may_fail};
use crate::inside::Inside;
use crate::items::Large;
use crate::{Any, Item};
use corelane_harness::threads::{Cores, Patience, Progress, Task, all, both, scaled};
use corelane_history::Value;

impl Numbered for Large {
    fn of(value: Value) -> Self {
        Item::of(value.number())
    }

    fn value(&self) -> Option<Value> {
        let number = self.first();
        Item::is(self, number).then(|| Value::of(number))
    }
}

/// Some producers are stopped while they write, which large items make likely, and others write
/// behind them: no consumer skips the unfinished slot, reads it, or waits for ever (row
/// `read_behind_stalled_writer`).
pub fn read_behind_stalled_writer(subject: &Any<Large>) {
    for (cores, each) in [(Cores::One, 1_500), (Cores::Two, 1_500)] {
        let habits = Habits { cores, each: scaled(each), step: 16, changing: false };
        let (queue, shape) = (Config::new(64).grouped(16), at_most(&subject.info, 4, 2));
        stream(&subject.info, subject.open(queue), shape, habits);
    }
}

/// Items of one of two groups. Copying a slice of this number of large items takes long enough for
/// other threads to push and pop meanwhile.
const GROUP: usize = 256;

/// A queue of two groups, with two producers and two consumers if it may have them.
fn two_groups(subject: &Any<Large>) -> Handles<Large> {
    subject.handles(Config::new(2 * GROUP).grouped(GROUP), at_most(&subject.info, 2, 2))
}

/// While one producer is in the middle of a large slice, another producer's push ends. A pop after
/// that may say busy, but not empty (row `false_empty`).
pub fn false_empty_behind_a_writer(subject: &Any<Large>) {
    let slice: Vec<Large> = (0..GROUP as u64).map(Item::of).collect();
    for round in 0..scaled(200) {
        let (mut txs, mut rxs) = two_groups(subject);
        let Some(mut slow) = txs.pop().filter(|_| !txs.is_empty()) else { return };
        let mut is_empty = false;
        let look = || {
            while let Err(error) = txs[0].try_push(Item::of(round)) {
                assert!(may_fail(&subject.info, &error), "there is room");
            }
            is_empty = matches!(rxs[0].try_pop(), Err(TryPopError::Empty));
        };
        let write = || {
            // A call that has pushed no item was told busy.
            let pushed = (0..).map(|_| slow.push_slice(&slice)).find(|&pushed| pushed > 0);
            assert!(subject.info.relaxed || pushed == Some(slice.len()));
        };
        both(Cores::Two, write, look);
        assert!(!is_empty, "false empty in round {round}: a push was done");
    }
}

/// While one consumer is in the middle of a large slice, another consumer pops behind it. A push
/// after that may say busy, but not full (row `false_full`).
pub fn false_full_behind_a_reader(subject: &Any<Large>) {
    if !subject.info.bounded {
        return;
    }
    for round in 0..scaled(200) {
        let (mut txs, mut rxs) = two_groups(subject);
        let Some(mut slow) = rxs.pop().filter(|_| !rxs.is_empty()) else { return };
        let tx = &mut txs[0];
        let pushed = (0..).take_while(|&n| tx.try_push(Item::of(n)).is_ok()).count();
        let certain = tx.capacity();
        let mut into = vec![<Large as Item>::of(0); GROUP];
        let look = || {
            // When an item has been popped, each earlier item has been popped or is being popped.
            // Busy says nothing about these.
            let mut popped = || match rxs[0].try_pop() {
                Ok(item) => Some(item.first() as usize + 1),
                Err(TryPopError::Busy) => None,
                Err(_) => Some(pushed),
            };
            let mut there = pushed - Patience::until(|| popped().filter(|n| pushed - n < certain));
            let refused = loop {
                match tx.try_push(Item::of(0)) {
                    Ok(()) => there += 1,
                    Err(refused) => break refused,
                }
            };
            let is_false = matches!(refused, TryPushError::Full(_)) && there < certain;
            assert!(!is_false, "false full in round {round}: {there} items of {certain}");
        };
        both(Cores::Two, || slow.pop_slice(&mut into), look);
    }
}

/// Many producers push large slices when a block, or the queue, has just become full, again and
/// again, for many laps (row `batch_spills_into_version`).
pub fn batch_spills_into_version(subject: &Any<u64>) {
    for (slots, batch, cores) in [(128, 64, Cores::Two), (4, 2, Cores::Two), (128, 64, Cores::One)]
    {
        let (producers, consumers) = at_most(&subject.info, 16, 1);
        let each = scaled(64_000 / producers as u64);
        let habits = Habits { cores, each, step: 2 * batch, changing: false };
        let config = Config::new(slots + 1 - batch).grouped(batch).first(u64::MAX - 1000);
        stream(&subject.info, subject.open(config), (producers, consumers), habits);
    }
    // The lines of `leased` don't end where slices end, and a relaxed queue has other blocks.
    if subject.info.id != "leased" && !subject.info.relaxed {
        late_slices_in_one_thread(subject);
    }
}

/// Many handles, each of which pushes a large slice and an item into a full queue, many times a
/// lap.
fn late_slices_in_one_thread(subject: &Any<u64>) {
    let (mut txs, mut rxs) =
        subject.handles(Config::new(65).grouped(64), at_most(&subject.info, 300, 1));
    let slice: Vec<u64> = (0..64).collect();
    // All slots but for one slice: then the popped items are successive numbers of one slice.
    let first = &slice[2 * slice.len() - txs[0].slots()..];
    assert_eq!(txs[0].push_slice(first), first.len());
    for lap in 0..scaled(100) {
        let pushed: usize = txs.iter_mut().map(|tx| tx.push_slice(&slice)).sum();
        assert_eq!(pushed, slice.len(), "in lap {lap}");
        for tx in &mut txs {
            assert_eq!(tx.push_slice(&slice), 0, "in lap {lap}");
            assert!(tx.try_push(0).is_err(), "in lap {lap}");
        }
        let mut popped: Vec<_> = rxs[0].pop_iter().take(slice.len()).collect();
        popped.sort_unstable();
        assert_eq!(popped, slice, "in lap {lap}");
    }
}

/// All consumers compete for the only item: one of them gets it (row `double_pop`).
pub fn double_pop(subject: &Any<u64>) {
    let rounds = scaled(30_000);
    let (mut txs, rxs) = subject.handles(Config::new(2), at_most(&subject.info, 1, 4));
    let mut tx = txs.remove(0);
    let takers: &Vec<_> = &(0..rounds).map(|_| AtomicBool::new(false)).collect();
    let progress = &Progress::of(1 + rxs.len());
    let taken = &AtomicU64::new(0);
    let mut tasks: Vec<Task<()>> = vec![Box::new(move || {
        let mut patience = progress.patience(0);
        for n in 0..rounds {
            while let Err(error) = tx.try_push(n) {
                assert!(
                    subject.info.relaxed && may_fail(&subject.info, &error),
                    "item {n} is the only one"
                );
                patience.wait();
            }
            while taken.load(Ordering::Acquire) <= n && !tx.is_closed() {
                patience.wait();
            }
            patience.moved();
        }
    })];
    for (mut rx, thread) in rxs.into_iter().zip(1..) {
        tasks.push(Box::new(move || {
            let mut patience = progress.patience(thread);
            loop {
                match rx.try_pop() {
                    Ok(n) => {
                        let before = takers[n as usize].swap(true, Ordering::Relaxed);
                        assert!(!before, "item {n} is popped twice");
                        taken.fetch_add(1, Ordering::Release);
                        patience.moved();
                    }
                    Err(TryPopError::Closed) => return,
                    Err(_) => patience.wait(),
                }
            }
        }));
    }
    all(Cores::Two, tasks);
    assert!(takers.iter().all(|taken| taken.load(Ordering::Relaxed)), "an item is lost");
}

/// Lets the other threads continue, even if this thread fails.
struct Released<'a>(&'a AtomicBool);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Threads that have used the queue and then sleep, outside of any call, don't delay other threads,
/// which continue for many laps (row `oversubscription_collapse`).
pub fn oversubscription_collapse(subject: &Any<u64>) {
    for (capacity, batch) in [(2, 1), (16, 8)] {
        let config = Config::new(capacity).grouped(batch);
        let (txs, rxs) = subject.handles(config, at_most(&subject.info, 4, 4));
        let (asleep, over) = (&AtomicU64::new(0), &AtomicBool::new(false));
        let sleepers = (txs.len() + rxs.len() - 2) as u64;
        let sleep = |is_over: &AtomicBool| {
            asleep.fetch_add(1, Ordering::AcqRel);
            Patience::until(|| is_over.load(Ordering::Acquire).then_some(()));
        };
        let mut tasks: Vec<Task<()>> = Vec::new();
        let (mut txs, mut rxs) = (txs.into_iter(), rxs.into_iter());
        let (tx, rx) = (txs.next().expect("one"), rxs.next().expect("one"));
        for mut tx in txs {
            tasks.push(Box::new(move || {
                let _ = tx.try_push(u64::MAX);
                sleep(over);
            }));
        }
        for mut rx in rxs {
            tasks.push(Box::new(move || {
                let _ = rx.try_pop();
                sleep(over);
            }));
        }
        tasks.push(Box::new(move || {
            let _released = Released(over);
            Patience::until(|| (asleep.load(Ordering::Acquire) == sleepers).then_some(()));
            laps(tx, rx, 100 * capacity as u64);
        }));
        all(Cores::Two, tasks);
    }
}

/// Sends `items` items from one handle to another, in one thread, filling and draining the queue.
fn laps(mut tx: impl Producer<Item = u64>, mut rx: impl Consumer<Item = u64>, items: u64) {
    while rx.try_pop().is_ok() {}
    let mut inside = Inside::new(rx.relaxation());
    let (mut pushed, mut popped) = (0, 0);
    while popped < items {
        while pushed < items && tx.try_push(pushed).is_ok() {
            inside.push(pushed);
            pushed += 1;
        }
        let n = rx.pop_iter().map(|item| inside.pop(&item)).count() as u64;
        assert!(n > 0, "held up after {popped} items");
        popped += n;
    }
}
