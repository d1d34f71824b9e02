//! How many accesses a second are simulated. Run it on a core of its own:
//! `cargo bench -p corelane-coherence`.

use std::cell::UnsafeCell;
use std::rc::Rc;
use std::time::Instant;

use coherence::{Machine, Report, Simulation, load, pause, read, rmw, store, write};

/// Words, each in its own line.
#[repr(align(4096))]
struct Words([Line; 256]);

#[repr(align(128))]
struct Line(UnsafeCell<u64>);

impl Words {
    fn new() -> Rc<Self> {
        Rc::new(Self(std::array::from_fn(|_| Line(UnsafeCell::new(0)))))
    }

    fn at(&self, index: usize) -> *mut u64 {
        self.0[index].0.get()
    }
}

fn main() {
    measure("hits", 20_000_000, hits);
    measure("ring of two", 2_000_000, ring);
    measure("counter of 16", 200_000, counter);
}

/// The best of five runs: others may be using the machine.
fn measure(name: &str, items: u64, run: impl Fn(u64) -> Report) {
    let rate = |_| {
        let start = Instant::now();
        let accesses = run(items).accesses;
        accesses as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    let best = (0..5).map(rate).fold(0.0, f64::max);
    println!("{name:>14}: {best:6.1} million accesses a second");
}

/// Two cores, each with its own words.
fn hits(items: u64) -> Report {
    let words = Words::new();
    let mut simulation = Simulation::new(Machine::xeon40(), 1);
    for core in 0..2 {
        let words = words.clone();
        simulation.spawn(core, move || {
            for item in 0..items / 4 {
                // SAFETY: the words outlive the run.
                unsafe {
                    store(words.at(core), item);
                    load(words.at(core));
                }
            }
        });
    }
    simulation.run().expect("nobody waits")
}

/// Lamport's ring, with the consumer on the other socket: each access is a miss, or comes next to
/// one.
fn ring(items: u64) -> Report {
    const SLOTS: u64 = 128;
    let words = Words::new();
    let mut simulation = Simulation::new(Machine::xeon40(), 1);
    let slot = |at: u64| 2 + (at % SLOTS) as usize;
    let tx = words.clone();
    simulation.spawn(0, move || {
        for at in 0..items {
            // SAFETY: the words outlive the run.
            while unsafe { load(tx.at(1)) } + SLOTS == at {
                pause(1);
            }
            write(tx.at(slot(at)), 8);
            // SAFETY: as above.
            unsafe { store(tx.at(0), at + 1) };
        }
    });
    simulation.spawn(10, move || {
        for at in 0..items {
            // SAFETY: the words outlive the run.
            while unsafe { load(words.at(0)) } == at {
                pause(1);
            }
            read(words.at(slot(at)), 8);
            // SAFETY: as above.
            unsafe { store(words.at(1), at + 1) };
        }
    });
    simulation.run().expect("the ring goes on")
}

/// Sixteen cores add to one counter: each access is a miss, and switches to another core.
fn counter(items: u64) -> Report {
    let words = Words::new();
    let mut simulation = Simulation::new(Machine::xeon40(), 1);
    for core in 0..16 {
        let words = words.clone();
        simulation.spawn(core, move || {
            for _ in 0..items {
                // SAFETY: the words outlive the run.
                unsafe { rmw(words.at(0), |value| Some(value + 1)) };
            }
        });
    }
    simulation.run().expect("nobody waits")
}
