//! Threads that have a queue each, and steal from each other.

use std::cell::RefCell;
use std::rc::Rc;

use corelane_sim::steal::Worker;

use super::StealingRun;
use super::bench::{Bench, Thread};
use super::policy::{Choice, Policy};
use crate::failure::Failure;

pub(super) fn run<W: Worker<Item = u64> + 'static>(
    mut bench: Bench,
    (balancing, policy): (u8, Policy),
    workers: Vec<W>,
) -> Result<StealingRun, Failure> {
    let thieves: Vec<W::Stealer> = workers.iter().map(Worker::stealer).collect();
    let left = Rc::new(RefCell::new(Vec::new()));
    for (number, worker) in workers.into_iter().enumerate() {
        let victims = Victims {
            stealers: thieves.clone(),
            choice: Choice::new(policy, number, &bench.stealing),
            is_probabilistic: policy.is_probabilistic(),
            items: bench.stealing.capacity as u64 * u64::from(balancing) / 100,
        };
        let hand_in = left.clone();
        bench.spawn(move |mut thread| {
            let worker = live(worker, victims, &mut thread);
            thread.ends();
            hand_in.borrow_mut().push(worker);
        });
    }
    bench.run(|| left.take())
}

/// What a thread needs to steal.
struct Victims<S> {
    /// Of all queues, its own included.
    stealers: Vec<S>,
    choice: Choice,
    is_probabilistic: bool,
    /// Items that it attempts to steal in a round.
    items: u64,
}

fn live<W: Worker<Item = u64>>(
    mut worker: W,
    mut victims: Victims<W::Stealer>,
    thread: &mut Thread,
) -> W {
    let capacity = worker.capacity() as u64;
    // The first round is a part of one. Otherwise all threads would put at the same time, for ever.
    let mut room = thread.chance.below(capacity);
    loop {
        let mut put = 0;
        while put < room && thread.put(&mut worker) {
            put += 1;
            if thread.is_over() {
                return worker;
            }
        }
        while thread.get(&mut worker) {
            if thread.is_over() {
                return worker;
            }
        }
        if victims.attempt(thread) || thread.is_over() {
            return worker;
        }
        // Thieves could steal as fast as the owner puts.
        room = 2 * capacity;
    }
}

impl<S: corelane_sim::steal::Stealer<Item = u64>> Victims<S> {
    /// Attempts to steal. Whether the run is over.
    fn attempt(&mut self, thread: &mut Thread) -> bool {
        let batch = thread.stealing.batch;
        for _ in 0..self.items.div_ceil(batch as u64) {
            let victim = self.choice.next(&mut thread.chance, |queue| self.stealers[queue].len());
            let random = self.is_probabilistic.then(|| thread.chance.below(1 << 32));
            let succeeded = thread.steal(&self.stealers[victim], random);
            self.choice.tried(succeeded);
            if thread.is_over() {
                return true;
            }
        }
        false
    }
}
