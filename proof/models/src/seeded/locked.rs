//! A lock around the number of items, and threads that wait for one.

use std::sync::Arc;

use corelane_loom::memory::{Condvar, Mutex};

use crate::Exploration;
use crate::explore::explore_shared;
use crate::shared::{join, start};

/// `locked`. Broken: a push wakes a consumer only when there was no item, so that one of two
/// waiting consumers continues to sleep.
struct Monitor<const BROKEN: bool> {
    items: Mutex<u64>,
    not_empty: Condvar,
}

impl<const BROKEN: bool> Monitor<BROKEN> {
    fn push(&self) {
        let mut items = self.items.lock();
        let was_empty = *items == 0;
        *items += 1;
        drop(items);
        if was_empty || !BROKEN {
            self.not_empty.notify_one();
        }
    }

    fn pop(&self) {
        let mut items = self.items.lock();
        while *items == 0 {
            items = self.not_empty.wait(items);
        }
        *items -= 1;
    }
}

/// Two threads wait for an item each, and two items come.
pub(crate) fn two_wait<const BROKEN: bool>() -> Exploration {
    explore_shared(|| {
        let (items, not_empty) = (Mutex::new(0), Condvar::new());
        // Not loom's `Arc`, which can't be dropped when no thread can continue.
        let monitor = Arc::new(Monitor::<BROKEN> { items, not_empty });
        let threads = [(); 2].map(|()| {
            let monitor = monitor.clone();
            start(move || monitor.pop())
        });
        monitor.push();
        monitor.push();
        join(threads);
    })
}
