//! Several producers and consumers of queues with a fault that the monitor must find.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use corelane::{
    BoxedConsumer, BoxedProducer, Consumer, Producer, Sides, TryPopError, TryPushError,
};
use corelane_history::{Plan, Rules, Violation, Witness, record_several};

/// The fault of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Each producer has a row of its own. So its items are in order among themselves, but not with
    /// the items of others.
    RowForEachProducer,
    /// Consumers read the oldest item before they take it, in two steps.
    LooksBeforeItTakes,
    /// While one consumer pops, other consumers are told empty.
    EmptyForOthers,
    /// While one producer pushes, other producers are told full.
    FullForOthers,
    /// Producers check for room before they push, in two steps, so several of them may fill the
    /// last slot.
    LooksBeforeItFills,
    /// A consumer loses an item now and then.
    Forgets,
    /// The queue is closed when the first of several producers is dropped.
    ClosedByTheFirst,
    /// After some items, all calls say busy.
    BusyForEver,
}

const CAPACITY: usize = 8;

/// Rows of items: one, or one for each producer.
type Rows = Vec<VecDeque<u64>>;

struct Shared {
    fault: Fault,
    rows: Mutex<Rows>,
    popped: AtomicUsize,
    /// Producers and consumers that were made, and that exist.
    made: [usize; 2],
    present: [AtomicUsize; 2],
}

impl Shared {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Takes the lock. If another thread has it and `may_fail`, returns `None`.
    fn lock(&self, may_fail: bool) -> Option<MutexGuard<'_, Rows>> {
        loop {
            match self.rows.try_lock() {
                Ok(rows) => return Some(rows),
                Err(TryLockError::WouldBlock) if may_fail => return None,
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    fn is_gone(&self, side: usize) -> bool {
        let present = self.present[side].load(SeqCst);
        let first = side == 0 && self.has(Fault::ClosedByTheFirst) && present < self.made[0];
        present == 0 || first
    }

    /// Appends an item. Returns whether there was room, or `None` for busy.
    fn push(&self, producer: usize, item: u64) -> Option<bool> {
        if self.has(Fault::BusyForEver) && self.popped.load(SeqCst) > 200 {
            return None;
        }
        let Some(mut rows) = self.lock(self.has(Fault::FullForOthers)) else { return Some(false) };
        let has_room = rows.iter().map(VecDeque::len).sum::<usize>() < CAPACITY;
        if has_room && self.has(Fault::LooksBeforeItFills) {
            drop(rows);
            linger();
            rows = self.lock(false)?;
        }
        if has_room {
            linger();
            let row = if self.has(Fault::RowForEachProducer) { producer } else { 0 };
            rows[row].push_back(item);
        }
        Some(has_room)
    }

    /// The oldest item.
    fn pop(&self) -> Option<u64> {
        let mut rows = self.lock(self.has(Fault::EmptyForOthers))?;
        linger();
        let row = rows.iter().position(|row| !row.is_empty())?;
        let count = self.popped.fetch_add(1, SeqCst);
        if self.has(Fault::Forgets) && count == 100 {
            rows[row].pop_front();
            return None;
        }
        if !self.has(Fault::LooksBeforeItTakes) {
            return rows[row].pop_front();
        }
        let item = rows[row].front().copied();
        drop(rows);
        linger();
        self.lock(false)?[row].pop_front();
        item
    }
}

/// Waits a moment, where a real thread might lose its core.
fn linger() {
    (0..20).for_each(|_| std::hint::spin_loop());
}

/// A handle: its side, and its number on this side.
struct Handle<const SIDE: usize>(Arc<Shared>, usize);

impl Producer for Handle<0> {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        match self.0.push(self.1, item) {
            Some(true) => Ok(()),
            Some(false) => Err(TryPushError::Full(item)),
            None => Err(TryPushError::Busy(item)),
        }
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.0.is_gone(1)
    }
}

impl Consumer for Handle<1> {
    type Item = u64;

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        let closed = self.is_closed();
        let end = if closed { TryPopError::Closed } else { TryPopError::Empty };
        self.0.pop().ok_or(end)
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.0.is_gone(0)
    }
}

impl<const SIDE: usize> Drop for Handle<SIDE> {
    fn drop(&mut self) {
        self.0.present[SIDE].fetch_sub(1, SeqCst);
    }
}

type Handles = (Vec<BoxedProducer<u64>>, Vec<BoxedConsumer<u64>>);

fn queue(fault: Fault, plan: &Plan) -> Handles {
    let made = [plan.producers, plan.consumers];
    let rows = Mutex::new(vec![VecDeque::new(); made[0]]);
    let shared = Shared {
        fault,
        rows,
        popped: AtomicUsize::new(0),
        made,
        present: made.map(AtomicUsize::new),
    };
    let shared = Arc::new(shared);
    let handle = |number| Handle::<0>(shared.clone(), number);
    let txs = (0..made[0]).map(|number| BoxedProducer::new(handle(number))).collect();
    let handle = |number| Handle::<1>(shared.clone(), number);
    (txs, (0..made[1]).map(|number| BoxedConsumer::new(handle(number))).collect())
}

/// A round with at least two threads a side. Returns the violation, if there is one.
fn round(fault: Fault, number: u64) -> Option<Witness> {
    let plan = Plan::of_sides(number, Sides::ManyToMany);
    let plan = Plan {
        producers: plan.producers.max(2),
        consumers: plan.consumers.max(2),
        queues: 1,
        // Few, for machines where each item costs a switch between threads.
        pushes: 300,
        one_core: false,
        ..plan
    };
    let rules = Rules { slots: Some(CAPACITY), capacity: CAPACITY, ..Rules::default() };
    record_several(&plan, [queue(fault, &plan)])
        .into_iter()
        .find_map(|recording| recording.check(&rules).err())
}

/// Checks that the monitor finds the fault as the right violation, and finds no violation without
/// it.
fn found(fault: Fault, is_right: fn(&Violation) -> bool) {
    let witness = (0..2_000).find_map(|number| round(fault, number)).expect("the fault shows");
    println!("{fault:?}: {witness}\n");
    assert!(is_right(&witness.violation), "{witness}");
}

#[test]
fn nothing_is_found_without_a_fault() {
    for number in 0..12 {
        let witness = round(Fault::None, number);
        assert!(witness.is_none(), "{number}: {}", witness.unwrap());
    }
}

#[test]
fn order_between_two_producers() {
    found(Fault::RowForEachProducer, |violation| matches!(violation, Violation::Order));
}

#[test]
fn doubled_between_two_consumers() {
    let is_right = |found: &Violation| matches!(found, Violation::Repeated | Violation::Lost);
    found(Fault::LooksBeforeItTakes, is_right);
}

#[test]
fn falsely_empty_for_one_consumer() {
    found(Fault::EmptyForOthers, |violation| matches!(violation, Violation::FalseEmpty));
}

#[test]
fn falsely_full_for_one_producer() {
    found(Fault::FullForOthers, |violation| matches!(violation, Violation::FalseFull { .. }));
}

#[test]
fn overfull() {
    let is_right = |found: &Violation| matches!(found, Violation::Overfull { .. });
    found(Fault::LooksBeforeItFills, is_right);
}

/// A lost item is detected when all consumers have been told closed, or earlier by a later item.
#[test]
fn lost() {
    let is_right = |found: &Violation| matches!(found, Violation::Lost | Violation::Order);
    found(Fault::Forgets, is_right);
}

#[test]
fn closed_too_early() {
    let is_right = |found: &Violation| matches!(found, Violation::FalseClosed { .. });
    found(Fault::ClosedByTheFirst, is_right);
}

#[test]
fn stuck() {
    found(Fault::BusyForEver, |violation| matches!(violation, Violation::Stuck { .. }));
}
