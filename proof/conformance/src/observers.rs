//! `len`, `available`, `free_slots`, `is_empty`, `is_full`.

use corelane::{Config, Consumer, Producer, SingleProducer, TryPopError, TryPushError};

use crate::{Checked, Item, Single, Subject};
use corelane_harness::threads::{Cores, Patience, both, scaled};

/// All observers are right at every fill level and every offset, also across wraps of the counters
/// (row `observer_lies`).
pub fn observer_lies<T: Item + Copy>(subject: &Single<T>) {
    for (capacity, first) in [(1, 0), (5, 0), (8, u64::MAX - 9), (30, u64::MAX - 33)] {
        let mut queue = Checked::open(subject, Config::new(capacity).first(first));
        for _ in 0..queue.slots() + 2 {
            queue.observe();
            while queue.push() {
                queue.observe();
            }
            while queue.pop() {
                queue.observe();
            }
            queue.turn(1);
        }
    }
}

/// What both handles count is right at every fill level: alone, beside clones, and after these are
/// gone.
pub fn counted<T: Item, P: Producer<Item = T>, C: Consumer<Item = T>>(subject: &Subject<P, C>) {
    for (capacity, first) in [(1, 0), (5, u64::MAX - 9), (30, 0), (100, u64::MAX - 300)] {
        let mut queue = Checked::open(subject, Config::new(capacity).first(first));
        let most = queue.slots().min(3 * capacity);
        for clones in [[false, false], [true, false], [false, true], [true, true], [false, false]] {
            let [senders, receivers] = clones;
            let tx = senders.then(|| queue.tx.try_clone()).flatten();
            let rx = receivers.then(|| queue.rx.try_clone()).flatten();
            for level in (0..=most).step_by(1 + capacity / 8).chain([most; 3]) {
                while queue.len() < level && queue.push_if_not_full() {
                    queue.count();
                }
                while queue.len() > level / 2 {
                    assert!(queue.pop());
                    queue.count();
                }
            }
            while queue.pop() {
                queue.count();
            }
            queue.count();
            drop((tx, rx));
        }
    }
}

/// While both sides work, no count is out of bounds, and what the only thread of a side is told is
/// true.
pub fn counted_meanwhile<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T> + Send,
    C: Consumer<Item = T> + Send,
{
    let (mut tx, mut rx) = subject.open(Config::new(20));
    let info = subject.info;
    // A position may be left without an item. A relaxed queue may count an item whose push is
    // unfinished.
    let has_gaps = info.relaxed
        || matches!(info.algorithm(), "lprq" | "lcrq" | "lcrq-pool" | "scq" | "scq-delayed");
    // A list counts whole rings.
    let most = if info.bounded { tx.slots() } else { usize::MAX - 1 };
    let clones = (tx.try_clone(), rx.try_clone());
    let send = move || {
        for _ in 0..scaled(40_000) {
            assert!(tx.len() <= most);
            let is_full = tx.is_full();
            match tx.try_push(Item::of(0)) {
                Err(TryPushError::Full(_)) => {
                    assert!(is_full || info.relaxed, "full, though there was room");
                }
                Err(TryPushError::Closed(_)) => return,
                _ => {}
            }
            tx.flush();
        }
    };
    let receive = move || {
        for _ in 0..scaled(40_000) {
            assert!(rx.len() <= most);
            let is_empty = rx.is_empty();
            match rx.try_pop() {
                Err(TryPopError::Empty) => assert!(is_empty || has_gaps, "an item vanished"),
                Err(TryPopError::Closed) => return,
                _ => {}
            }
        }
    };
    both(Cores::Two, send, receive);
    drop(clones);
}

/// All observers see the effect of a dropped or partly committed chunk.
pub fn observed_after_chunks<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(40));
    for n in 0..queue.slots() + 2 {
        queue.write_chunk(n, n / 2);
        queue.observe();
        queue.read_chunk(n, 0);
        queue.observe();
        queue.read_chunk(n, n / 3);
        queue.observe();
    }
}

/// While the other side works, no observer's answer is out of bounds, and later calls confirm it
/// (row `head_tail_reordered`).
pub fn head_tail_reordered<T: Item + Copy>(subject: &Single<T>) {
    let (mut tx, mut rx) = subject.open(Config::new(20));
    let slots = tx.slots();
    // Between two looks more items pass than the queue has slots: then the first look's counters
    // are out of date.
    let unseen = slots + 1;
    let send = move || {
        for _ in 0..scaled(10_000) {
            let free = tx.free_slots(usize::MAX);
            assert!(free <= slots, "{free} free of {slots}");
            for _ in 0..free {
                assert!(tx.try_push(Item::of(0)).is_ok(), "as many slots were free");
            }
            attempt(unseen, || match tx.try_push(Item::of(0)) {
                Ok(()) => Some(true),
                Err(error) => matches!(error, TryPushError::Closed(_)).then_some(false),
            });
            tx.flush();
        }
    };
    let receive = move || {
        while !rx.is_closed() {
            let len = rx.len();
            assert!(len <= slots, "{len} items of {slots}");
            assert!(rx.is_empty() <= (len == 0), "items do not vanish");
            for _ in 0..len {
                assert!(rx.try_pop().is_ok(), "as many items were there");
            }
            attempt(unseen, || match rx.try_pop() {
                Ok(_) => Some(true),
                Err(error) => (error == TryPopError::Closed).then_some(false),
            });
        }
    };
    both(Cores::Two, send, receive);
}

/// Calls `step` until it has succeeded `n` times or fails. Waits while it has no answer.
fn attempt(n: usize, mut step: impl FnMut() -> Option<bool>) {
    (0..n).all(|_| Patience::until(&mut step));
}
