//! Two threads, on two cores and on one core.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use corelane::{
    Config, Consumer, Producer, SingleConsumer, SingleProducer, SingleQueue, TryPopError,
    TryPushError,
};

use crate::drops::Owned;
use crate::{Item, Ledger, Single};
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Patience, both, scaled};

/// The calls that move items.
#[derive(Debug, Clone, Copy)]
enum Way {
    Single,
    Chunks,
    Slices,
    Iterators,
}

/// All ways.
const WAYS: [Way; 4] = [Way::Single, Way::Chunks, Way::Slices, Way::Iterators];

/// Pushes some of the items numbered `coming`. Returns how many.
fn send_some<T: Item + Copy>(
    tx: &mut impl SingleProducer<Item = T>,
    way: Way,
    coming: Range<u64>,
) -> usize {
    let len = (coming.end - coming.start) as usize;
    let mut items = coming.map(T::of);
    match way {
        Way::Single => match tx.try_push(items.next().expect("one item at least")) {
            Ok(()) => 1,
            Err(TryPushError::Closed(_)) => panic!("the consumer has given up"),
            Err(_) => 0,
        },
        Way::Chunks => tx.write_chunk_uninit(len).map_or(0, |chunk| chunk.fill_from_iter(items)),
        Way::Slices => tx.push_slice(&items.collect::<Vec<_>>()),
        Way::Iterators => tx.push_iter(items),
    }
}

/// Pops up to `n` items, which must be those from `expected` on. Returns how many.
fn receive_some<T: Item + Copy>(
    rx: &mut impl SingleConsumer<Item = T>,
    way: Way,
    n: usize,
    expected: u64,
) -> usize {
    let check = |items: &mut dyn Iterator<Item = T>| {
        items.zip(expected..).map(|(item, n)| assert!(item.is(n), "item {n} is lost")).count()
    };
    match way {
        Way::Single => check(&mut rx.try_pop().ok().into_iter()),
        Way::Chunks => rx.read_chunk(n).map_or(0, |chunk| check(&mut chunk.into_iter())),
        Way::Slices => {
            let mut items = vec![T::of(0); n];
            let done = rx.pop_slice(&mut items);
            check(&mut items.into_iter().take(done))
        }
        Way::Iterators => check(&mut rx.pop_iter().take(n)),
    }
}

/// Sends `count` items through a queue for `capacity`, with another kind of call and another number
/// of items each time.
fn stream<T: Item + Copy>(
    subject: &Single<T>,
    cores: Cores,
    capacity: usize,
    count: u64,
    ways: &[Way],
) {
    let (mut tx, mut rx) = subject.open(Config::new(capacity));
    let send = move || {
        let (mut rng, mut next) = (Rng::new(1), 0);
        let mut patience = Patience::default();
        while next < count {
            let end = count.min(next + 1 + rng.below(40) as u64);
            match send_some(&mut tx, ways[rng.below(ways.len())], next..end) {
                0 => patience.wait(),
                n => (next, patience) = (next + n as u64, Patience::default()),
            }
            if rng.below(100) == 0 {
                tx.flush();
            }
        }
    };
    let receive = move || {
        let (mut rng, mut next) = (Rng::new(2), 0);
        let mut patience = Patience::default();
        while next < count {
            let n = 1 + rng.below(40);
            match receive_some(&mut rx, ways[rng.below(ways.len())], n, next) {
                0 if rx.is_closed() && rx.is_empty() => panic!("closed after {next} of {count}"),
                0 => patience.wait(),
                n => (next, patience) = (next + n as u64, Patience::default()),
            }
        }
        Patience::until(|| (rx.try_pop().err()? == TryPopError::Closed).then_some(()));
    };
    both(cores, send, receive);
}

/// Sends `count` items through a queue, one by one.
fn singly<T: Item, P, C>(cores: Cores, (mut tx, mut rx): (P, C), count: u64)
where
    P: Producer<Item = T> + Send,
    C: Consumer<Item = T> + Send,
{
    let send = move || {
        let (mut rng, mut next, mut patience) = (Rng::new(1), 0, Patience::default());
        while next < count {
            match tx.try_push(T::of(next)) {
                Ok(()) => (next, patience) = (next + 1, Patience::default()),
                Err(TryPushError::Closed(_)) => panic!("the consumer has given up"),
                Err(_) => patience.wait(),
            }
            if rng.below(100) == 0 {
                tx.flush();
            }
        }
    };
    let receive = move || {
        let (mut next, mut patience) = (0, Patience::default());
        loop {
            match rx.try_pop() {
                Ok(item) => {
                    assert!(item.is(next), "item {next} is lost");
                    (next, patience) = (next + 1, Patience::default());
                }
                Err(TryPopError::Closed) => break assert_eq!(next, count, "closed too early"),
                Err(_) => patience.wait(),
            }
        }
    };
    both(cores, send, receive);
}

/// Items one by one, on two cores, through the queue's own handles: the compiler inlines their
/// calls here, as it does for users. An unbounded queue is tried with a limit as well.
pub fn singly_on_two_cores<T: Item, Q: SingleQueue<T> + 'static>() {
    for (capacity, count) in [(64, 800_000), (1, 80_000)] {
        let (config, count) = (Config::new(capacity), scaled(count));
        singly(Cores::Two, Q::with(config).expect("this capacity is possible"), count);
        if !Q::INFO.bounded {
            singly(Cores::Two, Single::of::<Q>().open(config), count);
        }
    }
}

/// Items one by one, both threads on one core.
pub fn singly_on_one_core<T: Item + Copy>(subject: &Single<T>) {
    for (capacity, count) in [(64, 200_000), (2, 4_000)] {
        singly(Cores::One, subject.open(Config::new(capacity)), scaled(count));
    }
}

/// Items in batches of random size, with each kind of call separately, on two cores.
pub fn batches_on_two_cores<T: Item + Copy>(subject: &Single<T>) {
    for way in WAYS {
        stream(subject, Cores::Two, 100, scaled(400_000), &[way]);
    }
}

/// All kinds of calls mixed, in rings of several sizes, on two cores.
pub fn mixed_on_two_cores<T: Item + Copy>(subject: &Single<T>) {
    for capacity in [1, 3, 20, 1000] {
        stream(subject, Cores::Two, capacity, scaled(120_000), &WAYS);
    }
}

/// All kinds of calls mixed, both threads on one core.
pub fn mixed_on_one_core<T: Item + Copy>(subject: &Single<T>) {
    for capacity in [3, 100] {
        stream(subject, Cores::One, capacity, scaled(80_000), &WAYS);
    }
}

/// A side that is stopped in the middle of a batch, like a preempted thread, doesn't delay the
/// other side, which continues until the queue is full or empty (row `oversubscription_collapse`).
pub fn oversubscription_collapse<T: Item + Copy>(subject: &Single<T>) {
    beside_a_stopped_producer(subject);
    beside_a_stopped_consumer(subject);
}

/// Pops all items while the producer holds lent slots.
fn beside_a_stopped_producer<T: Item + Copy>(subject: &Single<T>) {
    let (tx, mut rx) = subject.open(Config::new(64));
    let pop = move || {
        assert!((0..3).all(|n| rx.try_pop().is_ok_and(|item: T| item.is(n))));
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    };
    thread::scope(|scope| {
        // Moved into the closure: if the check fails, the handle is dropped before the scope waits
        // for the other thread.
        let mut tx = tx;
        assert_eq!(tx.push_iter((0..3).map(Item::of)), 3);
        tx.flush();
        let mut chunk = tx.write_chunk_uninit(20).unwrap();
        let _ = chunk.as_mut_slices();
        finishes(scope.spawn(pop));
        chunk.fill_from_iter([]);
    });
}

/// Pushes all items that fit while the consumer holds lent items.
fn beside_a_stopped_consumer<T: Item + Copy>(subject: &Single<T>) {
    let (mut tx, rx) = subject.open(Config::new(64));
    assert_eq!(tx.push_iter((0..3).map(Item::of)), 3);
    tx.flush();
    let push = move || {
        let certain = tx.capacity() - 3;
        let pushed = (0..).take_while(|&n| tx.try_push(Item::of(n)).is_ok()).count();
        assert!(pushed >= certain, "{pushed} of {certain} items fit");
        assert!(matches!(tx.try_push(Item::of(0)), Err(TryPushError::Full(_))));
    };
    thread::scope(|scope| {
        let mut rx = rx;
        let chunk = rx.read_chunk(2).unwrap();
        finishes(scope.spawn(push));
        chunk.commit(0);
    });
}

/// Waits for a thread, for a limited time.
fn finishes(thread: ScopedJoinHandle<'_, ()>) {
    Patience::until(|| thread.is_finished().then_some(()));
    thread.join().unwrap_or_else(|panic| resume_unwind(panic));
}

/// Items that own memory: no item is lost, doubled or leaked, and its memory arrives with it.
pub fn owned_items<T: Owned>(subject: &Single<T>) {
    let count = scaled(200_000) as usize;
    let ledger = Ledger::new(count);
    let (mut tx, mut rx) = subject.open(Config::new(50));
    let maker = &ledger;
    let send = move || {
        let mut items = (0..count).map(|_| maker.make());
        let mut patience = Patience::default();
        while items.len() > 0 {
            match tx.push_iter(items.by_ref().take(30)) {
                0 => patience.wait(),
                _ => patience = Patience::default(),
            }
        }
    };
    let receive = move || {
        let (mut next, mut patience) = (0, Patience::default());
        loop {
            match rx.read_chunk(1 + next % 70) {
                Ok(chunk) => chunk.into_iter().for_each(|item| {
                    assert_eq!(item.borrow().number(), next);
                    (next, patience) = (next + 1, Patience::default());
                }),
                Err(TryPopError::Closed) => break assert_eq!(next, count),
                Err(_) => patience.wait(),
            }
        }
    };
    both(Cores::Two, send, receive);
    ledger.settle();
}
