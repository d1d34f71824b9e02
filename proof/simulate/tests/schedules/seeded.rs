//! A ring whose consumer sleeps, and copies of it with a bug that must be found.

use std::cell::{RefCell, UnsafeCell};
use std::rc::Rc;

use coherence::{Machine, Schedule, Simulation, fence, load, pause, read, store, write};
use libtest_mimic::Trial;

const ITEMS: u64 = 20;
const CAPACITY: u64 = 2;

/// The bug of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    Nothing,
    /// The producer advances its counter before it has written the item.
    PublishesBeforeWriting,
    /// The consumer advances its counter before it has taken the item.
    FreesBeforeTaking,
    /// The consumer finds the ring empty, then closed, and doesn't look for items once more.
    LooksForTheEndLast,
    /// The producer may find the consumer awake, although the consumer hasn't seen the last item
    /// yet.
    WakesWithoutFence,
    /// The consumer may fall asleep after the producer of the last item has found it awake.
    SleepsWithoutFence,
}

use Bug::*;

const ALL: [Bug; 6] = [
    Nothing,
    PublishesBeforeWriting,
    FreesBeforeTaking,
    LooksForTheEndLast,
    WakesWithoutFence,
    SleepsWithoutFence,
];

/// A trial for each bug and way of scheduling.
pub fn trials() -> impl Iterator<Item = Trial> {
    let by_chance = |bug| trial(bug, "at random", |_| Schedule::Random);
    let by_priorities =
        |bug| trial(bug, "by priorities", |steps| Schedule::Priorities { depth: 3, steps });
    ALL.into_iter().flat_map(move |bug| [by_chance(bug), by_priorities(bug)])
}

/// Tries seeds until one shows the bug, and checks that the seed shows it again.
fn trial(bug: Bug, how: &str, schedule: fn(u64) -> Schedule) -> Trial {
    Trial::test(format!("seeded::{bug:?} {how}"), move || {
        let steps = run(Nothing, 0, Schedule::Random)?;
        let fails = |seed| Some((seed, run(bug, seed, schedule(steps)).err()?));
        match (0..500).find_map(fails) {
            None if bug == Nothing => Ok(()),
            None => Err("the bug isn't found".into()),
            Some((seed, what)) if bug == Nothing => Err(format!("seed {seed}: {what}").into()),
            found if found == fails(found.as_ref().expect("it failed").0) => Ok(()),
            Some((seed, what)) => Err(format!("seed {seed} doesn't repeat: {what}").into()),
        }
    })
}

/// Runs a ring to its end, and returns the number of steps.
fn run(bug: Bug, seed: u64, schedule: Schedule) -> Result<u64, String> {
    let ring = Ring::new(bug);
    let received = Rc::new(RefCell::new(Ok(())));
    let mut simulation = Simulation::new(Machine::i7(), seed).schedule(schedule);
    let (tx, result) = (ring.clone(), received.clone());
    simulation.spawn(0, move || tx.produce());
    simulation.spawn(1, move || *result.borrow_mut() = ring.consume());
    let report = simulation.run().map_err(|deadlock| deadlock.to_string())?;
    received.replace(Ok(())).map(|()| report.steps)
}

/// A line for each variable and slot.
#[derive(Debug)]
#[repr(align(64))]
struct Line(UnsafeCell<u64>);

#[derive(Debug)]
#[repr(align(4096))]
struct Ring {
    write: Line,
    read: Line,
    is_closed: Line,
    sleeps: Line,
    slots: [Line; CAPACITY as usize],
    bug: Bug,
}

impl Line {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    #[track_caller]
    fn load(&self) -> u64 {
        // SAFETY: the ring outlives the run, and only its threads use it.
        unsafe { load(self.0.get()) }
    }

    #[track_caller]
    fn store(&self, value: u64) {
        // SAFETY: as above.
        unsafe { store(self.0.get(), value) }
    }

    fn put(&self, item: u64) {
        write(self.0.get(), 8);
        // SAFETY: as above; both threads are of one host thread.
        unsafe { self.0.get().write(item) }
    }

    fn take(&self) -> u64 {
        read(self.0.get(), 8);
        // SAFETY: as in `put`.
        unsafe { self.0.get().read() }
    }
}

impl Ring {
    fn new(bug: Bug) -> Rc<Self> {
        let [write, read, is_closed, sleeps] = [(); 4].map(|()| Line::new());
        let slots = std::array::from_fn(|_| Line::new());
        Rc::new(Self { write, read, is_closed, sleeps, slots, bug })
    }

    fn slot(&self, item: u64) -> &Line {
        &self.slots[(item % CAPACITY) as usize]
    }

    fn fence_unless(&self, bug: Bug) {
        if self.bug != bug {
            fence();
        }
    }

    fn produce(&self) {
        for item in 0..ITEMS {
            while item - self.read.load() == CAPACITY {
                pause(1);
            }
            if self.bug == PublishesBeforeWriting {
                self.write.store(item + 1);
                self.slot(item).put(item);
            } else {
                self.slot(item).put(item);
                self.write.store(item + 1);
            }
            self.wake();
        }
        self.is_closed.store(1);
        self.wake();
    }

    fn wake(&self) {
        self.fence_unless(WakesWithoutFence);
        if self.sleeps.load() == 1 {
            self.sleeps.store(0);
        }
    }

    fn consume(&self) -> Result<(), String> {
        let mut item = 0;
        while self.wait_for(item) {
            let found = self.take(item);
            if found != item {
                return Err(format!("found item {found}, expected {item}"));
            }
            item += 1;
        }
        if item == ITEMS { Ok(()) } else { Err(format!("closed after {item} of {ITEMS} items")) }
    }

    /// Waits for an item. `false` if the ring is closed before.
    fn wait_for(&self, item: u64) -> bool {
        loop {
            let was_closed = self.is_closed.load() == 1;
            if self.write.load() > item {
                return true;
            }
            if was_closed || (self.bug == LooksForTheEndLast && self.is_closed.load() == 1) {
                return false;
            }
            self.sleep(item);
        }
    }

    fn sleep(&self, item: u64) {
        self.sleeps.store(1);
        self.fence_unless(SleepsWithoutFence);
        if self.write.load() > item || self.is_closed.load() == 1 {
            return self.sleeps.store(0);
        }
        while self.sleeps.load() == 1 {
            pause(1);
        }
    }

    fn take(&self, item: u64) -> u64 {
        if self.bug == FreesBeforeTaking {
            self.read.store(item + 1);
            return self.slot(item).take();
        }
        let found = self.slot(item).take();
        self.read.store(item + 1);
        found
    }
}
