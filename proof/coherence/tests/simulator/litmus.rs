//! The values that threads may read: small programs, with random delays.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use coherence::{Machine, Simulation, StoreBuffer, Time, fence, pause, work};

use crate::memory::{LINE, Memory, Shared, buffered, machine, run_on};

/// Machines with and without early requests for lines.
fn machines() -> [Machine; 3] {
    let early = StoreBuffer { entries: 4, early_ownership: true };
    [machine(), buffered(4), Machine { store_buffer: early, ..machine() }]
}

/// A delay that depends on the seed: for either thread from 0 to 240 ns.
fn delay(seed: u64, thread: u64) {
    work(Time::ns((seed >> (4 * thread)) % 16 * 16));
}

/// Each of two threads stores to one word and loads the other thread's word. Returns all pairs that
/// they have read.
fn store_buffering(machine: &Machine, fenced: bool) -> BTreeSet<(u64, u64)> {
    let outcome = |seed| {
        let memory = Memory::new();
        let seen: [Shared<u64>; 2] = Default::default();
        let mut simulation = Simulation::new(machine.clone(), seed);
        for (core, seen) in seen.iter().cloned().enumerate() {
            let memory = memory.clone();
            let (mine, other) = (core * LINE, (1 - core) * LINE);
            simulation.spawn(core, move || {
                memory.load(other);
                memory.load(mine);
                delay(seed, core as u64);
                memory.store(mine, 1);
                if fenced {
                    fence();
                }
                seen.set(memory.load(other));
            });
        }
        simulation.run().unwrap();
        (seen[0].get(), seen[1].get())
    };
    (0..256).map(outcome).collect()
}

#[test]
fn store_buffering_lets_both_miss_the_others_store() {
    for machine in &machines()[1..] {
        assert!(store_buffering(machine, false).contains(&(0, 0)));
    }
}

#[test]
fn store_buffering_with_fences_lets_no_store_be_missed() {
    for machine in machines() {
        let seen = store_buffering(&machine, true);
        assert!(!seen.contains(&(0, 0)), "{seen:?}");
        assert!(seen.len() > 1, "the delays should make a difference");
    }
    assert!(!store_buffering(&machine(), false).contains(&(0, 0)), "there's no store buffer");
}

/// A thread stores data and then a flag; another thread waits for the flag.
fn message_passing(machine: &Machine, seed: u64) -> u64 {
    let memory = Memory::new();
    let seen: Shared<u64> = Rc::new(Cell::new(0));
    let mut simulation = Simulation::new(machine.clone(), seed);
    let sends = memory.clone();
    simulation.spawn(0, move || {
        sends.load(LINE); // the flag's line is there, the data's isn't
        delay(seed, 0);
        sends.store(0, 7);
        sends.store(LINE, 1);
    });
    let sees = seen.clone();
    simulation.spawn(4, move || {
        memory.load(0);
        delay(seed, 1);
        while memory.load(LINE) == 0 {
            pause(1);
        }
        sees.set(memory.load(0));
    });
    simulation.run().unwrap();
    seen.get()
}

#[test]
fn messages_arrive_whole() {
    for machine in machines() {
        assert!((0..256).all(|seed| message_passing(&machine, seed) == 7));
    }
}

#[test]
fn values_of_a_word_never_go_back() {
    for machine in machines() {
        for seed in 0..64 {
            let memory = Memory::new();
            let report = run_on(machine.clone(), seed, 4, move |core| {
                let mut last = 0;
                for turn in 1..50 {
                    if core == 0 {
                        memory.store(0, turn);
                    }
                    let seen = memory.load(0);
                    assert!(seen >= last && (core > 0 || seen == turn));
                    last = seen;
                    delay(seed, core as u64);
                }
            });
            assert_eq!(report.cores.len(), 4);
        }
    }
}

#[test]
fn no_increment_is_lost() {
    for machine in machines() {
        let memory = Memory::new();
        let counts = memory.clone();
        run_on(machine, 3, 16, move |core| {
            for turn in 0..100 {
                counts.store((core + 1) * LINE, turn);
                while !counts.compare_exchange(0, counts.load(0), counts.load(0) + 1) {
                    pause(core as u32);
                }
            }
        });
        assert!(memory.load(0) >= 1600 / 2, "{}", memory.load(0));
    }
}
