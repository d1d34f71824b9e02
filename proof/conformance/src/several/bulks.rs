//! Calls that only `ring` has: push all of a slice or nothing, claim slots before items are made,
//! and look at items before they are taken.

use corelane::ring::{self, Consumer, HeadTail, InOrder, Mode, Producer, RelaxedTail, Ring};
use corelane::{Queue, TryPopError, TryPushError};

use super::fewer;
use super::stress::{Numbered, Seen, settle};
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, Together, all, scaled};
use corelane_history::Value;

/// Items that a producer pushes at once.
const BULK: u64 = 3;

/// Pushes all of these items or none. Returns whether it has pushed them.
type Push<P, C> = fn(&mut Producer<u64, P, C>, &[u64]) -> bool;

/// Pops some items and notes them. Returns their number.
type Pop<P, C> = fn(&mut Consumer<u64, P, C>, &mut Rng, &mut Seen) -> Result<usize, TryPopError>;

/// Threads that send bulks through a ring.
struct Stream<P: Mode, C: Mode> {
    push: Push<P, C>,
    pop: Pop<P, C>,
    cores: Cores,
    capacity: usize,
    /// Bulks of each producer.
    each: u64,
}

impl<P: Mode, C: Mode> Stream<P, C> {
    /// Lets these numbers of producers and consumers send all bulks. A single consumer must get
    /// whole bulks.
    fn run(&self, producers: usize, consumers: usize) {
        let (tx, rx) = ring::queue_in_modes(self.capacity).expect("this capacity is possible");
        let progress = &Progress::of(producers + consumers);
        let mut tasks: Vec<Task<Option<Seen>>> = Vec::new();
        for (number, tx) in std::iter::repeat_n(tx, producers).enumerate() {
            tasks.push(Box::new(move || {
                self.send(tx, number, progress.patience(number));
                None
            }));
        }
        for (number, rx) in (producers..).zip(std::iter::repeat_n(rx, consumers)) {
            let seen = Seen::new(producers, 1);
            tasks.push(Box::new(move || {
                Some(self.receive(rx, seen, Rng::new(number as u64), progress.patience(number)))
            }));
        }
        let seen: Vec<_> = all(self.cores, tasks).into_iter().flatten().collect();
        if let [only] = &seen[..] {
            let is_whole = |bulk: &[Value]| bulk.iter().all(|value| is_with(*value, bulk[0]));
            assert!(only.values.chunks(BULK as usize).all(is_whole), "a bulk is in pieces");
        }
        settle(producers, self.each * BULK, seen);
    }

    fn send(&self, mut tx: Producer<u64, P, C>, producer: usize, mut patience: Together) {
        for first in (0..self.each).map(|bulk| bulk * BULK) {
            let number = |sequence| u64::of(Value { producer, sequence });
            let items: Vec<_> = (first..first + BULK).map(number).collect();
            while !(self.push)(&mut tx, &items) {
                patience.wait();
            }
            patience.moved();
        }
    }

    fn receive(
        &self,
        mut rx: Consumer<u64, P, C>,
        mut seen: Seen,
        mut rng: Rng,
        mut patience: Together,
    ) -> Seen {
        loop {
            match (self.pop)(&mut rx, &mut rng, &mut seen) {
                Ok(n) => patience.after(n),
                Err(_) if rx.is_closed() => break,
                Err(_) => patience.wait(),
            }
        }
        // Perhaps fewer items are left than a call asks for.
        loop {
            match rx.try_pop() {
                Ok(item) => seen.note(&item),
                Err(TryPopError::Closed) => return seen,
                Err(_) => patience.wait(),
            }
        }
    }
}

/// Whether two items are of the same bulk.
fn is_with(one: Value, other: Value) -> bool {
    (one.producer, one.sequence / BULK) == (other.producer, other.sequence / BULK)
}

fn push_bulk<P: Mode, C: Mode>(tx: &mut Producer<u64, P, C>, items: &[u64]) -> bool {
    match tx.push_bulk(items) {
        Ok(()) => true,
        Err(TryPushError::Closed(())) => panic!("the consumers have given up"),
        Err(_) => false,
    }
}

/// Pops two items, which are never a whole bulk.
fn pop_bulk<P: Mode, C: Mode>(
    rx: &mut Consumer<u64, P, C>,
    _: &mut Rng,
    seen: &mut Seen,
) -> Result<usize, TryPopError> {
    let mut items = [0; 2];
    rx.pop_bulk(&mut items)?;
    // No other thread pops or pushes between them.
    assert!(seen.next.len() > 1 || items[0] + 1 == items[1], "{items:?} are not in a row");
    items.iter().for_each(|item| seen.note(item));
    Ok(items.len())
}

/// Claims more slots than it fills. Claims none if there isn't room for all.
fn claim<C: Mode>(tx: &mut Producer<u64, HeadTail, C>, items: &[u64]) -> bool {
    let mut claimed = match tx.claim(items.len() + 1) {
        Ok(claimed) => claimed,
        Err(TryPushError::Closed(())) => panic!("the consumers have given up"),
        Err(_) => return false,
    };
    if claimed.free() < items.len() {
        return false;
    }
    items.iter().for_each(|item| claimed.push(*item).expect("there is room"));
    true
}

/// Looks at up to four items and takes some of them.
fn peek<P: Mode>(
    rx: &mut Consumer<u64, P, HeadTail>,
    rng: &mut Rng,
    seen: &mut Seen,
) -> Result<usize, TryPopError> {
    let mut peeked = rx.peek(4)?;
    let (first, second) = peeked.as_slices();
    let there = [first, second].concat();
    let n = rng.below(there.len() + 1);
    let taken: Vec<_> = peeked.by_ref().take(n).collect();
    assert_eq!(taken, there[..n], "the taken items were looked at");
    taken.iter().for_each(|item| seen.note(item));
    Ok(n)
}

/// One thread and several threads on either side, on two cores and on one core.
fn streams<P: Mode, C: Mode>(push: Push<P, C>, pop: Pop<P, C>) {
    for (producers, consumers) in [(2, 2), (3, 1), (1, 3)] {
        for (cores, each) in [(Cores::Two, 40_000), (Cores::One, 5_000)] {
            for capacity in [4, 32] {
                let each =
                    scaled(fewer(&<Ring<P, C> as Queue<u64>>::INFO, each) / producers as u64);
                Stream { push, pop, cores, capacity, each }.run(producers, consumers);
            }
        }
    }
}

/// Bulks are pushed and popped, in each mode and with sides in different modes.
pub fn all_or_nothing() {
    streams::<InOrder, InOrder>(push_bulk, pop_bulk);
    streams::<RelaxedTail, RelaxedTail>(push_bulk, pop_bulk);
    streams::<HeadTail, HeadTail>(push_bulk, pop_bulk);
    streams::<RelaxedTail, InOrder>(push_bulk, pop_bulk);
    streams::<InOrder, RelaxedTail>(push_bulk, pop_bulk);
    streams::<HeadTail, InOrder>(push_bulk, pop_bulk);
}

/// Slots of bulks are claimed before they are filled, and items are looked at before they are
/// taken.
pub fn claimed_and_looked_at() {
    streams::<HeadTail, HeadTail>(claim, peek);
    streams::<HeadTail, InOrder>(claim, pop_bulk);
    streams::<RelaxedTail, HeadTail>(push_bulk, peek);
}
