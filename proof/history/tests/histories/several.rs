//! Several producers and consumers at queues with a fault, which must be found.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use corelane::{
    BoxedConsumer, BoxedProducer, Consumer, Producer, Sides, TryPopError, TryPushError,
};
use corelane_history::{Plan, Rules, Violation, Witness, record_several};

/// What is wrong with a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Each producer has a row of its own, so its items are in order, but not with those of others.
    RowForEachProducer,
    /// Consumers look at the oldest item before they take it.
    LooksBeforeItTakes,
    /// While one consumer pops, others are told that there is nothing.
    EmptyForOthers,
    /// While one producer pushes, others are told that there is no room.
    FullForOthers,
    /// Producers that come together all fill the last slot.
    LooksBeforeItFills,
    /// A consumer that found an item forgets it now and then.
    Forgets,
    /// Closed when the first of several producers has gone.
    ClosedByTheFirst,
    /// From some item on, all are told to come again.
    BusyForEver,
}

const CAPACITY: usize = 8;

/// Rows of items: one, or one for each producer.
type Rows = Vec<VecDeque<u64>>;

struct Shared {
    fault: Fault,
    rows: Mutex<Rows>,
    popped: AtomicUsize,
    /// Producers and consumers there were, and there are.
    made: [usize; 2],
    present: [AtomicUsize; 2],
}

impl Shared {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Behind the lock, unless another is there and `may_fail`.
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

    /// Appends an item. `None` if it can't be said whether there is room.
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

/// Waits a moment in a place where a thread might, as well, have lost its core.
fn linger() {
    (0..20).for_each(|_| std::hint::spin_loop());
}

/// A handle: of which side, and as its how many-th.
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

/// A round with two of each side at least, and what is wrong with it.
fn round(fault: Fault, number: u64) -> Option<Witness> {
    let plan = Plan::of_sides(number, Sides::ManyToMany);
    let plan = Plan {
        producers: plan.producers.max(2),
        consumers: plan.consumers.max(2),
        queues: 1,
        // Few enough for machines where each turn costs a switch between threads.
        pushes: 300,
        one_core: false,
        ..plan
    };
    let rules = Rules { slots: Some(CAPACITY), capacity: CAPACITY, ..Rules::default() };
    record_several(&plan, [queue(fault, &plan)])
        .into_iter()
        .find_map(|recording| recording.check(&rules).err())
}

/// The fault is found, and as what it is; without one nothing is.
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

/// What is lost is missed when all consumers have been told that nothing will come; or before, by an item
/// behind it.
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
