//! The costs of the caches alone: the floors that `lane bench` measures, simulated.

use std::rc::Rc;

use coherence::{Machine, Simulation, load, now, pause, read, store, write};
use std::cell::{Cell, UnsafeCell};

/// Trips of a line, and hand-offs of blocks. The second half is counted.
const REPEATS: u64 = 400;
/// Words of one block: 4 KiB.
const BLOCK: usize = 512;
/// Blocks in flight.
const BLOCKS: u64 = 8;

/// A word alone in its cache line, and in the other line of the prefetcher's pair.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(UnsafeCell<u64>);

impl Line {
    fn set(&self, value: u64) {
        // SAFETY: the word outlives the run, and only simulated threads use it.
        unsafe { store(self.0.get(), value) }
    }

    fn wait_for(&self, value: u64) {
        // SAFETY: as above.
        while unsafe { load(self.0.get()) } < value {
            pause(1);
        }
    }
}

/// Two words, and the blocks between.
#[derive(Debug)]
struct Shared {
    there: Line,
    back: Line,
    blocks: Vec<Block>,
}

#[derive(Debug)]
#[repr(align(128))]
struct Block([UnsafeCell<u64>; BLOCK]);

impl Shared {
    fn new(blocks: u64) -> Rc<Self> {
        let block = |_| Block(std::array::from_fn(|_| UnsafeCell::new(0)));
        let blocks = (0..blocks).map(block).collect();
        Rc::new(Self { there: Line::default(), back: Line::default(), blocks })
    }

    fn block(&self, number: u64) -> *mut u64 {
        self.blocks[(number % BLOCKS) as usize].0[0].get()
    }
}

/// Nanoseconds for a flag to the other core and one back.
pub fn line_rtt(machine: &Machine, cores: [usize; 2]) -> f64 {
    let shared = Shared::new(0);
    let other = shared.clone();
    let ask = move |trip| {
        shared.there.set(trip);
        shared.back.wait_for(trip);
    };
    let answer = move |trip| {
        other.there.wait_for(trip);
        other.back.set(trip);
    };
    time(machine, cores, ask, answer)
}

/// Nanoseconds per `u64` when blocks of 4 KiB move from one core to the other.
pub fn block_handoff(machine: &Machine, cores: [usize; 2]) -> f64 {
    let shared = Shared::new(BLOCKS);
    let other = shared.clone();
    let sum = move |number: u64| {
        shared.there.wait_for(number);
        read_lines(shared.block(number));
        shared.back.set(number);
    };
    let fill = move |number: u64| {
        other.back.wait_for(number.saturating_sub(BLOCKS));
        write_lines(other.block(number));
        other.there.set(number);
    };
    time(machine, cores, sum, fill) / BLOCK as f64
}

/// Bytes of an access, as of vector instructions: half a line.
const VECTOR: usize = 32;

fn read_lines(block: *const u64) {
    for at in (0..BLOCK * 8).step_by(VECTOR) {
        read(block.wrapping_byte_add(at), VECTOR);
    }
}

fn write_lines(block: *mut u64) {
    for at in (0..BLOCK * 8).step_by(VECTOR) {
        write(block.wrapping_byte_add(at), VECTOR);
    }
}

/// Lets both sides repeat their step. Returns the nanoseconds of a step of the first side.
fn time(
    machine: &Machine,
    cores: [usize; 2],
    first: impl Fn(u64) + 'static,
    second: impl Fn(u64) + 'static,
) -> f64 {
    let spent = Rc::new(Cell::new(0.0));
    let result = spent.clone();
    let mut simulation = Simulation::new(machine.clone(), 1);
    simulation.spawn(cores[0], move || {
        (1..=REPEATS / 2).for_each(&first);
        let start = now();
        (REPEATS / 2 + 1..=REPEATS).for_each(&first);
        spent.set((now() - start).as_ns());
    });
    simulation.spawn(cores[1], move || (1..=REPEATS).for_each(second));
    simulation.run().expect("both sides go on");
    result.get() / (REPEATS / 2) as f64
}
