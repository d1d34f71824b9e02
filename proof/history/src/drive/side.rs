//! A thread at a queue: when it starts, rests, waits, gives up and leaves.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use corelane_harness::rng::Rng;
use corelane_harness::threads::Patience;

use super::plan::{Pace, Plan};
use super::record::{Clock, Recorder};
use crate::Log;

/// A thread's state that the other threads may read, apart from the queue.
///
/// On cache lines of its own, so that no thread waits for such a line between the last push and the
/// end.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Presence {
    pub(super) came: AtomicBool,
    pub(super) left: AtomicBool,
    /// How often the thread has slept without progress.
    naps: AtomicU32,
}

/// The shared state of the threads at all queues of a round.
#[derive(Debug)]
pub(super) struct Round {
    /// All threads at each queue, producers first.
    pub(super) presences: Vec<Vec<Presence>>,
    /// The last queue to be used. A failure at a queue sets it, so that the others are left out.
    pub(super) last: AtomicUsize,
}

/// Why a side stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The producer pushed all planned items.
    AllPushed,
    /// The consumer got more items than were planned.
    TooMany,
    /// The queue said closed, and the other side was gone.
    Closed,
    /// The queue said closed, but the other side was still at work.
    FalseClosed,
    /// No item moved any more, although the other side was at work or had finished.
    Stuck,
}

/// A thread at a queue, between two steps.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) plan: &'a Plan,
    round: &'a Round,
    /// The queue's number in the round.
    pub(super) number: usize,
    /// The thread's number. Producers come first.
    pub(super) thread: usize,
    /// Planned items: a producer's own, or the items of all producers for a consumer.
    pub(super) pushes: usize,
    pub(super) recorder: Recorder,
    pub(super) rng: Rng,
    /// The pace that slows this side down.
    slow: Pace,
    patience: Patience,
    /// How often each thread had slept when this thread began to sleep.
    naps: Vec<u32>,
}

/// A thread's result.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) log: Log,
    pub(super) end: End,
}

impl<'a> Side<'a> {
    /// Successive sleeps after which a side gives up.
    const HOPELESS: u32 = 1000;

    /// All threads at the queue with this number.
    pub(super) fn all(plan: &'a Plan, round: &'a Round, number: usize, clock: Clock) -> Vec<Self> {
        let seed = (plan.seed << 16 | number as u64) << 2;
        // Each thread of a side has its own random numbers.
        let seed_of = |mate: usize, bit: u64| seed | bit | (mate as u64) << 60;
        let planned = |mate| match plan.is_short() {
            true => Rng::new(seed_of(mate, 2)).below(plan.pushes + 1),
            false => plan.pushes,
        };
        let all_pushes = (0..plan.producers).map(planned).sum();
        let side = |thread, pushes, slow, seed| Side {
            plan,
            round,
            number,
            thread,
            pushes,
            // Room for two more steps: a consumer that finds less room got more items than planned.
            recorder: Recorder::new(clock, pushes + 2 * Plan::STEP, plan.period),
            rng: Rng::new(seed),
            slow,
            patience: Patience::default(),
            naps: Vec::new(),
        };
        let producers = (0..plan.producers)
            .map(|mate| side(mate, planned(mate), Pace::SlowProducer, seed_of(mate, 0)));
        let consumers = (0..plan.consumers).map(|mate| {
            side(plan.producers + mate, all_pushes, Pace::SlowConsumer, seed_of(mate, 1))
        });
        producers.chain(consumers).collect()
    }

    /// All threads at this queue.
    fn presences(&self) -> &'a [Presence] {
        &self.round.presences[self.number]
    }

    fn me(&self) -> &'a Presence {
        &self.presences()[self.thread]
    }

    /// The threads of the other side.
    fn peers(&self) -> &'a [Presence] {
        let (producers, consumers) = self.presences().split_at(self.plan.producers);
        if self.thread < producers.len() { consumers } else { producers }
    }

    /// Starts at the queue. `false` if the queue is left out.
    pub(super) fn begin(&mut self) -> bool {
        self.me().came.store(true, Ordering::Relaxed);
        self.recorder.resume();
        !self.is_left_out()
    }

    /// Waits until all threads are there, so that they run at the same time when the queue closes.
    pub(super) fn meet(&mut self) {
        let came = |other: &Presence| other.came.load(Ordering::Relaxed);
        let met = || self.presences().iter().all(came) || self.is_left_out();
        Patience::until(|| met().then_some(()));
    }

    fn is_left_out(&self) -> bool {
        self.number > self.round.last.load(Ordering::Relaxed)
    }

    /// Rests as planned. Returns the number of items of the next step.
    pub(super) fn next_step(&mut self) -> usize {
        let spins = self.plan.rest(&mut self.rng, self.slow == self.plan.pace);
        if spins > 0 {
            (0..spins).for_each(|_| std::hint::spin_loop());
            self.recorder.resume();
        }
        1 + self.rng.below(self.plan.step())
    }

    /// Called after a step that moved `moved` items. Waits if there were none. `false` if the
    /// thread should give up.
    pub(super) fn goes_on(&mut self, moved: usize) -> bool {
        if moved > 0 {
            self.patience = Patience::default();
            return true;
        }
        self.patience.wait();
        if self.plan.period == 1 {
            self.recorder.resume();
        }
        match self.patience.naps() {
            0 => true,
            naps => !self.is_hopeless(naps),
        }
    }

    /// Whether this thread has slept too often without progress, and the other threads had time to
    /// run.
    fn is_hopeless(&mut self, naps: u32) -> bool {
        self.me().naps.fetch_add(1, Ordering::Relaxed);
        let slept = |other: &Presence| other.naps.load(Ordering::Relaxed);
        if naps == 1 {
            self.naps = self.presences().iter().map(slept).collect();
        }
        if naps < Self::HOPELESS {
            return false;
        }
        self.patience = Patience::default();
        self.presences().iter().zip(&self.naps).all(|(other, before)| {
            let has_left = other.left.load(Ordering::Relaxed);
            has_left || slept(other) - before >= Self::HOPELESS / 2
        })
    }

    /// Why the thread stops when the queue says closed.
    ///
    /// Relaxed: the answer must make visible all that the other side did before, including this
    /// store.
    pub(super) fn told_closed(&self) -> End {
        match self.peers().iter().all(|peer| peer.left.load(Ordering::Relaxed)) {
            true => End::Closed,
            false => End::FalseClosed,
        }
    }

    /// Drops the handle.
    pub(super) fn leave<H>(&mut self, handle: H, end: End) {
        if matches!(end, End::FalseClosed | End::Stuck) {
            self.round.last.fetch_min(self.number, Ordering::Relaxed);
        }
        self.me().left.store(true, Ordering::Relaxed);
        drop(handle);
    }

    /// Ends the notes.
    pub(super) fn finish(self, end: End) -> Part {
        Part { log: self.recorder.finish(), end }
    }
}
