//! What the ring with relaxed tails would be if its pops said empty where they say busy, as DPDK's do: not
//! linearizable (paper 3 §2.2, P3). The monitor sees it.

use corelane::mpmc::ring::{RelaxedTail, Ring};
use corelane::{Config, Consumer, MpmcQueue, TryPopError};
use corelane_conformance::Item;
use corelane_conformance::history::{Pace, Plan, Rules, Violation, Way, Witness, record_several};

type Rts = Ring<RelaxedTail>;
type Inner = <Rts as MpmcQueue>::Consumer<Large>;

/// An item that takes a while to copy: threads lose their cores in the middle of a push.
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

/// A consumer that is told what DPDK's is.
struct LikeDpdk(Inner);

impl Consumer for LikeDpdk {
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

/// A round in which three push and one pops, with consumers that `make` makes.
fn round<C: Consumer<Item = Large> + Send>(number: u64, make: fn(Inner) -> C) -> Option<Witness> {
    let plan = Plan {
        capacity: 512,
        producers: 3,
        consumers: 1,
        queues: 1,
        pushes: 5_000,
        period: 1,
        way: Way::Slices,
        pace: Pace::Even,
        one_core: false,
        ..Plan::of_round(number)
    };
    let (tx, rx) = Rts::channel::<Large>(Config::new(plan.capacity)).unwrap();
    let txs = (1..plan.producers).filter_map(|_| Rts::another_producer(&tx)).collect::<Vec<_>>();
    let txs = txs.into_iter().chain([tx]).collect();
    let rules = Rules { capacity: Some(plan.capacity), ..Rules::default() };
    record_several(&plan, [(txs, vec![make(rx)])])
        .into_iter()
        .find_map(|recording| recording.check(&rules).err())
}

#[test]
fn busy_as_empty_is_not_linearizable() {
    let witness = (0..500).find_map(|number| round(number, LikeDpdk)).expect("it shows");
    println!("{witness}");
    assert_eq!(witness.violation, Violation::FalseEmpty);
}

#[test]
fn with_busy_it_is_linearizable() {
    for number in 0..10 {
        let witness = round(number, |rx| rx);
        assert!(witness.is_none(), "{number}: {}", witness.unwrap());
    }
}
