//! A queue that overwrites, with a fault that the monitor must find.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use corelane::{
    BoxedConsumer, BoxedProducer, Consumer, Producer, Sides, TryPopError, TryPushError,
};
use corelane_history::{Plan, Rules, Violation, Witness, record_several};

/// The fault of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// A push that makes room drops one block too many.
    DropsTwoBlocks,
    /// A push into a full queue drops no item.
    DropsNothing,
    /// A consumer that was overtaken continues with the newest item.
    SkipsToTheNewest,
    /// A consumer that was overtaken is told empty.
    EmptyAfterAll,
    /// A consumer that was overtaken gets its last item again.
    RepeatsTheLast,
    /// A push that makes room loses its own item.
    ForgetsWhatIsPushed,
}

const CAPACITY: usize = 8;
const BLOCK: usize = 2;

#[derive(Default)]
struct Items {
    queue: VecDeque<u64>,
    last: Option<u64>,
    /// Whether an item was overwritten since the last pop.
    overtaken: bool,
}

struct Shared {
    fault: Fault,
    items: Mutex<Items>,
    present: [AtomicUsize; 2],
}

impl Shared {
    fn push(&self, item: u64) {
        let mut items = self.items.lock().unwrap();
        if items.queue.len() >= CAPACITY {
            let drops = match self.fault {
                Fault::DropsNothing => 0,
                Fault::DropsTwoBlocks => 2 * BLOCK,
                _ => BLOCK,
            };
            items.queue.drain(..drops);
            items.overtaken = true;
            if self.fault == Fault::ForgetsWhatIsPushed {
                return;
            }
        }
        items.queue.push_back(item);
    }

    fn pop(&self) -> Option<u64> {
        let mut items = self.items.lock().unwrap();
        if std::mem::take(&mut items.overtaken) {
            match self.fault {
                Fault::SkipsToTheNewest => {
                    let newest = items.queue.len() - 1;
                    items.queue.drain(..newest);
                }
                Fault::EmptyAfterAll => return None,
                Fault::RepeatsTheLast => return items.last.or_else(|| items.queue.pop_front()),
                _ => {}
            }
        }
        let item = items.queue.pop_front()?;
        items.last = Some(item);
        Some(item)
    }

    fn is_gone(&self, side: usize) -> bool {
        self.present[side].load(SeqCst) == 0
    }
}

/// A handle of a side.
struct Handle<const SIDE: usize>(Arc<Shared>);

impl Producer for Handle<0> {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        self.0.push(item);
        Ok(())
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
        let end = if self.is_closed() { TryPopError::Closed } else { TryPopError::Empty };
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

/// A round with one or several threads a side. Returns the violation, if there is one.
fn round(fault: Fault, number: u64) -> Option<Witness> {
    let plan = Plan::of_sides(number, Sides::ManyToMany);
    let plan = Plan { queues: 1, pushes: 300, one_core: false, ..plan };
    let made = [plan.producers, plan.consumers];
    let present = made.map(AtomicUsize::new);
    let shared = Arc::new(Shared { fault, items: Mutex::default(), present });
    let txs = (0..made[0]).map(|_| BoxedProducer::new(Handle::<0>(shared.clone()))).collect();
    let rxs = (0..made[1]).map(|_| BoxedConsumer::new(Handle::<1>(shared.clone()))).collect();
    let (slots, kept) = (Some(CAPACITY), Some(CAPACITY - BLOCK));
    let rules = Rules { slots, kept, ..Rules::default() };
    record_several(&plan, [(txs, rxs)])
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

/// An item is missing: shown by a later item, by an empty answer, or at the end.
fn is_missed(found: &Violation) -> bool {
    matches!(found, Violation::Order | Violation::FalseEmpty | Violation::Lost)
}

#[test]
fn nothing_is_found_without_a_fault() {
    for number in 0..200 {
        let witness = round(Fault::None, number);
        assert!(witness.is_none(), "{number}: {}", witness.unwrap());
    }
}

/// The items that are left overtake an item that is dropped too early.
#[test]
fn overwritten_too_early() {
    found(Fault::DropsTwoBlocks, is_missed);
}

#[test]
fn not_overwritten() {
    found(Fault::DropsNothing, |found| matches!(found, Violation::Outlived { .. }));
}

#[test]
fn some_are_skipped() {
    found(Fault::SkipsToTheNewest, is_missed);
}

#[test]
fn falsely_empty() {
    found(Fault::EmptyAfterAll, |found| matches!(found, Violation::FalseEmpty | Violation::Lost));
}

#[test]
fn repeated() {
    found(Fault::RepeatsTheLast, |found| matches!(found, Violation::Repeated));
}

#[test]
fn forgotten() {
    found(Fault::ForgetsWhatIsPushed, is_missed);
}
