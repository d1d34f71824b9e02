//! If the pops of the ring with relaxed tails said empty instead of busy, and its pushes full, as
//! DPDK's do, the ring would not be linearizable (paper 3 §2.2, P3). The monitor detects this.

use corelane::ring::{RelaxedTail, Ring};
use corelane::{
    BoxedConsumer, BoxedProducer, Config, Consumer, Producer, Queue, TryPopError, TryPushError,
};
use corelane_harness::{Item, clones};
use corelane_history::{Pace, Plan, Rules, Violation, Way, Witness, record_several};

type Rts = Ring<RelaxedTail>;
type Tx = <Rts as Queue<Large>>::Producer;
type Rx = <Rts as Queue<Large>>::Consumer;

/// An item that takes long to copy: threads lose their cores in the middle of a push.
#[derive(Debug, Clone, Copy)]
struct Large([u64; 256]);

impl Item for Large {
    fn of(n: u64) -> Self {
        Self([n; 256])
    }

    fn is(&self, n: u64) -> bool {
        self.0 == [n; 256]
    }
}

impl From<Large> for u64 {
    fn from(item: Large) -> Self {
        item.0[255]
    }
}

/// A handle whose calls answer as DPDK's do.
struct LikeDpdk<H>(H);

impl Producer for LikeDpdk<Tx> {
    type Item = Large;

    fn try_push(&mut self, item: Large) -> Result<(), TryPushError<Large>> {
        self.0.try_push(item).map_err(|error| match error {
            TryPushError::Busy(item) => TryPushError::Full(item),
            other => other,
        })
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl Consumer for LikeDpdk<Rx> {
    type Item = Large;

    fn try_pop(&mut self) -> Result<Large, TryPopError> {
        self.0.try_pop().map_err(|error| match error {
            TryPopError::Busy => TryPopError::Empty,
            other => other,
        })
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// A round with these numbers of producers and consumers, with handles that the functions make.
fn round(
    number: u64,
    (producers, tx_of): (usize, fn(Tx) -> BoxedProducer<Large>),
    (consumers, rx_of): (usize, fn(Rx) -> BoxedConsumer<Large>),
) -> Option<Witness> {
    let plan = Plan {
        capacity: 512,
        producers,
        consumers,
        queues: 1,
        pushes: 15_000 / producers,
        period: 1,
        way: Way::Slices,
        pace: Pace::Even,
        one_core: false,
        ..Plan::of_round(number)
    };
    let queue = Rts::with(Config::new(plan.capacity)).unwrap();
    let (txs, rxs) = clones(queue, (producers, consumers));
    let (txs, rxs) = (txs.into_iter().map(tx_of).collect(), rxs.into_iter().map(rx_of).collect());
    let rules = Rules { slots: Some(plan.capacity), capacity: plan.capacity, ..Rules::default() };
    record_several(&plan, [(txs, rxs)])
        .into_iter()
        .find_map(|recording| recording.check(&rules).err())
}

#[test]
fn busy_as_empty_is_not_linearizable() {
    let witness = (0..500).find_map(|number| {
        round(number, (3, BoxedProducer::new), (1, |rx| BoxedConsumer::new(LikeDpdk(rx))))
    });
    let witness = witness.expect("it shows");
    println!("{witness}");
    assert_eq!(witness.violation, Violation::FalseEmpty);
}

#[test]
fn busy_as_full_is_not_linearizable() {
    let witness = (0..500).find_map(|number| {
        round(number, (1, |tx| BoxedProducer::new(LikeDpdk(tx))), (3, BoxedConsumer::new))
    });
    let witness = witness.expect("it shows");
    println!("{witness}");
    assert!(matches!(witness.violation, Violation::FalseFull { .. }), "{witness}");
}

#[test]
fn with_busy_it_is_linearizable() {
    for number in 0..10 {
        for (producers, consumers) in [(3, 1), (1, 3)] {
            let witness =
                round(number, (producers, BoxedProducer::new), (consumers, BoxedConsumer::new));
            assert!(witness.is_none(), "{number}: {}", witness.unwrap());
        }
    }
}
