//! A ring of records of two producers and two consumers. One of them is killed, and a new handle
//! with its seat recovers what it has left.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use coherence::{Schedule, Simulation, pause};
use corelane_sim::Config;
use corelane_sim::seat_ring::Heir;

use super::{Done, Killed, Trial, wait_for_death};
use crate::trial::{Wrong, machine};

/// Records of each producer.
const RECORDS: u64 = 4;
/// The seat of the handle that is killed.
const SEAT: u16 = 0;

/// Record `number` of a producer. Its length says how long the next one is.
fn record(producer: u8, number: u64) -> Vec<u8> {
    vec![producer * 16 + number as u8; 1 + 40 * (number as usize % 4)]
}

/// What has happened in all.
#[derive(Default)]
struct All {
    /// Of the victim.
    done: Done,
    /// Of each producer: which records have come.
    come: [RefCell<Vec<u64>>; 2],
    /// Producers that have pushed all of their records.
    full: [Cell<bool>; 2],
}

/// Runs the threads, one of which may be killed. Returns the steps of all.
pub(super) fn run(trial: Trial) -> Result<u64, Wrong> {
    let Trial { killed, seed, schedule } = trial;
    let all = Rc::new(All::default());
    let first = 0_u64.wrapping_sub(seed % 7);
    let config = Config::new(256 + 128 * (seed as usize % 3)).block(128).first(first);
    let (tx, rx) = Heir::both(config)?;
    let mut simulation = Simulation::new(machine(), seed).schedule(schedule);
    let after = match schedule {
        Schedule::Stopped { step, .. } => Some(step),
        _ => None,
    };
    let [victim, heir, second, third, fourth] = [(); 5].map(|()| all.clone());
    let (other, mine) = (tx.clone(), tx.clone());
    match killed {
        Killed::Producer => {
            let heirs = rx.clone();
            simulation.spawn(0, move || push(mine, 0, SEAT, &victim, true));
            simulation.spawn(1, move || {
                if wait_for_death(after, &heir.done) {
                    push(tx, 0, SEAT, &heir, false);
                }
            });
            simulation.spawn(3, move || pop(heirs, 1, &third, false));
        }
        Killed::Consumer => {
            let (heirs, mine, last) = (rx.clone(), rx.clone(), tx);
            simulation.spawn(0, move || pop(mine, SEAT, &victim, true));
            simulation.spawn(1, move || {
                // If no consumer is killed, the seat is taken.
                if wait_for_death(after, &heir.done) {
                    pop(heirs, SEAT, &heir, false);
                }
            });
            simulation.spawn(3, move || push(last, 0, 2, &third, false));
        }
    }
    let fifth = second.clone();
    simulation.spawn(2, move || push(other, 1, 1, &second, false));
    simulation.spawn(4, move || pop(rx, 2, &fifth, false));
    let report = simulation.run()?;
    // What the call was about that was interrupted.
    let mut in_hand = u64::from(after.is_some());
    for come in &fourth.come {
        let mut come = come.take();
        come.sort_unstable();
        assert!(come.windows(2).all(|pair| pair[0] < pair[1]), "a record has come twice");
        let missing = RECORDS - come.len() as u64;
        assert!(missing <= in_hand, "{missing} records are lost");
        in_hand -= missing;
    }
    Ok(report.steps)
}

/// Pushes all records of a producer, from the first one on that has not come. A thread that is dead
/// goes no further.
fn push(side: Heir, producer: u8, seat: u16, all: &All, is_victim: bool) {
    let (done, is_dead) = (&all.done, || is_victim && all.done.is_dead.get());
    let mut tx = side.producer(seat);
    // What the dead producer's last push has done is not known: the next one begins behind it.
    let is_heir = !is_victim && seat == SEAT;
    let mut next = if is_heir { done.returned.get() + 1 } else { 0 };
    while next < RECORDS && !is_dead() {
        let bytes = record(producer, next);
        // Each second record is given up first.
        if next % 2 == 1 {
            drop(tx.try_claim(bytes.len()));
        }
        let is_pushed = !is_dead() && tx.try_push(&bytes).is_ok();
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
    all.full[producer as usize].set(true);
}

/// Takes records until all have come. Holds one while it takes the next one, and gives the newer
/// one back first.
fn pop(side: Heir, seat: u16, all: &All, is_victim: bool) {
    let is_dead = || is_victim && all.done.is_dead.get();
    let mut rx = side.consumer(seat);
    // The last records may still be in a store buffer when all were pushed. A dead consumer may have
    // taken the last ones.
    let mut looks = 200;
    let come = || all.come.iter().map(|come| come.borrow().len() as u64).sum::<u64>();
    while looks > 0 && come() < 2 * RECORDS {
        looks -= u32::from(all.full.iter().all(Cell::get));
        let mut held = Vec::new();
        while held.len() < 2
            && let Ok(found) = rx.try_pop()
        {
            let bytes = found.to_vec();
            if is_dead() {
                return;
            }
            let (producer, number) = (bytes[0] / 16, u64::from(bytes[0] % 16));
            assert_eq!(bytes, record(producer, number), "a record is incomplete");
            held.push((producer, number, found.suspend()));
        }
        if held.is_empty() {
            pause(1);
        }
        for (producer, number, found) in held.into_iter().rev() {
            rx.give_back(found);
            if is_dead() {
                return;
            }
            all.come[producer as usize].borrow_mut().push(number);
        }
    }
}
