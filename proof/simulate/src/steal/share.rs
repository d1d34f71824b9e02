//! An owner, and thieves that take a share of its items.

use std::cell::RefCell;
use std::rc::Rc;

use coherence::pause;
use corelane_sim::steal::{Stealer, Worker};

use super::bench::{Bench, Thread};
use super::{StealTask, StealingRun};
use crate::failure::Failure;

pub(super) fn run<W: Worker<Item = u64> + 'static>(
    mut bench: Bench,
    worker: W,
) -> Result<StealingRun, Failure> {
    // Kept, so that a queue without thieves is as others.
    let thief = worker.stealer();
    let thieves: Vec<_> = bench.stealing.cores.iter().skip(1).map(|_| thief.clone()).collect();
    let owner = Rc::new(RefCell::new(Vec::new()));
    let hand_in = owner.clone();
    bench.spawn(move |mut thread| {
        let worker = own(worker, &mut thread);
        hand_in.borrow_mut().push(worker);
    });
    for thief in thieves {
        bench.spawn(move |mut thread| steal(&thief, &mut thread));
    }
    bench.run(|| owner.take())
}

/// The owner. Only whole rounds are counted.
fn own<W: Worker<Item = u64>>(mut worker: W, thread: &mut Thread) -> W {
    // Thieves could steal as fast as the owner puts.
    let most = 2 * worker.capacity();
    while !thread.is_over() {
        let _ = (0..most).all(|_| thread.put(&mut worker));
        while thread.get(&mut worker) {}
    }
    thread.ends();
    worker
}

/// A thief.
fn steal(thief: &impl Stealer<Item = u64>, thread: &mut Thread) {
    let StealTask::Share(percent) = thread.stealing.task else { unreachable!("it is a share") };
    while !thread.sees_end() {
        if !thread.may_steal(percent) || !thread.steal(thief, None) {
            pause(1);
        }
    }
}
