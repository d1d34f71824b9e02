//! Queues with a fault, to show that the tests detect faults.

use coherence::Schedule;
use corelane_sim::lamport;
use corelane_sim::{
    Built, Config, Consumer, Info, LendItems, LendSlots, LentItems, LentSlots, Producer,
    TryPopError, TryPushError,
};
use corelane_simulate::{Case, Failed, Queue, THREADS, machine};

/// The fault of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A push drops its item.
    Loses,
    /// A pop drops an item that it also returns.
    DropsTwice,
    /// The drop of the consumer leaks an item.
    Leaks,
    /// A pop of an empty queue says closed.
    ClosesEarly,
    /// No pop ever says closed.
    NeverCloses,
    /// It counts one item more than it has.
    PromisesItems,
    /// It counts one free slot more than it has.
    PromisesRoom,
    /// It drops the rest of a chunk of which more than one item was taken.
    ReleasesAll,
    /// After its counter has wrapped, it says full for ever.
    StopsAtWrap,
}

use Fault::*;

/// The faults by number.
const ALL: [Fault; 9] = [
    Loses,
    DropsTwice,
    Leaks,
    ClosesEarly,
    NeverCloses,
    PromisesItems,
    PromisesRoom,
    ReleasesAll,
    StopsAtWrap,
];

/// Number of the wrong call, if only one call is wrong.
const WRONG_CALL: u32 = 4;

struct Tx<T> {
    tx: lamport::Producer<T>,
    fault: Fault,
    pushes: u32,
    /// The counter of a real queue.
    position: u64,
}

struct Rx<T: Send> {
    rx: lamport::Consumer<T>,
    fault: Fault,
    pops: u32,
    /// Items of the chunk, until some are released.
    lent: usize,
}

impl<T> Tx<T> {
    fn is_stopped(&self) -> bool {
        self.fault == StopsAtWrap && self.position == 0
    }
}

impl<T: Send> Producer for Tx<T> {
    type Item = T;

    fn try_push(&mut self, item: T) -> Result<(), TryPushError<T>> {
        self.pushes += 1;
        if self.fault == Loses && self.pushes == WRONG_CALL {
            return Ok(());
        }
        if self.is_stopped() {
            return Err(TryPushError::Full(item));
        }
        let pushed = self.tx.try_push(item);
        self.position = self.position.wrapping_add(u64::from(pushed.is_ok()));
        pushed
    }

    fn capacity(&self) -> usize {
        self.tx.capacity()
    }

    fn is_closed(&self) -> bool {
        self.tx.is_closed()
    }
}

impl<T: Send> LendSlots for Tx<T> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        match self.is_stopped() {
            true => 0,
            false => self.tx.free_slots(wanted) + usize::from(self.fault == PromisesRoom),
        }
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        if self.is_stopped() { 0 } else { self.tx.free_slots(wanted) }
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, T> {
        // SAFETY: the caller's contract.
        unsafe { self.tx.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        self.position = self.position.wrapping_add(n as u64);
        // SAFETY: the caller's contract.
        unsafe { self.tx.publish(n) }
    }
}

impl<T: Send> Consumer for Rx<T> {
    type Item = T;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        let popped = self.rx.try_pop();
        self.pops += 1;
        match popped {
            Err(TryPopError::Empty) if self.fault == ClosesEarly => Err(TryPopError::Closed),
            Err(TryPopError::Closed) if self.fault == NeverCloses => Err(TryPopError::Empty),
            Ok(item) if self.fault == DropsTwice && self.pops == WRONG_CALL => {
                // SAFETY: an item owns nothing.
                drop(unsafe { std::ptr::read(&item) });
                Ok(item)
            }
            popped => popped,
        }
    }

    fn capacity(&self) -> usize {
        self.rx.capacity()
    }

    fn is_closed(&self) -> bool {
        self.fault != NeverCloses && self.rx.is_closed()
    }
}

// SAFETY: the chunks are the ring's. `try_pop` drops only numbers twice.
unsafe impl<T: Send> LendItems for Rx<T> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.rx.available(wanted) + usize::from(self.fault == PromisesItems)
    }

    fn lendable(&mut self, wanted: usize) -> usize {
        self.rx.available(wanted)
    }

    unsafe fn lend(&mut self, n: usize) -> LentItems<'_, T> {
        self.lent = self.lent.max(n);
        // SAFETY: the caller's contract.
        unsafe { self.rx.lend(n) }
    }

    unsafe fn release(&mut self, n: usize) {
        let lent = std::mem::take(&mut self.lent);
        let n = if self.fault == ReleasesAll && n > 1 { lent } else { n };
        // SAFETY: the caller's; or items are lost, which own nothing.
        unsafe { self.rx.release(n) }
    }
}

impl<T: Send> Drop for Rx<T> {
    fn drop(&mut self) {
        if self.fault == Leaks {
            std::mem::forget(self.rx.try_pop());
        }
    }
}

/// Lamport's queue with the fault of this number.
struct Faulty<const FAULT: u8>;

impl<T: Send, const FAULT: u8> corelane_sim::Queue<T> for Faulty<FAULT> {
    const INFO: Info = Info { id: "faulty", ..Info::RING };
    type Producer = Tx<T>;
    type Consumer = Rx<T>;

    fn with(config: Config) -> Built<Tx<T>, Rx<T>> {
        let fault = ALL[FAULT as usize];
        // The counter reaches 0 only when it wraps.
        let position = if config.first == 0 { 1 } else { config.first };
        let (tx, rx) = lamport::queue_with(config)?;
        Ok((Tx { tx, fault, pushes: 0, position }, Rx { rx, fault, pops: 0, lent: 0 }))
    }
}

/// Checks that a run of a queue fails with this message, and that the seed repeats it.
#[track_caller]
fn assert_noticed<const FAULT: u8>(expected: &str) {
    let queue = Queue::single::<Faulty<FAULT>>();
    // If items aren't counted, some faults do no harm.
    let seeds = (0..100).filter(|seed| Case::new(*seed).counts_drops);
    let fails = |seed| queue.replay(seed, Schedule::Random).err();
    let failed: Failed = { seeds }.find_map(fails).expect("a run fails");
    assert!(failed.what.contains(expected), "{failed}");
    assert_eq!(fails(failed.seed), Some(failed));
}

#[test]
fn lost_items_are_noticed() {
    assert_noticed::<{ Loses as u8 }>("expected 3");
}

#[test]
fn items_dropped_twice_are_noticed() {
    assert_noticed::<{ DropsTwice as u8 }>("was dropped 2 times");
}

#[test]
fn leaks_are_noticed() {
    assert_noticed::<{ Leaks as u8 }>("was dropped 0 times");
}

#[test]
fn early_ends_are_noticed() {
    assert_noticed::<{ ClosesEarly as u8 }>("closed after");
}

#[test]
fn late_ends_are_noticed() {
    assert_noticed::<{ NeverCloses as u8 }>("nothing was written for long");
}

#[test]
fn false_promises_are_noticed() {
    assert_noticed::<{ PromisesItems as u8 }>("an available item");
    assert_noticed::<{ PromisesRoom as u8 }>("no room for items that were said to fit");
}

#[test]
fn dropped_rests_of_chunks_are_noticed() {
    assert_noticed::<{ ReleasesAll as u8 }>(", expected ");
}

#[test]
fn wrong_wraps_are_noticed() {
    assert_noticed::<{ StopsAtWrap as u8 }>("nothing was written for long");
}

#[test]
fn cases_are_of_all_kinds() {
    let some = |is: fn(&Case) -> bool| assert!((0..300).any(|seed| is(&Case::new(seed))));
    some(|case| case.counts_drops && case.is_ring);
    some(|case| !case.counts_drops && !case.is_ring);
    some(|case| !case.flushes && case.quitter >= case.threads as u64);
    some(|case| case.quitter < case.threads as u64);
    some(|case| case.threads == THREADS);
    assert!(machine().store_buffer.entries > 0);
}
