//! Many items through an owner and its thieves: a million each way, and with `CORELANE_STRESS=1000`
//! a thousand million.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use corelane::steal::{self, Stealer, Worker};

/// Items that a thread has got, a bit for each.
struct Got(Vec<u64>);

impl Got {
    fn of(items: u64) -> Self {
        Self(vec![0; items.div_ceil(64) as usize])
    }

    fn add(&mut self, item: u64) {
        let (word, bit) = (&mut self.0[(item / 64) as usize], 1 << (item % 64));
        assert!(*word & bit == 0, "item {item} came twice");
        *word |= bit;
    }

    fn merge(&mut self, other: &Self) {
        for (all, more) in self.0.iter_mut().zip(&other.0) {
            assert!(*all & more == 0, "an item came to two threads");
            *all |= more;
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

fn each_comes_once<W: Worker<Item = u64>>(mut worker: W)
where
    W::Stealer: Send + 'static,
{
    let scale: f64 = std::env::var("CORELANE_STRESS").map_or(1.0, |scale| scale.parse().unwrap());
    let items = (1e6 * scale) as u64;
    let is_done = Arc::new(AtomicBool::new(false));
    let thieves: Vec<_> = (0..2)
        .map(|most| {
            let (thief, is_done) = (worker.stealer(), Arc::clone(&is_done));
            thread::spawn(move || {
                let mut got = Got::of(items);
                let mut turn = 0_u64;
                while !is_done.load(Ordering::Relaxed) {
                    turn += 1;
                    let loot = thief
                        .try_steal_sampled(turn, 3)
                        .or_else(|_| thief.try_steal_some(1 + 15 * most))
                        .or_else(|_| thief.try_seize(8));
                    match loot {
                        Ok(loot) => loot.for_each(|item| got.add(item)),
                        Err(_) => thread::yield_now(),
                    }
                }
                got
            })
        })
        .collect();
    let (mut got, mut next) = (Got::of(items), 0);
    while next < items {
        // Runs of all lengths, so that the queue is full and empty again and again.
        for _ in 0..1 + next % 701 {
            if next == items || worker.try_push(next).is_err() {
                break;
            }
            next += 1;
        }
        for _ in 0..1 + next % 499 {
            let Ok(item) = worker.try_pop() else { break };
            got.add(item);
        }
    }
    while let Ok(item) = worker.try_pop() {
        got.add(item);
    }
    is_done.store(true, Ordering::Relaxed);
    for thief in thieves {
        got.merge(&thief.join().unwrap());
    }
    assert_eq!(got.count(), items);
}

#[test]
fn newest_first() {
    each_comes_once(steal::lifo(512).unwrap());
}

#[test]
fn oldest_first() {
    each_comes_once(steal::fifo(512).unwrap());
}
