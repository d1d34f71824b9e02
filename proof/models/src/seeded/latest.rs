//! A channel that drops its oldest message.

use std::collections::VecDeque;
use std::sync::Arc;

use corelane_loom::memory::Mutex;

use crate::Exploration;
use crate::explore::{both, explore};
use crate::latest::check;

const CAPACITY: usize = 2;

/// A queue, each call of which is done at once.
struct Queue(Mutex<VecDeque<u64>>);

impl Queue {
    fn push(&self, message: u64) -> bool {
        let mut queue = self.0.lock();
        let has_room = queue.len() < CAPACITY;
        if has_room {
            queue.push_back(message);
        }
        has_room
    }

    fn pop_if(&self, can_pop: impl FnOnce(usize) -> bool) -> Option<u64> {
        let mut queue = self.0.lock();
        if can_pop(queue.len()) { queue.pop_front() } else { None }
    }

    /// Returns how many messages it drops. Broken: it takes the oldest one out of a queue that was
    /// full before.
    fn send<const BROKEN: bool>(&self, message: u64) -> u64 {
        let mut dropped = 0;
        while !self.push(message) {
            dropped += u64::from(self.pop_if(|len| BROKEN || len == CAPACITY).is_some());
        }
        dropped
    }
}

/// A message is sent into a full channel while a receiver takes one.
pub(super) fn sent_while_received<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let queue = Arc::new(Queue(Mutex::new([0, 1].into())));
        let other = queue.clone();
        let (dropped, first) = both(move || other.send::<BROKEN>(2), || queue.pop_if(|_| true));
        let rest = std::iter::from_fn(|| queue.pop_if(|_| true));
        let numbers: Vec<_> = first.into_iter().chain(rest).collect();
        check(&numbers, dropped, 3, CAPACITY as u64);
    })
}
