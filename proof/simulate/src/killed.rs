//! A process that shares a ring is killed at each step of its calls, and another one takes its side over.
//!
//! Here a process is a thread. A killed thread takes no step any more, but its store buffer still empties, as that of a processor
//! does. The kernel's lock makes all of this visible before another process has the side: here a fence of all cores does.

use std::cell::Cell;
use std::rc::Rc;

use coherence::{Schedule, Simulation, fence_all, pause};
use corelane_sim::line_ring::Heir;
use corelane_sim::memory::{AtomicU64, Ordering};
use corelane_sim::{Config, Consumer, Producer};

use crate::trial::{Failed, Tested, Wrong, caught, machine, named};

/// Items of three words: two of them in a line.
type Item = [u64; 3];

/// Items that are pushed and popped in all.
const ITEMS: u64 = 9;

fn item(number: u64) -> Item {
    [number, 2 * number, !number]
}

fn number(item: Item) -> u64 {
    assert_eq!(item, self::item(item[0]), "an item is incomplete");
    item[0]
}

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
    fn pop(&self, item: Item) {
        assert_eq!(number(item), self.popped.get(), "an item is lost, or came twice");
        self.popped.set(self.popped.get() + 1);
    }
}

/// Kills a side of a line ring at each of its steps, for each seed.
///
/// # Errors
///
/// The first failure. Its seed and schedule alone repeat it.
pub fn test_killed(killed: Killed, seeds: impl IntoIterator<Item = u64>) -> Result<Tested, Failed> {
    let mut tested = Tested::default();
    for seed in seeds {
        let run = |schedule| {
            let name = format!("linering, killed {killed:?}");
            named(&name, seed, schedule, || caught(|| run(killed, seed, schedule)))
        };
        let steps = run(Schedule::Random)?;
        for step in 1..=steps {
            tested.steps += run(Schedule::Stopped { core: 0, step })?;
            tested.runs += 1;
        }
    }
    Ok(tested)
}

fn run(killed: Killed, seed: u64, schedule: Schedule) -> Result<u64, Wrong> {
    let config = Config::new(1 + seed as usize % 5).first(0_u64.wrapping_sub(seed % 7));
    let (tx, rx) = Heir::<Item>::both(config)?;
    let done = Rc::new(Done::default());
    let mut simulation = Simulation::new(machine(), seed).schedule(schedule);
    let after = match schedule {
        Schedule::Stopped { step, .. } => Some(step),
        _ => None,
    };
    let [victim, other, heir] = [(); 3].map(|()| done.clone());
    match killed {
        Killed::Producer => {
            let heirs = tx.clone();
            simulation.spawn(0, move || push(tx, &victim, |done| done.is_dead.get(), true));
            simulation.spawn(1, move || pop(rx, &other, |_| false, false));
            simulation.spawn(2, move || {
                if wait_for_death(after, &heir) {
                    push(heirs, &heir, |_| false, false);
                }
            });
        }
        Killed::Consumer => {
            let heirs = rx.clone();
            simulation.spawn(0, move || pop(rx, &victim, |done| done.is_dead.get(), true));
            simulation.spawn(1, move || push(tx, &other, |_| false, false));
            simulation.spawn(2, move || {
                if wait_for_death(after, &heir) {
                    pop(heirs, &heir, |_| false, false);
                }
            });
        }
    }
    let report = simulation.run()?;
    assert_eq!(done.popped.get(), ITEMS);
    Ok(report.steps)
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

/// Pushes all items from the queue's position on. A thread that is dead goes no further; it only ends its call.
fn push(side: Heir<Item>, done: &Done, is_dead: fn(&Done) -> bool, is_victim: bool) {
    let Ok(mut tx) = side.producer() else {
        // It was killed before its first push.
        assert!(is_dead(done), "no producer can have left the ring so");
        return;
    };
    let from = tx.count();
    if done.is_dead.get() && !is_victim {
        let returned = done.returned.get();
        assert!((returned..=returned + 1).contains(&from), "{from} pushed, {returned} returned");
    }
    for n in from..ITEMS {
        while !is_dead(done) && Producer::try_push(&mut tx, item(n)).is_err() {
            pause(1);
        }
        if is_dead(done) {
            return;
        }
        if is_victim {
            done.returned.set(n + 1);
        }
    }
    if !is_victim {
        check_room(&mut tx, done);
    }
}

/// All slots come back, also those that a dead process had.
fn check_room(tx: &mut impl Producer<Item = Item>, done: &Done) {
    while done.popped.get() < ITEMS {
        pause(1);
    }
    for n in 0..tx.capacity() {
        // What the consumer has given back may still be in its store buffer.
        let is_pushed = (0..1000).any(|_| {
            pause(1);
            tx.try_push(item(0)).is_ok()
        });
        assert!(is_pushed, "room for {n} items of {}", tx.capacity());
    }
}

/// Pops all items from the queue's position on.
fn pop(side: Heir<Item>, done: &Done, is_dead: fn(&Done) -> bool, is_victim: bool) {
    let mut rx = side.consumer().expect("there is memory");
    let from = rx.count();
    if done.is_dead.get() && !is_victim {
        let returned = done.returned.get();
        assert!((returned..=returned + 1).contains(&from), "{from} popped, {returned} returned");
        // The pop that was interrupted has happened.
        done.popped.set(from);
    }
    while !is_dead(done) && done.popped.get() < ITEMS {
        match Consumer::try_pop(&mut rx) {
            _ if is_dead(done) => return,
            Ok(item) => {
                done.pop(item);
                if is_victim {
                    done.returned.set(done.popped.get());
                }
            }
            Err(_) => pause(1),
        }
    }
}
