//! Tasks from outside, and tasks for which a worker's own queue had no room.

use alloc::collections::VecDeque;
use core::mem;

use crate::memory::{AtomicU64, Mutex, Ordering};
use crate::pad::Padded;

/// A list behind a lock. Workers take several tasks at once, and look at its length without the
/// lock.
pub(super) struct Injector<T> {
    len: Padded<AtomicU64>,
    list: Mutex<List<T>>,
}

struct List<T> {
    tasks: VecDeque<T>,
    is_closed: bool,
}

impl<T> Injector<T> {
    pub(super) fn new() -> Self {
        let list = List { tasks: VecDeque::new(), is_closed: false };
        Self { len: Padded(AtomicU64::new(0)), list: Mutex::new(list) }
    }

    /// For a thread that is no worker.
    pub(super) fn push(&self, task: T) -> Result<(), T> {
        let mut list = self.list.lock();
        match list.is_closed {
            true => Err(task),
            false => {
                self.append(&mut list, task);
                Ok(())
            }
        }
    }

    /// For a worker: works also when the list is closed.
    pub(super) fn overflow(&self, task: T) {
        self.append(&mut self.list.lock(), task);
    }

    fn append(&self, list: &mut List<T>, task: T) {
        list.tasks.push_back(task);
        self.tell(list);
    }

    fn tell(&self, list: &List<T>) {
        // Relaxed: only a hint. Threads that rely on it have fences.
        self.len.store(list.tasks.len() as u64, Ordering::Relaxed);
    }

    /// Takes the oldest task, and passes others to `keep`, which may refuse a task: up to `most`,
    /// and up to a share of the rest for one of `workers`.
    pub(super) fn take(
        &self,
        workers: usize,
        most: usize,
        mut keep: impl FnMut(T) -> Result<(), T>,
    ) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut list = self.list.lock();
        let first = list.tasks.pop_front();
        for _ in 0..(list.tasks.len() / workers).min(most) {
            let task = list.tasks.pop_front().expect("there are as many");
            if let Err(refused) = keep(task) {
                list.tasks.push_front(refused);
                break;
            }
        }
        self.tell(&list);
        first
    }

    /// From now on only workers may push.
    pub(super) fn close(&self) {
        self.list.lock().is_closed = true;
    }

    /// Takes all.
    pub(super) fn clear(&self) -> VecDeque<T> {
        let mut list = self.list.lock();
        let all = mem::take(&mut list.tasks);
        self.tell(&list);
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }
}
