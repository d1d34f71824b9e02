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

/// Items of 3 words: two of them in a line. Items of 8 words: groups of 8, with a line for each.
type Item<const W: usize> = [u64; W];

/// Items that are pushed and popped in all.
const ITEMS: u64 = 11;

fn item<const W: usize>(number: u64) -> Item<W> {
    let mut item = [!number; W];
    item[0] = number;
    item
}

fn number<const W: usize>(item: Item<W>) -> u64 {
    assert_eq!(item, self::item(item[0]), "an item is incomplete");
    item[0]
}

/// How a thread pushes or pops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Single,
    Slices,
    Chunks,
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
    fn pop<const W: usize>(&self, item: Item<W>) {
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
        let run_by = |schedule| {
            let name = format!("linering, killed {killed:?}");
            named(&name, seed, schedule, || {
                caught(|| match seed % 2 {
                    0 => run::<3>(killed, seed, schedule),
                    _ => run::<8>(killed, seed, schedule),
                })
            })
        };
        let steps = run_by(Schedule::Random)?;
        for step in 1..=steps {
            tested.steps += run_by(Schedule::Stopped { core: 0, step })?;
            tested.runs += 1;
        }
    }
    Ok(tested)
}

fn run<const W: usize>(killed: Killed, seed: u64, schedule: Schedule) -> Result<u64, Wrong> {
    let config = Config::new(1 + seed as usize % 5).first(0_u64.wrapping_sub(seed % 7));
    let way = [Way::Single, Way::Slices, Way::Chunks][seed as usize / 2 % 3];
    let (tx, rx) = Heir::<Item<W>>::both(config)?;
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
            simulation.spawn(0, move || push(tx, way, &victim, true));
            simulation.spawn(1, move || pop(rx, way, &other, false));
            simulation.spawn(2, move || {
                if wait_for_death(after, &heir) {
                    push(heirs, way, &heir, false);
                }
            });
        }
        Killed::Consumer => {
            let heirs = rx.clone();
            simulation.spawn(0, move || pop(rx, way, &victim, true));
            simulation.spawn(1, move || push(tx, way, &other, false));
            simulation.spawn(2, move || {
                if wait_for_death(after, &heir) {
                    pop(heirs, way, &heir, false);
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

/// Most items of a slice or chunk.
const MOST: usize = 5;

/// Pushes all items from the queue's position on. A thread that is dead goes no further; it only ends its call.
fn push<const W: usize>(side: Heir<Item<W>>, way: Way, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut tx) = side.producer() else {
        // It was killed before its first push.
        assert!(is_dead(), "no producer can have left the ring so");
        return;
    };
    let mut next = tx.count();
    if done.is_dead.get() && !is_victim {
        check_position(next, done, way);
    }
    while next < ITEMS && !is_dead() {
        let most = MOST.min((ITEMS - next) as usize);
        let pushed = match way {
            Way::Single => u64::from(Producer::try_push(&mut tx, item(next)).is_ok()),
            Way::Slices => {
                let items: Vec<_> = (next..).take(most).map(item).collect();
                Producer::push_slice(&mut tx, &items) as u64
            }
            Way::Chunks => match tx.write_chunk_uninit(most) {
                Ok(chunk) => chunk.fill_from_iter((next..).take(most).map(item)) as u64,
                Err(_) => 0,
            },
        };
        if is_dead() {
            return;
        }
        next += pushed;
        if is_victim {
            done.returned.set(next);
        }
        if pushed == 0 {
            pause(1);
        }
    }
    if !is_victim {
        check_room(&mut tx, done);
    }
}

/// Where a thread goes on that takes a side over: behind the calls that have returned. The call that was interrupted has happened or not, or in
/// part.
fn check_position(position: u64, done: &Done, way: Way) {
    let returned = done.returned.get();
    let most = if way == Way::Single { 1 } else { MOST as u64 };
    assert!(
        (returned..=returned + most).contains(&position),
        "goes on at {position}, and {returned} have returned"
    );
}

/// All slots come back, also those that a dead process had.
fn check_room<const W: usize>(tx: &mut impl Producer<Item = Item<W>>, done: &Done) {
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
fn pop<const W: usize>(side: Heir<Item<W>>, way: Way, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut rx) = side.consumer() else {
        assert!(is_dead(), "no consumer can have left the ring so");
        return;
    };
    let from = rx.count();
    if done.is_dead.get() && !is_victim {
        check_position(from, done, way);
        // The pops that were interrupted have happened.
        done.popped.set(from);
    }
    while !is_dead() && done.popped.get() < ITEMS {
        let popped: Vec<_> = match way {
            Way::Single => Consumer::try_pop(&mut rx).into_iter().collect(),
            Way::Slices => {
                let mut items = [item(0); MOST];
                let n = Consumer::pop_slice(&mut rx, &mut items);
                items[..n].to_vec()
            }
            Way::Chunks => match rx.read_chunk(MOST) {
                Ok(chunk) => {
                    let (first, second) = chunk.as_slices();
                    let items = [first, second].concat();
                    chunk.commit_all();
                    items
                }
                Err(_) => Vec::new(),
            },
        };
        if is_dead() {
            return;
        }
        if popped.is_empty() {
            pause(1);
        }
        popped.into_iter().for_each(|item| done.pop(item));
        if is_victim {
            done.returned.set(done.popped.get());
        }
    }
}
