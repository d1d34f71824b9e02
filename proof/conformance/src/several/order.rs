//! First in first out, whichever handles are used.

use std::mem::{replace, swap};
use std::sync::atomic::{AtomicU64, Ordering};

use corelane::{BoxedConsumer, BoxedProducer, Config, Consumer, Producer};

use super::{Handles, at_most, relaxations};
use crate::order::CAPACITIES;
use crate::wrap::starts;
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Patience, Task, all, scaled};

use crate::{Any, Checked};

/// Most handles of a side in one thread.
const CROWD: usize = 5;

/// A queue that knows its expected contents, with more handles than the two in use.
struct Crowd {
    queue: Checked<BoxedProducer<u64>, BoxedConsumer<u64>>,
    spare: Handles<u64>,
}

impl Crowd {
    fn new(subject: &Any<u64>, config: Config) -> Self {
        Self { queue: Checked::open(subject, config), spare: (Vec::new(), Vec::new()) }
    }

    /// Uses other handles from now on, and clones or drops some.
    fn change_hands(&mut self, rng: &mut Rng) {
        let Checked { tx, rx, .. } = &mut self.queue;
        change(rng, tx, &mut self.spare.0, Producer::try_clone);
        change(rng, rx, &mut self.spare.1, Consumer::try_clone);
        assert!(!tx.is_closed() && !rx.is_closed());
    }

    /// One random step: a call that pushes or pops, for a random number of items.
    fn step(&mut self, rng: &mut Rng) {
        self.change_hands(rng);
        let queue = &mut self.queue;
        let limit = 2 + if rng.below(4) == 0 { queue.slots() + 70 } else { 6 };
        let n = rng.below(limit);
        match rng.below(5) {
            0 => (0..n).take_while(|_| queue.push()).count(),
            1 => (0..n).take_while(|_| queue.pop()).count(),
            2 => queue.push_slice(n),
            3 => queue.pop_slice(n),
            _ => queue.pop_iter(n),
        };
    }
}

/// Uses another handle from now on, and clones or drops one.
fn change<H>(rng: &mut Rng, used: &mut H, spare: &mut Vec<H>, another: fn(&H) -> Option<H>) {
    if rng.below(4) == 0 && spare.len() < CROWD {
        spare.extend(another(used));
    }
    if spare.is_empty() {
        return;
    }
    let number = rng.below(spare.len());
    swap(used, &mut spare[number]);
    if rng.below(8) == 0 {
        spare.swap_remove(number);
    }
}

/// A random mix of all calls by changing handles, compared with a model at every step.
pub fn random_mix(subject: &Any<u64>) {
    for (seed, capacity) in CAPACITIES.into_iter().enumerate() {
        mix(subject, Config::new(capacity), seed as u64, scaled(20_000));
    }
}

/// The same for every size of group that an algorithm may be given.
pub fn random_mix_for_every_batch(subject: &Any<u64>) {
    for batch in [0, 1, 2, 3, 5, 8, 16, 64, 1000, usize::MAX] {
        mix(subject, Config::new(50).grouped(batch), batch as u64, scaled(8_000));
    }
}

fn mix(subject: &Any<u64>, config: Config, seed: u64, steps: u64) {
    let (mut crowd, mut rng) = (Crowd::new(subject, config), Rng::new(seed));
    (0..steps).for_each(|_| crowd.step(&mut rng));
    crowd.queue.drain();
}

/// The same for several k, in small queues and in larger ones whose counters wrap.
pub fn random_mix_for_every_relaxation(subject: &Any<u64>) {
    let larger = relaxations(subject, 1000).map(|config| config.first(u64::MAX - 1000));
    for (config, seed) in relaxations(subject, 50).chain(larger).zip(0..) {
        mix(subject, config, seed, scaled(8_000));
    }
}

/// Slices of every length at every offset, in small rings. Empty slices do nothing (row
/// `zero_length_batch`).
pub fn zero_length_batch(subject: &Any<u64>) {
    for (capacity, batch) in [(1, 1), (8, 1), (8, 2), (8, 4), (12, 8)] {
        let mut queue = Checked::open(subject, Config::new(capacity).grouped(batch));
        let some = 1 + queue.slots() / 64;
        for n in (0..=queue.slots() + 1).step_by(some) {
            for before in (0..queue.slots()).step_by(some) {
                queue.push_slice(before);
                assert_eq!((queue.push_slice(0), queue.pop_slice(0)), (0, 0));
                queue.push_slice(n);
                assert_eq!((queue.push_slice(0), queue.pop_slice(0)), (0, 0));
                queue.pop_slice(n);
                queue.drain();
                assert_eq!(queue.pop_slice(0), 0);
                queue.turn(1);
            }
        }
    }
}

/// Order and fill levels are right across every wrap, also in rings with as many slots as a narrow
/// counter has values, where full could look like empty (row `counter_wrap_width`).
pub fn counter_wrap_width(subject: &Any<u64>) {
    let wide = [1 << 8, 1 << 16].map(Config::new);
    let blocks = [4, 20].into_iter().flat_map(starts).map(|config| config.grouped(1));
    for config in [1, 4, 20].into_iter().flat_map(starts).chain(blocks).chain(wide) {
        let mut queue = Checked::open(subject, config);
        for _ in 0..3 {
            queue.fill();
            queue.drain();
            queue.turn(1);
            queue.push_slice(queue.slots() + 1);
            queue.pop_slice(queue.slots() / 2);
            queue.drain();
        }
    }
}

/// A producer or consumer that slept while all lower bits of the counters wrapped still tells laps
/// apart (row `aba_on_narrow_index`).
pub fn aba_on_narrow_index(subject: &Any<u64>) {
    for (batch, items) in [1, 2].into_iter().flat_map(|n| [(n, 1 << 8), (n, 1 << 16), (n, 1 << 18)])
    {
        let mut queue = Checked::open(subject, Config::new(4).grouped(batch));
        queue.fill();
        queue.push();
        let filled = queue.drain();
        queue.pop();
        // These two handles have found the queue full and empty. They sleep, if the side may have
        // other handles.
        let tx = queue.tx.try_clone().map(|awake| replace(&mut queue.tx, awake));
        let rx = queue.rx.try_clone().map(|awake| replace(&mut queue.rx, awake));
        queue.turn(items - 1);
        assert!(queue.push());
        // The low bits of the count of pushes are the same as then.
        rx.into_iter().for_each(|asleep| queue.rx = asleep);
        assert!(queue.pop() && !queue.pop());
        queue.turn(items - filled % items);
        // The low bits of the count of pops are the same as then.
        tx.into_iter().for_each(|asleep| queue.tx = asleep);
        assert!(queue.push());
        queue.fill();
        assert!(!queue.push() || subject.info.relaxed, "a slot of an earlier lap");
        queue.drain();
    }
}

/// A call of one handle sees all completed calls of other handles, although it has just looked
/// before (row `false_empty`).
pub fn false_empty(subject: &Any<u64>) {
    for capacity in CAPACITIES {
        let (mut crowd, mut rng) = (Crowd::new(subject, Config::new(capacity)), Rng::new(7));
        for _ in 0..3 * crowd.queue.slots() {
            for has_item in [false, true] {
                crowd.change_hands(&mut rng);
                assert!(crowd.queue.pop() == has_item && crowd.queue.pop_slice(1) == 0);
                if !has_item {
                    assert!(crowd.queue.push());
                }
            }
        }
    }
}

/// As [`false_empty`], between threads that use the queue in turn: no other call is unfinished, so
/// no call may say full, empty or busy.
pub fn false_empty_across_threads(subject: &Any<u64>) {
    let rounds = scaled(4_000);
    let (txs, rxs) = subject.handles(Config::new(8).grouped(2), at_most(&subject.info, 2, 2));
    let (producers, consumers) = (txs.len() as u64, rxs.len() as u64);
    let turn = &AtomicU64::new(0);
    // Round n is a push in turn 2n and a pop in turn 2n + 1. No thread waits for a thread that has
    // failed.
    let wait_for = |n: u64, is_closed: &dyn Fn() -> bool| {
        Patience::until(|| (turn.load(Ordering::Acquire) >= n || is_closed()).then_some(()));
    };
    let mut tasks: Vec<Task<()>> = Vec::new();
    for (mut tx, first) in txs.into_iter().zip(0..) {
        tasks.push(Box::new(move || {
            for n in (first..rounds).step_by(producers as usize) {
                wait_for(2 * n, &|| tx.is_closed());
                tx.try_push(n).unwrap_or_else(|error| panic!("{error} in round {n}"));
                turn.store(2 * n + 1, Ordering::Release);
            }
        }));
    }
    for (mut rx, first) in rxs.into_iter().zip(0..) {
        tasks.push(Box::new(move || {
            for n in (first..rounds).step_by(consumers as usize) {
                wait_for(2 * n + 1, &|| rx.is_closed());
                assert_eq!(rx.try_pop(), Ok(n), "in round {n}");
                turn.store(2 * n + 2, Ordering::Release);
            }
        }));
    }
    all(Cores::Two, tasks);
}
