//! How much memory a queue takes while it is made, filled and used: Fig. 3.12 of the thesis.

use std::sync::atomic::{AtomicI64, Ordering};

use corelane::{Built, Config, Consumer, Producer};

use super::RelaxedSetting;
use crate::allocations::Allocations;
use crate::cores;
use crate::params::Trial;
use crate::payload::{NO_POOL, Payload};
use crate::sample::Sample;
use crate::suite::mpmc::handles;
use crate::suite::mpmc::parts::Part;
use crate::threads::{self, Gate, Task, Wait};

/// The shared state of the threads.
struct Common {
    all: Allocations,
    gate: Gate,
    part: Part,
    /// Items that may be pushed before others are popped. A queue that is never full holds no more
    /// than one that is.
    room: AtomicI64,
    wait: Wait,
}

/// The most bytes, and the allocations after the queue and its handles were made.
pub(super) fn measure<T, R>(
    open: fn(Config) -> Built<T, R>,
    trial: &Trial<'_>,
    setting: &RelaxedSetting,
) -> Sample
where
    T: Producer<Item: Payload> + Send,
    R: Consumer<Item = T::Item> + Send,
{
    let RelaxedSetting { size, placement, .. } = *setting;
    let all = Allocations::begin();
    let config = trial.params.config();
    let made = all.of(|| handles(open, config, size));
    let (mut senders, receivers) = made.expect("tried before the first round");
    let made = all.calls();
    let left = all.of(|| fill(&mut senders[0], trial.params.capacity));
    let [_, part] = Part::both(trial.length, size.consumers);
    let common = Common {
        all,
        gate: Gate::of(size.threads() + 1),
        part,
        room: AtomicI64::new(left as i64),
        wait: trial.params.wait,
    };
    let common = &common;
    let mut seats = cores::seats(size, placement, trial.cores).into_iter();
    let mut tasks = Vec::<Task<'_, ()>>::new();
    for (mut tx, core) in senders.into_iter().zip(&mut seats) {
        tasks.push((core, Box::new(move || common.run(|| common.push(&mut tx)))));
    }
    for (mut rx, core) in receivers.into_iter().zip(&mut seats) {
        tasks.push((core, Box::new(move || common.run(|| common.pop(&mut rx)))));
    }
    threads::all(tasks, &|| {
        common.gate.meet(Wait::Yield);
        common.part.keep_time();
    });
    let Common { all, .. } = common;
    let allocations = Some(all.calls() - made);
    Sample { allocations, ..Sample::of(all.most_bytes() as f64) }
}

/// Pushes until the queue is full or has `capacity` items. Returns how many are missing.
fn fill<T: Producer<Item: Payload>>(tx: &mut T, capacity: usize) -> usize {
    let pushed = (0..capacity).take_while(|_| tx.try_push(T::Item::make(NO_POOL, 1)).is_ok());
    capacity - pushed.count()
}

impl Common {
    fn run(&self, work: impl FnOnce()) {
        self.gate.meet(self.wait);
        self.all.of(work);
    }

    fn push<T: Producer<Item: Payload>>(&self, tx: &mut T) {
        let mut failed = 0;
        while !self.part.is_over() {
            let has_room = self.room.fetch_sub(1, Ordering::Relaxed) > 0;
            if has_room && tx.try_push(T::Item::make(NO_POOL, 1)).is_ok() {
                failed = 0;
            } else {
                self.room.fetch_add(1, Ordering::Relaxed);
                self.wait.pause(&mut failed);
            }
        }
    }

    fn pop<R: Consumer>(&self, rx: &mut R) {
        let (mut failed, mut popped) = (0, 0);
        while !self.part.is_over() {
            if rx.try_pop().is_ok() {
                self.room.fetch_add(1, Ordering::Relaxed);
                (failed, popped) = (0, popped + 1);
                self.part.popped(popped);
            } else {
                self.wait.pause(&mut failed);
            }
        }
    }
}
