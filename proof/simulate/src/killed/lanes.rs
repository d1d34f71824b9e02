//! Lanes of two producers and two consumers. One producer or one consumer is killed. The dead
//! consumer needs no heir.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use coherence::{Schedule, Simulation, pause};
use corelane_sim::lanes::Heir;
use corelane_sim::{Config, Consumer, Producer};

use super::{Done, Killed, Trial, wait_for_death};
use crate::trial::{Wrong, machine};

/// Items of each lane.
const ITEMS: u64 = 6;
/// Most items that a call takes.
const MOST: usize = 3;

type Item = [u64; 2];

fn item(lane: usize, number: u64) -> Item {
    [number * 2 + lane as u64, !number]
}

/// What has happened in all.
#[derive(Default)]
struct All {
    /// Of the victim.
    done: Done,
    /// Of each lane: which items have come.
    come: [RefCell<Vec<u64>>; 2],
    /// Lanes to which all items were pushed.
    full: [Cell<bool>; 2],
}

impl All {
    /// What a consumer has taken at once, after what it had taken before.
    fn pop(&self, items: &[Item], last: &mut [Option<u64>; 2]) {
        for found in items {
            let (lane, number) = ((found[0] % 2) as usize, found[0] / 2);
            assert_eq!(*found, item(lane, number), "an item is incomplete");
            assert!(last[lane] < Some(number), "the items of a producer come in order");
            last[lane] = Some(number);
            self.come[lane].borrow_mut().push(number);
        }
    }
}

/// Runs the threads, one of which may be killed. Returns the steps of all.
pub(super) fn run(trial: Trial) -> Result<u64, Wrong> {
    let Trial { killed, seed, schedule } = trial;
    let all = Rc::new(All::default());
    let first = 0_u64.wrapping_sub(seed % 7);
    let (tx, rx) = Heir::both(2, Config::new(1 + seed as usize % 4).first(first))?;
    let mut simulation = Simulation::new(machine(), seed).schedule(schedule);
    let after = match schedule {
        Schedule::Stopped { step, .. } => Some(step),
        _ => None,
    };
    let [victim, heir, second, third, fourth] = [(); 5].map(|()| all.clone());
    let slices = seed % 2 == 0;
    match killed {
        Killed::Producer => {
            let (heirs, other) = (tx.clone(), tx);
            let mine = heirs.clone();
            simulation.spawn(0, move || push(mine, 0, first, &victim, true));
            simulation.spawn(1, move || {
                if wait_for_death(after, &heir.done) {
                    push(heirs, 0, first, &heir, false);
                }
            });
            simulation.spawn(2, move || push(other, 1, first, &second, false));
        }
        Killed::Consumer => {
            let (own, other, mine) = (tx.clone(), tx, rx.clone());
            simulation.spawn(0, move || pop(mine, slices, &victim, true));
            simulation.spawn(1, move || {
                wait_for_death(after, &heir.done);
                push(own, 0, first, &heir, false);
            });
            simulation.spawn(2, move || push(other, 1, first, &second, false));
        }
    }
    simulation.spawn(3, move || pop(rx, slices, &third, false));
    let report = simulation.run()?;
    // What a dead consumer had taken, and not returned.
    let mut in_hand = if killed == Killed::Consumer && after.is_some() { MOST as u64 } else { 0 };
    for come in &fourth.come {
        let mut come = come.take();
        come.sort_unstable();
        assert!(come.windows(2).all(|pair| pair[0] < pair[1]), "an item has come twice");
        let missing = ITEMS - come.len() as u64;
        assert!(missing <= in_hand, "{missing} items are lost");
        in_hand -= missing;
    }
    Ok(report.steps)
}

/// Pushes all items of a lane from its position on. A thread that is dead goes no further.
fn push(side: Heir<Item>, lane: usize, first: u64, all: &All, is_victim: bool) {
    let (done, is_dead) = (&all.done, || is_victim && all.done.is_dead.get());
    let Ok(mut tx) = side.producer(lane) else {
        assert!(is_dead(), "no producer can have left the lane so");
        return;
    };
    let mut next = tx.count().wrapping_sub(first);
    if lane == 0 && done.is_dead.get() && !is_victim {
        done.check_position(next, 1);
    }
    while next < ITEMS && !is_dead() {
        let is_pushed = Producer::try_push(&mut tx, item(lane, next)).is_ok();
        if is_dead() {
            return;
        }
        match is_pushed {
            true => next += 1,
            false => pause(1),
        }
        if is_victim {
            done.returned.set(next);
        }
    }
    all.full[lane].set(true);
}

/// Takes items until all have come.
fn pop(side: Heir<Item>, slices: bool, all: &All, is_victim: bool) {
    let is_dead = || is_victim && all.done.is_dead.get();
    let mut rx = side.consumer();
    let mut last = [None; 2];
    // The last items may still be in a store buffer when all were pushed. A dead consumer may have
    // taken the last ones.
    let mut looks = 100;
    let come = || all.come.iter().map(|come| come.borrow().len() as u64).sum::<u64>();
    while looks > 0 && come() < 2 * ITEMS {
        looks -= u32::from(all.full.iter().all(Cell::get));
        let mut items = [item(0, 0); MOST];
        let most = if slices { MOST } else { 1 };
        let taken = Consumer::pop_slice(&mut rx, &mut items[..most]);
        if is_dead() {
            return;
        }
        all.pop(&items[..taken], &mut last);
        if taken == 0 {
            pause(1);
        }
    }
}
