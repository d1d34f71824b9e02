//! Wakes tasks at given times: one thread for all tasks, which starts when it is needed.

use alloc::collections::BTreeMap;
use core::mem;
use core::task::Waker;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::unwind::quietly;

/// A task is woken at a given time, unless the alarm is dropped before.
pub(super) struct Alarm {
    key: Key,
}

/// The time, and a number.
type Key = (Instant, u64);

struct Alarms {
    /// By time.
    set: BTreeMap<Key, Waker>,
    next: u64,
    /// The process whose thread wakes the tasks. A forked process has no such thread yet.
    process: u32,
}

static ALARMS: Mutex<Alarms> = Mutex::new(Alarms { set: BTreeMap::new(), next: 0, process: 0 });
static CHANGED: Condvar = Condvar::new();

fn alarms() -> MutexGuard<'static, Alarms> {
    ALARMS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Alarms {
    /// Starts the thread, if there is none. `false` if the system refuses it.
    fn has_thread(&mut self) -> bool {
        let process = std::process::id();
        if self.process != process {
            let thread = std::thread::Builder::new().name("corelane-alarm".into());
            if thread.spawn(run).is_err() {
                return false;
            }
            self.process = process;
        }
        true
    }
}

impl Alarm {
    pub(super) fn new(due: Instant, waker: &Waker) -> Self {
        let mut alarms = alarms();
        let key = (due, alarms.next);
        alarms.next += 1;
        alarms.set.insert(key, waker.clone());
        let has_thread = alarms.has_thread();
        drop(alarms);
        match has_thread {
            true => CHANGED.notify_one(),
            // The task reads the clock itself, again and again.
            false => waker.wake_by_ref(),
        }
        Self { key }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // Dropped without the lock: a waker may own a task, and this an alarm.
        let waker = alarms().set.remove(&self.key);
        drop(waker);
    }
}

fn run() {
    let mut alarms = alarms();
    loop {
        let now = Instant::now();
        let later = alarms.set.split_off(&(now, u64::MAX));
        let due = mem::replace(&mut alarms.set, later);
        if !due.is_empty() {
            drop(alarms);
            for waker in due.into_values() {
                // A waker that panics must not stop the others.
                quietly(|| waker.wake());
            }
            alarms = self::alarms();
            continue;
        }
        alarms = match alarms.set.keys().next() {
            Some((next, _)) => {
                let time = next.saturating_duration_since(now);
                CHANGED.wait_timeout(alarms, time).unwrap_or_else(PoisonError::into_inner).0
            }
            None => CHANGED.wait(alarms).unwrap_or_else(PoisonError::into_inner),
        };
    }
}
