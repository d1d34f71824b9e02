// Above 500 lines: one broken ring for each known bug, side by side.

//! Queues with a bug, run at full speed: their histories suffice to find it. One file, so that all
//! mechanisms can be compared.
//!
//! Each is the mechanism of one queue, reduced to the necessary, with a switch that breaks it. All
//! slots are atomic, so no bug is undefined behaviour. Some bugs need luck, or a machine with
//! weaker memory ordering than x86. Their mechanisms [linger] between the two steps that they have
//! exchanged.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};

use corelane::{
    BoxedSingleConsumer, BoxedSingleProducer, Consumer, LendItems, LendSlots, LentItems, LentSlots,
    Producer, TryPopError, TryPushError,
};
use corelane_history::{Pace, Plan, Rules, Violation, Way, Witness, record_all};

/// How items get from the producer to the consumer.
trait Mechanism: Sync + Send + 'static {
    const SLOTS: usize;
    const CAPACITY: usize = Self::SLOTS;
    const DELAYED: bool = false;
    /// Whether full and empty answers must agree with each other.
    const AGREES: bool = false;
    /// Whether the bug shows only when the queue closes, so that it needs many histories.
    const AT_THE_END: bool = false;
    /// The producer's private state.
    type Tx: Default + Send;
    /// The consumer's private state.
    type Rx: Default + Send;

    fn new(broken: bool) -> Self;
    /// Appends an item. `false` if there is no room.
    fn push(&self, tx: &mut Self::Tx, item: u64) -> bool;
    fn pop(&self, rx: &mut Self::Rx) -> Option<u64>;
    fn flush(&self, _tx: &mut Self::Tx) {}
    /// Called when the producer is dropped.
    fn close(&self, _tx: &mut Self::Tx) {}
    /// Whether the consumer looks for items before it checks whether the producer is gone.
    fn looks_late(&self) -> bool {
        false
    }
}

/// Waits a moment, where a real thread might lose its core.
fn linger() {
    (0..20).for_each(|_| std::hint::spin_loop());
}

struct Shared<M> {
    mechanism: M,
    gone: [AtomicBool; 2],
}

struct Sender<M: Mechanism>(M::Tx, Arc<Shared<M>>);

struct Receiver<M: Mechanism>(M::Rx, Arc<Shared<M>>);

fn queue<M: Mechanism>(broken: bool) -> (Sender<M>, Receiver<M>) {
    let gone = [AtomicBool::new(false), AtomicBool::new(false)];
    let shared = Arc::new(Shared { mechanism: M::new(broken), gone });
    (Sender(M::Tx::default(), shared.clone()), Receiver(M::Rx::default(), shared))
}

impl<M: Mechanism> Producer for Sender<M> {
    type Item = u64;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        match self.1.mechanism.push(&mut self.0, item) {
            true => Ok(()),
            false => Err(TryPushError::Full(item)),
        }
    }

    fn capacity(&self) -> usize {
        M::CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.1.gone[1].load(Acquire)
    }

    fn flush(&mut self) {
        self.1.mechanism.flush(&mut self.0);
    }
}

/// Lends no slots.
impl<M: Mechanism> LendSlots for Sender<M> {
    fn free_up_to(&mut self, _: usize) -> usize {
        0
    }

    unsafe fn lend(&mut self, _: usize) -> LentSlots<'_, u64> {
        (&mut [], &mut [])
    }

    unsafe fn publish(&mut self, _: usize) {}
}

impl<M: Mechanism> Consumer for Receiver<M> {
    type Item = u64;

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        let before = self.is_closed();
        self.1.mechanism.pop(&mut self.0).ok_or_else(|| {
            let late = self.1.mechanism.looks_late() && self.is_closed();
            if before || late { TryPopError::Closed } else { TryPopError::Empty }
        })
    }

    fn capacity(&self) -> usize {
        M::CAPACITY
    }

    fn is_closed(&self) -> bool {
        self.1.gone[0].load(Acquire)
    }
}

// SAFETY: no items are lent.
unsafe impl<M: Mechanism> LendItems for Receiver<M> {
    fn filled_up_to(&mut self, _: usize) -> usize {
        0
    }

    unsafe fn lend(&mut self, _: usize) -> LentItems<'_, u64> {
        (&mut [], &mut [])
    }

    unsafe fn release(&mut self, _: usize) {}
}

impl<M: Mechanism> Drop for Sender<M> {
    fn drop(&mut self) {
        self.1.mechanism.close(&mut self.0);
        self.1.gone[0].store(true, Release);
    }
}

impl<M: Mechanism> Drop for Receiver<M> {
    fn drop(&mut self) {
        self.1.gone[1].store(true, Release);
    }
}

/// A ring with two shared counters, and Lamport's consumer.
struct Counted {
    slots: [AtomicU64; Self::N as usize],
    write: AtomicU64,
    read: AtomicU64,
    broken: bool,
}

/// The private state of a producer of such a ring.
#[derive(Default)]
struct Local {
    write: u64,
    read_shadow: u64,
}

impl Counted {
    const N: u64 = 8;

    fn new(broken: bool) -> Self {
        let slots = [(); Self::N as usize].map(|()| AtomicU64::new(u64::MAX));
        Self { slots, write: AtomicU64::new(0), read: AtomicU64::new(0), broken }
    }

    fn slot(&self, position: u64) -> &AtomicU64 {
        &self.slots[(position % Self::N) as usize]
    }

    /// Whether the ring is full even after a load of the shared counter.
    fn stays_full(&self, tx: &mut Local) -> bool {
        if tx.write - tx.read_shadow >= Self::N {
            tx.read_shadow = self.read.load(Acquire);
        }
        tx.write - tx.read_shadow >= Self::N
    }

    fn put(&self, tx: &mut Local, item: u64) {
        self.slot(tx.write).store(item, Relaxed);
        tx.write += 1;
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        if *read == self.write.load(Acquire) {
            return None;
        }
        let item = self.slot(*read).load(Relaxed);
        *read += 1;
        self.read.store(*read, Release);
        Some(item)
    }
}

/// A mechanism on such a ring: only the producer differs.
macro_rules! on_counted {
    ($(#[$doc:meta])* $name:ident, $delayed:literal, $push:expr, $close:expr) => {
        $(#[$doc])*
        struct $name(Counted);

        impl Mechanism for $name {
            const SLOTS: usize = Counted::N as usize;
            const DELAYED: bool = $delayed;
            type Tx = Local;
            type Rx = u64;

            fn new(broken: bool) -> Self {
                Self(Counted::new(broken))
            }

            fn push(&self, tx: &mut Local, item: u64) -> bool {
                let push: fn(&Counted, &mut Local, u64) -> bool = $push;
                push(&self.0, tx, item)
            }

            fn pop(&self, read: &mut u64) -> Option<u64> {
                self.0.pop(read)
            }

            fn flush(&self, tx: &mut Local) {
                self.0.write.store(tx.write, Release);
            }

            fn close(&self, tx: &mut Local) {
                let close: fn(&Counted, &mut Local) = $close;
                close(&self.0, tx);
            }
        }
    };
}

on_counted! {
    /// `lq`. Broken: the counter's store is not a release, so some machines show it before the
    /// item.
    Lamport, false,
    |ring, tx, item| {
        tx.read_shadow = ring.read.load(Acquire);
        if tx.write - tx.read_shadow >= Counted::N {
            return false;
        }
        if ring.broken {
            ring.write.store(tx.write + 1, Relaxed);
            linger();
        }
        ring.put(tx, item);
        ring.write.store(tx.write, Release);
        true
    },
    |_, _| {}
}

on_counted! {
    /// `llq`. Broken: after a load of the counter, the producer assumes that there is room.
    Lazy, false,
    |ring, tx, item| {
        if ring.stays_full(tx) && !ring.broken {
            return false;
        }
        ring.put(tx, item);
        ring.write.store(tx.write, Release);
        true
    },
    |_, _| {}
}

on_counted! {
    /// `blq`. Broken: the counter is advanced before the slots are filled.
    Batched, false,
    |ring, tx, item| {
        if ring.stays_full(tx) {
            return false;
        }
        if ring.broken {
            ring.write.store(tx.write + 1, Release);
            linger();
        }
        ring.put(tx, item);
        if !ring.broken {
            ring.write.store(tx.write, Release);
        }
        true
    },
    |_, _| {}
}

on_counted! {
    /// `mcring`. Broken: the rest of a batch is not published when the producer is dropped.
    McRing, true,
    |ring, tx, item| {
        if ring.stays_full(tx) {
            return false;
        }
        ring.put(tx, item);
        if tx.write.is_multiple_of(4) {
            ring.write.store(tx.write, Release);
        }
        true
    },
    |ring, tx| {
        if !ring.broken {
            ring.write.store(tx.write, Release);
        }
    }
}

/// `lq` whose full and empty answers agree with each other, because a fence makes each side's last
/// store visible before the side looks again. Broken: no fence, as in all queues of the library.
struct Fenced(Counted);

impl Fenced {
    /// Tries, and after a failure tries again behind a fence.
    fn insist<R>(&self, mut try_it: impl FnMut() -> Option<R>) -> Option<R> {
        try_it().or_else(|| {
            if self.0.broken {
                return None;
            }
            fence(SeqCst);
            try_it()
        })
    }
}

impl Mechanism for Fenced {
    const SLOTS: usize = Counted::N as usize;
    const AGREES: bool = true;
    type Tx = Local;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        Self(Counted::new(broken))
    }

    fn push(&self, tx: &mut Local, item: u64) -> bool {
        let room = self.insist(|| (!self.0.stays_full(tx)).then_some(()));
        if room.is_some() {
            self.0.put(tx, item);
            self.0.write.store(tx.write, Release);
        }
        room.is_some()
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        self.insist(|| self.0.pop(read))
    }
}

/// The end of any queue. Broken: the consumer checks whether the producer is gone after it has
/// looked for items, so the last items may come in between.
struct Closing(Counted);

impl Mechanism for Closing {
    const SLOTS: usize = Counted::N as usize;
    const AT_THE_END: bool = true;
    type Tx = Local;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        Self(Counted::new(broken))
    }

    fn push(&self, tx: &mut Local, item: u64) -> bool {
        let room = !self.0.stays_full(tx);
        if room {
            self.0.put(tx, item);
            self.0.write.store(tx.write, Release);
        }
        room
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        self.0.pop(read)
    }

    fn looks_late(&self) -> bool {
        self.0.broken
    }
}

/// A slot with a flag.
struct Slot {
    full: AtomicBool,
    item: AtomicU64,
}

impl Slot {
    fn is_full(&self) -> bool {
        self.full.load(Acquire)
    }

    fn fill(&self, item: u64) {
        self.item.store(item, Relaxed);
        self.full.store(true, Release);
    }

    fn item(&self) -> u64 {
        self.item.load(Relaxed)
    }

    fn clear(&self) {
        self.full.store(false, Release);
    }
}

/// A ring of these slots.
struct Flagged<const N: usize> {
    slots: [Slot; N],
    broken: bool,
}

impl<const N: usize> Flagged<N> {
    fn new(broken: bool) -> Self {
        let slot = || Slot { full: AtomicBool::new(false), item: AtomicU64::new(u64::MAX) };
        Self { slots: [(); N].map(|()| slot()), broken }
    }

    fn at(&self, position: u64) -> &Slot {
        &self.slots[position as usize % N]
    }

    /// FastForward's enqueue.
    fn push(&self, write: &mut u64, item: u64) -> bool {
        let room = !self.at(*write).is_full();
        if room {
            self.at(*write).fill(item);
            *write += 1;
        }
        room
    }

    /// FastForward's dequeue.
    fn pop(&self, read: &mut u64) -> Option<u64> {
        let slot = self.at(*read);
        slot.is_full().then(|| {
            let item = slot.item();
            slot.clear();
            *read += 1;
            item
        })
    }
}

/// `ffq`. Broken: the slot is freed while its item is still in it.
struct FastForward(Flagged<8>);

impl Mechanism for FastForward {
    const SLOTS: usize = 8;
    type Tx = u64;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        Self(Flagged::new(broken))
    }

    fn push(&self, write: &mut u64, item: u64) -> bool {
        self.0.push(write, item)
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        if !self.0.broken {
            return self.0.pop(read);
        }
        let slot = self.0.at(*read);
        slot.is_full().then(|| {
            slot.clear();
            *read += 1;
            linger();
            slot.item()
        })
    }
}

/// `iffq` with partitions of one slot. Broken: the partition before the first item does not look
/// full in the first lap, so the producer gets too close to the consumer.
struct Improved(Flagged<4>);

/// Next position to fill, and first position that can't be used yet.
#[derive(Default)]
struct Limited {
    write: u64,
    limit: u64,
}

impl Mechanism for Improved {
    const SLOTS: usize = 2;
    type Tx = Limited;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        let ring = Flagged::new(broken);
        ring.at(0).full.store(!broken, Relaxed);
        Self(ring)
    }

    fn push(&self, tx: &mut Limited, item: u64) -> bool {
        if tx.write == tx.limit {
            if self.0.at(tx.limit + 2).is_full() {
                return false;
            }
            tx.limit += 1;
        }
        self.0.at(tx.write + 1).fill(item);
        tx.write += 1;
        true
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        let slot = self.0.at(*read + 1);
        slot.is_full().then(|| {
            let item = slot.item();
            // The previous slot. This slot stays full, to keep the producer away.
            self.0.at(*read).clear();
            *read += 1;
            item
        })
    }
}

/// The batches of `biffq`. Broken: the producer checks the first slot of a batch and not the last.
struct Batch(Flagged<8>);

impl Mechanism for Batch {
    const SLOTS: usize = 8;
    const CAPACITY: usize = 5;
    type Tx = Limited;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        Self(Flagged::new(broken))
    }

    fn push(&self, tx: &mut Limited, item: u64) -> bool {
        if tx.write == tx.limit {
            let looked_at = if self.0.broken { tx.write } else { tx.write + 3 };
            if self.0.at(looked_at).is_full() {
                return false;
            }
            tx.limit += 4;
        }
        self.0.at(tx.write).fill(item);
        tx.write += 1;
        true
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        self.0.pop(read)
    }
}

/// `bqueue`'s consumer with batches of one. Broken: the last full slot is used as the first slot
/// that is not full.
struct BQueue(Flagged<8>);

/// Next position to empty, and the last position of the batch, or the first one past it.
#[derive(Default)]
struct Behind {
    tail: u64,
    batch_tail: u64,
}

impl Mechanism for BQueue {
    const SLOTS: usize = 8;
    type Tx = u64;
    type Rx = Behind;

    fn new(broken: bool) -> Self {
        Self(Flagged::new(broken))
    }

    fn push(&self, head: &mut u64, item: u64) -> bool {
        self.0.push(head, item)
    }

    fn pop(&self, rx: &mut Behind) -> Option<u64> {
        if rx.tail == rx.batch_tail {
            if !self.0.at(rx.tail).is_full() {
                return None;
            }
            rx.batch_tail = if self.0.broken { rx.tail } else { rx.tail + 1 };
        }
        let slot = self.0.at(rx.tail);
        let item = slot.item();
        slot.clear();
        rx.tail += 1;
        Some(item)
    }
}

/// `linering` with lines of one item. Broken: the consumer stores to a line that it has freed.
struct LineRing {
    lines: [(AtomicU64, AtomicU64); 2],
    read: AtomicU64,
    broken: bool,
}

impl LineRing {
    fn line(&self, position: u64) -> &(AtomicU64, AtomicU64) {
        &self.lines[position as usize % 2]
    }
}

impl Mechanism for LineRing {
    const SLOTS: usize = 2;
    type Tx = u64;
    type Rx = u64;

    fn new(broken: bool) -> Self {
        let lines = [0, 0].map(|tail| (AtomicU64::new(tail), AtomicU64::new(u64::MAX)));
        Self { lines, read: AtomicU64::new(0), broken }
    }

    fn push(&self, write: &mut u64, item: u64) -> bool {
        if *write == self.read.load(Acquire) + 2 {
            return false;
        }
        let (tail, place) = self.line(*write);
        place.store(item, Relaxed);
        *write += 1;
        tail.store(*write, Release);
        true
    }

    fn pop(&self, read: &mut u64) -> Option<u64> {
        let (tail, place) = self.line(*read);
        if tail.load(Acquire) <= *read {
            return None;
        }
        let item = place.load(Relaxed);
        *read += 1;
        if self.broken {
            self.read.store(*read, Release);
            linger();
        }
        // The hand-back: stores no new value, but the consumer owns the line for a moment.
        tail.store(*read, Relaxed);
        if !self.broken {
            self.read.store(*read, Release);
        }
        Some(item)
    }
}

/// Records and checks the histories of a round. Returns a violation, if there is one.
fn round<M: Mechanism>(broken: bool, number: u64) -> Option<Witness> {
    let one_of = |choices: [Pace; 4]| choices[number as usize % choices.len()];
    let plan = Plan {
        queues: if M::AT_THE_END { 500 } else { 1 },
        // Not a multiple of the batch.
        pushes: if M::AT_THE_END { 10 } else { 1003 },
        period: if number.is_multiple_of(3) { 16 } else { 1 },
        way: Way::Single,
        pace: one_of([Pace::SlowConsumer, Pace::SlowProducer, Pace::Bursts, Pace::Even]),
        one_core: false,
        ..Plan::of_round(number)
    };
    let queues =
        (0..plan.queues).map(|_| -> (BoxedSingleProducer<u64>, BoxedSingleConsumer<u64>) {
            let (tx, rx) = queue::<M>(broken);
            (Box::new(tx), Box::new(rx))
        });
    let (slots, capacity, delayed) = (Some(M::SLOTS), M::CAPACITY, M::DELAYED);
    let rules = Rules { slots, capacity, delayed, ..Rules::default() };
    record_all(&plan, queues).into_iter().find_map(|recording| {
        let witness = recording.check(&rules).err()?;
        let stale = !M::AGREES && matches!(witness.violation, Violation::FullAndEmpty { .. });
        (!stale).then_some(witness)
    })
}

/// Checks that the monitor finds the bug, and finds no violation without it.
fn found<M: Mechanism>() {
    for number in 0..12 {
        let witness = round::<M>(false, number);
        assert!(witness.is_none(), "{}", witness.unwrap());
    }
    // Most bugs need few rounds. Some need both threads to run at the same time, which takes many
    // rounds while other programs keep the cores busy.
    let witness = (0..50_000).find_map(|number| round::<M>(true, number));
    println!("{}", witness.expect("the bug shows"));
}

macro_rules! found {
    ($($queue:ident: $mechanism:ty,)*) => {$(
        #[test]
        fn $queue() {
            found::<$mechanism>();
        }
    )*};
}

found! {
    lq: Lamport,
    llq: Lazy,
    blq: Batched,
    mcring: McRing,
    ffq: FastForward,
    iffq: Improved,
    biffq: Batch,
    bqueue: BQueue,
    linering: LineRing,
    closing: Closing,
    full_and_empty: Fenced,
}
