//! A sound queue behind handles that give wrong or rare answers.

use corelane::{
    Consumer, LendItems, LendSlots, LentItems, LentSlots, Producer, SingleConsumer, SingleProducer,
    TryPopError, TryPushError, b_queue,
};
use corelane_history::{Pace, Plan, Recording, Rules, Violation, Way, record};

/// The wrong or rare answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// After some calls, pops say busy for ever.
    PopsGetStuck,
    /// After some calls, pushes say busy for ever.
    PushesGetStuck,
    /// A push says closed while the consumer exists.
    ProducerToldClosed,
    /// A pop that finds no item says closed while the producer exists.
    ConsumerToldClosed,
    /// No pop ever says closed.
    NeverClosed,
    /// Every seventh push and pop says busy, which is allowed.
    Busy,
}

/// A handle that counts its calls.
struct Faulty<H> {
    inner: H,
    fault: Fault,
    calls: u32,
}

impl<H> Faulty<H> {
    fn new(inner: H, fault: Fault) -> Self {
        Self { inner, fault, calls: 0 }
    }

    /// Whether this call answers busy, whatever is in the queue.
    fn refuses(&mut self, stuck: Fault) -> bool {
        self.calls += 1;
        (self.fault == stuck && self.calls > 500)
            || (self.fault == Fault::Busy && self.calls.is_multiple_of(7))
    }
}

impl<H: SingleProducer> Producer for Faulty<H> {
    type Item = H::Item;

    fn try_push(&mut self, item: H::Item) -> Result<(), TryPushError<H::Item>> {
        match self.refuses(Fault::PushesGetStuck) {
            true => Err(TryPushError::Busy(item)),
            false => self.inner.try_push(item),
        }
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn slots(&self) -> usize {
        self.inner.slots()
    }

    fn is_closed(&self) -> bool {
        self.fault == Fault::ProducerToldClosed || self.inner.is_closed()
    }
}

impl<H: SingleProducer> LendSlots for Faulty<H> {
    fn free_up_to(&mut self, wanted: usize) -> usize {
        self.inner.free_slots(wanted)
    }

    /// The number of slots or items to lend: none if this call answers busy.
    fn lendable(&mut self, wanted: usize) -> usize {
        match self.refuses(Fault::PushesGetStuck) {
            true => 0,
            false => self.inner.lendable(wanted),
        }
    }

    unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, H::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.inner.lend(n) }
    }

    unsafe fn publish(&mut self, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.inner.publish(n) };
    }
}

impl<H: SingleConsumer> Consumer for Faulty<H> {
    type Item = H::Item;

    fn try_pop(&mut self) -> Result<H::Item, TryPopError> {
        if self.refuses(Fault::PopsGetStuck) {
            return Err(TryPopError::Busy);
        }
        self.inner.try_pop().map_err(|end| match self.fault {
            Fault::ConsumerToldClosed => TryPopError::Closed,
            Fault::NeverClosed => TryPopError::Empty,
            _ => end,
        })
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }
}

// SAFETY: no items are lent.
unsafe impl<H: SingleConsumer> LendItems for Faulty<H> {
    fn filled_up_to(&mut self, wanted: usize) -> usize {
        self.inner.available(wanted)
    }

    fn lendable(&mut self, _: usize) -> usize {
        0
    }

    unsafe fn lend(&mut self, _: usize) -> LentItems<'_, H::Item> {
        (&mut [], &mut [])
    }

    unsafe fn release(&mut self, _: usize) {}
}

fn recorded(plan: &Plan, [producer, consumer]: [Fault; 2]) -> (Recording, Rules) {
    let (tx, rx) = b_queue::queue::<u64>(plan.capacity).unwrap();
    let rules = Rules { slots: Some(tx.slots()), capacity: tx.capacity(), ..Rules::default() };
    let (tx, rx) = (Faulty::new(tx, producer), Faulty::new(rx, consumer));
    (record(plan, Box::new(tx), Box::new(rx)), rules)
}

const PLAN: Plan = Plan {
    capacity: 64,
    batch: None,
    relaxation: None,
    first: 0,
    producers: 1,
    consumers: 1,
    queues: 1,
    pushes: 20_000,
    period: 3,
    way: Way::Single,
    // So that the consumer finds the queue empty.
    pace: Pace::SlowProducer,
    one_core: false,
    seed: 0,
};

fn found(faults: [Fault; 2]) -> Violation {
    let (recording, rules) = recorded(&PLAN, faults);
    let witness = recording.check(&rules).expect_err("it did not come to its end");
    println!("{witness}\n");
    witness.violation
}

#[test]
fn a_stuck_queue() {
    use Fault::{NeverClosed, None, PopsGetStuck, PushesGetStuck};
    for faults in [[None, PopsGetStuck], [PushesGetStuck, None], [None, NeverClosed]] {
        let violation = found(faults);
        let Violation::Stuck { planned, pushed, popped } = violation else {
            panic!("{faults:?}: {violation}");
        };
        assert_eq!(planned, PLAN.pushes);
        assert_eq!(popped == planned, faults[1] == NeverClosed, "{pushed} pushed");
    }
}

#[test]
fn false_closed() {
    let told = |thread: usize, violation| {
        let right = matches!(violation, Violation::FalseClosed { thread: by, .. } if by == thread);
        assert!(right, "{violation}");
    };
    told(0, found([Fault::ProducerToldClosed, Fault::None]));
    told(1, found([Fault::None, Fault::ConsumerToldClosed]));
}

/// Busy is neither full nor empty.
#[test]
fn busy_is_no_alarm() {
    for (round, way) in [Way::Single, Way::Iterators].into_iter().cycle().take(24).enumerate() {
        let plan = Plan { queues: 1, pushes: 2_000, way, ..Plan::of_round(round as u64) };
        let (recording, rules) = recorded(&plan, [Fault::Busy; 2]);
        let outcome = recording.check(&rules);
        let stale = |found: &Violation| matches!(found, Violation::FullAndEmpty { .. });
        if let Some(witness) = outcome.err().filter(|witness| !stale(&witness.violation)) {
            panic!("{plan:?}: {witness}");
        }
        assert!(recording.history.drained, "{plan:?}");
    }
}
