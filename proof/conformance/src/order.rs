//! First in first out, by every call that pushes and every call that pops.

use std::sync::atomic::{AtomicU64, Ordering};

use corelane::{Config, Consumer, Producer, SingleConsumer, SingleProducer};

use crate::{Checked, Item, Single, Subject};
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Patience, both, scaled};

/// Capacities that are small, odd, and around powers of two.
pub(crate) const CAPACITIES: [usize; 10] = [1, 2, 3, 4, 7, 8, 9, 33, 100, 256];

/// Items that are pushed in groups of every size are popped in order, over several laps.
pub fn groups_of_every_size<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for capacity in CAPACITIES {
        let mut queue = Checked::open(subject, Config::new(capacity));
        let most = queue.slots();
        for group in (1..=most).step_by(1 + most / 40) {
            for _ in 0..4 {
                (0..group).take_while(|_| queue.push()).count();
                (0..group.div_ceil(2)).take_while(|_| queue.pop()).count();
            }
            queue.drain();
        }
    }
}

/// A queue is filled and drained many times, and all items come out.
pub fn fill_and_drain<T: Item, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for capacity in CAPACITIES {
        let mut queue = Checked::open(subject, Config::new(capacity));
        for _ in 0..20 {
            let filled = queue.fill();
            assert_eq!(queue.drain(), filled);
            queue.turn(1);
        }
    }
}

/// One random step: one of the calls that push or pop, for a random number of items.
fn random_step<T, P, C>(queue: &mut Checked<P, C>, rng: &mut Rng)
where
    T: Item + Copy,
    P: SingleProducer<Item = T>,
    C: SingleConsumer<Item = T>,
{
    let limit = 2 + if rng.below(4) == 0 { queue.slots() + 70 } else { 6 };
    let n = rng.below(limit);
    let k = rng.below(n + 1);
    match rng.below(15) {
        0 | 1 => (0..n).take_while(|_| queue.push()).count(),
        2 | 3 => (0..n).take_while(|_| queue.pop()).count(),
        4 => queue.write_chunk(n, k),
        5 => queue.write_chunk(n, n),
        6 => queue.read_chunk(n, k),
        7 => queue.read_chunk(n, n),
        8 => queue.take_chunk(n, k),
        9 => queue.push_iter(n, true),
        10 => queue.push_iter(n, false),
        11 => queue.pop_iter(n),
        12 => queue.push_slice(n),
        13 => queue.pop_slice(n),
        // Rarely, because observers refresh a handle's copy of the other side's counter.
        _ => {
            queue.observe();
            0
        }
    };
}

/// A random mix of all calls, compared with a model at every step.
pub fn random_mix<T: Item + Copy>(subject: &Single<T>) {
    for (seed, capacity) in CAPACITIES.into_iter().enumerate() {
        let mut rng = Rng::new(seed as u64);
        let mut queue = Checked::open(subject, Config::new(capacity));
        for _ in 0..scaled(20_000) {
            random_step(&mut queue, &mut rng);
        }
        queue.drain();
    }
}

/// The same for every size of group that an algorithm may be given.
pub fn random_mix_for_every_batch<T: Item + Copy>(subject: &Single<T>) {
    for batch in [0, 1, 2, 3, 5, 8, 16, 60, 64, 100, 1000, usize::MAX] {
        let mut rng = Rng::new(batch as u64);
        let mut queue = Checked::open(subject, Config::new(50).grouped(batch));
        assert!(queue.capacity() >= 50);
        for _ in 0..scaled(8_000) {
            random_step(&mut queue, &mut rng);
        }
        queue.drain();
    }
}

/// A call of one side sees all completed calls of the other side, although it has just looked
/// before (row `false_empty`).
pub fn false_empty<T: Item + Copy>(subject: &Single<T>) {
    for capacity in CAPACITIES {
        let mut queue = Checked::open(subject, Config::new(capacity));
        for _ in 0..3 * queue.slots() {
            // A consumer that has found the queue empty must look again.
            assert!(!queue.pop() && queue.read_chunk(1, 1) == 0);
            assert!(queue.push());
            assert!(queue.pop());
        }
    }
}

/// As [`false_empty`], between two threads that tell each other when they are done.
pub fn false_empty_across_threads<T: Item + Copy>(subject: &Single<T>) {
    let rounds = scaled(20_000);
    let (mut tx, mut rx) = subject.open(Config::new(64));
    // An unbounded queue counts the free slots of a group.
    let certain = if subject.info.bounded { tx.capacity() } else { 1 };
    let (pushed, popped) = (&AtomicU64::new(0), &AtomicU64::new(0));
    // If the other side has failed, this side must not wait for it.
    let wait_for = |counter: &AtomicU64, n, is_closed: &dyn Fn() -> bool| {
        Patience::until(|| (counter.load(Ordering::Acquire) >= n || is_closed()).then_some(()));
    };
    let send = move || {
        for n in 1..=rounds {
            // All earlier items are popped, so `certain` slots must be free. Only in the second
            // half: the look refreshes the producer's copy of the counter.
            let free = if n > rounds / 2 { tx.free_slots(certain) } else { certain };
            assert!(free >= certain, "false full in round {n}");
            assert!(tx.try_push(Item::of(n)).is_ok(), "false full in round {n}");
            tx.flush();
            pushed.store(n, Ordering::Release);
            wait_for(popped, n, &|| tx.is_closed());
        }
    };
    let receive = move || {
        for n in 1..=rounds {
            wait_for(pushed, n, &|| rx.is_closed());
            assert!(rx.try_pop().is_ok_and(|item: T| item.is(n)), "false empty at {n}");
            popped.store(n, Ordering::Release);
        }
    };
    both(Cores::Two, send, receive);
}
