//! A process that shares a ring is killed at each step of its calls, and another one takes its side
//! over.
//!
//! Here a process is a thread. A killed thread takes no step any more, but its store buffer still
//! empties, as that of a processor does. The kernel's lock makes all of this visible before another
//! process has the side: here a fence of all cores does.

mod items;
mod lanes;
mod newest;
mod records;
mod seats;

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Schedule, Simulation, fence_all};
use corelane_sim::memory::{AtomicU64, Ordering};

use crate::trial::{Failed, Tested, Wrong, caught, machine, named};
use items::Way;

/// Items that are pushed and popped in all.
const ITEMS: u64 = 11;

/// The side that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// While it pushes.
    Producer,
    /// While it pops.
    Consumer,
}

/// What the threads have done, as the test sees it.
#[derive(Default)]
struct Done {
    /// Pushes of the killed producer, or pops of the killed consumer, that have returned.
    returned: Cell<u64>,
    /// Whether the killed thread is dead: another one has its side.
    is_dead: Cell<bool>,
    /// Items that were popped by anybody.
    popped: Cell<u64>,
}

impl Done {
    /// An item that was popped: each comes once, in order, but the one whose pop was interrupted.
    fn pop(&self, number: u64) {
        assert_eq!(number, self.popped.get(), "an item is lost, or came twice");
        self.popped.set(number + 1);
    }

    /// Where a thread goes on that takes a side over: behind the calls that have returned. The call
    /// that was interrupted has happened or not, or in part: up to `most` items.
    fn check_position(&self, position: u64, most: u64) {
        let returned = self.returned.get();
        assert!(
            (returned..=returned + most).contains(&position),
            "goes on at {position}, and {returned} have returned"
        );
    }
}

/// A ring that processes can share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// `linering`, with items of several sizes, by all calls.
    Lines,
    /// `recordring`, with records of several lengths.
    Records,
    /// `seqring`, whose consumer gets all items, or counts them as lost. Only its producer is
    /// killed.
    Newest,
    /// `lanes`, of two producers and two consumers.
    Lanes,
    /// `seatring`, of two producers and two consumers.
    Seats,
}

/// Kills a side of a ring at each of its steps, for each seed.
///
/// # Errors
///
/// The first failure. Its seed and schedule alone repeat it.
pub fn test_killed(
    ring: Ring,
    killed: Killed,
    seeds: impl IntoIterator<Item = u64>,
) -> Result<Tested, Failed> {
    let mut tested = Tested::default();
    for seed in seeds {
        let run_by = |schedule| {
            let name = format!("{ring:?}, killed {killed:?}");
            named(&name, seed, schedule, || caught(|| run(ring, Trial { killed, seed, schedule })))
        };
        let steps = run_by(Schedule::Random)?;
        for step in 1..=steps {
            tested.steps += run_by(Schedule::Stopped { core: 0, step })?;
            tested.runs += 1;
        }
    }
    Ok(tested)
}

fn run(ring: Ring, trial: Trial) -> Result<u64, Wrong> {
    let (seed, way) = (trial.seed, Way::of(trial.seed / 2));
    match (ring, seed % 2) {
        (Ring::Newest, _) => trial.run(newest::sides(seed)?, newest::push, newest::pop),
        (Ring::Lanes, _) => lanes::run(trial),
        (Ring::Seats, _) => seats::run(trial),
        (Ring::Records, _) => trial.run(records::sides(seed)?, records::push, records::pop),
        (Ring::Lines, 0) => trial.run(
            items::sides::<3>(seed)?,
            move |side, done, is_victim| items::push(side, way, done, is_victim),
            move |side, done, is_victim| items::pop(side, way, done, is_victim),
        ),
        (Ring::Lines, _) => trial.run(
            items::sides::<8>(seed)?,
            move |side, done, is_victim| items::push(side, way, done, is_victim),
            move |side, done, is_victim| items::pop(side, way, done, is_victim),
        ),
    }
}

/// What is killed, and when.
#[derive(Clone, Copy)]
struct Trial {
    killed: Killed,
    seed: u64,
    schedule: Schedule,
}

impl Trial {
    /// Three threads with these sides: one that may be killed, one on the other side, and an heir.
    /// Returns the steps of all.
    fn run<S: Clone + 'static>(
        self,
        (tx, rx): (S, S),
        push: impl Fn(S, &Done, bool) + Copy + 'static,
        pop: impl Fn(S, &Done, bool) + Copy + 'static,
    ) -> Result<u64, Wrong> {
        let done = Rc::new(Done::default());
        let mut simulation = Simulation::new(machine(), self.seed).schedule(self.schedule);
        let after = match self.schedule {
            Schedule::Stopped { step, .. } => Some(step),
            _ => None,
        };
        let [victim, other, heir] = [(); 3].map(|()| done.clone());
        match self.killed {
            Killed::Producer => {
                let heirs = tx.clone();
                simulation.spawn(0, move || push(tx, &victim, true));
                simulation.spawn(1, move || pop(rx, &other, false));
                simulation.spawn(2, move || {
                    if wait_for_death(after, &heir) {
                        push(heirs, &heir, false);
                    }
                });
            }
            Killed::Consumer => {
                let heirs = rx.clone();
                simulation.spawn(0, move || pop(rx, &victim, true));
                simulation.spawn(1, move || push(tx, &other, false));
                simulation.spawn(2, move || {
                    if wait_for_death(after, &heir) {
                        pop(heirs, &heir, false);
                    }
                });
            }
        }
        let report = simulation.run()?;
        assert_eq!(done.popped.get(), ITEMS);
        Ok(report.steps)
    }
}

/// Waits until the thread of core 0 was stopped. False if it isn't to be stopped.
fn wait_for_death(after: Option<u64>, done: &Done) -> bool {
    let Some(steps) = after else { return false };
    let word = AtomicU64::new(0);
    (0..steps).for_each(|_| _ = word.load(Ordering::Relaxed));
    fence_all();
    done.is_dead.set(true);
    true
}
